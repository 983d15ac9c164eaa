"""A stand-in agent: says and does what its arguments tell it, in order. Depends on nothing but the interpreter.

Each argument is one act: a JSON object is sent as a frame; `read` waits for the next frame, `read TYPE` for the next of
this type, `eof` for the end of stdin;
`wait SECONDS`, `exit CODE`, `raw TEXT` and `say TEXT` (to stderr), `touch FILE`, `close` (stdout) and `stop` (itself)
do what they say.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
import time


def frame() -> str:
    """The next one, as text."""
    (length,) = struct.unpack(">I", sys.stdin.buffer.read(4))
    return sys.stdin.buffer.read(length).decode()


def act(verb: str, rest: str) -> None:
    match verb:
        case "read":
            while f'"type":"{rest}' not in frame():
                pass
        case "eof":
            sys.stdin.buffer.read()
        case "wait":
            time.sleep(float(rest))
        case "exit":
            os._exit(int(rest))
        case "raw":
            os.write(1, rest.encode())
        case "say":
            os.write(2, rest.encode())
        case "close":
            os.close(1)
        case "touch":
            open(rest, "w").close()
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case _:
            said = f"{verb} {rest}".strip().encode()
            os.write(1, struct.pack(">I", len(said)) + said)


if __name__ == "__main__":
    os.write(1, b"\0opsdist agent\0")
    for argument in sys.argv[1:]:
        act(*argument.partition(" ")[::2])
