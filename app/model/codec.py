"""JSON of a report, both ways; the only place that knows how a `Report` is written."""

import msgspec

from app.model.report import Report

_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(Report)


def report_to_json(report: Report, *, indent: int | None = None) -> bytes:
    """UTF-8 JSON with the keys in the order of the contract; `indent` spaces when given."""
    data = _ENCODER.encode(report)
    return data if indent is None else msgspec.json.format(data, indent=indent)


def report_from_json(data: bytes | str) -> Report:
    """Inverse of `report_to_json`.

    Raises:
        msgspec.ValidationError: the JSON is no report of this schema.
        msgspec.DecodeError: the data is not JSON.
    """
    return _DECODER.decode(data)
