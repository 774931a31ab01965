"""What a failure is about, where nothing states its class: only XLA's own, and only as a guess."""

from time import process_time

import pytest

from app.analysis.failure_class import diagnose
from app.ingest import read_log
from app.knowledge import failure_signs
from app.knowledge.tables import read_rows


@pytest.mark.parametrize(
    ("class_", "message"),
    [
        ("spmd-check", "INTERNAL: No such mesh: @inner"),
        ("nccl-error", "INTERNAL: Rank 3 is not part of the clique"),
        ("p2p-race", "UNIMPLEMENTED: A peer may be named once"),
        ("lhs-scheduler", "FAILED_PRECONDITION: This needs a module that is scheduled"),
        ("host-offload", "INVALID_ARGUMENT: There is no memory space 7"),
        ("oom-buffers", "INTERNAL: No donated buffer may be read"),
        ("conditional", "INVALID_ARGUMENT: A branch takes one argument, this one two"),
        ("layout", "UNIMPLEMENTED: Tiled layouts do not nest here"),
        ("fusion", "UNIMPLEMENTED: A fusion of kind kLocal"),
        ("hlo-verifier", "INVALID_ARGUMENT: Rank of operand 3 of the instruction is 2"),
        (
            "ptxas-backend",
            "INTERNAL: Could not set up the stream: while running replica 0 and "
            "partition 0 of a replicated computation (other replicas may have failed as well).",
        ),
    ],
)
def test_a_status_of_xla_is_about_something(class_: str, message: str) -> None:
    text = f"jax.errors.JaxRuntimeError: {message}\n"
    (found,) = diagnose(read_log(text, name="run.log"))
    assert (found.class_, found.sign, found.strength) == (class_, "topic", "guessed")


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: the mesh has no axis name x\n",
        "RuntimeError: no kernel for this stream\n",
        "UNAVAILABLE: the stream was closed by the peer\n",
        "NOT_FOUND: no such buffer file\n",
        "F0718 09:12:03.123456 24654 client.cc:31] Check failed: connected_ to the barrier\n",
        "F0718 09:12:03.123456 24654 my_stream_kernel.cc:31] Check failed: ready\n",
        "jax.errors.JaxRuntimeError: INTERNAL: something went wrong\n",
    ],
)
def test_what_is_not_of_xla_or_about_nothing_has_no_topic(text: str) -> None:
    assert diagnose(read_log(text, name="run.log")) == ()


def test_a_class_that_something_states_comes_before_a_topic() -> None:
    text = (
        "jax.errors.JaxRuntimeError: INTERNAL: the stream is closed\n"
        "F0718 09:12:03.123456 24654 layout_assignment.cc:31] Check failed: done\n"
    )
    (found,) = diagnose(read_log(text, name="run.log"))
    assert (found.class_, found.strength) == ("layout", "pointed")


def test_most_checks_of_xla_stand_in_files_that_have_a_class() -> None:
    signs = failure_signs("file", "core")
    total = known = 0
    for file, *_ in read_rows("check_sites.tsv.xz"):
        total += 1
        stem = file.partition(".")[0]
        known += any(sign.words.fullmatch(stem) for sign in signs)
    assert known > 0.9 * total


def test_a_pass_that_complained_right_before_a_check_of_shared_code_had_the_fault() -> None:
    complaint = (
        'W0000 00:00:1786849553.549497 3877 host_offloader.cc:298] Found an instruction ("add.7") '
        "which does device compute in host memory space. Converting into host compute.\n"
    )
    check = "F0000 00:00:1786849553.5496 3877 shape_util.cc:238] Check failed: shape.IsArray()\n"
    assert diagnose(read_log(complaint + check, name="run.log"))[0].class_ == "host-offload"
    far = complaint + "step\n" * 9 + check
    assert diagnose(read_log(far, name="run.log"))[0].class_ == "hlo-verifier"


def test_a_status_that_a_pass_gives_is_of_the_class_of_the_pass() -> None:
    text = "jax.errors.JaxRuntimeError: INTERNAL: transpose-folding: the shape is not known\n"
    (found,) = diagnose(read_log(text, name="run.log"))
    assert (found.class_, found.strength) == ("layout", "pointed")


@pytest.mark.parametrize(
    ("classes", "check"),
    [
        (["triton-autotune"], "subdim_size_accumulator == dim_size (4 vs. 3)"),
        (["collective-pipeliner"], "last_cloned != nullptr (0 vs. nullptr)"),
        (["hlo-verifier"], "while_instr->shape().IsTuple() and more"),
        ([], "status.ok()"),
        ([], "status.ok() == true"),
        ([], "config != nullptr"),
        ([], "it != map.end() and more of it"),
        ([], "no_such_thing_is_checked()"),
    ],
)
def test_a_check_without_its_file_is_of_the_class_of_the_files_that_have_it(
    classes: list[str], check: str
) -> None:
    found = diagnose(read_log(f"Check failed: {check}\n", name="run.log"))
    assert [diagnosis.class_ for diagnosis in found] == classes


def test_a_status_that_a_program_raises_itself_is_about_nothing_here() -> None:
    def raised(file: str, exception: str) -> str:
        return (
            "Traceback (most recent call last):\n"
            f'  File "{file}", line 3, in step\n    ask()\n'
            f"{exception}: INTERNAL: billing service said no to layout 3\n"
        )

    def classes(text: str) -> list[str]:
        return [found.class_ for found in diagnose(read_log(text, name="run.log"))]

    assert classes(raised("/home/me/train.py", "RuntimeError")) == []
    assert classes(raised("/home/me/train.py", "my.RemoteError")) == []
    # With their own exceptions JAX and XLA pass through the program's frames.
    assert classes(raised("/home/me/train.py", "jax.errors.JaxRuntimeError")) == ["layout"]
    library = "/x/site-packages/torch_xla/core/xla_model.py"
    assert classes(raised(library, "RuntimeError")) == ["layout"]


@pytest.mark.parametrize(
    "said", ["INTERNAL: request to sharded redis failed", "UNKNOWN: devices service"]
)
def test_a_bare_status_amid_a_run_that_goes_on_is_about_nothing(said: str) -> None:
    steps = "".join(f"step {number} loss 1.5\n" for number in range(60))

    def topics(text: str) -> list[str]:
        return [found.sign for found in diagnose(read_log(text, name="run.log"))]

    assert topics(f"{steps}{said}\n{steps}") == []
    assert topics(f"{steps}{said}\n") == ["topic"]
    assert topics(f"{steps}{said} for HloModule jit_f\n{steps}") == ["topic"]
    assert topics(f"{steps}jax.errors.JaxRuntimeError: {said}\n{steps}") == ["topic"]
    assert topics(f"{steps}{said}\n{steps}jax.errors.JaxRuntimeError: {said}\n") == ["topic"]


def test_a_long_word_is_read_once() -> None:
    def seconds(letters: int) -> float:
        text = f"jax.errors.JaxRuntimeError: INTERNAL: {'q' * letters}\n"
        log = read_log(text, name="run.log")
        began = process_time()
        for _ in range(20):
            diagnose(log)
        return process_time() - began

    seconds(100)
    # Four times the letters took sixteen times as long.
    assert min(seconds(3_900) for _ in range(3)) < 8 * min(seconds(900) for _ in range(3))
