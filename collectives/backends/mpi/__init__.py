"""Backend mpi: the collectives of an MPI library, through mpi4py and by the addresses of its C functions.

MPI is initialised when the backend is opened, as by MPI_Init and so as in every C benchmark: from MPI_THREAD_FUNNELED
on Open MPI counts atomically, and takes up to half again as long for 8 bytes (measured with 4.1). So one thread uses
MPI; works go on by MPI's own nonblocking calls, and no thread is started here.
May import: everything in collectives; mpi4py inside functions only.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from collectives.backends import LIBRARY
from collectives.backends.mpi.calls import TAG, Bound, Library, bind, lacks
from collectives.backends.mpi.installed import MPIEXEC, unavailable
from collectives.binding import check_group, check_pair, check_writeable, common_dtype, resolve
from collectives.communicator import Call, Stamps, Sync, Work, nothing, timed
from collectives.dtypes import Array, dtype_named
from collectives.errors import LibraryError, MismatchError, RendezvousError, UsageError
from collectives.logbook import Entry, Label, Logbook
from collectives.native import core
from collectives.ops import COLLECTIVES
from collectives.placement import Placement
from collectives.recorder import Record, Recorder, unless_broken_off
from collectives.rendezvous import Store
from collectives.segments import remove, segments

_SPIN_SECONDS = 200e-6
_SLEEP_SECONDS = 1e-3


class MpiWork:
    """Requests under way. MPI moves data only when it is asked, so `done` and `wait` are what drives it; and it wants
    all ranks to start a call, or all to run it."""

    def __init__(self, library: Library, bound: Bound, record: Record) -> None:
        self._library, self._bound, self._record = library, bound, record
        self._number = len(bound.starts)
        self._requests = np.zeros(self._number * library.request_bytes, np.uint8)
        self._statuses = np.zeros(self._number * library.status_bytes, np.uint8)
        self._flag = np.zeros(1, np.intc)
        self._done = False
        base = self._requests.ctypes.data
        for index, (name, words) in enumerate(bound.starts):
            start = library.function(name, len(words) + 1)
            library.check(start(*_unsigned(words), base + index * library.request_bytes), name)
        self._test = library.function("MPI_Testall", 4)

    @property
    def done(self) -> bool:
        if not self._done:
            addresses = (self._requests.ctypes.data, self._flag.ctypes.data, self._statuses.ctypes.data)
            with unless_broken_off(self._record):
                self._library.check(self._test(self._number, *addresses), f"waiting for {self._bound.name}")
            if self._flag[0]:
                _copy(self._bound)
                self._record.leave(None)
                self._done = True
        return self._done

    def wait(self, timeout: float | None = None) -> bool:
        started = time.monotonic()
        while not self.done:
            waited = time.monotonic() - started
            if timeout is not None and waited >= timeout:
                return False
            if waited > _SPIN_SECONDS:
                time.sleep(min(waited / 10, _SLEEP_SECONDS))
        return True


class MpiCall:
    """A collective with its buffers, as an address and words."""

    algorithm = LIBRARY
    why = "the library chooses"

    def __init__(self, owner: MpiCommunicator, bound: Bound, entry: Entry) -> None:
        self._owner, self._bound, self._entry = owner, bound, entry
        self._function = owner.mpi.function(bound.name, len(bound.words))
        self._words = _unsigned(bound.words)
        self._latest: MpiWork | None = None
        if bound.copy:
            self.why = "the library chooses; it leaves the result elsewhere, so a copy is part of the call"

    def run(self) -> None:
        self._refuse_busy()
        with self._entry.made():
            if code := self._function(*self._words):
                self._owner.mpi.check(code, self._bound.name)
            if self._bound.copy:
                _copy(self._bound)

    def start(self) -> Work:
        self._refuse_busy()
        record = self._entry.begin(self._entry.frame())
        with unless_broken_off(record):
            self._latest = MpiWork(self._owner.mpi, self._bound, record)
        return self._latest

    def time(self, iterations: int, sync: Sync, batch: int = 1, rotation: Sequence[Call] = ()) -> Stamps:
        self._refuse_busy()
        before = self._owner.barrier if sync == "each" else nothing
        batch = 1 if sync == "each" else batch
        if sync == "none":
            self._owner.barrier()
        native = core()
        calls = [self, *(call for call in rotation if isinstance(call, MpiCall))]
        entries = [call.entry() for call in calls]
        if native is None or len(calls) <= len(rotation) or len({function for function, _ in entries}) > 1:
            return timed([self.run, *(call.run for call in rotation)], iterations, batch, before)
        stamps = np.zeros((-(-iterations // batch), 2), np.int64)
        words = [each for _, each in entries]
        barrier = self._owner.barrier_entry() if sync == "each" else None
        book, frame = self._owner.book, self._entry.frame()
        first = book.count(iterations * (2 if barrier else 1))
        labels = [call.label(frame) for call in calls]
        record = book.recorder.memory, first, labels, self._owner.barrier_label(frame)
        code = native.time_foreign(entries[0][0], words, iterations, batch, barrier, stamps, record)
        self._owner.mpi.check(code, self._bound.name)
        return stamps

    def label(self, frame: int) -> Label:
        """What the native core records it as, called from there."""
        return self._entry.label(frame)

    def entry(self) -> tuple[int, tuple[int, ...]]:
        """What the native core calls: an address and words."""
        address = self._owner.mpi.address(self._bound.name)
        native = core()
        if not self._bound.copy or native is None:
            return address, self._bound.words
        words = self._bound.words + (0,) * (6 - len(self._bound.words))
        return native.foreign_functions()[1], (address, *words, *self._bound.copy)

    def _refuse_busy(self) -> None:
        if self._latest and not self._latest.done:
            raise UsageError("this call is still under way: wait for its work before it is started again")
        self._latest = None


def _copy(bound: Bound) -> None:
    if bound.copy:
        ctypes.memmove(*bound.copy)


def _unsigned(words: Sequence[int]) -> tuple[int, ...]:
    """Words as ctypes takes them: MPI_IN_PLACE may be -1."""
    return tuple(word & 0xFFFF_FFFF_FFFF_FFFF for word in words)


class MpiCommunicator:
    """A communicator of MPI. `comm` is mpi4py's; `close` ends what opened it."""

    transport = "mpi"
    registered = 0

    def __init__(self, library: Library, comm: Any, close: Callable[[], None], book: Logbook) -> None:
        self.mpi, self.book = library, book
        timing = "" if core() else "; iterations are timed in Python, for want of the native core"
        self.library = f"{library.name}, {library.path}{timing}"
        self.rank, self.size = int(comm.Get_rank()), int(comm.Get_size())
        self._comm, self._close = comm, close
        comm.Set_errhandler(library.mpi.ERRORS_RETURN)
        self._barrier = self.bind("barrier", None, None)

    def allocate(self, count: int, dtype: str) -> Array:
        return np.empty(count, dtype_named(dtype)[1])

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
    ) -> MpiCall:
        if algorithm not in ("auto", LIBRARY):
            raise UsageError(
                f"backend mpi has no algorithm {algorithm}: the library chooses, so it is called {LIBRARY}"
            )
        binding = resolve(
            collective, self.rank, self.size, send, recv, operator, root, send_counts, recv_counts, groups
        )
        bound = bind(self.mpi, self._comm, binding, send, recv, operator)
        return MpiCall(self, bound, self.book.entry(binding, operator))

    def send(self, array: Array, peer: int) -> None:
        """Send to `peer`, which must call recv. Raises UsageError, LibraryError."""
        data = self._bytes(array, peer)
        with self._errors(), self.book.message(array, peer, sent=True).made():
            self._comm.Send([data, self.mpi.mpi.BYTE], dest=peer, tag=TAG)

    def recv(self, array: Array, peer: int) -> None:
        """Receive from `peer` into `array`. Raises UsageError, MismatchError, LibraryError."""
        check_writeable("recv", array)
        data, mpi = self._bytes(array, peer), self.mpi.mpi
        status = mpi.Status()
        with self._errors(), self.book.message(array, peer, sent=False).made():
            # Looked at first: too long a message makes some libraries end the process.
            self._comm.Probe(source=peer, tag=TAG, status=status)
            length = status.Get_count(mpi.BYTE)
            into = data if length == len(data) else np.empty(length, np.uint8)
            self._comm.Recv([into, mpi.BYTE], source=peer, tag=TAG)
        if into is not data:
            words = f"rank {self.rank} waits for {len(data)} bytes, rank {peer} sends {length} bytes"
            raise MismatchError(words, peer)

    def _bytes(self, array: Array, peer: int) -> Array:
        check_pair(self.rank, peer, self.size)
        common_dtype(array)
        return array.view(np.uint8)

    def group(self, ranks: Sequence[int]) -> MpiCommunicator:
        """Its members must call it alike, and they wait for each other. Closing it frees what MPI holds for it."""
        members = tuple(ranks)
        check_group(members, self.rank, self.size)
        with self._errors():
            comm = self._comm.Create_group(self._comm.Get_group().Incl(members))
        return MpiCommunicator(self.mpi, comm, comm.Free, self.book.child(members))

    def barrier(self) -> None:
        self._barrier.run()

    def barrier_entry(self) -> tuple[int, tuple[int, ...]]:
        """The barrier, as the native core calls it."""
        return self._barrier.entry()

    def barrier_label(self, frame: int) -> Label:
        return self._barrier.label(frame)

    def overhead(self, iterations: int) -> Stamps:
        native = core()
        if native is None:
            return timed([nothing], iterations, 1, nothing)
        stamps = np.zeros((iterations, 2), np.int64)
        native.time_foreign(native.foreign_functions()[0], [()], iterations, 1, None, stamps)
        return stamps

    def close(self) -> None:
        with self._errors():
            self._close()

    def __enter__(self) -> MpiCommunicator:
        return self

    def __exit__(self, *error: object) -> None:
        # After an error the others are not where MPI would wait for them.
        if not any(error):
            self.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self.mpi.mpi.Exception as error:
            raise LibraryError(f"{error} ({self.mpi.name}, {self.mpi.path})") from None


@dataclass(frozen=True, slots=True)
class MpiBackend:
    name: str = "mpi"
    summary: str = "an MPI library (MPICH, Open MPI and kin), by its C functions"
    plans: bool = False

    def unavailable(self) -> str | None:
        return unavailable()

    def claims(self) -> bool:
        return False

    def caveat(self) -> str | None:
        if core():
            return None
        return "without the native core its iterations are timed in Python, call overhead included; see builtin"

    def lacks(self, collective: str, dtype: str, operator: str) -> str | None:
        return lacks(COLLECTIVES[collective].reduces, dtype, operator)

    def open(
        self,
        placement: Placement,
        store: Store,
        token: str,
        timeout: float,
        address: str | None = None,
        recorder: Recorder | None = None,
    ) -> MpiCommunicator:
        """Initialise MPI and prove that its world is the one asked for. Once a process, since MPI ends for good."""
        mpi = _load()
        library = Library(mpi)
        started = _started_by(os.environ)
        # The library would end the process, not say so.
        if started == "Open MPI" and library.vendor != "Open MPI":
            raise RendezvousError(f"MPI cannot be initialised: {_strangers(library)}")
        if not mpi.Is_initialized():
            mpi.Init()
        world = mpi.COMM_WORLD
        # Open MPI looks for the names at its end, and complains of missing ones.
        named = set() if library.vendor == "Open MPI" else segments(os.getpid())
        told = {
            "rank": world.Get_rank(), "size": world.Get_size(), "pid": os.getpid(), "version": version("opsdist"),
            "library": f"{library.name}, {library.path}", "segments": sorted(named),
        }  # fmt: skip
        try:
            members = store.gather("mpi", placement.rank, told, placement.world_size, timeout)
        except RendezvousError:
            remove(named)
            raise
        # What all ranks have mapped needs no name any more, and would keep it for ever after a crash.
        remove(set.intersection(*(set(member["segments"]) for member in members)))
        try:
            _prove_world(members, library)
        except RendezvousError:
            if world.Get_size() == 1:  # then nobody is waited for, and the library cleans up
                mpi.Finalize()
            raise
        book = Logbook(f"{self.name} world", placement.rank, range(placement.world_size), recorder)
        return MpiCommunicator(library, world.Dup(), mpi.Finalize, book)


BACKEND = MpiBackend()


def _load() -> Any:
    """mpi4py's module, MPI not yet initialised by it. Raises RendezvousError."""
    try:
        import mpi4py

        mpi4py.rc.initialize = False
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise RendezvousError(
            f"mpi4py cannot load MPI: {error}; `opsdist info -t backends` tells what is there"
        ) from None
    if MPI.Is_finalized():
        raise RendezvousError("MPI was ended in this process and cannot begin again; start a new one")
    return MPI


def _started_by(environ: Mapping[str, str]) -> str | None:
    """Whose mpiexec started this process, by the variables that it leaves."""
    if environ.get("OMPI_COMM_WORLD_RANK"):
        return "Open MPI"
    return "MPICH" if environ.get("PMI_RANK") else None


def _strangers(library: Library) -> str:
    """Which mpiexec and which library do not belong together, and what to do."""
    mpiexec = os.environ.get(MPIEXEC)
    by = f"the ranks were started by {mpiexec}" if mpiexec else "the ranks were not started by opsdist's mpiexec"
    kind = f" ({kind}'s)" if (kind := _started_by(os.environ)) else ""
    return (
        f"{by}{kind if mpiexec else ''}, the library is {library.name}, {library.path}, and they do not belong "
        f"together; use the mpiexec of that library ({MPIEXEC}=PATH), or the library of that mpiexec "
        "(MPI4PY_LIBMPI=PATH)"
    )


def _prove_world(world: Sequence[dict[str, Any]], library: Library) -> None:
    """Every rank of MPI is the rank that was asked for, with one library. Raises RendezvousError."""
    for rank, member in enumerate(world):
        if (member["rank"], member["size"]) != (rank, len(world)):
            what = f"rank {rank} of {len(world)} is rank {member['rank']} of {member['size']} to MPI"
            raise RendezvousError(f"{what}: {_strangers(library)}")
        for what in ("library", "version"):
            if member[what] != world[0][what]:
                raise RendezvousError(
                    f"rank {rank} has {what} {member[what]}, rank 0 has {world[0][what]}; install the same everywhere"
                )
