"""Groups the texts of a dump into module histories, in order and with their role.

A module is known by folder, time stamp, number and name: numbers are per process and collide where
several processes write to one folder, names repeat where a function is compiled again. Whether a
module is the user's own is told by its structure, since names are no help: JAX compiles
`convert_element_type` like any user's function.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from app.ingest.frame_numbers import with_sound_frames
from app.ingest.names import FileName
from app.knowledge.jax_functions import PRIVATE_FUNCTIONS
from app.model.dump import DumpName, ModuleHistory, PassDump
from hlo_parser import Computation, Module

Role = Literal["user", "helper", "autotuning"]
Key = tuple[str, int, int, str]


@dataclass(frozen=True, slots=True)
class ParsedText:
    """One HLO text that was read, or the text printed from a proto."""

    name: DumpName
    module: Module
    byte_size: int
    from_proto: bool = False


@dataclass(slots=True)
class _Group:
    key: Key
    texts: list[ParsedText] = field(default_factory=list[ParsedText])
    files: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def is_complete(self) -> bool:
        return any(text.name.kind == "after_optimizations" for text in self.texts)

    @property
    def has_input(self) -> bool:
        return any(text.name.kind == "before_optimizations" for text in self.texts)


def group_texts(
    texts: Sequence[ParsedText], side_files: Iterable[FileName] = ()
) -> tuple[ModuleHistory, ...]:
    """The histories, the user's own modules first, then helpers, then fragments for autotuning.

    Side files go to the module whose number they carry; those of no module are left out.
    """
    groups = _grouped(texts)
    _attach(groups, side_files)
    for group in groups:
        group.texts = _ordered(group.texts)
    ids = _ids(groups)
    roles = _roles(groups)
    finished = any(group.is_complete for group in groups)
    ranked = sorted(range(len(groups)), key=lambda n: _rank(groups[n], roles[n], finished))
    return tuple(_history(groups[n], ids[n], roles[n]) for n in ranked)


def _history(group: _Group, identifier: str, role: Role) -> ModuleHistory:
    modules = with_sound_frames([text.module for text in group.texts])
    dumps = (
        PassDump(index, text.name, module, text.byte_size, text.from_proto)
        for index, (text, module) in enumerate(zip(group.texts, modules, strict=True))
    )
    return ModuleHistory(
        id=identifier,
        name=group.key[3],
        role=role,
        dumps=tuple(dumps),
        complete=group.is_complete,
        files={kind: tuple(names) for kind, names in sorted(group.files.items())},
    )


# ---- grouping ------------------------------------------------------------------------------------


def _grouped(texts: Sequence[ParsedText]) -> list[_Group]:
    groups: dict[Key, _Group] = {}
    for text in texts:
        name = text.name
        number = -1 if name.module_id is None else name.module_id
        # A name that would pass 255 bytes is left out of the file's name: the text knows it.
        module_name = name.module_name or text.module.name
        if name.kind == "other" and number >= 0 and not name.module_name:
            # An unknown point of a known module stands apart: its place in the order is not known.
            module_name = name.point
        key = (name.folder, name.timestamp or 0, number, module_name)
        groups.setdefault(key, _Group(key)).texts.append(text)
    return list(groups.values())


def _attach(groups: Sequence[_Group], side_files: Iterable[FileName]) -> None:
    by_number: dict[tuple[str, int], list[_Group]] = defaultdict(list)
    for group in groups:
        by_number[group.key[0], group.key[2]].append(group)
    for file in side_files:
        name = file.name
        if name.module_id is None:
            continue
        candidates = by_number.get((name.folder, name.module_id), [])
        named = [group for group in candidates if _belongs(name, group)]
        if named:
            owner = max(
                named, key=lambda group: (group.key[1] == name.timestamp, len(group.key[3]))
            )
            owner.files[file.kind].append(name.file)


def _belongs(name: DumpName, group: _Group) -> bool:
    module = group.key[3]
    if name.module_name:
        return name.module_name == module
    return name.point.startswith(module + ".") or not name.point


# ---- order ---------------------------------------------------------------------------------------

_FINAL_POINTS = (
    "after_optimizations_before_buffer_assignment",
    "",
    "after_optimizations",
    "after_optimizations_after_buffer_assignment",
    "after_codegen",
)


def _ordered(texts: list[ParsedText]) -> list[ParsedText]:
    """In the order in which XLA wrote them.

    Points outside of any pass carry no number. `after_spmd_partitioner` and the like stand behind
    the last pass whose text has the same computations, else where their name says.
    """
    numbered = [text for text in texts if text.name.kind in ("pass", "step")]
    numbered.sort(key=lambda text: (text.name.step or 0, text.name.point))
    first = [text for text in texts if text.name.kind == "before_optimizations"]
    last = [text for text in texts if text.name.kind == "after_optimizations"]
    last.sort(key=lambda text: (_final_place(text.name.point), text.name.point))
    points = [text for text in texts if text.name.kind == "other"]
    placed = [(_place(text, numbered), text) for text in points]
    order = [(-1, 0, text) for text in first]
    order += [(place, 0, text) for place, text in enumerate(numbered)]
    order += [(place, 1, text) for place, text in placed]
    order += [(len(numbered), 2, text) for text in last]
    order.sort(key=lambda entry: (entry[:2], entry[2].name.point if entry[1] == 1 else ""))
    return [text for _, _, text in order]


# The pipeline that begins right behind a point (xla/service/gpu/gpu_compiler.cc,
# OptimizeHloModule, 0.10.2).
_FOLLOWS = {"after_spmd_partitioner": "optimization"}


def _final_place(point: str) -> int:
    return _FINAL_POINTS.index(point) if point in _FINAL_POINTS else 1


def _place(text: ParsedText, numbered: Sequence[ParsedText]) -> int:
    """Position in `numbered` of the pass that `text` stands behind, -1 before them all."""
    point = text.name.point
    if point not in ("after_spmd_partitioner", "before_config_assignment"):
        return len(numbered)
    computations = _identities(text.module.computations)
    for place in range(len(numbered) - 1, -1, -1):
        if _identities(numbered[place].module.computations) == computations:
            return _before_the_next(place, numbered, _FOLLOWS.get(point))
    word = "partition" if point == "after_spmd_partitioner" else "layout"
    passes = [f"{t.name.pipeline} {t.name.after}" for t in numbered]
    behind = [place for place, words in enumerate(passes) if word in words]
    return behind[-1] if behind else (-1 if word == "partition" else len(numbered))


def _before_the_next(place: int, numbered: Sequence[ParsedText], pipeline: str | None) -> int:
    """`place`, or the one before `pipeline` if that begins there, or pipelines within it do."""
    before = place
    while before >= 0 and numbered[before].name.after == "pipeline-start":
        if numbered[before].name.pipeline == pipeline:
            return before - 1
        before -= 1
    return place


def _identities(computations: Iterable[Computation]) -> list[int]:
    # Equal text is one object within a dump.
    return [id(computation) for computation in computations]


# ---- identity ------------------------------------------------------------------------------------


def _ids(groups: Sequence[_Group]) -> list[str]:
    """`module_0001.jit_f`; time stamp and folder in front only where that would not be unique."""
    forms = [_id_forms(group.key) for group in groups]
    ids = [""] * len(groups)
    waiting = list(range(len(groups)))
    for length in range(3):
        counts: dict[str, int] = defaultdict(int)
        for n in range(len(groups)):
            counts[forms[n][length]] += 1
        for n in waiting:
            ids[n] = forms[n][length]
        waiting = [n for n in waiting if counts[forms[n][length]] > 1]
    for count, n in enumerate(waiting):
        ids[n] = f"{ids[n]}~{count}"
    return ids


def _id_forms(key: Key) -> tuple[str, str, str]:
    folder, timestamp, number, name = key
    short = f"module_{number:04d}.{name}" if number >= 0 else name
    dated = f"{timestamp}.{short}" if timestamp else short
    return short, dated, f"{folder}/{dated}" if folder else dated


# ---- roles ---------------------------------------------------------------------------------------

# What programs are compiled for. A small module without any of it is one of the many that JAX
# compiles around a program (`convert_element_type`, `broadcast_in_dim`, `_multi_slice`).
_COLLECTIVES = frozenset(
    "all-gather all-reduce reduce-scatter all-to-all ragged-all-to-all collective-permute "
    "collective-broadcast all-gather-start all-reduce-start collective-permute-start send "
    "recv".split()
)
_PRODUCTS = frozenset(("dot", "convolution"))
_CONTROL = frozenset(("while", "conditional", "custom-call"))
_TINY = 16
# Twice the instructions of the largest that was seen: `_normal` has 264 in its first text (0.10.2).
_LARGEST_OF_JAX = 528
_FUNCTION = re.compile(r"jit_(_\w+)")


def _roles(groups: Sequence[_Group]) -> list[Role]:
    sizes = [_size(group) for group in groups]
    largest = max(sizes, default=0)
    longest = max((len(group.texts) for group in groups), default=0)
    whole = any(group.has_input or group.is_complete for group in groups)
    finished = any(group.is_complete for group in groups)
    roles: list[Role] = []
    for group, size in zip(groups, sizes, strict=True):
        if whole and _is_fragment(group) and len(group.texts) * 4 <= longest:
            roles.append("autotuning")
        elif finished and not group.is_complete:
            # It died while others came to their end.
            roles.append("user")
        else:
            roles.append("helper" if _is_helper(group, size, largest) else "user")
    if roles and "user" not in roles:
        roles[max(range(len(groups)), key=lambda n: (roles[n] == "helper", sizes[n]))] = "user"
    return roles


def _is_fragment(group: _Group) -> bool:
    # XLA writes a module's input whenever it dumps texts. The autotuner cuts single fusions out of
    # a module and compiles them from some pass on (`module_0002.fused_add.1.0000.cublaslt_...`).
    starts_inside = any(text.name.kind in ("pass", "step") for text in group.texts)
    return starts_inside and not group.has_input and not group.is_complete


def _is_helper(group: _Group, size: int, largest: int) -> bool:
    name = group.key[3]
    function = _FUNCTION.fullmatch(name)
    is_private = function is not None and function[1] in PRIVATE_FUNCTIONS
    if name.startswith("pmap_") or size > (_LARGEST_OF_JAX if is_private else _TINY):
        return False
    opcodes = _opcodes(group.texts[0].module)
    if opcodes & _COLLECTIVES:
        return False
    if opcodes & _PRODUCTS:
        # A product that was run on its own, `jnp.dot` outside of any jit, or `_pinv` in one.
        return size * _TINY <= largest and (is_private or size <= _TINY // 2)
    return is_private or not opcodes & _CONTROL


def _size(group: _Group) -> int:
    return group.texts[0].module.instruction_count


def _opcodes(module: Module) -> set[str]:
    return {
        instruction.opcode
        for computation in module.computations
        for instruction in computation.instructions
    }


_ROLE_ORDER: dict[Role, int] = {"user": 0, "helper": 1, "autotuning": 2}


def _rank(group: _Group, role: Role, finished: bool) -> tuple[int, bool, int, Key]:
    died = finished and not group.is_complete
    return _ROLE_ORDER[role], not died, -_size(group), group.key
