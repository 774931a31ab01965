"""The meshes of devices that a program is written for, as a report shows them."""

from typing import Literal

from app.model.source import Struct


class MeshAxis(Struct, frozen=True, kw_only=True):
    """One axis: its name and how many devices stand along it."""

    name: str
    size: int


class Mesh(Struct, frozen=True, kw_only=True):
    """One mesh of a module, devices counted along the last axis first.

    `standing`: `stated` in the text at position `dump`, with the program's own names; `inferred`
    from the tiles of shardings, where no text states a mesh and all of them fit one: then axes are
    called `axis_0` and so on, and an axis may stand for several of the program's. `device_ids` is
    empty where devices stand in the order of their numbers.
    """

    module: str
    name: str
    axes: tuple[MeshAxis, ...]
    standing: Literal["stated", "inferred"]
    dump: int
    device_ids: tuple[int, ...] = ()
