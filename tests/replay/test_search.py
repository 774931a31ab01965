"""Delta debugging finds a minimal part, whatever the order, and says when it was stopped."""

from hypothesis import given
from hypothesis import strategies as st

from app.replay.search import OutOfBudget, minimize


@given(st.sets(st.integers(0, 30)), st.integers(0, 40))
def test_exactly_the_needed_items_stay(needed: set[int], size: int) -> None:
    items = range(max(size, 31))
    found = minimize(items, lambda part: needed <= set(part))
    assert found.is_minimal
    assert found.items == tuple(sorted(needed))


def test_either_of_two_is_enough() -> None:
    found = minimize(range(8), lambda part: 2 in part or 7 in part)
    assert found.is_minimal
    assert found.items in ((2,), (7,))


def test_no_single_item_can_be_left_out() -> None:
    def is_odd_and_large(part: tuple[int, ...]) -> bool:
        return len(part) >= 3 and sum(part) >= 12

    found = minimize(range(9), is_odd_and_large)
    assert is_odd_and_large(found.items)
    for left_out in found.items:
        assert not is_odd_and_large(tuple(i for i in found.items if i != left_out))


def test_a_budget_that_ends_leaves_the_smallest_so_far() -> None:
    asked: list[tuple[int, ...]] = []

    def holds(part: tuple[int, ...]) -> bool:
        if len(asked) == 3:
            raise OutOfBudget
        asked.append(part)
        return 5 in part

    found = minimize(range(16), holds)
    assert not found.is_minimal
    assert 5 in found.items
    assert len(found.items) < 16
