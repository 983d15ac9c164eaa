"""What probes raise. May import: nothing of opsdist."""


class ProbeError(Exception):
    """Root of this package's errors: a fact was asked for and there was no answer."""
