"""Eight compile-only H100s: no GPU needed (see ../README.md)."""
import os
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")
import numpy as np
from jax._src import xla_bridge
from jax.experimental import topologies
from jax.sharding import Mesh


def mesh(shape, names):
    """A jax Mesh of the given shape over compile-only devices."""
    xla_bridge.backends()
    text = open(os.path.join(os.path.dirname(__file__), "target_config_h100.txt")).read()
    n = int(np.prod(shape))
    devices = topologies.get_topology_desc("x", "cuda", topology=f"1x1x{n}", target_config=text).devices
    return Mesh(np.array(devices[:n]).reshape(shape), names)
