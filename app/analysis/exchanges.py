"""Pairs that were dealt out wrongly among equals, set right by what uses them.

Twins that swapped names look changed where they are used. Two instructions that are equal in
themselves exchange their counterparts where more operands and users agree afterwards.
"""

from app.analysis.matcher import Matcher

# Users looked at to weigh a pair; twins with more are left as they are.
_MOST_USERS = 64
_ROUNDS = 4


def exchange(matcher: Matcher) -> None:
    """Exchange counterparts among equals as long as more agrees after it than before."""
    suspects = [(i, j) for i, j in matcher.partner.items() if not _is_same(matcher, i, j)]
    for _ in range(_ROUNDS):
        again: list[tuple[int, int]] = []
        for i, _ in suspects:
            j = matcher.partner.get(i)
            if j is not None and _exchange_operands(matcher, i, j):
                again.append((i, j))
        if not again:
            return
        suspects = again


def _is_same(matcher: Matcher, i: int, j: int) -> bool:
    here, there = matcher.before.instructions[i], matcher.after.instructions[j]
    return matcher.names_agree and here is there


def _exchange_operands(matcher: Matcher, i: int, j: int) -> bool:
    """Whether an operand of `i` got the operand of `j` for its counterpart."""
    here, there = matcher.before.sources(i), matcher.after.sources(j)
    if len(here) != len(there):
        return False
    done = False
    for (operand, _), (other, _) in zip(here, there, strict=True):
        if operand >= 0 <= other and matcher.partner.get(operand) not in {None, other}:
            done |= _try(matcher, operand, other)
    return done


def _try(matcher: Matcher, left: int, right: int) -> bool:
    """Pair `left` with `right` if they are equals and more agrees then."""
    old_right, old_left = matcher.partner[left], matcher.back.get(right)
    if not matcher.are_equal(left, right) or old_left is None:
        return False
    if not matcher.are_equal(old_left, old_right):
        return False
    now = _agreeing(matcher, left, old_right) + _agreeing(matcher, old_left, right)
    matcher.exchange(left, old_left)
    if _agreeing(matcher, left, right) + _agreeing(matcher, old_left, old_right) > now:
        return True
    matcher.exchange(left, old_left)
    return False


def _agreeing(matcher: Matcher, i: int, j: int) -> int:
    """How many operands and users of a pair are paired with each other."""
    partner = matcher.partner
    count = sum(
        partner.get(operand) == other
        for (operand, _), (other, _) in zip(
            matcher.before.sources(i), matcher.after.sources(j), strict=False
        )
    )
    users = matcher.before.users(i)
    if len(users) > _MOST_USERS:
        return count
    uses = set(matcher.after.users(j))
    return count + sum((partner.get(user, -1), number) in uses for user, number in users)
