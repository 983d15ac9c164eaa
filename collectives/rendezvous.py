"""How ranks meet: a small key-value store, with a deadline on every wait.

One process (an agent, or rank 0) serves; ranks set values and wait for those of others. Requests bear the run's token;
others are ignored. May import: zmq, curve, errors.
"""

from __future__ import annotations

import hmac
import itertools
import json
import threading
import time
from dataclasses import dataclass
from typing import Any

import zmq

from collectives import curve
from collectives.errors import CollectiveError, RendezvousError

_LARGEST = 1 << 20
_LINGER_MS = 1000


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A request that cannot be answered yet: it wants `expected` values under `key`."""

    client: bytes
    request: int
    key: str
    expected: int


class StoreServer:
    """Serves a store from a thread of its own until closed.

    A key holds one value per member (a rank), so that "everybody under this key" is one request. Whoever still waits
    when it closes is told what there is by then, so that all name the same ranks as missing. `bind` is a ZeroMQ
    address; a tcp port of `*` is chosen by the system and kept. Raises ResourceError when it cannot be had,
    RendezvousError for what is none.
    """

    def __init__(self, bind: str, token: str) -> None:
        self._token = token
        self._values: dict[str, dict[int, Any]] = {}
        self._waiting: list[_Waiting] = []
        self._context = zmq.Context()
        self._router = self._context.socket(zmq.ROUTER)
        self._router.setsockopt(zmq.MAXMSGSIZE, _LARGEST)
        try:
            self.address = curve.listen(self._router, bind, token)
        except CollectiveError:
            self._context.destroy(linger=0)
            raise
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True, name="opsdist-store")
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        self._thread.join()
        self._context.destroy(linger=_LINGER_MS)

    def _serve(self) -> None:
        while not self._closing.is_set():
            if self._router.poll(50):
                client, *parts = self._router.recv_multipart()
                try:
                    self._handle(client, json.loads(parts[0]))
                except (ValueError, KeyError, TypeError, IndexError, RecursionError):
                    continue  # not one of ours
        for waiting in self._waiting:
            self._send(waiting)

    def _handle(self, client: bytes, request: dict[str, Any]) -> None:
        if not hmac.compare_digest(str(request["token"]).encode(), self._token.encode()):
            return
        key = str(request["key"])
        if "member" in request:
            self._values.setdefault(key, {})[int(request["member"])] = request["value"]
        self._waiting.append(_Waiting(client, int(request["request"]), key, int(request["expected"])))
        self._waiting = [waiting for waiting in self._waiting if not self._answer(waiting)]

    def _answer(self, waiting: _Waiting) -> bool:
        if len(self._values.get(waiting.key, {})) < waiting.expected:
            return False
        self._send(waiting)
        return True

    def _send(self, waiting: _Waiting) -> None:
        answer = {"request": waiting.request, "values": list(self._values.get(waiting.key, {}).items())}
        self._router.send_multipart([waiting.client, json.dumps(answer).encode()])


class Store:
    """A rank's connection to the store. Raises RendezvousError for what is no address."""

    def __init__(self, address: str, token: str) -> None:
        self.address, self._token = address, token
        self._context = zmq.Context()
        self._dealer = self._context.socket(zmq.DEALER)
        self._dealer.setsockopt(zmq.RECONNECT_IVL, 10)
        try:
            curve.connect(self._dealer, address, token)
            self._dealer.connect(address)
        except zmq.ZMQError as error:
            self._context.destroy(linger=0)
            raise RendezvousError(f"cannot connect to {address}: {error}; give tcp://HOST:PORT") from None
        except CollectiveError:
            self._context.destroy(linger=0)
            raise
        self._numbers = itertools.count()

    def set(self, key: str, value: Any, timeout: float) -> None:
        """Store `value` under `key`. Raises RendezvousError when nobody answers within `timeout` seconds."""
        if self._request(key, 0, timeout, member=0, value=value) is None:
            raise self._unreachable(timeout)

    def get(self, key: str, timeout: float) -> Any:
        """The value under `key`, waiting for it. Raises RendezvousError."""
        values = self._request(key, 1, timeout)
        if not values:
            raise RendezvousError(f"nothing was stored under '{key}' at {self.address} within {timeout:g} s")
        return values[0]

    def gather(self, key: str, rank: int, value: Any, size: int, timeout: float) -> list[Any]:
        """The values of all `size` ranks, in the order of ranks. Raises RendezvousError naming who is missing."""
        values = self._request(key, size, timeout, member=rank, value=value)
        if values is None:
            values = self._request(key, 0, min(timeout, 2.0))
            if values is None:
                raise self._unreachable(timeout)
        if missing := sorted(set(range(size)) - set(values)):
            raise RendezvousError(
                f"{len(missing)} of {size} ranks did not arrive within {timeout:g} s: "
                f"rank{'s' * (len(missing) > 1)} {', '.join(map(str, missing))}",
                tuple(missing),
            )
        return [values[member] for member in range(size)]

    def close(self) -> None:
        self._context.destroy(linger=0)  # whatever mattered was answered

    def _request(self, key: str, expected: int, timeout: float, **content: Any) -> dict[int, Any] | None:
        """The values under `key`: `expected` of them, fewer when the store closes, None when it does not answer."""
        number = next(self._numbers)
        request = {"token": self._token, "request": number, "key": key, "expected": expected, **content}
        self._dealer.send(json.dumps(request).encode())
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            if not self._dealer.poll(int(left * 1000) + 1):
                break
            answer = json.loads(self._dealer.recv())
            if answer["request"] == number:
                return {int(member): value for member, value in answer["values"]}
        return None

    def _unreachable(self, timeout: float) -> RendezvousError:
        return RendezvousError(f"the store at {self.address} did not answer within {timeout:g} s")
