"""A dump, a log and words that hold secrets of every kind that a share must not show."""

from web.asking import tar_of

FOLDER = "zanzibar_backup"
USER, HOST, SECOND_HOST = "mirabelle", "quokka-node-17", "wombat.fleet.internal"
SECRETS = {
    "user": USER,
    "host": HOST,
    "host in the log": "wombat",
    "home folder": "skunkworks",
    "unknown folder": "bluebottle",
    "file there": "weights_v9",
    "address": "10.20.30.41",
    "new address": "fd12:3456:789a::17",
    "bucket": "platypus-bucket",
    "private page": "git.numbat.example",
    "mail": "numbat.example",
    "token": "hf_abcdefghijklmnopqrstuvwx",
    "named token": "tok-5551234",
    "flag": "bandicoot_dumps",
    "constant": "3.14159274",
    "second constant": "2.71828175",
    "number": "0.123456791",
    "opaque": "KERNEL_PAYLOAD_AXOLOTL",
    "config": "axolotl-tuning",
    "attribute": "dugong-experiment",
    "base64": "QmFuZGljb290" * 12,
    "folder in the archive": FOLDER,
    "file beside": "merger_plan",
    "archive": "acquisition",
    "source text": "cassowary_formula",
    "label": "takeover",
    "link": "ci.numbat.example",
}
"""What each is, and a part of it that must be seen nowhere."""

HLO = f"""HloModule jit_step, entry_computation_layout={{(f32[4]{{0}})->f32[4]{{0}}}}

FileNames
1 "/home/{USER}/skunkworks/train.py"
2 "/srv/bluebottle/libs/weights_v9/model.py"
3 "C:\\\\Users\\\\{USER}\\\\skunkworks\\\\win.py"

FunctionNames
1 "step"
2 "layer_of_falcon"

FileLocations
1 {{file_name_id=1 function_name_id=1 line=12 end_line=12 column=3 end_column=9}}
2 {{file_name_id=2 function_name_id=2 line=7 end_line=7 column=3 end_column=9}}

StackFrames
1 {{file_location_id=1 parent_frame_id=1}}
2 {{file_location_id=2 parent_frame_id=2}}


ENTRY %main.9 (Arg_0.1: f32[4]) -> f32[4] {{
  %Arg_0.1 = f32[4]{{0}} parameter(0), metadata={{op_name="params['falcon']"}}
  %constant.2 = f32[4]{{0}} constant({{3.14159274, 2.71828175, 1, 0}})
  %constant.3 = f32[2,2]{{1,0}} constant({{
    {{ 3.14159274, 1 }},
    {{ 2.71828175, 0 }}
  }})
  %constant.4 = f32[] constant(0.123456791)
  %constant.5 = s32[] constant(7)
  %broadcast.6 = f32[4]{{0}} broadcast(%constant.4), dimensions={{}}, \
metadata={{op_name="jit(step)/falcon/mul" source_file="/home/{USER}/skunkworks/train.py" \
source_line=12}}
  %multiply.7 = f32[4]{{0}} multiply(%Arg_0.1, %broadcast.6), \
frontend_attributes={{experiment="dugong-experiment",_scheduling_group_id="0"}}, \
metadata={{op_name="jit(step)/falcon/mul" stack_frame_id=1}}
  %custom-call.8 = f32[4]{{0}} custom-call(%multiply.7, %constant.2), \
custom_call_target="my_kernel", metadata={{op_name="jit(step)/falcon/call" stack_frame_id=2}}, \
backend_config="KERNEL_PAYLOAD_AXOLOTL"
  %custom-call.10 = f32[4]{{0}} custom-call(%custom-call.8), custom_call_target="other", \
backend_config={{"operation_queue_id":"0","name":"axolotl-tuning",\
"ir":"{SECRETS["base64"]}","cache":"/home/{USER}/skunkworks/cache"}}
  ROOT %add.9 = f32[4]{{0}} add(%custom-call.8, %custom-call.10), \
metadata={{op_name="jit(step)/falcon/add" stack_frame_id=1}}
}}
"""
LATER = HLO.replace("multiply(%Arg_0.1, %broadcast.6)", "multiply(%broadcast.6, %Arg_0.1)")

LOG = f"""{USER}@{HOST}:~/skunkworks$ python train.py
HOSTNAME={HOST} USER={USER} HF_TOKEN=hf_abcdefghijklmnopqrstuvwx MY_API_KEY=tok-5551234
XLA_FLAGS=--xla_dump_to=bandicoot_dumps --xla_gpu_enable_x=true
connecting to {SECOND_HOST}:8476 at 10.20.30.41 and [fd12:3456:789a::17]:8476
reading gs://platypus-bucket/ckpt and https://git.numbat.example/ml/falcon
from {USER} <{USER}.m@numbat.example> on {SECOND_HOST}
Traceback (most recent call last):
  File "/home/{USER}/skunkworks/train.py", line 12, in step
F0412 10:11:12.345678 4242 some_pass.cc:12] Check failed: a != b \
(/srv/bluebottle/weights_v9/x.bin vs. {HOST}) {USER} QmFuZGljb290
"""
ARCHIVE_NAME = f"acquisition-{USER}.tar.gz"
WORDS = {
    "label": "takeover of numbat",
    "run": "https://ci.numbat.example/7",
    "flags": "--xla_dump_to=bandicoot_dumps --xla_gpu_enable_x=true",
}


def planted_dump() -> bytes:
    base = f"{FOLDER}/module_0001.jit_step"
    return tar_of(
        {
            f"{base}.0000.pipe.after_pipeline-start.before_a.txt": HLO.encode(),
            f"{base}.0001.pipe.after_a.before_b.txt": LATER.encode(),
            f"{base}.cpu_after_optimizations.txt": LATER.encode(),
            f"{FOLDER}/train.py": b"# the\n" * 11 + b"y = cassowary_formula(x)\n",
            f"{FOLDER}/merger_plan.docx": b"\0\1\2",
            f"{FOLDER}/merger_plan.hlo": b"HloModule broken\n\nENTRY e { @@@ /home/mirabelle/x }\n",
        }
    )


def leaks(text: str) -> dict[str, str]:
    """The secrets that stand in a text."""
    lower = text.lower()
    return {what: secret for what, secret in SECRETS.items() if secret.lower() in lower}
