"""The environment variables that steer communication, as they are set here; secrets by name only.

May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from probes.host import Host

HIDDEN = "(hidden)"

_PREFIXES = ("NCCL_", "HCCL_", "ASCEND_", "GLOO_", "UCX_", "OMPI_", "MPICH_", "FI_")
_NAMES = frozenset({
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT",
    "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "LD_LIBRARY_PATH",
})  # fmt: skip
_SECRET = re.compile("TOKEN|SECRET|PASSW|PASSPHRASE|KEY|CREDENTIAL|AUTH", re.IGNORECASE)
_USER_OF_URL = re.compile(r"://[^/\s@]*(?:@[^/\s@]*)*@")
"""Up to the last @ before the path, since a password may hold one."""


@dataclass(frozen=True, slots=True)
class EnvironmentFacts:
    """Sorted by name."""

    variables: Mapping[str, str]


def read(host: Host) -> EnvironmentFacts:
    return EnvironmentFacts(relevant(host.environ))


def relevant(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: shown(name, environ[name]) for name in sorted(environ) if is_relevant(name)}


def is_relevant(name: str) -> bool:
    return name in _NAMES or name.startswith(_PREFIXES)


def shown(name: str, value: str) -> str:
    """The value as it may be printed and recorded: nothing of a secret, and no user of a URL."""
    if _SECRET.search(name):
        return HIDDEN
    return _USER_OF_URL.sub(f"://{HIDDEN}@", value)
