"""The OpenAPI description as rows for a page: no outside viewer, no script."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Prose = tuple[str, ...]
"""A text cut at its backquotes: every second piece is code."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operation; `place` is path or query, `kind` its type in words."""

    name: str
    place: str
    kind: str
    description: Prose


@dataclass(frozen=True, slots=True)
class Operation:
    """One method at one address; `body` names the media types it takes, `answers` its statuses."""

    method: str
    path: str
    summary: str
    description: Prose
    parameters: tuple[Parameter, ...]
    body: tuple[str, ...]
    answers: tuple[str, ...]


def api_reference(description: Mapping[str, Any]) -> tuple[Operation, ...]:
    """The operations of an OpenAPI `description`, in its order."""
    return tuple(_operations(description))


def _operations(description: Mapping[str, Any]) -> Iterator[Operation]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield Operation(
                method=method.upper(),
                path=path,
                summary=operation.get("summary", ""),
                description=_prose(operation.get("description", "")),
                parameters=tuple(_parameter(each) for each in operation.get("parameters", ())),
                body=tuple(operation.get("requestBody", {}).get("content", {})),
                answers=tuple(sorted(operation["responses"])),
            )


def _parameter(parameter: Mapping[str, Any]) -> Parameter:
    schema = parameter.get("schema", {})
    kind = " | ".join(schema["enum"]) if "enum" in schema else schema.get("type", "")
    return Parameter(
        name=parameter["name"],
        place=parameter["in"],
        kind=kind,
        description=_prose(parameter.get("description", "")),
    )


def _prose(text: str) -> Prose:
    return tuple(text.split("`"))
