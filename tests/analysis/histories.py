"""Module histories made of texts in the test itself."""

from app.model.dump import DumpName, ModuleHistory, PassDump
from hlo_parser import Interner, parse_module


def history_of(*texts: str) -> ModuleHistory:
    """One module with one text a pass; pass N is called `passN`."""
    interner = Interner()
    return ModuleHistory(
        id="module_0000.m",
        name="m",
        role="user",
        complete=True,
        dumps=tuple(
            PassDump(
                index=index,
                name=DumpName(file=f"m.{index}.txt", pipeline="p", after=f"pass{index}"),
                module=parse_module(text, interner=interner),
                byte_size=len(text),
            )
            for index, text in enumerate(texts)
        ),
    )
