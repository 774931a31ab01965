"""One compile: each outcome, its words, its limits."""

import signal
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from app.errors import NotFound
from app.ingest.log import read_log
from app.replay.compiling import Budget, compile_once, flags_for
from app.replay.outcome import Attempt, Ended, Kind, judge
from app.replay.subject import Subject
from app.sandbox import Ending
from replay.fake_toolchain import CHECK, OTHER, dies, make_toolchain

ROOT = Path(__file__).parents[2]
SUBJECT = Subject(b"HloModule m\n", "text", partitions=8)
SIGNATURE = read_log(CHECK, name="log").failures[0].signature


def attempt(
    folder: Path, answers: str, flags: dict[str, str] | None = None, budget: Budget | None = None
) -> Attempt:
    return compile_once(
        make_toolchain(folder, answers),
        SUBJECT,
        flags or {},
        budget=budget or Budget(wall_s=60),
        signature=SIGNATURE,
    )


def test_a_module_that_compiles(tmp_path: Path) -> None:
    assert attempt(tmp_path, "assert text == 'HloModule m\\n'").kind == Kind.COMPILES


def test_the_same_check_at_another_line_is_the_same_signature(tmp_path: Path) -> None:
    found = attempt(tmp_path, dies(CHECK.replace(":675]", ":701]")))
    assert (found.kind, found.signature) == (Kind.SAME, SIGNATURE)
    assert found.words.startswith("collective_pipeliner.cc:701: Check failed: last_cloned")


def test_another_check_is_another_failure(tmp_path: Path) -> None:
    found = attempt(tmp_path, dies(OTHER))
    assert found.kind == Kind.ANOTHER
    assert found.signature not in ("", SIGNATURE)


def test_an_error_that_xla_returned_is_read_too(tmp_path: Path) -> None:
    error = "{'stage': 'compile', 'error': 'XlaRuntimeError: INTERNAL: no such thing'}"
    answers = f"pathlib.Path(orders['result']).write_text(json.dumps({error})); sys.exit(0)"
    found = attempt(tmp_path, answers)
    assert found.kind == Kind.ANOTHER
    assert "no such thing" in found.words


def test_a_module_that_is_not_taken_is_refused(tmp_path: Path) -> None:
    error = "{'stage': 'prepare', 'error': 'ValueError: no HLO'}"
    answers = f"pathlib.Path(orders['result']).write_text(json.dumps({error})); sys.exit(0)"
    found = attempt(tmp_path, answers)
    assert (found.kind, found.words) == (Kind.REFUSED, "ValueError: no HLO")


def test_what_never_ends_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    child = (
        f"import time, pathlib\\nwhile True: pathlib.Path({str(mark)!r}).touch(); time.sleep(0.05)"
    )
    answers = f'import subprocess, time; subprocess.Popen([sys.executable, "-c", "{child}"])\n'
    found = attempt(tmp_path, answers + "time.sleep(600)", budget=Budget(wall_s=2))
    assert found.kind == Kind.TIME
    mark.unlink(missing_ok=True)
    time.sleep(0.3)
    assert not mark.exists()


def test_what_eats_memory_is_refused_it(tmp_path: Path) -> None:
    budget = Budget(wall_s=60, memory_bytes=1 << 30)
    assert attempt(tmp_path, "bytearray(4 << 30)", budget=budget).kind == Kind.MEMORY


def test_what_fills_the_disk_is_ended(tmp_path: Path) -> None:
    answers = (
        "import time\n"
        "for number in range(40):\n"
        "    pathlib.Path(os.environ['TMPDIR'], str(number)).write_bytes(bytes(1 << 20))\n"
        "time.sleep(600)"
    )
    budget = Budget(wall_s=60, file_bytes=2 << 20, disk_bytes=20 << 20)
    began = time.monotonic()
    assert attempt(tmp_path, answers, budget=budget).kind == Kind.DISK
    assert time.monotonic() - began < 50


def test_a_compile_does_not_outlive_whoever_asked_for_it(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    touching = f"import time\nwhile True: pathlib.Path({str(mark)!r}).touch(); time.sleep(0.05)"
    tool = make_toolchain(tmp_path, touching)
    program = (
        "from pathlib import Path\n"
        "from app.replay.compiling import Budget, compile_once\n"
        "from app.replay.subject import Subject\n"
        "from app.replay.toolchains import Adapter, Toolchain\n"
        f"tool = Toolchain('0.4.30', Path({str(tool.python)!r}), Adapter(False, False))\n"
        "compile_once(tool, Subject(b'', 'text'), {}, budget=Budget(wall_s=600))\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)
    try:
        deadline = time.monotonic() + 50
        while not mark.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        parent.kill()
        parent.wait()
    time.sleep(0.5)
    mark.unlink()
    time.sleep(0.5)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("Expect autotune result cache hit for deviceless compilation (HLO: %x)", "autotune_level"),
        ("PartitionId instruction is not supported for SPMD partitioning since", "--text"),
        (
            'Side-effect HLO must have sharding: %c, custom_call_target="xla.sdy.GlobalToLocal"',
            "operations of Shardy",
        ),
    ],
)
def test_what_is_no_fault_of_the_module_is_a_refusal(message: str, advice: str) -> None:
    error = {"stage": "compile", "error": f"XlaRuntimeError: UNIMPLEMENTED: {message}"}
    kind, signature, words = judge(Ended(Ending.OK, error, ""), SIGNATURE)
    assert (kind, signature) == (Kind.REFUSED, "")
    assert advice in words


def test_a_failure_looked_for_is_never_a_refusal() -> None:
    error = {
        "stage": "compile",
        "error": "XlaRuntimeError: UNIMPLEMENTED: PartitionId instruction is not supported for "
        "SPMD partitioning since the meaning is ambiguous",
    }
    (failure,) = read_log(f"{error['error']}\n", name="log").failures
    assert judge(Ended(Ending.OK, error, ""), failure.signature)[0] == Kind.SAME


def test_unknown_flags_are_dropped_and_said(tmp_path: Path) -> None:
    flags = {"xla_gpu_enable_pipelined_all_gather": "true", "xla_no_such_flag": "1"}
    found = attempt(tmp_path, "assert 'xla_no_such_flag' not in flags", flags)
    assert (found.kind, found.dropped) == (Kind.COMPILES, ("xla_no_such_flag",))


def test_flags_of_dumps_and_of_the_other_machine_are_not_handed_on() -> None:
    flags = {"xla_dump_to": "/d", "xla_gpu_cuda_data_dir": "/c", "xla_gpu_autotune_level": "0"}
    assert flags_for("0.4.30", flags) == ({"xla_gpu_autotune_level": "0"}, ())


@pytest.mark.parametrize(
    "name",
    [
        "xla_gpu_algorithm_denylist_path",
        "xla_gpu_dump_autotune_results_to",
        "xla_gpu_kernel_cache_file",
        "xla_gpu_load_autotune_results_from",
        "xla_gpu_per_fusion_autotune_cache_dir",
        "xla_gpu_pgle_profile_file_or_directory_path",
        "xla_gpu_target_config_filename",
    ],
)
def test_no_flag_of_a_dump_names_a_file_of_this_machine(name: str) -> None:
    assert flags_for("0.10.2", {name: "/home/somebody/file"}) == ({}, ())


def test_flags_that_only_sound_like_a_file_are_handed_on() -> None:
    flags = {
        "xla_hlo_evaluator_use_fast_path": "false",
        "xla_run_hlo_passes_starting_from": "fusion",
    }
    assert flags_for("0.10.2", flags)[0].keys() | flags.keys() == flags.keys()
    assert "xla_hlo_evaluator_use_fast_path" in flags_for("0.10.2", flags)[0]


@pytest.mark.parametrize("value", ["x --xla_dump_to=/d", "x'\" --xla_dump_to=/d", "x\\"])
def test_a_value_stays_one_value(tmp_path: Path, value: str) -> None:
    # As XLA reads its variable: between double quotes a backslash stands before what is meant.
    answers = f"""
import shlex
assert shlex.split(os.environ['XLA_FLAGS']) == [{"--xla_backend_extra_options=" + value!r}]
"""
    found = attempt(tmp_path, answers, {"xla_backend_extra_options": value})
    assert found.kind == Kind.COMPILES


def test_a_name_that_is_none_is_dropped_and_said() -> None:
    name = "xla_tpu_x --xla_dump_to"
    assert flags_for("0.10.2", {name: "/d"}) == ({}, (name,))


def test_the_stand_in_is_not_taken_for_the_failure() -> None:
    line = (
        "E1130 09:23:26.256200   12500 cuda_dnn.cc:503] There was an error before creating cudnn "
        "handle (302): Error loading CUDA libraries. GPU will not be used."
    )
    ended = Ended(Ending.CRASHED, {}, f"{line}\n{CHECK}\n", 6)
    assert judge(ended, SIGNATURE)[0] == Kind.SAME


@pytest.mark.parametrize("ending", [Ending.WALL_TIME, Ending.CPU_TIME])
def test_both_clocks_are_a_time_out(ending: Ending) -> None:
    assert judge(Ended(ending, {}, CHECK), SIGNATURE)[0] == Kind.TIME


def test_a_death_without_words_is_told_by_its_signal() -> None:
    kind, signature, words = judge(Ended(Ending.CRASHED, {}, "", 11), SIGNATURE)
    assert (kind, signature) == (Kind.ANOTHER, "signal::SIGSEGV")
    assert words == "it ended with SIGSEGV, without a word"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_process_ended_from_outside_gives_no_answer(tmp_path: Path, number: int) -> None:
    found = attempt(tmp_path, f"print({CHECK!r}, flush=True); os.kill(os.getpid(), {int(number)})")
    assert found.kind == Kind.INTERRUPTED
    assert signal.Signals(number).name in found.words


def test_a_fault_of_the_process_that_compiles_is_none_of_the_module(tmp_path: Path) -> None:
    found = attempt(tmp_path, "import no_such_module_here")
    assert found.kind == Kind.INTERRUPTED
    assert "no_such_module_here" in found.words


def test_a_result_that_was_written_stands_whatever_ended_the_process(tmp_path: Path) -> None:
    done = "pathlib.Path(orders['result']).write_text(json.dumps({'stage': 'done'}))"
    assert attempt(tmp_path, f"{done}; os.kill(os.getpid(), 9)").kind == Kind.COMPILES


def test_half_a_result_is_none(tmp_path: Path) -> None:
    half = """pathlib.Path(orders['result']).write_text('{"stage": "do')\n"""
    assert attempt(tmp_path, half + dies(CHECK)).kind == Kind.SAME


def test_of_a_long_log_the_end_is_read(tmp_path: Path) -> None:
    much = "sys.stderr.write('a line that says nothing of it\\n' * (1 << 20))\n"
    tracemalloc.start()
    found = attempt(tmp_path, much + dies(CHECK))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.kind == Kind.SAME
    assert peak < 16 << 20


def test_an_unknown_flag_that_no_table_has_is_refused() -> None:
    log = "F0000 parse_flags_from_env.cc:224] Unknown flag in XLA_FLAGS: --xla_new=1\nmore"
    assert judge(Ended(Ending.CRASHED, {}, log, 6), SIGNATURE)[0] == Kind.REFUSED


@pytest.mark.parametrize(
    "line",
    [
        "debug_options_flags.cc:145] Illegal value for --xla_gpu_x 'CPU'",
        "command_line_flags.cc:109] Couldn't interpret value maybe for flag xla_gpu_x.",
    ],
)
def test_a_value_that_the_release_does_not_take_is_refused(line: str) -> None:
    check = (
        "parse_flags_from_env.cc:220] Check failed: tsl::Flags::Parse(&a, b) Flag parsing failed."
    )
    kind, _, words = judge(Ended(Ending.CRASHED, {}, f"E0000 {line}\nF0000 {check}", 6), SIGNATURE)
    assert (kind, words) == (Kind.REFUSED, line.partition("] ")[2])


def test_flags_of_gpus_are_not_given_for_tpus(tmp_path: Path) -> None:
    tool = replace(make_toolchain(tmp_path, "assert 'xla_gpu_autotune_level' not in flags"))
    subject = replace(SUBJECT, backend="TPU")
    flags = {"xla_gpu_autotune_level": "0", "xla_cpu_enable_fast_math": "true"}
    with_it = replace(tool, has_tpu=True)
    assert compile_once(with_it, subject, flags, budget=Budget(wall_s=60)).kind == Kind.COMPILES


def test_log_and_dump_are_kept_on_request(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    compile_once(
        make_toolchain(tmp_path, "print(flags['xla_dump_to'])"),
        SUBJECT,
        {"xla_dump_to": "/elsewhere"},
        budget=Budget(wall_s=60),
        keep=kept,
    )
    assert (kept / "replay.log").read_text() == f"{kept / 'dump'}\n"


def test_a_module_for_tpus_needs_their_library(tmp_path: Path) -> None:
    tool = make_toolchain(
        tmp_path, "assert orders['target'] == 'v5e:2x4'\nassert 'xla_tpu_a' not in flags"
    )
    subject = replace(SUBJECT, backend="TPU")
    with pytest.raises(NotFound, match="without libtpu"):
        compile_once(tool, subject, {}, budget=Budget(wall_s=60))
    with_it = replace(tool, has_tpu=True)
    flags = {"xla_tpu_a": "1", "xla_cpu_enable_fast_math": "true"}
    assert compile_once(with_it, subject, flags, budget=Budget(wall_s=60)).kind == Kind.COMPILES


def test_a_target_of_the_dump_that_is_not_read_gives_way_and_is_told(tmp_path: Path) -> None:
    answers = (
        "assert orders['target'] == 'odd' and 'gpu_device_info' in orders['usual_target']\n"
        "done = {'stage': 'done', 'is_usual': True}\n"
        "pathlib.Path(orders['result']).write_text(json.dumps(done)); sys.exit(0)"
    )
    subject = replace(SUBJECT, target="odd", target_name="GPU of theirs")
    found = compile_once(make_toolchain(tmp_path, answers), subject, {}, budget=Budget(wall_s=60))
    assert (found.kind, found.dropped) == (Kind.COMPILES, ("gpu_target_config.pbtxt",))


def test_a_flag_of_another_release_is_given_as_this_one_spells_it() -> None:
    dumped = {"xla_gpu_pipeline_all_gather": "COLLECTIVE_PIPELINING_MODE_ON"}
    assert flags_for("0.10.2", dumped) == ({"xla_gpu_enable_pipelined_all_gather": "true"}, ())
    assert flags_for("0.12.0", dumped) == ({"xla_gpu_pipeline_all_gather": "on"}, ())
