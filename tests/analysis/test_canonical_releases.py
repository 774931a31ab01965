"""One module as two releases print it has one digest; what only looks alike has not.

The two texts were printed from one module by jaxlib 0.4.30 and 0.12.0.
"""

import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from app.analysis.canonical import Canonicalizer, module_digest
from app.analysis.canonical_difference import first_difference
from app.analysis.canonical_sharding import MOST_DEVICES, closed, sharding_meaning, shardy_meaning
from app.ingest import load_dump
from app.settings import Settings
from hlo_parser import parse_module, print_module
from samples import load_sample

BY_0_4_30 = """\
HloModule jit_step, entry_computation_layout={(bf16[16,32]{1,0}, bf16[32,64]{1,0},\
 f32[8]{0})->(bf16[16,64]{1,0}, f32[8]{0}, f32[2]{0})}, num_partitions=4

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(f32[] %a, f32[] %b)
}

ENTRY %main (x: bf16[16,32], y: bf16[32,64], z: f32[8]) -> (bf16[16,64], f32[8], f32[2]) {
  %x = bf16[16,32]{1,0} parameter(0), sharding={devices=[4,1]<=[4]},\
 metadata={op_name="x" source_file="/a/b.py" source_line=3}
  %y = bf16[32,64]{1,0} parameter(1), sharding={replicated}
  %gemm = (bf16[16,64]{1,0}, s8[1024]{0}) custom-call(bf16[16,32]{1,0} %x, bf16[32,64]{1,\
0} %y), custom_call_target="__cublas$gemm", backend_config={"operation_queue_id":"0",\
"wait_on_operation_queues":[],"gemm_backend_config":{"alpha_real":1,"alpha_imag":0,"beta":0,\
"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],\
"rhs_contracting_dimensions":["0"],"lhs_batch_dimensions":[],"rhs_batch_dimensions":[]},\
"epilogue":"DEFAULT"},"force_earliest_schedule":false}
  %out = bf16[16,64]{1,0} get-tuple-element((bf16[16,64]{1,0}, s8[1024]{0}) %gemm), index=0
  %z = f32[8]{0} parameter(2)
  %start = f32[8]{0} all-reduce-start(f32[8]{0} %z), channel_id=1, replica_groups={{0,1},{2,\
3}}, use_global_device_ids=true, to_apply=%add, backend_config={"operation_queue_id":"0",\
"wait_on_operation_queues":[],"collective_backend_config":{"is_sync":false,\
"no_parallel_custom_call":false},"force_earliest_schedule":false}
  %done = f32[8]{0} all-reduce-done(f32[8]{0} %start)
  %all = (f32[2]{0}, f32[2]{0}, f32[2]{0}, f32[2]{0}, f32[2]{0},\
 /*index=5*/f32[2]{0}) custom-call(f32[8]{0} %z), custom_call_target="k",\
 api_version=API_VERSION_STATUS_RETURNING
  %sixth = f32[2]{0} get-tuple-element((f32[2]{0}, f32[2]{0}, f32[2]{0}, f32[2]{0}, f32[2]{0},\
 /*index=5*/f32[2]{0}) %all), index=5
  ROOT %result = (bf16[16,64]{1,0}, f32[8]{0}, f32[2]{0}) tuple(bf16[16,64]{1,0} %out,\
 f32[8]{0} %done, f32[2]{0} %sixth)
}
"""
BY_0_12_0 = """\
HloModule jit_step, entry_computation_layout={(bf16[16,32]{1,0}, bf16[32,64]{1,0},\
 f32[8]{0})->(bf16[16,64]{1,0}, f32[8]{0}, f32[2]{0})}, num_partitions=4

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}

ENTRY %main (x: bf16[16,32], y: bf16[32,64], z: f32[8]) -> (bf16[16,64], f32[8], f32[2]) {
  %x = bf16[16,32]{1,0} parameter(0), sharding={devices=[4,1]<=[4]},\
 metadata={op_name="x" source_file="/a/b.py" source_line=3}
  %y = bf16[32,64]{1,0} parameter(1), sharding={replicated}
  %gemm = (bf16[16,64]{1,0}, s8[1024]{0}) custom-call(%x, %y),\
 custom_call_target="__cublas$gemm", backend_config={"operation_queue_id":"0",\
"gemm_backend_config":{"alpha_real":1,"alpha_imag":0,"beta":0,\
"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],\
"rhs_contracting_dimensions":["0"],"lhs_batch_dimensions":[],"rhs_batch_dimensions":[]},\
"epilogue":"DEFAULT"},"force_earliest_schedule":false}
  %out = bf16[16,64]{1,0} get-tuple-element(%gemm), index=0
  %z = f32[8]{0} parameter(2)
  %start = f32[8]{0} all-reduce-start(%z), channel_id=1, replica_groups={{0,1},{2,3}},\
 use_global_device_ids=true, to_apply=%add, backend_config={"operation_queue_id":"0",\
"collective_backend_config":{"is_sync":false,"no_parallel_custom_call":false},\
"force_earliest_schedule":false}
  %done = f32[8]{0} all-reduce-done(%start)
  %all = (f32[2]{0}, f32[2]{0}, f32[2]{0}, f32[2]{0}, f32[2]{0},\
 /*index=5*/f32[2]{0}) custom-call(%z), custom_call_target="k",\
 api_version=API_VERSION_STATUS_RETURNING
  %sixth = f32[2]{0} get-tuple-element(%all), index=5
  ROOT %result = (bf16[16,64]{1,0}, f32[8]{0}, f32[2]{0}) tuple(%out, %done, %sixth)
}
"""


def digest(text: str) -> str:
    module = parse_module(text)
    assert not module.unparsed
    return module_digest(module)


def what_differs(before: str, after: str) -> tuple[str, ...]:
    canonicalizer = Canonicalizer()
    found = first_difference(
        canonicalizer.of_module(parse_module(before)), canonicalizer.of_module(parse_module(after))
    )
    assert found is not None
    return found.what


def test_two_releases_print_one_module() -> None:
    assert BY_0_4_30 != BY_0_12_0
    assert digest(BY_0_4_30) == digest(BY_0_12_0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"is_sync":false,', ""),
        ('"is_sync":false', '"is_sync":false,"is_pipelined":false'),
        ('"epilogue":"DEFAULT"', '"grad_x":false'),
        ("{devices=[4,1]<=[4]}", "{devices=[4,1]0,1,2,3}"),
        ("{devices=[4,1]<=[4]}", "{mesh['i'=4], [{'i'}, {}]}"),
        ("sharding={replicated}", "sharding={mesh['i'=4], replicated}"),
        ("sharding={replicated}", "sharding={mesh['i'=4], [{}, {}]}"),
    ],
)
def test_spellings_make_no_difference(old: str, new: str) -> None:
    assert old in BY_0_12_0
    assert digest(BY_0_12_0.replace(old, new)) == digest(BY_0_4_30)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('"is_sync":false', '"is_sync":true', "backend_config"),
        ('"beta":0', '"beta":1', "backend_config"),
        ('"epilogue":"DEFAULT"', '"selected_algorithm":"0"', "backend_config"),
        ("{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}", "sharding"),
        ("{devices=[4,1]<=[4]}", "{devices=[4,1]0,2,1,3}", "sharding"),
        ("{devices=[4,1]<=[4]}", "{mesh['i'=4], [{'i', ?}, {}]}", "sharding"),
        ("{devices=[4,1]<=[4]}", "{mesh['i'=4], device_ids=(0,2,1,3), [{'i'}, {}]}", "sharding"),
    ],
)
def test_what_is_meant_makes_one(old: str, new: str, what: str) -> None:
    assert old in BY_0_12_0
    changed = BY_0_12_0.replace(old, new)
    assert digest(changed) != digest(BY_0_12_0)
    assert what_differs(BY_0_12_0, changed) == (what,)


def test_the_config_of_somebodys_call_counts_as_it_stands() -> None:
    plain = BY_0_12_0.replace('target="k"', 'target="k", backend_config={"a":false}')
    assert digest(plain) != digest(plain.replace('"a":false', ""))


def test_the_same_number_of_devices_unstated_is_another_thing() -> None:
    """One reader for both texts, as for two dumps: what the first said must not count for it."""
    canonicalizer = Canonicalizer()
    stated, silent = BY_0_12_0, BY_0_12_0.replace(", num_partitions=4", "")
    alone = [digest(text) for text in (stated, silent)]
    for texts, expected in (((stated, silent), alone), ((silent, stated), alone[::-1])):
        found = [canonicalizer.of_module(parse_module(text)).text for text in texts]
        assert found == expected
    one = silent.replace("entry_computation_layout", "num_partitions=1, entry_computation_layout")
    canonicalizer = Canonicalizer()
    found = [canonicalizer.of_module(parse_module(text)).text for text in (silent, one)]
    assert found == [digest(silent), digest(one)]


def test_a_use_above_its_operand_is_found() -> None:
    """As 0.4.30 prints collectives of one channel."""
    lines = BY_0_12_0.splitlines()
    at = next(k for k, line in enumerate(lines) if "%out =" in line)
    gemm = next(k for k, line in enumerate(lines) if "%gemm =" in line)
    lines[at], lines[gemm] = lines[gemm], lines[at]
    assert digest("\n".join(lines)) == digest(BY_0_12_0)


SHARDY = """\
HloModule m, entry_computation_layout={(f32[8,4]{1,0})->f32[8,4]{1,0}}, num_partitions=4, \
frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["i"=4]>}}

ENTRY main {
  x = f32[8,4]{1,0} parameter(0), sharding={devices=[4,1]<=[4]}, \
frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\\"i\\"}, {}]>",k="v"}
  ROOT y = f32[8,4]{1,0} custom-call(x), custom_call_target="Sharding", \
sharding={devices=[1,4]<=[4]}, \
frontend_attributes={xla.sdy.sharding="#sdy.sharding_per_value<[<@mesh, [{}, {\\"i\\"}]>]>"}
}
"""
NAMED = """\
HloModule m, entry_computation_layout={(f32[8,4]{1,0})->f32[8,4]{1,0}}, num_partitions=4

ENTRY main {
  x = f32[8,4]{1,0} parameter(0), sharding={mesh['i'=4], [{'i'}, {}]}, frontend_attributes={k="v"}
  ROOT y = f32[8,4]{1,0} custom-call(x), custom_call_target="Sharding", \
sharding={mesh['i'=4], [{}, {'i'}]}
}
"""


def test_what_shardy_says_twice_counts_once() -> None:
    assert digest(SHARDY) == digest(NAMED)
    for old, new in (
        ('[{\\"i\\"}, {}]', '[{\\"i\\", ?}, {}]'),
        ('[{\\"i\\"}, {}]', '[{\\"i\\"}p1, {}]'),
        ('[{\\"i\\"}, {}]', '[{}, {\\"i\\"}]'),
        ("@mesh, [{}", "@other, [{}"),
        ('k="v"', 'k="w"'),
    ):
        assert old in SHARDY
        assert digest(SHARDY.replace(old, new)) != digest(NAMED), new


def test_a_mesh_counts_where_its_name_is_used() -> None:
    manual = SHARDY.replace('k="v"', 'm="#sdy.sharding_per_value<[<@mesh, [{}]>]>"')
    other = manual.replace('#sdy.mesh<["i"=4]>', '#sdy.mesh<["j"=2, "i"=4]>')
    assert digest(manual) != digest(other)


@pytest.mark.parametrize(
    ("tiles", "mesh"),
    [
        ("{devices=[2,1,4]<=[8] last_tile_dim_replicate}", "{mesh['x'=2,'y'=4], [{'x'}, {}]}"),
        (
            "{devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}",
            "{mesh['x'=8], [{'x':(1)2}, {}]}",
        ),
        ("{devices=[4,2]<=[2,4]T(1,0)}", "{mesh['x'=2,'y'=4], [{'y'}, {'x'}]}"),
        ("{devices=[4,2]<=[2,4]T(1,0) last_tile_dim_replicate}", "{mesh['x'=8], [{'x':(2)4}]}"),
        ("{devices=[8,1]<=[8]}", "{mesh['x'=2,'y'=4], [{'x', 'y'}, {}]}"),
        (
            "{devices=[2,4]<=[8] last_tile_dims={manual}}",
            "{mesh['x'=2,'y'=4], [{'x'}], manual={'y'}}",
        ),
        (
            "{devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}",
            "{mesh['x'=2,'y'=2,'z'=2], [{'x'}], manual={'y'}}",
        ),
        ("{devices=[2,2]0,2,1,3}", "{mesh['a'=2,'b'=2], device_ids=([2,2]T(1,0)), [{'a'}, {'b'}]}"),
        ("{manual}", "{mesh['i'=4], manual}"),
        ("{manual}", "{mesh['i'=4], [{}], manual={'i'}}"),
        ("{replicated}", "{mesh[], []}"),
        ("{{replicated}, {devices=[4]<=[4]}}", "{{mesh['i'=4], []}, {mesh['i'=4], [{'i'}]}}"),
    ],
)  # fmt: skip
def test_tiles_and_axes_mean_the_same(tiles: str, mesh: str) -> None:
    assert sharding_meaning(tiles) == sharding_meaning(mesh) != mesh


@pytest.mark.parametrize(
    "text",
    [
        "{mesh['i'=4], unreduced=max{'i'}}",
        "{mesh['i'=4], [{'j'}]}",
        "{mesh['i'=4,'i'=2], [{'i'}]}",
        "{mesh['i'=4], [{'i'}, {'i'}]}",
        "{mesh['i'=4], [{'i':(3)2}]}",
        "{mesh['i'=99999999], [{'i'}]}",
        "{devices=[4,1]<=[8]}",
        "{devices=[4]0,1,2}",
        f"{{devices=[{MOST_DEVICES + 1}]<=[{MOST_DEVICES + 1}]}}",
        "{devices=[4]<=[4] shard_as 1}",
        "{devices=[0]<=[0]}",
        "mesh['i'=4]",
        "{{replicated}, manual}",
    ],
)
def test_what_is_not_understood_is_its_text(text: str) -> None:
    assert sharding_meaning(text) == text
    assert closed(text) == text
    assert shardy_meaning(text, {}) == text


@pytest.mark.parametrize("name", ["pipeliner_crash", "ring_local_p2p", "psum_under_cond"])
def test_samples_printed_again_by_the_installed_jaxlib_are_equal(name: str, tmp_path: Path) -> None:
    contents = load_dump(load_sample(name).archive, settings=Settings(data_dir=tmp_path), name=name)
    dumps = contents.modules[0].dumps
    step = max(1, len(dumps) // 5)
    printed = 0
    for dump in islice(dumps, 0, None, step):
        text = print_module(dump.module)
        ended = subprocess.run(
            [sys.executable, Path(__file__).with_name("printed_again.py")],
            input=text,
            capture_output=True,
            text=True,
        )
        # A release reads most of what another printed, not all.
        if not ended.returncode:
            printed += 1
            assert digest(ended.stdout) == digest(text), dump.file
    assert printed > 2
