"""What is taken out of single texts, what stays, and that the rest reads as before."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.model.memory import LiveBuffer
from app.model.report import Dump, Evidence, Finding, Input, Loop, Module, Report, Tool
from app.report.redact import Choice, Redactor, input_name, open_fields
from app.report.wording import message_text
from hlo_parser import parse_module

TOOL = Tool(name="hloscope", version="1")


PLAIN = Choice()


def redactor(*texts: str, choice: Choice = PLAIN, report: Report | None = None) -> Redactor:
    made = Redactor(report or Report(tool=TOOL, input=Input(name="a.tar", bytes=1)), choice)
    for text in texts:
        made.learn(text)
    return made


def shown(text: str, choice: Choice = PLAIN) -> str:
    return redactor(text, choice=choice).text(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('File "/home/mirabelle/job/train.py", line 3', 'File "/path1/train.py", line 3'),
        ('1 "/home/mirabelle/my job/train.py"', '1 "/path1/train.py"'),
        ("/Users/mirabelle/x.bin is full", "/path1 is full"),
        ('1 "my jobs/x y.py"', '1 "folder1/x y.py"'),
        ('source_file="../job/train.py"', 'source_file="folder1/train.py"'),
        ('source_file="./train.py"', 'source_file="./train.py"'),
        ('  File "job/train.py", line 3', '  File "folder1/train.py", line 3'),
        ("job\\lib\\train.py:3 job/lib/train.py:3", "folder1/train.py:3 folder1/train.py:3"),
        ("see ~mirabelle/job/train.py.", "see /path1/train.py."),
        (r'1 "C:\\Users\\mirabelle\\job\\train.py"', '1 "/path1/train.py"'),
        (r"C:\Users\mirabelle\train.py:7", "/path1/train.py:7"),
        (r"\\fileserver\share\run1\x.bin", "/path1"),
        (r"{\"cache\":\"/srv/me/cache\"}", r"{\"cache\":\"/path1\"}"),
        ("unpacked to home/mirabelle/job/x", "unpacked to /path1"),
        ("--xla_dump_to=/tmp/dump --x=1", "--xla_dump_to=/path1 --x=1"),
        ("--xla_dump_to=dumps/run7 --x=1", "--xla_dump_to=path1 --x=1"),
        ('xla_gpu_kernel_cache_file: "kept"', 'xla_gpu_kernel_cache_file: "path1"'),
        ("/data/runs/module_0001.jit_f.txt", "/path1/module_0001.jit_f.txt"),
        ("gs://bucket/a/b and s3://c", "address1 and address2"),
        ("https://git.example/x/y.", "address1"),
        ("mirabelle@quokka:~/job$ ls", "user1@host1:/path1$ ls"),
        ("USER=mirabelle ran; mirabelle left", "USER=user1 ran; user1 left"),
        ("HOSTNAME=quokka17 and QUOKKA17", "HOSTNAME=host1 and host1"),
        ("on wombat.fleet.internal, wombat", "on host1, host2"),
        ("10.1.2.3:8476 [fd00:12::7]:1", "host1:8476 [host2]:1"),
        ("02:42:ac:11:00:02", "host1"),
        ("token hf_abcdefghijklmnopqrst", "token secret1"),
        ("MY_API_KEY=abc password: hunter2", "MY_API_KEY=secret1 password: secret2"),
        ("Authorization: Bearer abcdefghijklmnop", "Authorization: Bearer secret1"),
        ("--api_token=ab --auth-token cd", "--api_token=secret1 --auth-token secret2"),
        ("{'auth_token': 'ab'}", "{'auth_token': 'secret1'}"),
        ("--experiment=numbat --steps=7", "--experiment=value1 --steps=7"),
        ("JOB_NAME=numbat TF_X=y N_STEPS=7", "JOB_NAME=value1 TF_X=y N_STEPS=7"),
        (
            "-----BEGIN PRIVATE KEY-----\nMIIE\nabc\n-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----secret1\n\n\n-----END PRIVATE KEY-----",
        ),
        ("NODELIST=quokka[7-9] quokka8", "NODELIST=host1[7-9] host3"),
        ("quokka-7:12:13 [0] NCCL INFO; quokka-7", "host1:12:13 [0] NCCL INFO; host1"),
        ("at ip-10-1-2-3 and registry.numbat.io/x", "at host2 and address1"),
        ("AKIAABCDEFGHIJKLMNOP", "secret1"),
        (
            "/home/mirabelle/.venv/lib/python3.11/site-packages/jax/_src/pjit.py",
            "/path1/site-packages/jax/_src/pjit.py",
        ),
        ("/home/mirabelle/v/site-packages/secretlib/x.py", "/path1/x.py"),
        (
            "/home/build/.cache/external/xla/xla/service/a.cc:7",
            "/path1/external/xla/xla/service/a.cc:7",
        ),
    ],
)
def test_places_and_people_become_words(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "/usr/lib/python3.11/threading.py and /proc/self/cwd/external/xla/xla/a.cc",
        "https://github.com/openxla/xla/issues/1 and https://docs.jax.dev/en/latest",
        "external/xla/xla/service/collective_pipeliner.cc:675] Check failed",
        "jit(f)/jit(main)/while/body/transpose(jvp(g))/dot_general[axes=(1, 2)]",
        "%t = (f32[2]{0}, /*index=5*/f32[8]{0}) tuple(%a, %b)",
        "2026-11-30 00:05:34.687487: F 10:11:12.345678 4242 a.cc:12]",
        "a 1/2 b/s and/or c, 3 / 4, 1 /2",
        "jaxlib 0.4.30, cuda 12.4.131, 127.0.0.1:80 localhost 0.0.0.0",
        "token.5 = token[] after-all(), secret is kept",
        "%token = token[] after-all()",
        "ENTRY %main (token: s32[8], api_key: f32[]) -> f32[2] {",
        "token = tokenizer.encode(x)",
        "jaxlib 0.12.0.1 is a release",
        "%loop_fusion.3 has another user: loop_fusion.3.clone, owner: all-gather-start",
        'File "/usr/lib/python3.11/json/x.py" and jax/_src/pjit.py:3 and external/xla/xla/a.cc',
        "Check failed: NUM_AXES==3 at XLA_FLAGS=--xla_gpu_x=true",
        'source_file="train.py"',
        "xla::HloInstruction::Create and std::vector",
        'metadata={op_name="/add" source_line=3}',
        "replica_groups={{0,1},{2,3}}, channel_id=1",
    ],
)
def test_what_is_public_stays(text: str) -> None:
    assert shown(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%c = f32[2]{0} constant({1, 2.5})", "%c = f32[2]{0} constant({...})"),
        ("%c = f32[2]{0} constant({...})", "%c = f32[2]{0} constant({...})"),
        ("%c = s32[] constant(7), x", "%c = s32[] constant(7), x"),
        ("%c = f32[] constant(0.123456791)", "%c = f32[] constant(0.12)"),
        ("%c = s32[] constant(20240417)", "%c = s32[] constant(20000000)"),
        ("%c = s64[] constant(-20240417)", "%c = s64[] constant(-20000000)"),
        ("%c = u32[] constant(4294967295)", "%c = u32[] constant(4294967295)"),
        ("%c = s32[] constant(65537)", "%c = s32[] constant(65537)"),
        ("%c = s32[] constant(10000)", "%c = s32[] constant(10000)"),
        ("%c = f32[] constant(0.0009765625)", "%c = f32[] constant(0.0009765625)"),
        ("%c = f32[] constant(1e-05)", "%c = f32[] constant(1e-05)"),
        ("%c = f32[] constant(-inf)", "%c = f32[] constant(-inf)"),
        ("%c = c64[] constant((0.12345, 2))", "%c = c64[] constant((0.12, 2))"),
        ('%c = u8[3] constant("abc")', "%c = u8[3] constant({...})"),
        ("%c = f32[2,1] constant({\n {1},\n {2} })\n", "%c = f32[2,1] constant({...}\n\n)\n"),
        ('backend_config="abc"', 'backend_config="payload1"'),
        ('backend_config=""', 'backend_config=""'),
        ("backend_config='abc'", "backend_config='payload1'"),
        ("""backend_config='{"k":"axolotl"}'""", """backend_config='{"k":"payload1"}'"""),
        ("frontend_attributes={a='secret'}", "frontend_attributes={a='payload1'}"),
        ("x = b'" + "z" * 300 + "'", "x = b'payload1'"),
        ('backend_config={"n":"4","k":"kCustom"}', 'backend_config={"n":"4","k":"kCustom"}'),
        ('backend_config={"n":"4","k":"axolotl"}', 'backend_config={"n":"4","k":"payload1"}'),
        (r'backend_config="{\"k\":\"axolotl\"}"', r'backend_config="{\"k\":\"payload1\"}"'),
        (r'backend_config="{\"k\":\"DEFAULT\"}"', r'backend_config="{\"k\":\"DEFAULT\"}"'),
        ('frontend_attributes={a="secret"}', 'frontend_attributes={a="payload1"}'),
        (
            'frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{}]>"}',
            'frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{}]>"}',
        ),
        ('opaque="\\001\\002abc"', 'opaque="payload1"'),
        ('backend_config={"a":"DEFAULT","b":"axol…', 'backend_config={"a":"DEFAULT","b":…'),
        ('x="' + "z" * 300 + '"', 'x="payload1"'),
        ("A" * 100, "payload1"),
    ],
)
def test_constants_and_payloads_go(text: str, expected: str) -> None:
    assert shown(text) == expected


HLO = """HloModule jit_falcon_step

FunctionNames
1 "falcon_step"
2 "Model.<locals>.apply_wing"

%apply_wing.3 (x: f32[2]) -> f32[2] {
  ROOT %x = f32[2]{0} parameter(0), metadata={op_name="jit(falcon_step)/Wing_0/mul"}
}

ENTRY %main.9 (a: f32[2]) -> f32[2] {
  %a = f32[2]{0} parameter(0), metadata={op_name="params['wing']['kernel']"}
  ROOT %call.4 = f32[2]{0} call(%a), to_apply=%apply_wing.3
}
"""


def test_names_go_on_request_and_the_text_is_still_hlo() -> None:
    plain = shown(HLO)
    assert plain == HLO
    bare = shown(HLO, Choice(op_names=True))
    for name in ("falcon", "wing", "Wing", "Model"):
        assert name not in bare
    module = parse_module(bare)
    assert [c.name.rpartition(".")[2] for c in module.computations] == ["3", "9"]
    call = module.entry.instructions[1]
    assert module.callees(call)[0][1] is module.computations[0]


def test_axes_and_patterns_of_flags_go_with_the_names() -> None:
    axes = r'frontend_attributes={xla.sdy.meshes="{mesh = #sdy.mesh<[\"falcon\"=2, \"x\"=1]>}"}'
    flags = "XLA_FLAGS=--xla_dump_hlo_module_re=.*wing.* --xla_dump_hlo_pass_re=.*"
    assert shown(axes) == axes
    assert shown(flags) == flags
    bare = Choice(op_names=True)
    assert shown(axes, bare) == axes.replace("falcon", "name1")
    assert shown(flags, bare) == flags.replace(".*wing.*", "pattern1")


def test_the_same_becomes_the_same() -> None:
    one, two = "/home/mirabelle/a/x.py", "/srv/b/x.py"
    made = redactor(one, two)
    assert made.text(one) == made.text(one) != made.text(two)
    assert made.text(made.text(one)) == made.text(one)
    assert {(each.original, each.times) for each in made.replaced()} >= {("/srv/b", 1)}


LINE = '  %add.1 = f32[] add(%x, %y), metadata={source_file="/srv/quokka/x.py"}'
OTHER = '  %add.2 = f32[] add(%x, %y), metadata={source_file="/srv/quokka/x.py"}'
ODD = "no line of a computation"


@pytest.mark.parametrize(
    ("texts", "places"),
    [
        ((LINE,), 1),
        ((f"{LINE}\n{OTHER}\n",), 2),
        ((f"{ODD}\n{LINE}\n{OTHER}\n",), 2),
        ((f"{ODD}\n{LINE}\n{LINE}\n",), 1),
        ((f"{LINE}\n{LINE}\n", LINE, f"{ODD}\n{LINE}\n"), 1),
        ((LINE, f"{LINE}\n{OTHER}\n", f"{ODD}\n{OTHER}\n{LINE}\n"), 2),
        ((f"{ODD}\n{LINE}\n{OTHER}\n", f"{LINE}\n{OTHER}\n", OTHER), 2),
    ],
)
def test_what_is_in_a_line_counts_once_whatever_holds_the_line(
    texts: tuple[str, ...], places: int
) -> None:
    made = redactor(*texts)
    for text in (*texts, *texts):
        assert "quokka" not in made.text(text)
    assert [each.times for each in made.replaced() if "quokka" in each.original] == [places]


def test_a_name_of_a_file_counts_once() -> None:
    report = Report(
        tool=TOOL,
        input=Input(name="a.tar", bytes=1),
        modules=(Module(id="quokka/m", name="m", dumps=()),),
    )
    made = redactor(report=report)
    for _ in range(3):
        made.member("quokka/m")
    times = {each.original: each.times for each in made.replaced()}
    assert times["quokka"] == 1


def test_a_name_that_is_a_word_of_hlo_goes_in_places_alone() -> None:
    text = "/home/while/x.py %while.3 = while(%a)"
    assert shown(text) == "/path1/x.py %while.3 = while(%a)"


def test_files_folders_and_ids_of_the_report() -> None:
    file = "quokka/run/module_0001.jit_f.0001.txt"
    report = Report(
        tool=TOOL,
        input=Input(name="quokka-mirabelle.tar.gz", bytes=7, sha256="ab"),
        modules=(
            Module(
                id="quokka/run/module_0001.jit_f",
                name="jit_f",
                dumps=(Dump(index=0, file=file, bytes=1),),
            ),
            Module(id="plan", name="plan", dumps=(Dump(index=0, file="plan.hlo", bytes=1),)),
        ),
        loops=(Loop(id="plan/while.1", module="plan", name="while.1"),),
        findings=(
            Finding(
                rule="X1",
                class_="c",
                severity="note",
                confidence="likely",
                title=f"in {file}",
                message="It costs.",
                evidence=(Evidence(file="mirabelle.log", line=1, text="t"),),
                also_in=("plan",),
            ),
        ),
    )
    made = redactor(report=report)
    safe = made.report()
    assert (safe.input.name, safe.input.sha256, safe.input.bytes) == ("dump.tar.gz", "", 7)
    first, second = safe.modules
    assert first.id == "folder1/module_0001.jit_f" == made.member("quokka/run/module_0001.jit_f")
    assert first.dumps[0].file == "folder1/module_0001.jit_f.0001.txt" == made.member(file)
    assert (second.id, second.dumps[0].file) == (made.member("plan"), made.member("plan.hlo"))
    assert "plan" not in second.id + second.dumps[0].file
    assert safe.loops[0].module == second.id
    assert safe.loops[0].id == f"{second.id}/while.1"
    assert safe.findings[0].title == f"in {first.dumps[0].file}"
    assert safe.findings[0].evidence[0].file.startswith("file")
    assert safe.findings[0].rule == "X1"
    assert safe.findings[0].also_in == (second.id,)
    told = message_text(safe.findings[0])
    assert told == f"It costs.\nThe same stands in another module: {second.id}."


def test_names_of_files_go_with_and_without_their_folders() -> None:
    names = ("dump/axolotl.hlo", "quokka/axolotl.hlo", "numbat/module_0001.jit_f.txt")
    modules = tuple(
        Module(id=f"module_000{at}.m", name="m", dumps=(Dump(index=0, file=name, bytes=1),))
        for at, name in enumerate(names)
    )
    made = redactor(report=Report(tool=TOOL, input=Input(name="a.tar", bytes=1), modules=modules))
    text = f"in {names[0]} and {names[1]}, not {names[2]} or axolotl.hlo but axolotl.hlos"
    assert made.text(text) == (
        "in dump/file1.hlo and folder1/file1.hlo, not folder2/module_0001.jit_f.txt or file1.hlo"
        " but axolotl.hlos"
    )


def test_words_of_ours_stay_though_somebody_is_called_so() -> None:
    closed = {
        name
        for kind in (Finding, LiveBuffer)
        for name in set(kind.__struct_fields__) - set(open_fields(kind))
    }
    assert {"severity", "confidence", "source_how", "class_"} <= closed
    assert {"message", "instruction"}.isdisjoint(closed)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("secret.tar.zst", "dump.tar.zst"),
        ("me.log", "run.log"),
        ("x", "dump"),
        ("A.TGZ", "dump.tgz"),
    ],
)
def test_the_archive_keeps_its_kind_alone(name: str, expected: str) -> None:
    assert input_name(name) == expected


@given(
    st.lists(
        st.sampled_from(
            [*'"\\{}()=:/~@.,\n', " constant(", "backend_config=", "op_name=", "opaque=", "home/",
             "frontend_attributes=", "C:", "abc", "1.25", "FunctionNames\n", "xla_a_to", "é"]
        )
    ).map("".join)
)  # fmt: skip
def test_any_text_keeps_its_lines(text: str) -> None:
    made = shown(text, Choice(op_names=True, source=True))
    assert made.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "unit",
    [" constant({", 'backend_config="', "backend_config={", "/a", '"', "a@", "~a/", "::", "1.",
     "opaque={", "\\\\a", "a:/", "a.", "A_KEY=", "op_name=\"", "{", "home/a/", "FunctionNames\n",
     "KEY_", "A_B=", "USER_", "on host a", "projects/a/", "a-b.", "--a-", "--a-b=c ", "a_key=",
     "[a:12] ", "PRIVATE KEY-----a\n", "aA1234", "source_file=\"a/", "a/b.py", "x.py/", "\\", "'",
     "b'", " constant('", "//a/", "<", "NODELIST=a[0-99]", "arn:", "to a:1234 ", "eyJ", "-a",
     '\\"', "\\'"],
)  # fmt: skip
def test_time_grows_with_the_text(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    started = time.process_time()
    shown(text, Choice(op_names=True, source=True))
    assert time.process_time() - started < 5


@pytest.mark.parametrize("unit", ['\\"', "\\'", "'", "a"])
@pytest.mark.parametrize(
    "before", [" constant(", " constant({", "backend_config={", 'frontend_attributes={a="']
)
def test_time_grows_with_what_holds_strings(before: str, unit: str) -> None:
    text = before + unit * (100_000 // len(unit))
    started = time.process_time()
    shown(text, Choice())
    assert time.process_time() - started < 5


NAMES = {
    "people": "logged in as {}\n",
    "people who share a beginning": "logged in as numbat-wombat-{}\n",
    "hosts": "HOSTNAME={}\n",
    "homes": "/home/{}/job/train.py\n",
}


def name_of(number: int) -> str:
    """Names that begin in many ways."""
    return f"{number * 7919 % 100_000:05d}"[::-1].translate(
        str.maketrans("0123456789", "qwrtpsdfgh")
    )


@pytest.mark.parametrize("kind", NAMES)
def test_time_grows_with_the_names_and_not_with_names_times_text(kind: str) -> None:
    def seconds(count: int) -> float:
        names = list(map(name_of, range(count)))
        texts = [NAMES[kind].format(name) for name in names]
        texts += [f"{name} and numbat-wombat-{name} left it to others\n" for name in names]
        started = time.process_time()
        made = redactor("".join(texts))
        made.text("".join(texts))
        return time.process_time() - started

    # A busy machine lengthens some runs: the longest of the small, the shortest of the large.
    small = max(seconds(500) for _ in range(2))
    assert min(seconds(4_000) for _ in range(2)) < 24 * small


def test_time_grows_with_the_names_of_files_and_not_with_names_times_text() -> None:
    def seconds(count: int) -> float:
        names = [f"quokka/{name_of(number)}.hlo" for number in range(count)]
        dumps = tuple(Dump(index=at, file=name, bytes=1) for at, name in enumerate(names))
        report = Report(
            tool=TOOL,
            input=Input(name="a.tar", bytes=1),
            modules=(Module(id="module_0001.f", name="f", dumps=dumps),),
        )
        started = time.process_time()
        redactor(report=report).text("\n".join(names))
        return time.process_time() - started

    small = max(seconds(500) for _ in range(2))
    assert min(seconds(4_000) for _ in range(2)) < 24 * small


def test_a_line_seen_before_is_shown_as_before_wherever_it_stands() -> None:
    lines = (
        '  %a = f32[] custom-call(%b), backend_config="axolotl", metadata={op_name="f/g"}',
        "  %c = f32[2]{0} constant({1, 2.5})",
        "  ROOT %d = f32[2]{0} constant({",
        '  %e = f32[] add(%b, %c), metadata={source_file="/home/mirabelle/train.py"}',
    )
    head, end = "ENTRY %main (a: f32[]) -> f32[] {", "}\n\n"
    texts = ["\n".join((head, *lines[at:], end)) for at in range(4)]
    made = redactor(*texts)
    for text in (*texts, *reversed(texts)):
        assert made.text(text) == redactor(*texts).text(text)
    assert made.text(texts[0]).split("\n")[1:5] == [
        '  %a = f32[] custom-call(%b), backend_config="payload1", metadata={op_name="f/g"}',
        "  %c = f32[2]{0} constant({...})",
        "  ROOT %d = f32[2]{0} constant({...}",
        '  %e = f32[] add(%b, %c), metadata={source_file="/path1/train.py"}',
    ]


def test_what_goes_over_lines_is_taken_out_whole() -> None:
    literal = "  %c = f32[2,2]{1,0} constant({\n  { 1, 2 },\n  { 3, 4 }\n})\n}\n\n"
    one_of_it = "  %c = f32[2,2]{1,0} constant({\n}\n\n"
    key = "  %k = s32[] constant(1), -----BEGIN PRIVATE KEY-----\n  %a = MIIEaxolotl\n}\n\n"
    made = redactor(one_of_it, literal, key)
    made.text(one_of_it)
    assert made.text(literal) == "  %c = f32[2,2]{1,0} constant({...}\n\n\n)\n}\n\n"
    assert "axolotl" not in made.text(key)
