"""What the server asks of whatever runs its jobs."""

from typing import Protocol

FIRST_RESULT = "first result: "
"""What a child begins a stage with that is no stage, but a sentence that can be told already."""

MOST_FIRST_RESULTS = 8


class Runner(Protocol):
    """Works through the queue of one store; the rows stay the truth about every job."""

    def start(self) -> None:
        """Begin to work."""
        ...

    def wake(self) -> None:
        """Tell that a job may have been queued or deleted; never needed, only quicker."""
        ...

    def stop(self) -> None:
        """End all work now; jobs in the middle go back to the queue."""
        ...
