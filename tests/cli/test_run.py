"""`hloscope run` around real programs: their output and exit codes stay, failures are explained.

The programs use JAX on the CPU; where it does not matter they use nothing.
"""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.ingest.flags import parse_flags, with_dump_flags
from app.sandbox import run_program
from cli.running import ROOT, Ran, hloscope, is_alive, left_behind, ran, surroundings

COMPILED = """
import jax, jax.numpy as jnp
print(jax.jit(lambda x: x @ x)(jnp.ones((8, 8)))[0, 0], flush=True)
"""
UNKNOWN_TARGET = """
import jax
import jax.numpy as jnp

def normalize(x):
    return jax.ffi.ffi_call("no_such_kernel", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

print("starting", flush=True)
jax.jit(lambda x: normalize(x * 2) + 1)(jnp.ones((8, 128)))
"""
# The partitioner calls back into Python, so this dies in the midst of a compile.
ABORTED = """
import os
os.environ["JAX_NUM_CPU_DEVICES"] = "4"
import jax, jax.numpy as jnp
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import NamedSharding, PartitionSpec

@custom_partitioning
def wave(x):
    return jnp.sin(x)

def partition(mesh, arguments, result):
    os.abort()

wave.def_partition(
    partition=partition,
    infer_sharding_from_operands=lambda mesh, arguments, result: arguments[0].sharding,
    sharding_rule="i j -> i j",
)
sharding = NamedSharding(jax.make_mesh((4,), ("x",)), PartitionSpec("x", None))
x = jax.device_put(jnp.ones((8, 8)), sharding)
jax.jit(lambda x: wave(x) + 1)(x)
"""
KILLED = COMPILED + "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"
HANGING = COMPILED + "import time\nprint('waiting', flush=True)\ntime.sleep(600)\n"


def test_a_program_that_succeeds(tmp_path: Path) -> None:
    done = ran(tmp_path, COMPILED)
    assert (done.code, done.out, done.report) == (0, "8.0\n", None)
    assert "--xla_dump_to=" in done.err.split("8.0")[0]
    assert left_behind(tmp_path) == []


def test_a_dump_is_kept_when_asked_for(tmp_path: Path) -> None:
    keep = tmp_path / "kept"
    done = ran(tmp_path, COMPILED, "--keep", str(keep))
    assert done.code == 0
    assert (keep / "run.log").read_text() == "8.0\n"
    assert list((keep / "dump").glob("*jit__lambda*before_optimizations.txt"))
    assert f"hloscope analyze {keep / 'dump'} --log {keep / 'run.log'}" in done.err
    assert ran(tmp_path, COMPILED, "--keep", str(keep)).code == 2


def ran_command(
    tmp_path: Path, *words: str, environ: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*hloscope(), *words],
        env=surroundings(tmp_path, environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--", "false"), 1),
        (("--", "sh", "-c", "exit 7"), 7),
        (("--timeout", "1", "--", "sleep", "30"), 5),
        (("--keep", "KEPT", "--", "sh", "-c", "exit 7"), 7),
    ],
)
def test_a_failure_that_leaves_nothing_keeps_its_code(
    tmp_path: Path, words: tuple[str, ...], code: int
) -> None:
    kept = str(tmp_path / "kept")
    done = ran_command(tmp_path, *(kept if word == "KEPT" else word for word in words))
    assert done.returncode == code
    assert "it printed nothing, and XLA left no dump: there is nothing to explain" in done.stderr
    assert "another look" not in done.stderr
    assert left_behind(tmp_path) == []


def test_a_failure_that_leaves_what_is_no_dump_keeps_its_code(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "notes").write_text("mine")
    environ = {"XLA_FLAGS": f"--xla_dump_to={own}"}
    done = ran(tmp_path, "raise SystemExit(7)\n", environ=environ)
    assert done.code == 7
    assert "it cannot be explained: own: none of the files is XLA's" in done.err
    assert "tee run.log" not in done.err
    assert "another look" not in done.err
    done = ran(tmp_path, "print('up')\nraise SystemExit(7)\n", environ=environ)
    assert done.code == 7
    assert "only the log is explained" in done.err
    again = look_again(done)
    assert (again.returncode, again.stderr) == (0, "")
    assert str(own) not in again.stdout


def look_again(done: subprocess.CompletedProcess[str] | Ran) -> subprocess.CompletedProcess[str]:
    """Run the command that was told, as a shell would."""
    told = done.stderr if isinstance(done, subprocess.CompletedProcess) else done.err
    (line,) = (line for line in told.splitlines() if "kept for another look: " in line)
    program, *words = shlex.split(line.partition("look: ")[2])
    assert program == "hloscope"
    return subprocess.run(
        [sys.executable, str(ROOT / "hloscope.py"), *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_another_look_at_a_run_without_a_dump(tmp_path: Path) -> None:
    done = ran_command(tmp_path, "--", "sh", "-c", "echo hello; exit 7")
    assert done.returncode == 7
    again = look_again(done)
    assert again.returncode == 0
    assert "run.log" in again.stdout


def test_another_look_has_the_flags_and_that_it_hung(tmp_path: Path) -> None:
    flags = "--xla_cpu_enable_fast_math=false --xla_gpu_cuda_data_dir='/a b'"
    script = "echo hello; sleep 60"
    done = ran_command(
        tmp_path, "--timeout", "1", "--", "sh", "-c", script, environ={"XLA_FLAGS": flags}
    )
    (line,) = (line for line in done.stderr.splitlines() if "kept for another look: " in line)
    assert shlex.split(line)[-2:] == ["--hung", f"--flags={flags}"]
    again = look_again(done)
    assert "unrecognized" not in again.stderr
    assert "2 flags known" in again.stdout


def test_blanks_in_the_place_of_the_dump(tmp_path: Path) -> None:
    keep = tmp_path / 'kept "u" 1'
    done = ran(tmp_path, COMPILED + "raise SystemExit(9)\n", "--keep", str(keep))
    assert done.code == 9
    assert done.report is not None
    assert done.report["modules"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        keep.name,
        "report.json",
        "train.py",
    ]
    again = look_again(done)
    assert again.returncode == 0
    assert "jit__lambda" in again.stdout


@pytest.mark.parametrize("option", ["--json", "--html"])
@pytest.mark.parametrize("place", ["nodir/report", ".", "train.py/report"])
def test_outputs_that_cannot_be_written_are_refused_before_the_start(
    tmp_path: Path, option: str, place: str
) -> None:
    done = ran(tmp_path, "print('started')\n", option, str(tmp_path / place))
    assert (done.code, done.out) == (2, "")
    assert "cannot write: " in done.err
    assert left_behind(tmp_path) == []


def test_outputs_may_go_into_the_folder_that_is_kept(tmp_path: Path) -> None:
    kept = tmp_path / "run1"
    page = kept / "report.html"
    done = ran(tmp_path, "raise SystemExit('no good')", "--keep", str(kept), "--html", str(page))
    assert done.code == 1
    assert page.read_text().startswith("<!doctype html>")


def test_an_output_that_fails_later_takes_nothing_else_away(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    page = tmp_path / "out" / "page.html"
    program = f"import os\nos.rmdir({str(page.parent)!r})\nprint('gone')\nraise SystemExit(9)\n"
    done = ran(tmp_path, program, "--html", str(page))
    assert done.code == 9
    assert done.report is not None
    assert f"{page}: cannot write: No such file or directory" in done.err
    assert "exit code 9" in done.err
    assert look_again(done).returncode == 0


def test_a_compile_that_fails(tmp_path: Path) -> None:
    done = ran(tmp_path, UNKNOWN_TARGET)
    assert (done.code, done.out) == (1, "starting\n")
    assert done.report is not None
    finding = done.report["findings"][0]
    assert (finding["rule"], finding["class"]) == ("CUS001", "custom-call")
    (culprit, *_) = finding["culprits"]
    assert culprit["source"]["file"].endswith("train.py")
    assert culprit["source"]["line"] == 6
    assert 'jax.ffi.ffi_call("no_such_kernel"' in done.err
    assert "NOT_FOUND: No FFI handler registered for no_such_kernel" in done.err
    (folder,) = left_behind(tmp_path)
    assert str(folder / "dump") in done.err
    (release,) = done.report["environment"]["jaxlib"]["releases"]
    assert f"{release}: given by the user" in look_again(done).stdout


def test_a_compiler_that_aborts(tmp_path: Path) -> None:
    done = ran(tmp_path, ABORTED)
    assert done.code == 128 + signal.SIGABRT
    assert done.report is not None
    assert done.report["failure"]["pass"] == "spmd-partitioning"
    assert done.report["findings"][0]["class"] == "spmd-check"
    assert done.report["findings"][0]["confidence"] == "possible"
    assert "Fatal Python error: Aborted" in done.err


def test_a_program_that_is_killed(tmp_path: Path) -> None:
    done = ran(tmp_path, KILLED)
    assert (done.code, done.out) == (128 + signal.SIGKILL, "8.0\n")
    assert done.report is not None
    assert done.report["failure"]["kind"] == "signal"
    assert done.report["failure"]["pass"] is None
    assert "from outside" in done.report["failure"]["how"]
    # Nobody said so: neither the program nor its user.
    assert "noted by hloscope run" in done.report["failure"]["text"]
    assert done.report["environment"]["jaxlib"]["how"] == "asked of the program's own Python"


def test_a_signal_without_a_name(tmp_path: Path) -> None:
    number = signal.SIGRTMIN + 6
    done = ran(tmp_path, f"import os\nos.kill(os.getpid(), {number})\n")
    assert done.code == 128 + number
    assert f"signal {number}" in done.err


def test_an_output_that_takes_no_more_for_now(tmp_path: Path) -> None:
    outer, inner = os.pipe()
    os.set_blocking(inner, False)
    program = [sys.executable, "-c", "print('x' * 300_000)\nraise SystemExit(7)"]
    with subprocess.Popen(
        [*hloscope(), "--", *program],
        env=surroundings(tmp_path),
        stdout=inner,
        stderr=subprocess.PIPE,
    ) as running:
        os.close(inner)
        time.sleep(1)
        with open(outer, "rb") as reader:
            assert len(reader.read()) == 300_001
        running.communicate(timeout=60)
    assert running.returncode == 7


def test_a_program_that_hangs(tmp_path: Path) -> None:
    child = "import subprocess, sys\np = subprocess.Popen(['sleep', '600'])\nprint(p.pid)\n"
    done = ran(tmp_path, child + HANGING, "--timeout", "8")
    assert done.code == 5
    sleeper, _, waiting = done.out.split()
    assert waiting == "waiting"
    assert not is_alive(int(sleeper))
    assert done.report is not None
    assert "its time was up" in done.err
    finding = done.report["findings"][0]
    assert finding["rule"] == "HNG003"
    line = child.count("\n") + HANGING.count("\n")
    assert finding["title"].startswith(f"The run hung at train.py:{line} when all of it had been")
    assert [c["source"]["line"] for c in finding["culprits"]] == [line]
    assert f"the main thread stood in train.py:{line}, or in a compiled" in finding["message"]
    assert done.report["failure"] is None
    assert "run.log --hung" in done.err


FEEDING = """
import queue, sys, threading, time
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print(" 12%|#", end="", file=sys.stderr, flush=True)

def next_batch():
    return queue.Queue().get()

next_batch()
"""


def test_a_program_that_waits_on_the_host(tmp_path: Path) -> None:
    done = ran(tmp_path, FEEDING, "--timeout", "3")
    assert done.code == 5
    assert done.report is not None
    finding = done.report["findings"][0]
    assert (finding["rule"], finding["confidence"]) == ("HNG003", "likely")
    assert finding["title"].startswith("The run hung at train.py:7: the host waited in get, queue.")
    assert "(PYTHONFAULTHANDLER=1)" in done.err.split("12%")[0]


def test_all_processes_of_a_program_show_their_stacks(tmp_path: Path) -> None:
    program = (
        "import multiprocessing, time\n"
        "def work():\n    time.sleep(600)\n"
        "for _ in range(2):\n    multiprocessing.Process(target=work).start()\n"
        "time.sleep(600)\n"
    )
    done = ran(tmp_path, program, "--timeout", "3")
    assert done.report is not None
    finding = done.report["findings"][0]
    assert (
        "stood in work, train.py:3, or in a compiled function called there in 2 of 3"
        in (finding["message"])
    )


def test_a_script_does_not_go_on_to_its_next_program(tmp_path: Path) -> None:
    (tmp_path / "hang.py").write_text("import time\ntime.sleep(600)\n")
    script = f"{sys.executable} {tmp_path / 'hang.py'}; echo next"
    done = subprocess.run(
        [*hloscope("--timeout", "2"), "--", "bash", "-c", script],
        env=surroundings(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (5, "")
    assert 'hang.py", line 2 in <module>' in done.stderr


SAVING = """
import os, signal, time

def save(number, frame):
    print("saved", flush=True)
    raise SystemExit(0)

signal.signal(signal.SIGTERM, save)
time.sleep(600)
"""


def test_a_program_that_saves_when_it_is_asked_to_end(tmp_path: Path) -> None:
    done = ran(tmp_path, SAVING, "--timeout", "2")
    assert (done.code, done.out) == (5, "saved\n")
    assert "Fatal Python error" not in done.err


def test_a_program_that_will_not_end_is_killed(tmp_path: Path) -> None:
    stubborn = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up')\n"
    script = tmp_path / "stubborn.py"
    script.write_text(stubborn + "time.sleep(600)\n")
    with (tmp_path / "log").open("wb") as log:
        end = run_program(
            [sys.executable, str(script)], environ={}, log=log, timeout_s=1, grace_s=0.5
        )
    assert (end.status, end.timed_out) == (-signal.SIGKILL, True)
    assert 1.4 < end.seconds < 20


STUBBORN = """
import os, resource, signal, time
for number in (signal.SIGTERM, signal.SIGABRT):
    signal.signal(number, lambda number, frame: print("not", flush=True))
print("up", flush=True)
while True:
    time.sleep(0.1)
"""


def test_a_program_that_handles_all_it_is_sent_is_killed(tmp_path: Path) -> None:
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    with (tmp_path / "log").open("wb") as log:
        end = run_program(
            [sys.executable, str(tmp_path / "stubborn.py")],
            environ={},
            log=log,
            timeout_s=1,
            grace_s=0.5,
            time_is_up="the time is up",
        )
    assert (end.status, end.timed_out) == (-signal.SIGKILL, True)
    assert end.seconds < 20
    # Asked to end first, for it may save something; then where it stands.
    assert (tmp_path / "log").read_text().split("\n") == ["up", "not", "the time is up", "not", ""]


def test_stacks_leave_no_core_behind(tmp_path: Path) -> None:
    program = "import resource, time\nresource.setrlimit(resource.RLIMIT_CORE, (1 << 30,) * 2)\n"
    (tmp_path / "hang.py").write_text(f"{program}time.sleep(600)\n")
    done = subprocess.run(
        [*hloscope("--timeout", "2"), "--", sys.executable, "hang.py"],
        cwd=tmp_path,
        env=surroundings(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 5
    assert "Fatal Python error: Aborted" in done.stderr
    assert list(tmp_path.glob("core*")) == []


def test_a_plain_failure_keeps_its_code_and_output(tmp_path: Path) -> None:
    program = (
        "import sys\nsys.stdout.buffer.write(b'\\xff\\r\\x1b[1mbar')\n"
        "sys.stdout.flush()\nsys.stderr.write('no newline')\nsys.exit(7)\n"
    )
    script = tmp_path / "train.py"
    script.write_text(program)
    keep = tmp_path / "kept"
    done = subprocess.run(
        [*hloscope("--keep", str(keep)), "--", sys.executable, str(script)],
        env=surroundings(tmp_path),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (7, b"\xff\r\x1b[1mbar")
    assert b"no newline" in done.stderr
    assert sorted((keep / "run.log").read_bytes().split(b"\n")) == [
        b"",
        b"no newline",
        b"\xff\r\x1b[1mbar",
    ]


def test_flags_of_the_user_stay(tmp_path: Path) -> None:
    own = tmp_path / "own"
    given = f"--xla_dump_to={own} --xla_dump_hlo_pass_re=dce --xla_cpu_enable_fast_math=false"
    show = "import os\nprint(os.environ['XLA_FLAGS'])\nraise SystemExit(3)\n"
    done = ran(tmp_path, COMPILED + show, environ={"XLA_FLAGS": given})
    assert done.out.split("\n")[1] == f"{given} --xla_dump_hlo_as_text=true"
    assert done.report is not None
    assert done.report["environment"]["flags"]["xla_cpu_enable_fast_math"] == "false"
    assert done.report["modules"]
    assert list(own.iterdir())


def test_flags_in_a_file(tmp_path: Path) -> None:
    flags = tmp_path / "flags.txt"
    flags.write_text("--xla_cpu_enable_fast_math=false\n")
    show = "import os\nprint(os.environ['XLA_FLAGS'])\n"
    done = ran(tmp_path, show, environ={"XLA_FLAGS": str(flags)})
    assert done.out.startswith("--xla_cpu_enable_fast_math=false --xla_dump_to=")


def test_flags_in_a_file_that_is_no_text(tmp_path: Path) -> None:
    flags = tmp_path / "flags.txt"
    flags.write_bytes(b"--xla_dump_to=/\xff\n")
    done = ran(tmp_path, COMPILED, environ={"XLA_FLAGS": str(flags)})
    assert done.code == 2
    assert "not UTF-8" in done.err
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("given", ["", "--xla_a=1", "--xla_dump_hlo_as_text=false", "word"])
def test_what_is_given_is_never_changed(given: str) -> None:
    made = with_dump_flags(given, "/d")
    assert made.text.startswith(given)
    assert made.folder == "/d"
    assert with_dump_flags(made.text, "/other") == type(made)(made.text, (), "/d")


def test_a_dump_to_standard_output_is_no_folder() -> None:
    assert with_dump_flags("--xla_dump_to=-", "/d").folder is None


@pytest.mark.parametrize("folder", ["/a b", "/it's", '/a "b" c', "/a\\ \\\\b", "/\t"])
def test_a_dump_folder_is_one_word_of_the_flags(folder: str) -> None:
    made = with_dump_flags("--xla_a=1", folder)
    assert made.folder == folder
    assert parse_flags(made.text)["xla_dump_to"] == folder
    assert next(iter(parse_flags(made.text))) == "xla_a"


@pytest.mark.parametrize(("program", "code"), [("no-such-program", 127), ("/", 126)])
def test_what_cannot_be_started(tmp_path: Path, program: str, code: int) -> None:
    done = subprocess.run(
        [*hloscope(), "--", program],
        env=surroundings(tmp_path),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("words", [[], ["--"]])
def test_nothing_to_run(tmp_path: Path, words: list[str]) -> None:
    done = subprocess.run(
        [*hloscope(), *words], env=surroundings(tmp_path), capture_output=True, check=False
    )
    assert done.returncode == 2


def test_a_full_disk_is_no_fault_of_the_program(tmp_path: Path) -> None:
    keep = tmp_path / "kept"
    program = "print('x' * 200_000, flush=True)\nprint('done', flush=True)\nraise SystemExit(7)\n"
    script = tmp_path / "train.py"
    script.write_text(program)
    # A limit on the size of files stands for the full disk.
    limited = f"ulimit -f 100; trap '' XFSZ; exec {' '.join(hloscope('--keep', str(keep)))} -- "
    done = subprocess.run(
        ["bash", "-c", f"{limited} {sys.executable} {script}"],
        env=surroundings(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 7
    assert done.stdout.endswith("done\n")
    assert "the log: File too large: what the program printed is not all there" in done.stderr
    assert "train.py: " not in done.stderr


def test_an_output_on_a_full_disk(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*hloscope(), "--", sys.executable, "-c", "print('x'); raise SystemExit(0)"],
            env=surroundings(tmp_path),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert "standard output: No space left on device" in done.stderr
