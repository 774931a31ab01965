"""Small HLO texts with loops, put together by the tests."""

import re

from analysis.histories import history_of
from app.analysis.loop_history import follow_loops
from app.analysis.loops import find_loops
from app.model.dump import DumpName, ModuleHistory, PassDump
from app.model.facts import LoopHistory, WhileLoop
from hlo_parser import parse_module

CARRY = "(s32[], f32[8], f32[8])"


def module(*computations: str) -> str:
    """A module of these computations; one of them says ENTRY."""
    return "HloModule m\n\n" + "\n\n".join(computations) + "\n"


def computation(name: str, *lines: str) -> str:
    return f"{name} {{\n" + "".join(f"  {line}\n" for line in lines) + "}"


def body(name: str = "body", *work: str, out: str = "x", step: int = 1) -> str:
    """A body that counts in element 0, makes `out` of element 1 (x) and hands on element 2 (w)."""
    return computation(
        name,
        f"p = {CARRY} parameter(0)",
        "i = s32[] get-tuple-element(p), index=0",
        "x = f32[8] get-tuple-element(p), index=1",
        "w = f32[8] get-tuple-element(p), index=2",
        f"step = s32[] constant({step})",
        "next = s32[] add(i, step)",
        *work,
        f"ROOT t = {CARRY} tuple(next, {out}, w)",
    )


def condition(
    name: str = "condition", bound: int = 4, direction: str = "LT", carry: str = CARRY
) -> str:
    return computation(
        name,
        f"p = {carry} parameter(0)",
        "i = s32[] get-tuple-element(p), index=0",
        f"bound = s32[] constant({bound})",
        f"ROOT less = pred[] compare(i, bound), direction={direction}",
    )


def entry(*lines: str, loop: str = "loop", init: int = 0, calls: str = "", more: str = "") -> str:
    """An entry with one loop over `body` and `condition`; `lines` follow it."""
    calls = calls or "condition=condition, body=body"
    return computation(
        "ENTRY main",
        "x = f32[8] parameter(0)",
        "w = f32[8] parameter(1)",
        f"start = s32[] constant({init})",
        f"init = {CARRY} tuple(start, x, w)",
        f"{loop} = {CARRY} while(init), {calls}{more}",
        *(lines or (f"ROOT out = f32[8] get-tuple-element({loop}), index=1",)),
    )


def loops_of(text: str) -> dict[str, WhileLoop]:
    """The loops of a text by name, in order."""
    return {loop.name: loop for loop in find_loops(parse_module(text))}


WORK = (
    "y = f32[8] multiply(x, w)",
    "z = f32[8] exponential(y)",
    "v = f32[8] subtract(z, x)",
)
PLAIN = module(body("body", *WORK, out="v"), condition(), entry())


def follow(*texts: str, passes: tuple[str, ...] = ()) -> dict[str, LoopHistory]:
    """Loops by the name they begin with; text N was made by `passes[N]`."""
    history = history_of(*texts)
    if passes:
        history = named(history, *passes)
    loops = follow_loops(history)
    return {loop.occurrences[loop.first_dump].name: loop for loop in loops}


def named(history: ModuleHistory, *passes: str, step: int = 1) -> ModuleHistory:
    dumps = tuple(
        PassDump(
            dump.index,
            DumpName(file=dump.file, kind="pass", step=n * step, pipeline="p", after=after),
            dump.module,
            dump.byte_size,
        )
        for n, (dump, after) in enumerate(zip(history.dumps, passes, strict=True))
    )
    return ModuleHistory(history.id, history.name, history.role, dumps, history.complete)


def told(loop: LoopHistory, dump: int = 1) -> dict[str, str]:
    """What happened to the loop at a text, with the detail."""
    return {event.kind: event.detail for event in loop.events if event.dump == dump}


def repeated(times: int) -> list[str]:
    """The work of several iterations; results of the last are `y`, `z` and `v` with its number."""
    return [re.sub(r"\b([yzv])\b", rf"\g<1>{n}", line) for n in range(times) for line in WORK]


DOUBLED = (
    *WORK,
    "y2 = f32[8] multiply(v, w)",
    "z2 = f32[8] exponential(y2)",
    "v2 = f32[8] subtract(z2, v)",
)
PEELED = (
    "y = f32[8] multiply(x, w)",
    "z = f32[8] exponential(y)",
    "v = f32[8] subtract(z, x)",
    "ROOT out = f32[8] get-tuple-element(loop), index=1",
)
