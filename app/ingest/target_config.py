"""The device that a module was compiled for, as `gpu_target_config.pbtxt` describes it.

A text proto (xla/stream_executor/device_description.proto, GpuTargetConfigProto). Only the few
figures that say how fast work runs are taken; a field that is missing or absurd is None.
"""

import re

from app.model.dump import TargetConfig

_FIELD = re.compile(r'^ *(?P<key>[a-z0-9_]+): "?(?P<value>[^"\n]{0,200})"?[ \r]*$', re.M)
_LARGEST = 1e18
# Those of H100s, with their cuDNN and all, take 2 KB.
_MOST_KEPT = 1 << 16


def read_target_config(text: str, *, file: str) -> TargetConfig | None:
    """The figures of a text that describes a GPU; None for a text without any of them."""
    block = text.partition("gpu_device_info")[2] or text
    # The first of its name: `name` and `major` occur in messages further on as well.
    fields = {found["key"]: found["value"] for found in reversed(list(_FIELD.finditer(block)))}
    clock = _number(fields.get("clock_rate_ghz"))
    name = fields.get("device_description_str") or fields.get("name", "")
    target = TargetConfig(
        file=file,
        text=text if len(text) <= _MOST_KEPT else "",
        name=name,
        cores=_whole(fields.get("core_count")),
        lanes_per_core=_whole(fields.get("fpus_per_core")),
        clock_hz=None if clock is None else clock * 1e9,
        memory_bandwidth=_number(fields.get("memory_bandwidth")),
        memory_bytes=_whole(fields.get("device_memory_size")),
    )
    return None if target == TargetConfig(file=file) else target


def _number(value: str | None) -> float | None:
    if value is None or not re.fullmatch(r"\d{1,18}(?:\.\d{1,18})?(?:e[+-]?\d{1,2})?", value):
        return None
    number = float(value)
    return number if 0 < number < _LARGEST else None


def _whole(value: str | None) -> int | None:
    number = _number(value)
    return None if number is None else int(number)
