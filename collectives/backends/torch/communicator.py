"""A communicator whose calls are torch's: the same for every library that torch moves data with.

May import: everything in collectives; torch.distributed is handed in, with the row of the library.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from collectives.backends import LIBRARY
from collectives.backends.torch.calls import CALLS, Issue, Parts
from collectives.backends.torch.link import Gone, Link
from collectives.backends.torch.memory import Buffers, Memory
from collectives.binding import check_group, check_pair, check_writeable, common_dtype, resolve
from collectives.communicator import Call, Stamps, Sync, Work, nothing, timed
from collectives.dtypes import Array, name_of
from collectives.errors import UsageError
from collectives.logbook import Entry, Logbook
from collectives.recorder import Record, left, unless_broken_off

_LOOK_SECONDS = 50e-6
"""Between two looks at a work that is waited for with a time limit: torch's own wait with one may give up the call."""
_OPERATORS = {"sum": "SUM", "prod": "PRODUCT", "min": "MIN", "max": "MAX", "avg": "AVG"}


class Library(Protocol):
    """What differs between the libraries, once the ranks are connected."""

    @property
    def name(self) -> str: ...

    @property
    def reduce_spares_input(self) -> bool: ...

    @property
    def exchange(self) -> Callable[[Any, Any, int, Any, int], Sequence[Any]]: ...

    @property
    def connect(self) -> Callable[[Any, int, int, float, str], Any]: ...

    def lacks(self, collective: str, dtype: str, operator: str) -> str | None: ...


class TorchWork:
    """A call under way in torch's own threads, or on a device."""

    def __init__(self, call: TorchCall, works: Sequence[Any], record: Record) -> None:
        self._call, self._works, self._record = call, list(works), record
        self._fetched = False

    @property
    def done(self) -> bool:
        return all(work.is_completed() for work in self._works)

    def wait(self, timeout: float | None = None) -> bool:
        deadline = None if timeout is None else time.monotonic() + timeout
        while deadline is not None and not self.done:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK_SECONDS)
        if not self._fetched:
            with left(self._record):
                self._call.complete(self._works)
            self._fetched = True
        return True


class TorchCall:
    """A collective bound to tensors.

    On a device a run is enqueued, so a sample ends with the device's synchronize: entry and exit are stamps of this
    host's monotonic clock around both, as a program that needs the result has to wait. Data crosses between the
    caller's arrays and the device before the first and after the last iteration, outside all stamps.
    """

    algorithm = LIBRARY
    why = "the library chooses"

    def __init__(self, owner: TorchCommunicator, issue: Issue, buffers: Buffers, entry: Entry) -> None:
        self._owner, self._issue, self.buffers, self._entry = owner, issue, buffers, entry
        self._latest: TorchWork | None = None

    def run(self) -> None:
        self.start().wait()

    def start(self) -> Work:
        if self._latest and not self._latest.done:
            raise UsageError("this call is still under way: wait for its work before it is started again")
        self.buffers.upload()
        record = self._entry.begin(self._entry.frame())
        with unless_broken_off(record):
            self._latest = TorchWork(self, self._owner.link.guarded(self._issue), record)
        return self._latest

    def time(self, iterations: int, sync: Sync, batch: int = 1, rotation: Sequence[Call] = ()) -> Stamps:
        calls = [self, *(call for call in rotation if isinstance(call, TorchCall))]
        runs, records, frame = [call.go for call in calls], list[Record](), self._entry.frame()
        for call in calls:
            call.buffers.upload()
        self._owner.barrier()
        each = sync == "each"
        batch = 1 if each else batch

        def before() -> None:
            """A sample is recorded as a whole, from before its time on: on a device calls have no ends of their own."""
            if each:
                self._owner.barrier()
            records.append(self._entry.begin(frame, batch))

        def finish() -> None:
            self._owner.memory.synchronize()
            records.pop().leave(None)

        try:
            stamps = self._owner.link.guarded(lambda: timed(runs, iterations, batch, before, finish))
        except BaseException as error:
            for record in records:
                record.leave(error)
            raise
        for call in calls:
            call.buffers.download()
        return stamps

    def go(self) -> None:
        """Run where the data is; on a device, up to where it is enqueued."""
        for work in self._issue():
            work.wait()

    def complete(self, works: list[Any]) -> None:
        """Wait for works of this call, and hand the result to the caller."""

        def wait() -> None:
            try:
                for work in works:
                    work.wait()
            finally:
                works.clear()  # they hold the connections, also after a failure
            self._owner.memory.synchronize()

        self._owner.link.guarded(wait)
        self.buffers.download()


class TorchCommunicator:
    """A process group of torch. `dist` is torch.distributed."""

    registered = 0

    def __init__(self, library: Library, dist: Any, link: Link, memory: Memory, loaded: str, book: Logbook) -> None:
        self._library, self._dist, self.link, self.memory = library, dist, link, memory
        self.rank, self.size = link.rank, len(link.ranks)
        self.library, self.transport = loaded, library.name
        self._book = book
        self._barrier: TorchCall | None = None

    def allocate(self, count: int, dtype: str) -> Array:
        return self.memory.allocate(count, dtype)

    def bind(
        self,
        collective: str,
        send: Array | None,
        recv: Array | None,
        *,
        operator: str = "sum",
        root: int = 0,
        algorithm: str = "auto",
        send_counts: Sequence[int] | None = None,
        recv_counts: Sequence[int] | None = None,
        groups: Sequence[Sequence[int]] = (),
    ) -> TorchCall:
        if algorithm not in ("auto", LIBRARY):
            raise UsageError(f"{self._library.name} chooses its algorithms itself; {algorithm} cannot be asked for")
        binding = resolve(
            collective, self.rank, self.size, send, recv, operator, root, send_counts, recv_counts, groups
        )
        if reason := self._library.lacks(collective, name_of(binding.dtype), operator):
            raise UsageError(reason)
        buffers = self.memory.buffers(send, recv)
        parts = Parts(
            self._dist, self.link, binding.shape, getattr(self._dist.ReduceOp, _OPERATORS[operator]), buffers.send,
            buffers.recv, self.memory.scratch, self._library.reduce_spares_input, self._library.exchange,
            self.memory.devices,
        )  # fmt: skip
        return TorchCall(self, CALLS[collective](parts), buffers, self._book.entry(binding, operator))

    def send(self, array: Array, peer: int) -> None:
        """Send to `peer`, which must call recv. Raises TransportTimeout, PeerLost, UsageError."""
        check_pair(self.rank, peer, self.size)
        self._run_pair(array, None, peer, lambda tensors: self.link.group.send([tensors.send], peer, 0))

    def recv(self, array: Array, peer: int) -> None:
        """Receive from `peer` into `array`. Raises TransportTimeout, PeerLost, UsageError."""
        check_writeable("recv", array)
        check_pair(peer, self.rank, self.size)
        self._run_pair(None, array, peer, lambda tensors: self.link.group.recv([tensors.recv], peer, 0))

    def _run_pair(self, send: Array | None, recv: Array | None, peer: int, issue: Callable[[Buffers], Any]) -> None:
        if reason := self._library.lacks("sendrecv", name_of(common_dtype(send, recv)), "sum"):
            raise UsageError(reason)
        buffers = self.memory.buffers(send, recv)
        array = send if send is not None else recv
        assert array is not None
        entry = self._book.message(array, peer, sent=send is not None)
        TorchCall(self, lambda: (issue(buffers),), buffers, entry).run()

    def group(self, ranks: Sequence[int]) -> TorchCommunicator:
        """A group of its own in torch; its members connect. Raises TransportTimeout, PeerLost too."""
        members = tuple(ranks)
        check_group(members, self.rank, self.size)
        self.link.check()
        book, parent = self._book.child(members), self.link
        store = self._dist.PrefixStore(book.name, parent.store)
        rank = members.index(self.rank)
        group = parent.guarded(
            lambda: joined(
                self._library, self._dist, store, rank, len(members), parent.timeout, parent.address, self.memory
            )
        )
        link = replace(parent, group=group, store=store, rank=rank, ranks=[parent.ranks[member] for member in members])
        return TorchCommunicator(self._library, self._dist, link, self.memory, self.library, book)

    def barrier(self) -> None:
        if self._barrier is None:
            self._barrier = self.bind("barrier", None, None)
        self._barrier.run()

    def overhead(self, iterations: int) -> Stamps:
        return timed([nothing], iterations, 1, nothing, self.memory.synchronize)

    def close(self) -> None:
        """Let go of the group. torch closes its connections when the last call bound to it is gone."""
        self.link.group = Gone(UsageError("the communicator is closed"))


def joined(
    library: Library, dist: Any, store: Any, rank: int, size: int, timeout: float, address: str, memory: Memory
) -> Any:
    """A process group that all its members have reached: a member that is quick to leave again would else break the
    others' connecting. Raises RuntimeError."""
    group = library.connect(store, rank, size, timeout, address)
    options = dist.BarrierOptions()
    options.device_ids = list(memory.devices)
    group.barrier(options).wait()
    memory.synchronize()
    return group
