"""What a policy says of one dump: each check with its value, its limit and its verdict.

The field names are keys of the JSON contract, as in `report.py`.
"""

from typing import Literal

from app.model.comparison import Unit
from app.model.report import SCHEMA_VERSION, Tool
from app.model.source import Source, Struct

PolicyVerdict = Literal["pass", "fail", "unknown"]


class PolicyPlace(Struct, frozen=True, kw_only=True):
    """An instruction that a check counted or found, of the last text or the one of `file`.

    `value` is its share, of the row's unit; of a row that counts, the bytes that it sends when it
    runs once. None where a check looks for something and measures nothing.
    """

    instruction: str
    opcode: str
    computation: str = ""
    file: str | None = None
    source: Source | None = None
    value: float | None = None


class PolicyRow(Struct, frozen=True, kw_only=True):
    """One check on one module, or on one loop of it.

    `loop` is the loop's id, and `loop_name` its name in the report.
    `limit` is in words; `value` and `baseline` are None where they are not known or the check
    counts nothing. `places` are the first of `places_total`, the largest share first. `unknown`
    fails too, unless the check is optional: what is not known is no pass.
    """

    check: str
    module: str | None = None
    loop: str | None = None
    loop_name: str = ""
    what: str = ""
    unit: Unit = ""
    value: float | None = None
    limit: str = ""
    baseline: float | None = None
    verdict: PolicyVerdict
    why: str = ""
    places: tuple[PolicyPlace, ...] = ()
    places_total: int = 0
    optional: bool = False


class PolicyResult(Struct, frozen=True, kw_only=True):
    """All checks of a policy on one dump; `passed` when none failed.

    `unfinished` are the ids of modules held against it whose text after all passes is missing:
    figures are those of the last text there is.
    """

    schema_version: int = SCHEMA_VERSION
    kind: Literal["policy"] = "policy"
    tool: Tool
    passed: bool
    dump: str
    baseline: str | None = None
    unfinished: tuple[str, ...] = ()
    rows: tuple[PolicyRow, ...] = ()
