"""Whole logs: launchers and loggers around the lines, several processes, and what follows what."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ingest import merge_logs, read_log
from app.ingest.conditions import split_check
from app.ingest.log_lines import clean_lines

CHECK = (
    "2024-07-01 12:57:35.488299: F external/xla/xla/service/collective_pipeliner.cc:675] Check "
    "failed: last_cloned != nullptr (0 vs. nullptr)"
)
SIGNATURE = "check:collective_pipeliner.cc:last_cloned != nullptr"
RAISED = "jax.errors.JaxRuntimeError: INTERNAL: something in %fusion.3 went wrong"


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "[rank3]: ",
        "[rank3]:",
        "[1,3]<stderr>:",
        "3: ",
        "(RayTrainWorker pid=4242, ip=10.0.0.7) ",
        "worker-0  | ",
        "2026-01-02T03:04:05.678901Z ",
        "[2026-01-02 03:04:05] ",
        "Jan  2 03:04:05 node7 python[4242]: ",
        "2026-01-02T03:04:05Z [rank3]: ",
        "[default0]:",
        "process 3: ",
        "\x1b[31m",
        "\x1b[0;36m(train pid=7)\x1b[0m ",
        "some launcher nobody knows >> ",
        "progress 10%\rprogress 20%\r",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\x1b[0m\n"])
def test_whatever_stands_around_a_line(prefix: str, end: str) -> None:
    log = "".join(
        f"{prefix}{line}{end}" for line in (CHECK, "  more", "Fatal Python error: Aborted")
    )
    (failure,) = read_log(log, name="x").failures
    assert failure.signature == SIGNATURE
    assert failure.text == "Check failed: last_cloned != nullptr (0 vs. nullptr)\n  more"
    assert (failure.values, failure.line, failure.line_number) == ("0 vs. nullptr", 675, 1)


def test_bytes_lines_and_text_are_read_alike() -> None:
    text = f"\ufeffhello\n{CHECK}\nbye"
    facts = read_log(text, name="x")
    assert facts.lines == 3
    assert read_log(text.encode(), name="x") == facts
    assert read_log(text.removeprefix("\ufeff").encode("utf-16"), name="x") == facts
    assert read_log(text.removeprefix("\ufeff").splitlines(keepends=True), name="x") == facts
    assert read_log(iter(["hello\n"]), name="x").lines == 1
    assert read_log("", name="x").lines == 0
    assert read_log(b"caf\xe9\n", name="x").lines == 1


def test_processes_that_share_a_log_keep_their_lines() -> None:
    lines = [
        "[rank0]: E0718 09:12:03.123456 1 status_macros.cc:58] INTERNAL: RET_CHECK failure "
        "(a.cc:1) "
        "x == y",
        f"[rank1]: {CHECK}",
        "[rank0]: tail of rank 0",
        "[rank1]: tail of rank 1",
        "[rank0]: *** Begin stack trace ***",
        "[rank1]: *** Check failure stack trace: ***",
        "[rank0]: \txla::A()",
        "[rank1]:     @ 0x7f0000000001  xla::B()",
    ]
    first, second = read_log("\n".join(lines), name="x").failures
    assert first.text.endswith("x == y\ntail of rank 0")
    assert second.text.endswith("nullptr)\ntail of rank 1")
    assert (first.stack, second.stack) == (("xla::A()",), ("xla::B()",))


def test_lines_below_a_stack_belong_to_nobody() -> None:
    log = f"""{CHECK}
*** Check failure stack trace: ***
    @ 0x7f0000000001  xla::A()
epoch 3 done
    @ 0x7f0000000002  xla::B()
E0718 09:12:03.123456 1 status_macros.cc:58] INTERNAL: RET_CHECK failure (a.cc:1) x == y
*** Begin stack trace ***
\txla::C()
*** End stack trace ***
epoch 4 done
"""
    first, second = read_log(log, name="x").failures
    assert (first.stack, second.stack) == (("xla::A()", "xla::B()"), ("xla::C()",))
    assert "epoch" not in first.text + second.text


def test_one_failure_of_many_ranks_is_one() -> None:
    lines = [f"[rank{rank}]: {CHECK}" for rank in range(64)]
    (failure,) = read_log("\n".join(lines), name="x").failures
    assert failure.line_number == 1


def test_error_line_and_exception_are_one() -> None:
    log = f"""E1130 00:20:25.370553 1 status.cc:58] INTERNAL: RET_CHECK failure (a/b.cc:8) p < q
*** Begin stack trace ***
\txla::Verify()
*** End stack trace ***
Traceback (most recent call last):
  File "t.py", line 3, in f
    g()
XlaRuntimeError: INTERNAL: during context [hlo verifier]: RET_CHECK failure (a/b.cc:8) p < q

Failed after dce

The above exception was the direct cause of the following exception:

{RAISED.replace("INTERNAL", "UNKNOWN")}
"""
    first, second = read_log(log, name="x").failures
    assert (first.kind, first.context, first.failed_after) == ("verifier", "hlo verifier", "dce")
    assert (first.line_number, first.stack) == (1, ("xla::Verify()",))
    assert second.status == "UNKNOWN"


def test_same_status_up_through_the_layers_is_one() -> None:
    inner = "INTERNAL: Failed to launch the kernel at 0x12"
    log = f"""E0127 03:41:58.168505 64850 pjrt_client.cc:27] Execution of replica 0 failed: {inner}
jaxlib.xla_extension.XlaRuntimeError: {inner}
jaxlib.xla_extension.XlaRuntimeError: INTERNAL: Failed to launch the kernel at 0x77
"""
    assert [f.line_number for f in read_log(log, name="x").failures] == [1]


def test_death_that_follows_a_failure_is_no_second_one() -> None:
    deaths = "Fatal Python error: Aborted\n\nAborted (core dumped)\n*** SIGABRT received ***\n"
    assert [f.kind for f in read_log(f"{CHECK}\n{deaths}", name="x").failures] == ["check"]
    assert [f.kind for f in read_log(deaths, name="x").failures] == ["signal"]
    assert [f.kind for f in read_log(f"{RAISED}\n{deaths}", name="x").failures] == ["status"]


def test_cause_stands_before_what_other_processes_say_of_it() -> None:
    gone = (
        "F0718 09:12:03.123456 1 client.h:80] Terminating process because the JAX distributed "
        "service detected fatal errors."
    )
    stuck = (
        "E0718 09:12:01.123456 1 rendezvous.cc:98] This thread has been waiting for `x` for 10 "
        "seconds and may be stuck."
    )
    log = "\n".join((f"[rank0]: {stuck}", f"[rank1]: {gone}", f"[rank2]: {CHECK}"))
    facts = read_log(log, name="x")
    assert [f.kind for f in facts.failures] == ["check", "rendezvous", "fatal"]
    assert facts.hung


def test_handled_python_error_stands_behind_the_compilers() -> None:
    log = f"Traceback (most recent call last):\n  File x\nOSError: no file\n{CHECK}\n"
    assert [f.kind for f in read_log(log, name="x").failures] == ["check", "python"]


def test_hung_until_it_goes_on() -> None:
    stuck = (
        "E0718 09:12:01.1 1 rendezvous.cc:98] This thread has been waiting for `x` for 10 seconds"
    )
    free = "E0718 09:12:09.1 1 rendezvous.cc:120] This thread is unstuck waiting for `x` after 12s."
    assert read_log(stuck, name="x").hung
    facts = read_log(f"{stuck}\n{free}", name="x")
    assert (facts.hung, facts.failures) == (False, ())
    facts = read_log(f"{stuck}\n{free}\n{stuck.replace('`x`', '`y`')}", name="x")
    assert (facts.hung, len(facts.failures)) == (True, 1)
    assert not read_log(CHECK, name="x").hung


def test_passes_and_verbose_lines() -> None:
    place = "2024-07-01 12:57:35.488299: I external/xla/xla/service/"
    log = f"""{place}hlo_pass_pipeline.cc:301] Running HLO pass pipeline on module f: optimization
{place}hlo_pass_pipeline.cc:214]   HLO pass dce
{place}hlo_pass_pipeline.cc:217]     Invariant checker hlo-verifier
{place}hlo_pass_pipeline.cc:214]   HLO pass all-gather-combiner
{place}collective_pipeliner.cc:2453] Pipelining on direction: backward
{place}collective_pipeliner.cc:2480] \t%all-gather.29 = f32[8]{{0}} all-gather(%c)
{place}unknown_file.cc:1] nothing of a pass
W0718 09:12:03.1 1 hlo_rematerialization.cc:3021] Can't reduce memory use below 67.69GiB
E external/xla/xla/service/slow_operation_alarm.cc:65] Constant folding is taking > 1s:

  %reduce.8 = f64[20]{{0}} reduce(%b)
"""
    facts = read_log(log, name="v.log")
    assert facts.passes == ("dce", "all-gather-combiner")
    assert [(move.line_number, move.file, move.text) for move in facts.verbose] == [
        (5, "collective_pipeliner.cc", "Pipelining on direction: backward"),
        (6, "collective_pipeliner.cc", "%all-gather.29 = f32[8]{0} all-gather(%c)"),
        (8, "hlo_rematerialization.cc", "Can't reduce memory use below 67.69GiB"),
        (
            9,
            "slow_operation_alarm.cc",
            "Constant folding is taking > 1s:\n\n  %reduce.8 = f64[20]{0} reduce(%b)",
        ),
    ]


def test_flags_and_releases() -> None:
    log = f"""+ XLA_FLAGS='--xla_a=1 --xla_b=2' python train.py
XLA_FLAGS=--xla_b=3
[Compiling module x] Very slow compile? [...] run with envvar XLA_FLAGS=--xla_c=1
jax 0.4.31
jaxlib==0.4.30
jaxlib:  0.4.30
jaxlib                       0.5.3
{CHECK}
"""
    facts = read_log(log, name="x")
    assert facts.flags == {"xla_a": "1", "xla_b": "3"}
    assert facts.releases == ("0.4.30", "0.5.3")


def test_merged_logs() -> None:
    first = read_log(f"XLA_FLAGS=--xla_a=1\n{RAISED}\n", name="one")
    second = read_log(f"hello\n{CHECK}\n{RAISED}\n", name="two")
    merged = merge_logs([first, second])
    assert [(f.log, f.line_number, f.kind) for f in merged.failures] == [
        ("one", 2, "status"),
        ("two", 2, "check"),
    ]
    assert (merged.lines, merged.flags, merged.names) == (5, {"xla_a": "1"}, ("fusion.3",))
    assert merge_logs([]).failures == ()


def test_stream_is_the_launchers_mark_without_its_time() -> None:
    lines = [
        f"2026-01-02T03:04:05.1Z [rank3]: {CHECK}",
        "2026-01-02T03:04:06.7Z [rank3]: tail",
        "2026-01-02T03:04:06.9Z [rank4]: other",
    ]
    assert [(line.stream, line.is_headed) for line in clean_lines(lines)] == [
        ("[rank3]:", True),
        ("[rank3]:", False),
        ("[rank4]:", False),
    ]


@pytest.mark.parametrize(
    ("text", "condition", "values", "message"),
    [
        ("a == b", "a == b", None, ""),
        ("a == b (1 vs. 2)", "a == b", "1 vs. 2", ""),
        ("a == b (1 vs. 2)tail", "a == b", "1 vs. 2", "tail"),
        ("p != nullptr ((null) vs. (null)) x", "p != nullptr", "(null) vs. (null)", "x"),
        ("ok some words", "ok", None, "some words"),
        ("!f(x, g(y)) Words", "!f(x, g(y))", None, "Words"),
        ("a[0] && (b || !c) Nothing.", "a[0] && (b || !c)", None, "Nothing."),
        ("it->second.size() <= kMax too many", "it->second.size() <= kMax", None, "too many"),
        ("std::get<int>(v) > -1 Bad", "std::get<int>(v) > -1", None, "Bad"),
        ("shape.IsArray() (f64[6], f64[6])", "shape.IsArray()", None, "(f64[6], f64[6])"),
        ('name == "a b" (x vs. a b)', 'name == "a b"', "x vs. a b", ""),
        ("x >= 0.5 ? a : b", "x >= 0.5 ? a", None, ": b"),
        ("a - b -- told by c", "a - b", None, "-- told by c"),
        ("", "", None, ""),
        ("((((", "((((", None, ""),
    ],
)
def test_conditions_of_files_that_no_table_knows(
    text: str, condition: str, values: str | None, message: str
) -> None:
    found = split_check("nowhere.cc", text)
    assert (found.condition, found.values, found.message) == (condition, values, message)


LINES = st.lists(
    st.sampled_from(
        [
            CHECK,
            RAISED,
            "Traceback (most recent call last):",
            '  File "a.py", line 1, in f',
            "Fatal Python error: Aborted",
            "*** Begin stack trace ***",
            "*** End stack trace ***",
            "    @ 0x7f00  xla::F()",
            "Status: INTERNAL: x",
            "",
            "  tail",
        ]
    )
    | st.text(max_size=60),
    max_size=12,
)


@given(LINES)
def test_any_lines_get_an_answer(lines: list[str]) -> None:
    facts = read_log("\n".join(lines), name="x")
    # A failed check is never lost, whatever stands around it.
    if any(line == CHECK for line in lines):
        assert SIGNATURE in {failure.signature for failure in facts.failures}
    assert read_log("\n".join(lines), name="x") == facts


@pytest.mark.parametrize(
    "unit",
    [
        "(",
        "a",
        "a.b ",
        "\x1b[",
        ' @ 0x"',
        "%a = ",
        "12:00:00 ",
        "[rank1]:",
        "INTERNAL: ",
        "x.cc:1] ",
        "Check failed: ",
        "Bad StatusOr access: ",
        "--xla_a='",
        "Directed cycle:\n",
        "vs. ",
    ],
)
@pytest.mark.parametrize("start", ["", "F0000 00:00:1.1 1 x.cc:1] Check failed: ", "INTERNAL: "])
def test_no_line_takes_long(unit: str, start: str) -> None:
    log = start + unit * (400_000 // len(unit)) + "\n"
    started = time.process_time()
    read_log(log * 2, name="x")
    assert time.process_time() - started < 3


def test_what_a_program_prints_behind_a_warning_is_not_the_warnings() -> None:
    warning = "W0603 12:00:00.000001 7 a.cc:12] Can't reduce memory use below 2GiB"
    alarm = "W0603 12:00:00.000001 7 slow_operation_alarm.cc:65] Constant folding is taking > 1s:"
    log = f"{warning}\n  more of it\ncompiled it\n{alarm}\n\n  %a = f32[2] add(%b, %c)\nand so on\n"
    told = [line.text for line in read_log(log, name="x").verbose]
    assert told == [
        "Can't reduce memory use below 2GiB\n  more of it",
        "Constant folding is taking > 1s:\n\n  %a = f32[2] add(%b, %c)\nand so on",
    ]


STEPS = "".join(f"step {number} loss 1.5\n" for number in range(60))


@pytest.mark.parametrize("remark", ["Check failed: user quota", "Aborted"])
def test_a_remark_amid_a_log_that_goes_on_is_no_failure(remark: str) -> None:
    facts = read_log(f"{STEPS}{remark}\n{STEPS}", name="run.log")
    assert facts.failures == ()
    assert [told for told in facts.remarks if told.startswith("log_not_heeded: line 61 of run.log")]
    assert read_log(f"{STEPS}{remark}\n", name="run.log").failures != ()


@pytest.mark.parametrize(
    "line",
    [
        "Check failed: IsManual()",
        "Aborted (core dumped)",
        "Killed",
        "Segmentation fault",
        "F0718 09:12:03.123456 24654 a.cc:31] Check failed: ready",
    ],
)
def test_what_xla_or_a_shell_says_of_a_death_counts_wherever_it_stands(line: str) -> None:
    assert read_log(f"{STEPS}{line}\n{STEPS}", name="run.log").failures != ()
