"""The busiest position and the curve: by hand, and against counting bytes at every position."""

from hypothesis import given
from hypothesis import strategies as st

from app.analysis.occupancy import Level, Stay, busiest, highest_in_stretches, levels_of


def test_bytes_held_twice_count_once() -> None:
    assert busiest(
        levels_of([Stay(0, 4, 0, 100), Stay(2, 3, 50, 120), Stay(5, 9, 0, 119)])
    ) == Level(2, 120)


def test_what_ends_and_what_starts_at_one_position_are_both_there() -> None:
    assert busiest(levels_of([Stay(0, 3, 0, 10), Stay(3, 5, 10, 20)])) == Level(3, 20)
    assert busiest(levels_of([Stay(0, 2, 0, 10), Stay(3, 5, 10, 21)])) == Level(3, 11)


def test_the_first_of_equally_busy_positions_is_told() -> None:
    assert busiest(levels_of([Stay(7, 8, 0, 10), Stay(2, 3, 0, 10)])) == Level(2, 10)


def test_nothing_held() -> None:
    assert busiest(levels_of([])) is None
    assert busiest(levels_of([Stay(0, 5, 8, 8), Stay(5, 4, 0, 8)])) is None


SPANS = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted)
STAYS = st.builds(lambda t, b: Stay(t[0], t[1], b[0], b[1]), SPANS, SPANS)


@given(st.lists(STAYS, max_size=12))
def test_every_byte_is_counted_once(stays: list[Stay]) -> None:
    held = [
        len({b for s in stays if s.start <= position <= s.end for b in range(s.low, s.high)})
        for position in range(13)
    ]
    most = max(held)
    assert busiest(levels_of(stays)) == (Level(held.index(most), most) if most else None)


def test_a_stretch_tells_its_first_highest_position() -> None:
    stays = [Stay(0, 9, 0, 5), Stay(3, 3, 5, 25), Stay(6, 7, 5, 10)]
    assert highest_in_stretches(levels_of(stays), 10, 4) == (
        Level(3, 25),
        Level(6, 10),
        Level(8, 5),
    )
    assert highest_in_stretches(levels_of([]), 5, 4) == (Level(0, 0), Level(4, 0))


@given(st.lists(STAYS, max_size=12), st.integers(1, 14))
def test_a_curve_holds_the_highest_of_each_stretch(stays: list[Stay], step: int) -> None:
    held = [
        len({b for s in stays if s.start <= position <= s.end for b in range(s.low, s.high)})
        for position in range(13)
    ]
    found = highest_in_stretches(levels_of(stays), 13, step)
    assert [level.bytes for level in found] == [
        max(held[start : start + step]) for start in range(0, 13, step)
    ]
    assert all(held[level.position] == level.bytes for level in found)
