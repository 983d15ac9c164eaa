"""What daemons of a host and its kernel say of the whole host: that it ran out of memory, or broke down.

The texts are those of systemd-oomd, of earlyoom, and of the kernel's panic().
May import: facts, known.
"""

from __future__ import annotations

from suites.diagnose.evidence.known import Known
from suites.diagnose.facts import Level

_MEMORY = ("less memory for what runs there: fewer ranks or data loaders a host, or more memory",)

ROWS = (
    Known("systemd.oomd", "due to memory ", r"^Killed (?P<unit>/\S{1,400}) due to memory (?:pressure for|used) ",
          Level.INITIATING, "systemd-oomd has killed {unit}, since its host ran out of memory", "resource", "host",
          (*_MEMORY, "`oomctl`; ManagedOOMMemoryPressure and ManagedOOMSwap of that unit")),
    Known("earlyoom", "sending SIG", r"sending SIG(?:TERM|KILL) to process (?P<pid>\d{1,9}) (?:uid \d{1,9} )?"
          r'"(?P<name>[^"]{1,40})": ', Level.INITIATING,
          "earlyoom has ended {name}, since its host ran out of memory", "resource", "speaker", _MEMORY),
    Known("kernel.panic", "Kernel panic - not syncing", r"Kernel panic - not syncing: (?P<why>.{1,80})",
          Level.INITIATING, "the kernel of a host broke down: {why}", "device", "host",
          ("the lines before it, by serial console, pstore or kdump; `journalctl -k -b -1` after the next boot",)),
)  # fmt: skip
