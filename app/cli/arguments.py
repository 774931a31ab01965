"""What the commands need of argparse, whose own type for sub-commands is private."""

import argparse
from typing import Any, Protocol


class Commands(Protocol):
    """Where a command declares itself."""

    def add_parser(self, name: str, **kwargs: Any) -> argparse.ArgumentParser:
        """A parser for the command `name`; keywords as `argparse.ArgumentParser` takes them."""
        ...
