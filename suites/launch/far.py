"""The first process on a far host: takes its environment from stdin, then becomes the agent.

What a library reads at its start (LD_LIBRARY_PATH, the thresholds of malloc) must be there before the interpreter is,
and a shell's command line would be no safe way for values. May import: the standard library, protocol.
"""

from __future__ import annotations

import os
import sys

from suites.launch.protocol import read_frame


def main() -> None:
    frame = read_frame(0)
    if frame["type"] != "environment":
        sys.exit(f"the first frame is of type {frame['type']}, not the environment")
    variables = {**os.environ, **frame["variables"], "PYTHONUNBUFFERED": "1"}
    os.execve(sys.executable, [sys.executable, "-P", "-m", "suites.launch.agent"], variables)


if __name__ == "__main__":
    main()
