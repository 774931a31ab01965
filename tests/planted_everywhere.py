"""Secrets of many kinds, each in every place that a dump, a log or a form has for a text."""

ENVIRONMENT = """USER=mirabelle
HOSTNAME=quokka-node-17
SLURM_JOB_NODELIST=tasmania[101-103]
SLURM_JOB_NAME=numbat_takeover
WANDB_ENTITY=numbat_labs
environ({'CONDA_DEFAULT_ENV': 'numbat_env', 'CUDA_VISIBLE_DEVICES': '0'})
wombat-3:4242:4243 [0] NCCL INFO Bootstrap : Using eth0
[dingo-9:777] *** Process received signal ***
Nov 30 11:10:00 bilby-5 python[123]: started
Connected to coordinator at potoroo:8476
python train.py --experiment=numbat_takeover --wandb_key=zq8zq81 --password swordfish
"""
"""Lines of a log; what stands bare in `KINDS` is told by them."""

KINDS = {
    "user": "mirabelle",
    "host of a variable": "quokka-node-17",
    "host of a range": "tasmania102",
    "host of NCCL": "wombat-3",
    "host of MPI": "dingo-9",
    "host of syslog": "bilby-5",
    "host with a port": "potoroo",
    "home folder": "/home/mirabelle/skunkworks/x.bin",
    "home folder of a name": "~mirabelle/skunkworks",
    "unknown folder": "/srv/skunkworks/weights",
    "folder of a drive": "C:\\\\work\\\\skunkworks\\\\x.bin",
    "folder of a server": "//fileserver9/skunkworks/x",
    "relative source": "skunkworks/models/train.py",
    "relative source above": "../skunkworks/models/train.py",
    "address with a password": "https://me:swordfish@numbat.example/x",
    "bucket": "gs://skunkworks-bucket/ckpt",
    "mail": "m.irabelle@numbat.example",
    "IPv4": "10.20.30.41",
    "IPv6": "fd12:3456:789a::17",
    "MAC": "02:42:ac:11:00:02",
    "cloud host": "ip-10-20-30-41",
    "domain": "db.skunkworks.internal",
    "role": "arn:aws:iam::123456789012:role/skunkworks",
    "resource": "projects/skunkworks-1/zones/us-a/instances/x",
    "image": "registry.skunkworks.io/img:1",
    "Hugging Face": "hf_abcdefghijklmnopqrstuvwx",
    "GitHub": "ghp_abcdefghijklmnopqrstuvwx1234",
    "AWS": "AKIAABCDEFGHIJKLMNOP",
    "Google": "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "OpenAI": "sk-proj-abcdefghijklmnopqrst",
    "npm": "npm_abcdefghijklmnopqrstuvwxyz",
    "NVIDIA": "nvapi-abcdefghijklmnopqrstuvwxyz",
    "Slack": "xoxb-123456789012-abcdefgh",
    "JWT": "eyJhbGciOiJIUzI1.eyJzdWIiOiIx.SflKxwRJSM",
    "SSH": "AAAAB3NzaC1yc2EAAAADAQABAAABgQC7",
    "bearer": "Bearer abcdefghijklmnop",
    "basic": "Basic bWlyYWJlbGxlOmh1bnRlcg==",
    "named token": "MY_TOKEN=zq8zq81zq",
    "lower named token": "api_token=zq8zq82zq",
    "password": "password: zq8zq83zq",
    "option": "--wandb_key=zq8zq84zq",
}
"""What each is, as it stands in a text."""

TRACES = (
    *"mirabelle quokka tasmania102 wombat-3 dingo-9 bilby potoroo skunkworks fileserver9 swordfish"
    " numbat 10.20.30 10-20-30 fd12: 42:ac ijklmnop AAAAB3 SyA123 eyJhb bWlyYW xoxb zq8zq8".split(),
)
"""Parts of the secrets, one at least of each; none may be seen. None is such that ids hold it."""

_IN_TEXT = [text.replace('"', "") for text in KINDS.values()]


def _instructions() -> str:
    lines: list[str] = []
    for number, text in enumerate(_IN_TEXT, 10):
        lines.append(
            f'  %s.{number} = f32[4]{{0}} sine(%a), frontend_attributes={{note="{text}"}}, '
            f'metadata={{op_name="jit(f)/g[x={text}]/sin" source_file="{text}" source_line=3}}\n'
            f'  %c.{number} = f32[4]{{0}} custom-call(%a), custom_call_target="k", '
            f'metadata={{op_name="jit(f)/k"}}, backend_config="{text}"\n'
            f'  %d.{number} = f32[4]{{0}} custom-call(%a), custom_call_target="k", '
            f'backend_config={{"note":"{text}","n":"4"}}\n'
        )
    return "".join(lines)


HLO = f"""HloModule jit_mirabelle_step, is_scheduled=true, \
entry_computation_layout={{(f32[4]{{0}})->f32[4]{{0}}}}, frontend_attributes={{who="mirabelle"}}

ENTRY %main_mirabelle.9 (a: f32[4]) -> f32[4] {{
  %a = f32[4]{{0}} parameter(0), metadata={{op_name="params['mirabelle']"}}
  %n = s32[] constant(20240417)
{_instructions()}  ROOT %r = f32[4]{{0}} negate(%a)
}}
"""
LATER = HLO.replace("negate(%a)", "negate(%s.10)")

LOG = (
    ENVIRONMENT
    + "".join(
        f"E0412 10:11:12.345678 4242 some_pass.cc:12] INTERNAL: about {text} and '{text}'\n"
        f'  File "/home/mirabelle/a.py", line 3, in f\n    g("{text}")\n'
        for text in _IN_TEXT
    )
    + "".join(
        f"jaxlib.xla_extension.XlaRuntimeError: INTERNAL: Check failed: a == b ({text} vs. 3)\n"
        for text in _IN_TEXT
    )
)
OPTIONS = "".join(f'xla_gpu_note_{n}: "{text}"\n' for n, text in enumerate(_IN_TEXT)) + (
    'xla_dump_to: "skunkworks_dumps"\nxla_gpu_enable_x: true\n'
)
WORDS = {
    "label": "mirabelle of numbat",
    "run": "https://ci.numbat.example/7",
    "commit": "https://skunkworks.example/abc",
    "flags": "--xla_dump_to=skunkworks_dumps " + " ".join(
        f"--xla_gpu_word_{n}={text}" for n, text in enumerate(_IN_TEXT) if " " not in text
    ),
}  # fmt: skip
ARCHIVE_NAME = "numbat-mirabelle.tar.gz"


def everywhere_files() -> dict[str, bytes]:
    """A dump whose folders, file names and module tell secrets too."""
    base = "skunkworks/quokka-node-17/module_0001.jit_mirabelle_step"
    return {
        f"{base}.0000.pipe.after_pipeline-start.before_a.txt": HLO.encode(),
        f"{base}.0001.pipe.after_a.before_b.txt": LATER.encode(),
        f"{base}.cpu_after_optimizations.txt": LATER.encode(),
        f"{base}.debug_options": OPTIONS.encode(),
        "skunkworks/mirabelle.hlo": b"HloModule broken\n\nENTRY e { @@@ numbat }\n",
        "skunkworks/numbat_plan.docx": b"\0\1\2",
    }


def traces(text: str) -> set[str]:
    """The parts of secrets that stand in a text."""
    lower = text.lower()
    return {trace for trace in TRACES if trace.lower() in lower}
