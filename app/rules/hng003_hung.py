"""The run hung, and no line of its log says why.

## What it finds
Runs of which the log or the user says that they hung (`--hung`, a time-out of `hloscope run`),
where no other rule names a cause. Where Python's threads stood is told if `hloscope run` ended it.

## Why it matters
A hang leaves no message. Where it stood still, and what can be ruled out, is what decides where to
look next: the compiler, the devices or the host.

## How we know
A module without a text from after all optimizations was being compiled; of a lone text whose name
tells no stage nothing is ruled out. Else all that was dumped had been compiled, and the program
ran. A loop whose condition reads only what its body hands on
unchanged never ends once it is entered, nor does one whose condition is true for whatever an
iteration leaves behind; they are named first. Else its collectives may wait for each
other, and pairs of them that share devices and that nothing but the schedule orders are named. A
program without any collective cannot wait there; its loops that no number bounds are named with
what their conditions ask. The stacks that Python prints when the time is up
name the line where the main thread stood; where it waited in a library that is not JAX's, the host
is where to look.

## What to do
For a loop of unknown length, see that what its condition reads comes to end it. Where the log has
no stacks, get those of all processes while they hang. For a compile that hangs, leave the pass out
or compile a smaller program. For collectives, compare the dumps of all processes.

## Limits
Only what was dumped is looked at. A dump may have been packed while a compile was running that
would have ended. One schedule for all devices keeps unordered collectives in order, so a pair is
no proof.

## Sources
xla/service/dump.cc; xla/service/rendezvous.cc; cpython/Modules/faulthandler.c; jax-ml/jax#11637,
openxla/xla#19026.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from app import knowledge
from app.analysis.collective_order import find_unordered_collectives
from app.analysis.divergence import find_divergences
from app.analysis.endless_loops import EndlessLoop, endless_loops
from app.model.dump import ModuleHistory
from app.model.facts import Facts
from app.model.report import Culprit, Evidence, Finding, RuledOut, Workaround
from app.rules.cited import Named, cited
from app.rules.citing import dump_evidence, instruction_evidence, loop_culprit, place
from app.rules.frame import Rule
from app.rules.hung_compile import hung_in_compile
from app.rules.standing import Standing, Where, standing_of
from app.rules.unbounded_loops import (
    UnboundedLoop,
    conditions_in_words,
    loops_in_words,
    unbounded_loops,
)
from app.rules.unfinished import is_unfinished
from app.rules.wanted import dump_of_a_hang

_MOST_PAIRS = 2
_MOST_LOOPS = 3
_HUNG = "The run hung"
_HUNG_COMPILED = f"{_HUNG} when all of it had been compiled"
_ENDLESS = "loop without an end"
# Where no program of a device was being waited for, and what is said of it.
_ELSEWHERE: dict[str, str] = {
    "compile": "JAX was compiling",
    "trace": "JAX was tracing a function",
    "host": "the host waited in {}",
}
_NOT_IN_THE_COMPILER = RuledOut(
    hypothesis="it hung in the compiler", why="every module was compiled to its end"
)
_STACKS = Workaround(
    text="Get the stacks of all processes while they hang: py-spy dump --native --pid PID."
)


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for the run."""
    if not facts.hung:
        return
    standing = standing_of(facts)
    where = standing.where if standing is not None else "unknown"
    own = [history for history in facts.modules if history.role != "autotuning"]
    compiling = [history for history in own if is_unfinished(history)]
    if compiling:
        newest = max(compiling, key=lambda history: len(history.dumps))
        is_there = where in ("unknown", "compile")
        found = hung_in_compile(facts, newest, rule=RULE.code, stacks=_STACKS, in_it=is_there)
    elif own:
        endless = None if where in _ELSEWHERE else _endless(facts, own)
        found = endless or _while_running(facts, own, where)
    else:
        found = _without_dump(facts)
    yield found if standing is None else _with_stacks(found, standing)


def _with_stacks(found: Finding, standing: Standing) -> Finding:
    """The finding with what the threads of Python were at when the time was up."""
    at = f" at {standing.at}" if standing.at else ""
    if standing.where in _ELSEWHERE:
        what = _ELSEWHERE[standing.where].format(standing.waits_in)
        found = replace(
            found,
            confidence="likely",
            title=f"The run hung{at}: {what}",
            unknown=("what it waited for there",) if standing.where == "host" else (),
        )
        if standing.where == "compile":
            # What it compiled may have left no text yet.
            found = replace(found, ruled_out=())
    elif standing.where == "program" and any(c.role == _ENDLESS for c in found.culprits):
        found = replace(found, confidence="likely")
    elif found.title.startswith(_HUNG):
        found = replace(found, title=found.title.replace(_HUNG, f"{_HUNG}{at}", 1))
    # They stand in the log already.
    others = tuple(one for one in found.workarounds if one != _STACKS)
    is_named = any(culprit.instruction for culprit in found.culprits)
    both = (found.culprits, standing.culprits) if is_named else (standing.culprits, found.culprits)
    return replace(
        found,
        message=f"{standing.words} {found.message}",
        culprits=(*both[0], *both[1]),
        evidence=(*standing.evidence, *found.evidence),
        workarounds=others or found.workarounds,
    )


def _without_dump(facts: Facts) -> Finding:
    return Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="error",
        confidence="possible",
        title="The run hung, and there is no dump of what it compiled",
        message="Nothing was compiled before it hung, or the dump was not given. Processes "
        "that start together wait for each other before the first compile.",
        workarounds=(
            _STACKS,
            Workaround(text=dump_of_a_hang(facts)),
        ),
        unknown=("whether it hung before, in or after a compile",),
    )


def _endless(facts: Facts, own: list[ModuleHistory]) -> Finding | None:
    """The loops that are never left once they are entered, as one finding."""
    found: list[tuple[Culprit, tuple[Evidence, ...]]] = []
    why = ""
    for history in own:
        last = history.last
        tracked = {
            one.occurrences[last.index].name: one
            for one in facts.loops.get(history.id, ())
            if last.index in one.occurrences
        }
        loops = [one.occurrences[last.index] for one in tracked.values()]
        for one in endless_loops(last.module, loops):
            loop = one.loop
            why = why or _why_endless(one)
            culprit = loop_culprit(history, last, tracked[loop.name], role=_ENDLESS)
            at = instruction_evidence(last, loop.computation, loop.instruction)
            asked = instruction_evidence(last, loop.condition, loop.condition.root)
            found.append((culprit, (at, asked)))
    if not found:
        return None
    first = place(found[0][0])
    return Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="error",
        confidence="possible",
        title=f"Once entered, the loop {first} never ends",
        message=f"The condition of {first} {why} {_how_far(own)}",
        culprits=tuple(culprit for culprit, _ in found[:_MOST_LOOPS]),
        evidence=tuple(each for _, evidence in found[:_MOST_LOOPS] for each in evidence),
        workarounds=(
            Workaround(text="Make the body change what the condition reads."),
            _STACKS,
        ),
        ruled_out=() if _unstaged(own) else (_NOT_IN_THE_COMPILER,),
        unknown=("whether the loop was entered: its first value is not always in the text",),
    )


def _why_endless(one: EndlessLoop) -> str:
    numbers = ", ".join(map(str, one.read))
    if not one.read:
        return "is true whatever happens."
    if one.is_true:
        return f"is true for what each iteration of its body leaves in element {numbers}."
    return (
        f"reads only what its body hands on unchanged (carried element {numbers}): it answers "
        "every time as it did the first time."
    )


def _while_running(facts: Facts, own: list[ModuleHistory], where: Where) -> Finding:
    compiled = _HUNG if _unstaged(own) else _HUNG_COMPILED
    count = sum(len(facts.collectives.get(history.id, ())) for history in own)
    loops: tuple[UnboundedLoop, ...] = ()
    if where in _ELSEWHERE:
        title, waits = compiled, ""
    elif count:
        title = f"{compiled}: its collectives may be waiting"
        waits = (
            f"It has {count} collective{'s' if count > 1 else ''}; a device that does not come to "
            "one of them keeps all others waiting."
        )
    else:
        loops = unbounded_loops(facts, own)
        title = _title_without_collectives(loops, where, _unstaged(own))
        waits = _words_without_collectives(loops, where, _unstaged(own))
    pairs = [] if where in _ELSEWHERE else list(_pairs(facts, own))
    named = [
        *(one for pair in pairs for one in pair),
        *(one for each in loops for one in (each.loop, each.condition)),
    ]
    ordered = " ".join(
        f"Nothing but the schedule orders {place(first.culprit)} and {place(second.culprit)}, "
        "which share devices."
        for first, second in pairs
    )
    return Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="error",
        confidence="possible",
        title=title,
        message=" ".join(filter(None, (_how_far(own), waits, ordered))),
        culprits=tuple(one.culprit for one in named),
        evidence=tuple(_evidence(own, named)),
        workarounds=tuple(_workarounds(loops, where, has_collectives=count > 0)),
        ruled_out=tuple(_ruled_out(own, count)),
        unknown=(
            *(("whether it hung in the compiler",) if _unstaged(own) else ()),
            "what the host did: input, checkpoints and other processes are in no dump",
        ),
        # Both threads are of collectives that wait for each other.
        upstream=knowledge.upstream("jax-ml/jax#11637", "openxla/xla#19026") if count else (),
    )


def _title_without_collectives(
    loops: Sequence[UnboundedLoop], where: Where, unstaged: Sequence[ModuleHistory]
) -> str:
    compiled = _HUNG if unstaged else _HUNG_COMPILED
    if not loops and unstaged:
        return f"{compiled}: look at the host, and at what became of {unstaged[0].name}"
    if not loops:
        return f"{compiled}, and it has no collectives"
    if where == "program":
        return f"{compiled}: {loops_in_words(loops)}, may never end"
    return f"{compiled}: look at the host and at {loops_in_words(loops)}"


def _words_without_collectives(
    loops: Sequence[UnboundedLoop], where: Where, unstaged: Sequence[ModuleHistory]
) -> str:
    look_at = [loops_in_words(loops)] if loops else []
    if where == "program":
        look_at = look_at or ["callbacks"]
    else:
        look_at.insert(0, "the host")
    waits = "" if unstaged else "No device waits for another one in these programs: "
    words = f"{waits}look first at {' and at '.join(look_at)}."
    words = words[0].upper() + words[1:]
    return " ".join(filter(None, (words, conditions_in_words(loops))))


def _pairs(facts: Facts, own: list[ModuleHistory]) -> Iterator[tuple[Named, Named]]:
    left = _MOST_PAIRS
    for history in own:
        dump = history.last
        for found in find_unordered_collectives(dump.module):
            computation = dump.module.get(found.computation)
            for pair in found.pairs:
                first, second = (
                    None if computation is None else computation.get(name)
                    for name in (pair.first, pair.second)
                )
                if computation is None or first is None or second is None:
                    continue
                if not left:
                    return
                left -= 1
                yield (
                    cited(facts, history, dump, computation, first, role="one of two unordered"),
                    cited(facts, history, dump, computation, second, role="the other of the two"),
                )


def _evidence(own: list[ModuleHistory], named: list[Named]) -> Iterator[Evidence]:
    yield from (one.evidence for one in named if one.evidence is not None)
    for history in own[:_MOST_PAIRS]:
        words = "the text after all optimizations is there" if history.complete else "a lone text"
        yield dump_evidence(history.last, words)


def _unstaged(own: list[ModuleHistory]) -> list[ModuleHistory]:
    """Modules of which no text tells whether they were compiled to their end."""
    return [history for history in own if not history.complete]


def _how_far(own: list[ModuleHistory]) -> str:
    if unstaged := _unstaged(own):
        names = ", ".join(history.name for history in unstaged[:_MOST_LOOPS])
        return f"How far the compile of {names} had come is not known: no text of it says so."
    return "All that was dumped had been compiled to its end."


def _ruled_out(own: list[ModuleHistory], count: int) -> Iterator[RuledOut]:
    if _unstaged(own):
        # Later passes make collectives, and branches around them.
        return
    yield _NOT_IN_THE_COMPILER
    if not count:
        yield RuledOut(hypothesis="devices wait for each other", why="there is no collective")
    elif not any(find_divergences(history) for history in own if history.role == "user"):
        yield RuledOut(
            hypothesis="only some devices come to a collective",
            why="no collective stands under a branch or in a loop that devices leave differently",
        )


def _workarounds(
    loops: Sequence[UnboundedLoop], where: Where, *, has_collectives: bool
) -> Iterator[Workaround]:
    if loops:
        yield Workaround(
            text="See that what the condition of the loop reads comes to end it: print it in the "
            "body (jax.debug.print), or let the condition count iterations and stop at a number."
        )
    yield _STACKS
    if has_collectives:
        yield Workaround(
            text="Compare the dumps of all processes (hloscope compare): a process that runs "
            "another program never comes to the same collectives."
        )
        yield Workaround(text="Set NCCL_DEBUG=INFO and see which rank begins no collective.")
    elif not (loops and where == "program"):
        yield Workaround(text="Look at what feeds the program: input pipeline, locks, callbacks.")


RULE = Rule(
    code="HNG003",
    slug="hung",
    title="The run hung, and no line of its log says why",
    class_="hang-rendezvous",
    since="0.1.0",
    sources=("xla/service/dump.cc", "xla/service/rendezvous.cc", "jax-ml/jax#11637"),
    check=check,
    fallback=True,
)
