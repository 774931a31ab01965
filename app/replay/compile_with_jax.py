"""Compiles one HLO module with the jaxlib of the environment whose Python runs this file.

Never imported: it is started as `python compile_with_jax.py ORDERS` by the Python of a toolchain,
where neither hloscope nor its packages are. ORDERS is a JSON file; what became of the module goes
into the file that its `result` names, unless XLA ends the process first. The names of JAX that it
needs are private and have moved, so all of them stand here.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

Orders = dict[str, Any]


def main() -> int:
    """Compile as ordered; the exit code is 0 where a result was written."""
    orders: Orders = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    stage = "prepare"
    result: Orders = {"stage": "done"}
    try:
        devices = _devices(orders)
        module = _stablehlo(orders)
        stage = "compile"
        _compile(orders, devices, module)
    except Exception as error:
        if isinstance(error, (AttributeError, ImportError, TypeError)):
            stage = "prepare"  # this script and that jax do not fit: no word of XLA's
        result = {"stage": stage, "error": f"{type(error).__name__}: {error}"}
    result |= {"is_usual": orders.get("is_usual", False)}
    Path(orders["result"]).write_text(json.dumps(result), "utf-8")
    return 0


def _extension() -> Any:
    # jaxlib's own C++ bindings were renamed in 0.6.1.
    try:
        return importlib.import_module("jaxlib._jax")
    except ImportError:
        return importlib.import_module("jaxlib.xla_extension")


def _hlo_classes() -> Any:
    # A module of their own from 0.10 on.
    try:
        return importlib.import_module("jaxlib._hlo")
    except ImportError:
        return _extension()


def _stablehlo(orders: Orders) -> Any:
    """The module in the form in which JAX hands modules to a client."""
    data = Path(orders["module"]).read_bytes()
    classes = _hlo_classes()
    if orders["form"] == "text":
        parsed = classes.hlo_module_from_text(data.decode("utf-8", "surrogateescape"))
        data = parsed.as_serialized_hlo_module_proto()
    computation = classes.XlaComputation(data)
    return _extension().mlir.xla_computation_to_mlir_module(computation)


def _devices(orders: Orders) -> list[Any]:
    """As many devices as the module runs on; those of a GPU need not exist."""
    count: int = orders["replicas"] * orders["partitions"]
    jax: Any = importlib.import_module("jax")
    if orders["backend"] == "CPU":
        return list(jax.devices("cpu")[:count])
    if orders["backend"] == "TPU":
        jax.devices("cpu")
        topologies: Any = importlib.import_module("jax.experimental.topologies")
        topology = topologies.get_topology_desc(platform="tpu", topology_name=orders["target"])
        return list(topology.devices)[:count]
    bridge: Any = importlib.import_module("jax._src.xla_bridge")
    jax.devices("cpu")  # discovers and registers the plugins
    # Up to 0.4.38 `gpu` is no known platform where no device is visible.
    known = bridge.canonicalize_platform

    def canonical(name: str) -> str:
        return "cuda" if name == "gpu" else known(name)

    bridge.canonicalize_platform = canonical
    topologies = importlib.import_module("jax.experimental.topologies")
    options: dict[str, str] = {}
    if orders["target"]:
        options = {"topology": f"1x1x{count}", "target_config": orders["target"]}
    try:
        topology = topologies.get_topology_desc("replay", "cuda", **options)
    except Exception as error:
        # A dump's own description may have fields that this release does not know.
        if "GpuTargetConfigProto" not in str(error) or not orders["usual_target"]:
            raise
        orders["is_usual"] = True
        options["target_config"] = orders["usual_target"]
        topology = topologies.get_topology_desc("replay", "cuda", **options)
    return list(topology.devices)[:count]


def _compile(orders: Orders, devices: list[Any], module: Any) -> None:
    compiler: Any = importlib.import_module("jax._src.compiler")
    numpy: Any = importlib.import_module("numpy")
    client = devices[0].client
    replicas, partitions = orders["replicas"], orders["partitions"]
    options = compiler.get_compile_options(
        num_replicas=replicas,
        num_partitions=partitions,
        device_assignment=numpy.array([d.id for d in devices]).reshape(replicas, partitions),
        backend=client,
    )
    listed = getattr(_extension(), "DeviceList", tuple)(tuple(devices))
    is_loaded = orders["backend"] == "CPU" and hasattr(client, "compile_and_load")
    if is_loaded or not _takes_text(client):
        act = client.compile_and_load if is_loaded else client.compile
        try:
            act(_parsed(module), listed, options)
        except TypeError:
            act(module, listed, options)  # some release in between may take text still
    else:
        client.compile(module, compile_options=options)


def _takes_text(client: Any) -> bool:
    """Whether a module and options are enough: a client says of itself what its `compile` takes."""
    return "executable_devices" not in (client.compile.__doc__ or "")


def _parsed(module: Any) -> Any:
    """The module as a value of the MLIR bindings, which newer clients take in place of text."""
    mlir: Any = importlib.import_module("jax._src.interpreters.mlir")
    with mlir.make_ir_context():
        return mlir.ir.Module.parse(module)


if __name__ == "__main__":
    sys.exit(main())
