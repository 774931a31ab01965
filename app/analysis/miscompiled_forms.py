"""Forms of instructions that one range of XLA releases is known to compile wrongly.

Each function lists the instructions of a text that have one form; the release decides whether the
form is a fault, and rules know that. Results are pairs of computation and instruction.
"""

from collections.abc import Iterator

from app.analysis.flops import operand_shape
from app.analysis.opcodes import config_value
from app.analysis.suspects import Place, instructions, with_opcode, with_target
from hlo_parser import Computation, Instruction, Module, Shape

_YNN_KIND = "__ynn_fusion"
_FEWEST_DIMENSIONS = 7


def bias_along_another_axis(module: Module) -> Iterator[Place]:
    """Calls of cuBLASLt whose bias is as long as another dimension than the minor one.

    The epilogue adds one number of the bias to each column of the result (its minor dimension in
    row-major order); a bias of another length was broadcast along another axis. With equal lengths
    nothing can be told.
    """
    for computation, call in with_target(module, r"^__cublas\$lt\$matmul"):
        epilogue = config_value(call.backend_config, "gemm_backend_config", "epilogue")
        result = call.shape.elements[0] if call.shape.elements else call.shape
        if not isinstance(epilogue, str) or not epilogue.startswith("BIAS"):
            continue
        beta = config_value(call.backend_config, "gemm_backend_config", "beta")
        bias = operand_shape(computation, call, 3 if beta else 2)
        order = result.minor_to_major
        if bias is None or not order or len(bias.dimensions) != 1:
            continue
        others = {size for at, size in enumerate(result.dimensions) if at != order[0]}
        if bias.dimensions[0] != result.dimensions[order[0]] and bias.dimensions[0] in others:
            yield computation, call


def scatter_of_two_shardings(module: Module) -> Iterator[Place]:
    """Scatters that add, with operand and updates sharded differently; before partitioning."""
    for computation, scatter in with_opcode(module, ("scatter",)):
        if not _adds(module, scatter) or len(scatter.operands) != 3:
            continue
        target, _, updates = (computation.get(name) for name in scatter.operands)
        shardings = [_tiling(operand) for operand in (target, updates)]
        if None not in shardings and shardings[0] != shardings[1]:
            yield computation, scatter


def onednn_binary_add(module: Module) -> Iterator[Place]:
    """Products of oneDNN (CPU) that add another array in the same call."""
    for computation, call in with_target(module, r"^__onednn\$matmul"):
        if "BINARY_ADD" in call.attributes.get("backend_config", ""):
            yield computation, call


def fp8_on_several_devices(module: Module) -> Iterator[Place]:
    """Products of 8-bit floats by cuBLASLt in a program of several devices."""
    header = module.header
    if max(header.num_partitions, header.replica_count) > 1:
        yield from with_target(module, r"^__cublas\$lt\$matmul\$f8")


def ynn_of_high_rank(module: Module) -> Iterator[Place]:
    """Fusions for YNN (CPU) with an operand or a result of seven or more dimensions."""
    for computation, fusion in instructions(module):
        if fusion.opcode == "fusion" and _YNN_KIND in fusion.attributes.get("backend_config", ""):
            shapes = (fusion.shape, *(_operand_shapes(computation, fusion)))
            if any(len(shape.dimensions) >= _FEWEST_DIMENSIONS for shape in shapes):
                yield computation, fusion


def _operand_shapes(computation: Computation, instruction: Instruction) -> list[Shape]:
    found = (computation.get(name) for name in instruction.operands)
    return [operand.shape for operand in found if operand is not None]


def _adds(module: Module, scatter: Instruction) -> bool:
    return any(callee.root.opcode == "add" for _, callee in module.callees(scatter))


def _tiling(operand: Instruction | None) -> str | None:
    """The tiles of a sharded value (`[4,1]<=[4]`), None where it has none."""
    sharding = operand.sharding if operand is not None else None
    if sharding is None or "devices=" not in sharding:
        return None
    return sharding.partition("devices=")[2].split(" ")[0].rstrip("}")
