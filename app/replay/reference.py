"""The failure that a session looks for: that of the log, else the first that a compile shows.

Given the report and the module's history; remembers how sure it is that what is called the same
failure is that of the run. It compiles nothing but by the function that it is given.
"""

from collections.abc import Callable

from app.model.dump import ModuleHistory
from app.model.experiments import Sameness
from app.model.report import Report
from app.replay.experiments import compared
from app.replay.outcome import Attempt, Kind
from app.replay.passes import last_pass, names_of_history
from app.replay.sameness import is_wordless, reference_without_log, sameness_of, with_last_pass

# A dump with fewer texts was made without a filter for passes.
FEWEST_TEXTS = 3


class Reference:
    """What is looked for; `signature` is "" until something failed, where no log says how.

    `of_log` is the log's own signature; `same` is None until the failure came back.
    """

    def __init__(self, report: Report, history: ModuleHistory, release: str) -> None:
        failure = report.failure
        is_of_module = failure is not None and failure.module in (None, history.id)
        self.same: Sameness | None = None
        self.of_log = failure.signature if failure else ""
        self._failure = failure
        self._release = release
        self._of_run = report.environment.jaxlib.releases
        self._is_complete = history.complete
        has_passes = len(history.dumps) >= FEWEST_TEXTS
        self._dump_ends = last_pass(names_of_history(history)) if has_passes else ""
        is_silent = is_wordless(self.of_log) and is_of_module and not history.complete
        self.signature = with_last_pass(self.of_log, self._dump_ends if is_silent else "")
        self._own = Sameness(confidence="certain", how="")

    def meet(self, attempt: Attempt, flags: str, last_pass_of_replay: Callable[[], str]) -> Attempt:
        """The module compiled as the run had it: what is looked for from here on, and how sure.

        Args:
            attempt: what became of it.
            flags: its flags in words.
            last_pass_of_replay: compiles once more, to say after which pass the replay ends.
        """
        found = attempt.signature
        if not self.signature and attempt.kind in (Kind.SAME, Kind.ANOTHER) and found:
            self.signature = found
            asks = bool(self._dump_ends) and not self._is_complete
            self._own = reference_without_log(
                flags=flags,
                dump_ends=self._dump_ends,
                replay_ends=last_pass_of_replay() if asks else "",
                is_complete=self._is_complete,
            )
        met = compared(attempt, self.signature)
        if met.kind == Kind.SAME:
            self.same = sameness_of(
                found,
                self.signature,
                failure=self._failure,
                release=self._release,
                of_run=self._of_run,
                reference=self._own,
            )
        return met
