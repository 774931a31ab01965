"""Dumps of programs that real JAX compiles for CPU devices, in a process of their own."""

import subprocess
import sys
from pathlib import Path

# A sharded step with a loop; RESHARDED is one line more, which nothing but communication answers.
STEP = """\
import jax, jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))


def step(w, x):
    def layer(h, w):
        h = jnp.tanh(h @ w)
        return h, ()

    h, _ = jax.lax.scan(layer, x, w)
    return jnp.sum(h)


rows, whole = NamedSharding(mesh, P("x", None)), NamedSharding(mesh, P())
w = jax.device_put(jnp.ones((3, 64, 64)), whole)
x = jax.device_put(jnp.ones((32, 64)), rows)
jax.jit(step).lower(w, x).compile()
"""
LINE_OF_RESHARDING = 10
RESHARDED = STEP.replace(
    "        return h, ()\n",
    "        h = jax.lax.with_sharding_constraint(h, NamedSharding(mesh, P(None, 'x')))\n"
    "        return h, ()\n",
)


def compile_program(folder: Path, text: str = STEP, *, flags: str = "", devices: int = 4) -> Path:
    """Runs the program in `folder`, as `step.py`, and returns the folder of its dump."""
    folder.mkdir(parents=True, exist_ok=True)
    program, dump = folder / "step.py", folder / "dump"
    program.write_text(text)
    words = (
        f"--xla_force_host_platform_device_count={devices} --xla_dump_to={dump} "
        f"--xla_dump_hlo_as_text --xla_dump_hlo_pass_re=.* {flags}"
    )
    environment = {
        "PATH": "/usr/bin:/bin",
        "JAX_PLATFORMS": "cpu",
        "HOME": str(folder),
        "XLA_FLAGS": words,
    }
    subprocess.run([sys.executable, str(program)], env=environment, check=True, timeout=200)
    return dump
