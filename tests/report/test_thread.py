"""The first post of a bug thread: what triage asks for, and nothing that tells of the sender."""

import msgspec
import pytest

from app.report.thread import MAX_BYTES, masked, report_thread, thread_title
from report import builders
from report.test_markdown import outside_code


def test_a_crash_tells_signature_pass_environment_and_commands() -> None:
    report = builders.crash_report()
    flags = {
        "xla_dump_to": "/home/me/dump",
        "xla_gpu_cuda_data_dir": "/opt/cuda",
        "xla_gpu_enable_pipelined_all_gather": "true",
    }
    environment = msgspec.structs.replace(report.environment, backend="GPU", flags=flags)
    text = report_thread(msgspec.structs.replace(report, environment=environment))
    title = text.partition("\n")[0]
    assert title.startswith("### \\[GPU\\] Check failed: last\\_cloned")
    assert title.endswith("in collective-pipeliner-backward")
    assert "\ncollective_pipeliner.cc: Check failed: last_cloned != nullptr" in text
    assert "- **At:** `collective_pipeliner.cc:" in text
    assert "- **Last text written:** `" in text
    assert "- jaxlib: `" in text
    assert "--xla_gpu_enable_pipelined_all_gather=true" in text
    assert "xla_dump_to" not in text
    assert "/opt/cuda" not in text
    assert "/home/" not in text
    commands = text.partition("```sh\n")[2].partition("```")[0].splitlines()
    alone = next(line for line in commands if line.startswith("hlo-opt --passes="))
    assert alone.startswith(
        "hlo-opt --passes=collective-pipeliner-backward --xla_gpu_enable_pipelined_all_gather=true"
    )
    assert any(
        line.startswith("hlo-opt --platform=CUDA --stage=hlo --xla_gpu") for line in commands
    )
    assert "`openxla/xla#14332`" in text


def test_one_device_is_run_and_compared_and_many_are_run() -> None:
    report = builders.crash_report()
    for partitions, tool in ((1, "run_hlo_module --platform="), (8, "hlo_runner_main ")):
        environment = msgspec.structs.replace(
            report.environment, backend="cpu", num_partitions=partitions, replica_count=1
        )
        text = report_thread(msgspec.structs.replace(report, environment=environment))
        assert f"\n{tool}" in text


def test_of_an_unknown_backend_no_command_is_made_up() -> None:
    report = builders.crash_report()
    environment = msgspec.structs.replace(report.environment, backend="TPU")
    text = report_thread(msgspec.structs.replace(report, environment=environment))
    assert "--platform" not in text
    assert "open tools" in text
    environment = msgspec.structs.replace(report.environment, backend=None)
    text = report_thread(msgspec.structs.replace(report, environment=environment))
    assert "hlo-opt --platform=PLATFORM --stage=hlo" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(0 vs. nullptr)", "(N vs. nullptr)"),
        ("at 0x7f3a10 of %fusion.12, 3.5 GiB", "at PTR of %NAME, N GiB"),
        ("f32[8,128] s32 is bf16", "f32[N] s32 is bf16"),
        ("in /home/me/x/y.py:7", "in y.py:N"),
        ("xla::HloInstruction a/b", "xla::HloInstruction a/b"),
    ],
)
def test_what_differs_from_run_to_run_is_masked(text: str, expected: str) -> None:
    assert masked(text) == expected


def test_only_the_address_given_is_linked() -> None:
    report = builders.crash_report()
    assert "<http" not in report_thread(report)
    text = report_thread(report, link="https://hlo.example/r/abc")
    assert "<https://hlo.example/r/abc>" in text
    assert "<https://hlo.example/r/abc#finding-1>" in text


def test_hostile_text_does_nothing_in_thread_or_shell() -> None:
    report = builders.hostile_report()
    text = report_thread(report)
    outside = outside_code(text.replace("```sh\n", "```text\n"))
    assert "<" not in outside
    assert "@" not in outside
    assert len(text.encode()) <= MAX_BYTES
    module = msgspec.structs.replace(
        builders.crash_report().modules[0],
        dumps=tuple(
            msgspec.structs.replace(dump, file="$(touch x)`touch y`';\ntouch z")
            for dump in builders.crash_report().modules[0].dumps
        ),
    )
    text = report_thread(msgspec.structs.replace(builders.crash_report(), modules=(module,)))
    block = text.partition("sh\n")[2]
    for line in block.splitlines():
        if line.startswith(("hlo-opt", "run_hlo_module", "hlo_runner_main")):
            assert "'$(touch x)`touch y`'" in line or "txt" in line


def test_without_a_failure_the_leading_finding_heads_it() -> None:
    report = msgspec.structs.replace(builders.crash_report(), failure=None)
    assert thread_title(report).startswith("[")
    assert "Signature" not in report_thread(report)
