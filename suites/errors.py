"""What suites raise. May import: nothing of opsdist."""


class SuiteError(Exception):
    """Root of this package's errors: the run has no verdict (exit 3)."""


class UsageError(SuiteError):
    """What was asked cannot be done as asked; no rank was started (exit 2)."""


class LaunchError(SuiteError):
    """Ranks could not be started, or the world they formed is not the one asked for."""


class Interrupted(SuiteError):
    """The run was ended from outside; `signal_number` says by which signal."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(f"ended by signal {signal_number}")
        self.signal_number = signal_number
