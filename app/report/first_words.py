"""What can be said of a dump before its analysis is over, a sentence each.

Takes what was read, and then what was found out so far; claims nothing that the report may take
back.
"""

from app.model.dump import DumpContents, LogFacts
from app.model.facts import Facts
from app.report.wording import counted, shortened, visible

_MOST_MODULES = 2
_MOST_CHARACTERS = 160


def words_of_input(contents: DumpContents | None, log: LogFacts) -> tuple[str, ...]:
    """The program's own modules, and the first failure that the log states."""
    words: list[str] = []
    own = [m for m in contents.modules if m.role == "user"] if contents is not None else []
    for history in own[:_MOST_MODULES]:
        last = sum(len(c.instructions) for c in history.last.module.computations)
        texts = counted(len(history.dumps), "text")
        words.append(f"{history.name}: {texts}, {last:,} instructions in the last")
    if len(own) > _MOST_MODULES:
        words.append(f"and {counted(len(own) - _MOST_MODULES, 'more module')} of the program")
    for failure in log.failures[:1]:
        words.append(f"The log says: {failure.text.splitlines()[0] if failure.text else ''}")
    return tuple(shortened(visible(each), _MOST_CHARACTERS) for each in words)


def words_of_facts(facts: Facts) -> tuple[str, ...]:
    """Loops and collectives of the program's modules, and where the compiler died."""
    words: list[str] = []
    loops = sum(len(found) for found in facts.loops.values())
    collectives = sum(len(found) for found in facts.collectives.values())
    if loops or collectives:
        words.append(f"{counted(loops, 'loop')} and {counted(collectives, 'collective')} followed")
    if facts.failure is not None and facts.failure.pass_:
        words.append(f"It died in {facts.failure.pass_}")
    return tuple(shortened(visible(each), _MOST_CHARACTERS) for each in words)
