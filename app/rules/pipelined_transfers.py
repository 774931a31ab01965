"""The loops whose transfers between peers were to be pipelined, and the call that this dies at.

For the rules that speak of such a failure: what they name of the newest text of the module that
died, and why. What the rewriter cannot go through is found by `app/analysis/class_suspects.py`.
"""

from collections.abc import Iterator
from itertools import islice

from app.analysis.class_suspects import calls_without_collectives
from app.analysis.opcodes import collective_opcode
from app.model.facts import Facts
from app.rules.cited import Named, loop_suspects, suspects
from app.rules.citing import place
from hlo_parser import Computation, Instruction

_RUNS = frozenset({"call", "conditional"})
_PEERS = frozenset({"collective-permute", "send", "recv"})
_MET = "calls a computation without a collective, at which the check fails"


def loops_with_transfers(facts: Facts) -> tuple[Named, ...]:
    """The loop around the call that the rewriter dies at, the other loops, then that call.

    A call that no such loop is around comes first. Only the loops where the newest text of the
    module that died holds no such call.
    """

    def transfers(body: Computation) -> bool:
        return any(collective_opcode(i) in _PEERS for i in run_by(facts, body))

    loops = loop_suspects(facts, transfers)
    met = suspects(facts, lambda module: islice(calls_without_collectives(module), 1), role=_MET)
    if not met:
        return loops
    at = met[0].culprit.instruction
    around = loop_suspects(
        facts, lambda body: transfers(body) and any(i.name == at for i in run_by(facts, body))
    )
    known = {loop.culprit.instruction for loop in around}
    others = (loop for loop in loops if loop.culprit.instruction not in known)
    return (*around, *others, *met) if around else (*met, *loops)


def run_by(facts: Facts, body: Computation) -> Iterator[Instruction]:
    """What a body runs itself and by calls and branches; early texts have those all over.

    What an inner loop runs is that loop's.
    """
    module = facts.failing.last.module if facts.failing is not None else None
    reached, seen = [body], {body.name}
    for computation in reached:
        for instruction in computation.instructions:
            yield instruction
            if module is not None and instruction.opcode in _RUNS:
                for _, callee in module.callees(instruction):
                    if callee.name not in seen:
                        seen.add(callee.name)
                        reached.append(callee)


def why_there(_: Facts, culprits: tuple[Named, ...]) -> tuple[str, ...]:
    """Why that call is named, as sentences; none where it is not."""
    met = next((found.culprit for found in culprits if found.culprit.role == _MET), None)
    if met is None:
        return ()
    return (
        f"The check fails at the first instruction, in the order of the schedule, that calls a "
        f"computation without any collective; in the newest text that is {place(met)}.",
    )
