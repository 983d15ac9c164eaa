"""A host made of files, reported on as `opsdist info` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probes.host import Host
from suites.hostinfo import Looked, Wanted, host_name, look
from suites.inforeport import Measure, report
from suites.report import Report, now


def reported(
    host: Host,
    sections: Sequence[str] = (),
    devices: Sequence[str] = (),
    backends: Mapping[str, str] | None = None,
) -> Report:
    """With no backends unless they are given."""
    wanted = Wanted(tuple(sections), tuple(devices))
    seen = look(host_name(host), host, wanted, backends=backends or {})
    return report(["opsdist"], now(), Looked([seen]), Measure(), wanted)
