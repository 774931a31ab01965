"""Carried tuples of every dump at hand, held against trip counts and each other."""

from collections import Counter
from collections.abc import Iterator

import pytest

from app.analysis.carry import describe_carry
from app.analysis.loops import find_loops
from app.model.facts import WhileLoop
from app.model.report import CarriedElement
from shared.final_texts import NAMES, final_contents


def loops_of(name: str) -> Iterator[tuple[WhileLoop, tuple[CarriedElement, ...]]]:
    """The loops of the last text of each module that is not a fragment of an autotuner."""
    for history in final_contents(name).modules:
        if history.role != "autotuning":
            module = history.last.module
            for loop in find_loops(module):
                yield loop, describe_carry(module, loop)


@pytest.mark.parametrize("name", NAMES)
def test_every_element_is_described_and_fits_its_loop(name: str) -> None:
    for loop, elements in loops_of(name):
        assert [element.index for element in elements] == list(range(loop.carry))
        for element in elements:
            if element.kind == "invariant":
                assert element.instruction is None
            else:
                assert loop.body.get(element.instruction or "") is not None
            if element.index in loop.invariant:
                assert element.kind in ("invariant", "stacked_input")
            else:
                assert element.kind != "stacked_input" or element.slices is not None
            # An iteration takes at least one slice; bodies that were doubled or peeled take more.
            if element.slices is not None and loop.trip_count is not None:
                assert element.slices >= loop.trip_count
        if loop.induction is not None:
            assert elements[loop.induction.index].kind == "counter"


# What the programs do: scans that save residuals, sums of gradients, weights gathered ahead.
# Per loop the number of stacked outputs, accumulators and double buffers.
TRUTH = {
    "gpt_dp_tp__jax0.10.2": [(4, 0, 0), (8, 0, 0)],
    "own_fsdp_plain__jax0.10.2": [(0, 4, 0), (1, 0, 0), (4, 0, 0)],
    "own_ring_p2p__jax0.10.2": [(1, 0, 1)],
    "decode_kv_cache__jax0.12.0": [(1, 1, 0), (2, 0, 0)],
    "moe_all_to_all__jax0.10.2": [(23, 0, 0), (3, 0, 0)],
    "tpu_gpt_dp_tp__jax0.12.0.1": [(6, 0, 0), (10, 0, 0)],
    "pmap_2023__cpu_jax0.4.13": [(1, 0, 0), (3, 0, 0), (1, 0, 0)],
    # Two loops of the first scan gather two weights ahead, in each of three places.
    "s000_fsdp_gradacc__jax0.5.3": [(0, 4, 3), *4 * [(1, 0, 2)], *4 * [(2, 0, 2)]],
}


@pytest.mark.parametrize("name", sorted(TRUTH))
def test_the_loops_of_programs_that_are_known(name: str) -> None:
    found: list[tuple[int, int, int]] = []
    for _, elements in loops_of(name):
        kinds = Counter(element.kind for element in elements)
        found.append((kinds["stacked_output"], kinds["accumulator"], kinds["double_buffer"]))
    assert sorted(found) == sorted(TRUTH[name])
