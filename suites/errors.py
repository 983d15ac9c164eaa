"""What suites raise. May import: nothing of opsdist."""


class SuiteError(Exception):
    """Root of this package's errors: the run has no verdict (exit 3)."""


class UsageError(SuiteError):
    """What was asked cannot be done as asked; no rank was started (exit 2)."""


class LaunchError(SuiteError):
    """Ranks could not be started, or what started them failed."""
