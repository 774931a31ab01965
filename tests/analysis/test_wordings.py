"""The class of many messages, each alone in its log (`wordings.txt`), and of lines that are none.

The messages are those of several releases, back ends and libraries: checks of one file, statuses,
stacks, what Python and MLIR print.
"""

from pathlib import Path

import pytest

from app.analysis.failure_class import diagnose
from app.ingest import read_log
from app.knowledge import failure_classes

TEXT = Path(__file__).with_name("wordings.txt").read_text("utf-8")
CASES = [(class_, text) for class_, _, text in (b.partition("\n") for b in TEXT.split("\n== ")[1:])]


@pytest.mark.parametrize(
    ("class_", "text"), CASES, ids=[f"{number}-{c}" for number, (c, _) in enumerate(CASES)]
)
def test_class_of_a_wording(class_: str, text: str) -> None:
    found = diagnose(read_log(text, name="run.log"))
    assert [diagnosis.class_ for diagnosis in found][:1] == [class_]


@pytest.mark.parametrize("text", [text for _, text in CASES], ids=range(len(CASES)))
def test_a_wording_amid_a_long_log_is_read_alike_in_whole_and_by_lines(text: str) -> None:
    long = "step 1 loss 0.5\n" * 60 + text
    whole, by_lines = read_log(long, name="x"), read_log(long.splitlines(keepends=True), name="x")
    assert whole == by_lines


def test_every_class_has_three_wordings() -> None:
    counts = {class_: sum(c == class_ for c, _ in CASES) for class_ in failure_classes()}
    assert {class_ for class_, count in counts.items() if count < 3} == set()


@pytest.mark.parametrize(
    "text",
    [
        "host-1:37:563 [0] NCCL INFO Bootstrap : Using eth0:10.233.118.112<0>",
        "NCCL version 2.21.5+cuda12.4",
        "I0000 00:00:1786848983.718816 385 cuda_dnn.cc:436] Loaded cuDNN version 91002",
        "I0000 00:00:1786848983.718816 385 gpu_helpers.cc:161] XLA backend will use up to 5.70GiB",
        "W0000 00:00:1786848983.718816 385 cpu_feature_guard.cc:210] This binary is optimized",
        "epoch 3: priority fusion of the two heads, dynamic shapes off, results differ by 0.1",
        "INFO:root:saving a checkpoint to the host memory kinds pinned_host",
        # JAX logs this of a plugin that was registered twice, and goes on.
        "I0000 00:00:1.1 2 cudart_stub.cc:31] Could not find cuda drivers\n"
        "Jax plugin configuration error: Exception when calling x.initialize()\n"
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/python3/site-packages/jax/_src/xla_bridge.py", line 426, in discover\n'
        "    plugin_module.initialize()\n"
        "jax.errors.JaxRuntimeError: ALREADY_EXISTS: PJRT_Api already exists for device type cuda\n"
        "I1129 23:59:40.787970 30171 latency_hiding_scheduler.cc:4325] current memory usage: 2865\n"
        "compiled generate",
        "Jax plugin configuration error: Exception when calling x.initialize()",
        "expected: 3\ngot: 4",
        "numpy: 3.21\njit: 0.41",
        "use_jit: true\neager_attention: false",
        "num_shards: 16\nreplicated: 2",
        "sharded: 128\nsingle device: 1",
        "numpy -> 2.1.0\njaxlib -> 0.4.30",
        "The eager optimizer gave 3% better results than jit last week.",
        "server.cc:120: connection refused by peer",
        "kernel.cc:44: error: unused variable 'x'",
        "ValueError: uncaptured work left in git stash",
        "ValueError: is_manual() not defined on car gearbox",
        "ValueError: annotation groups with no members in COCO file",
        "RuntimeError: Failed to meet rendezvous at station B",
        "'+prefer-no-gather' is not a recognised feature, (ignoring feature)",
        "Note: is not able to go from sharding A to sharding B directly, uses all-gather (fine)",
        "[1]  + 12345 killed     python -m http.server\nTraining finished: accuracy 0.91",
        "zsh: killed     python watch_gpu.py\nTraining finished: accuracy 0.9",
        "[1]  + 4242 killed     sleep 1000",
        "[1] 4242 abort requested by user, continuing",
        "ValueError: then and else branches of the template must both be given",
        "ValueError: columns have floating point types of different precisions",
        "jit: 0.41 s\neager: 3.21 s",
        "jit compile time: 0.41\neager time: 3.21",
        "loss (jit): 0.41\nloss (eager): 0.40",
        "step 1 sharded: 3.0\nstep 2 sharded: 4.0",
        "assertion passed; deadlock detector armed; barrier ok",
    ],
)
def test_chatter_is_no_failure(text: str) -> None:
    assert diagnose(read_log(text + "\n", name="run.log")) == ()


def test_a_flag_is_a_guess_about_a_silent_death() -> None:
    flag = "XLA_FLAGS=--xla_gpu_enable_while_loop_unrolling=WHILE_LOOP_UNROLLING_{} python t.py\n"
    death = "Segmentation fault (core dumped)\n"
    (found,) = diagnose(read_log(flag.format("FULL_UNROLL") + death, name="run.log"))
    assert (found.class_, found.strength) == ("loop-unroll", "guessed")
    (found,) = diagnose(read_log(flag.format("NO_UNROLL") + death, name="run.log"))
    assert found.class_ == "triton-autotune"


def test_a_lookup_that_failed_only_hints() -> None:
    text = "terminate called after throwing an instance of 'std::out_of_range'\n  what():  at\n"
    (found,) = diagnose(read_log(text, name="run.log"))
    assert (found.class_, found.strength) == ("lhs-scheduler", "guessed")
    running = "I0000 00:00:1786848746.938112 38 hlo_pass_pipeline.cc:181]   HLO pass "
    (found,) = diagnose(read_log(running + "collective-pipeliner-forward\n" + text, name="run.log"))
    assert (found.class_, found.strength) == ("collective-pipeliner", "pointed")


@pytest.mark.parametrize(
    ("class_", "text"),
    [
        ("hlo-verifier", "hlo_instruction.cc ... Check failed: parent_ != nullptr"),
        ("hlo-verifier", "it dies with hlo_instructions.h:2249 Check failed: window_ != nullptr"),
        ("scatter-sort", "sort_rewriter.cc ... RET_CHECK failure ... num_operands <= 2"),
        ("cudnn", "... cuda_dnn.cc:522] Loaded runtime CuDNN library: 8.5.0 but source is newer"),
        ("hang-rendezvous", "client.h ... the JAX distributed service detected fatal errors"),
        ("ptxas-backend", "... cuda_driver.cc:1150] no context: CUDA_ERROR_LAUNCH_TIMEOUT"),
    ],
)
def test_lines_that_were_cut_out_and_shortened(class_: str, text: str) -> None:
    found = diagnose(read_log(text + "\n", name="run.log"))
    assert [diagnosis.class_ for diagnosis in found][:1] == [class_]
