"""`python -P -m collectives.backends.torch.agentstore post|read ADDRESS PORT KEY [SECONDS]`: torchrun's own store.

torchrun keeps a store for its workers; a text is posted there from stdin, or waited for and printed. A process of its
own, since torch starts threads. May import: torch, when used.
"""

from __future__ import annotations

import sys
from datetime import timedelta

_SECONDS = 30.0


def main(words: list[str]) -> None:
    from torch.distributed import TCPStore

    what, address, port, key, *rest = words
    patience = timedelta(seconds=float(rest[0]) if rest else _SECONDS)
    store = TCPStore(address, int(port), is_master=False, timeout=patience, wait_for_workers=False)
    if what == "post":
        store.set(key, sys.stdin.read())
    else:
        store.wait([key], patience)
        print(store.get(key).decode())


if __name__ == "__main__":
    main(sys.argv[1:])
