"""What MPI libraries say of paths, limits and mismatches is read, by line and by paragraph. May import: suites."""

from __future__ import annotations

import pytest

from suites.diagnose.evidence import mpi, mpi_blocks
from suites.diagnose.evidence.known import KnownTexts
from suites.diagnose.evidence.line import Line, LineReader
from suites.diagnose.facts import NOBODY, Class, Level, Subject, Trouble, Who


def _troubles(reader: LineReader, text: str) -> list[Trouble]:
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if reader.awake or any(word in line for word in reader.wakes):
            found += reader.feed(Line(line, number, "log", NOBODY))
    return [fact for fact in [*found, *reader.end()] if isinstance(fact, Trouble)]


_RANK_4 = Who(rank=4, host="cn03")
_CN31 = Who(host="cn31", pid=4411)


@pytest.mark.parametrize(
    ("text", "level", "cause", "about"),
    [
        (("[cn03][[30452,1],4][btl_tcp_endpoint.c:803:mca_btl_tcp_endpoint_complete_connect] connect() to 192.0.2.11 "
         "failed: No route to host (113)"), Level.TRANSPORT, "transport",
         (Subject("link", _RANK_4, Who(address="192.0.2.11")),)),
        (("[cn03][[30452,1],4][btl_tcp_frag.c:216:mca_btl_tcp_frag_recv] mca_btl_tcp_frag_recv: readv failed: "
         "Connection timed out (110)"), Level.TRANSPORT, "transport", (Subject("link", _RANK_4, NOBODY),)),
        (("[cn03][[30452,1],4][btl_tcp_frag.c:216:mca_btl_tcp_frag_recv] mca_btl_tcp_frag_recv: readv failed: "
         "Connection reset by peer (104)"), Level.CASCADE, None, ()),
        (("[cn03][[30452,1],4][btl_openib_component.c:3644:handle_wc] from cn03 to: cn07 error polling LP CQ with "
         "status RETRY EXCEEDED ERROR status number 12"), Level.TRANSPORT, "transport",
         (Subject("link", _RANK_4, Who(host="cn07")),)),
        ("[cn31:4411:0:4411] ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_2:1/IB (synd 0x15 vend 0x81)",
         Level.TRANSPORT, "transport", (Subject("link", _CN31, NOBODY, card="mlx5_2"),)),
        (("[1733312345.123456] [cn31:4411 :0]  ib_mlx5_log.c:171  UCX  ERROR Transport retry count exceeded on "
         "mlx5_2:1/RoCE (synd 0x15)"), Level.TRANSPORT, "transport", (Subject("link", _CN31, NOBODY, card="mlx5_2"),)),
        (("[1733312345.123456] [cn31:4411 :0]  ib_md.c:300  UCX  ERROR ibv_reg_mr(address=0x7f, length=64) failed: "
         "Cannot allocate memory : Please set max locked memory (ulimit -l) to 'unlimited' (current: 64 kbytes)"),
         Level.INITIATING, "resource", (Subject("host", Who(host="cn31")),)),
        (("[1733312345.123456] [cn31:4411:0]  ib_iface.c:1035 UCX  ERROR ibv_create_cq(cqe=4096) failed: Cannot "
         "allocate memory"), Level.INITIATING, "resource", (Subject("host", Who(host="cn31")),)),
        (("[1733312345.123456] [cn31:4411:0]  ib_mlx5_dv.c:161  UCX  ERROR   mlx5dv_devx_obj_create(QP) failed, "
         "syndrome 0: Cannot allocate memory"), Level.INITIATING, "resource", (Subject("host", Who(host="cn31")),)),
        ("[cn31:4411:0:4411] rc_verbs_iface.c:63   FATAL: send completion with error: transport retry counter exceeded",
         Level.TRANSPORT, "transport", (Subject("link", _CN31, NOBODY),)),
        ("[cn31:4411:0:4411] Caught signal 11 (Segmentation fault: address not mapped to object at address (nil))",
         Level.INITIATING, "crashed", (Subject("rank", _CN31),)),
        ("[cn31:4411] Signal: Segmentation fault (11)", Level.INITIATING, "crashed", (Subject("rank", _CN31),)),
        ("[cn03:mpi_rank_4][error_sighandler] Caught error: Bus error (signal 7)", Level.INITIATING, "crashed",
         (Subject("rank", _RANK_4),)),
        ("[cn31:4411] *** MPI_ERR_TRUNCATE: message truncated", Level.TRANSPORT, "mismatch", ()),
        ("Abort(537479183) on node 2 (rank 2 in comm 0): Fatal error in PMPI_Bcast: Message truncated, error stack:",
         Level.TRANSPORT, "mismatch", ()),
        ("Fatal error in PMPI_Recv: Other MPI error, error stack:", Level.CASCADE, None, ()),
        ("MPIDI_OFI_mpi_init_hook(1512): OFI addrinfo() failed (ofi_init.c:1512:create_vni_context:No data available)",
         Level.INITIATING, "config", ()),
    ],
)  # fmt: skip
def test_a_line_of_an_mpi_library_tells_whom_it_concerns(
    text: str, level: Level, cause: Class | None, about: tuple[Subject, ...]
) -> None:
    (trouble,) = _troubles(KnownTexts(mpi.ROWS), text)
    assert (trouble.level, trouble.cause, trouble.about) == (level, cause, about)


def test_an_abort_by_signal_is_no_crash_of_its_own() -> None:
    assert not _troubles(KnownTexts(mpi.ROWS), "[cn31:4411] Signal: Aborted (6)")


@pytest.mark.parametrize(
    ("text", "level", "cause", "about"),
    [
        ("WARNING: Open MPI failed to TCP connect to a peer MPI process.  This\nshould not happen.\n\n"
         "  Local host: cn03\n  PID:        2018\n  Message:    connect() to 192.0.2.9:1026 failed\n"
         "  Error:      No route to host (113)\n" + "-" * 74, Level.TRANSPORT, "transport",
         (Subject("link", Who(host="cn03"), Who(address="192.0.2.9")),)),
        (("A process or daemon was unable to complete a TCP connection\nto another process:\n  Local host:    cn03\n"
         "  Remote host:   cn07"), Level.INITIATING, "launch", (Subject("link", Who(host="cn03"), Who(host="cn07")),)),
        ("ORTE has lost communication with its daemon located on node:\n\n  hostname:  cn03.example", Level.TRANSPORT,
         "transport", (Subject("host", Who(host="cn03.example")),)),
        (("ORTE does not know how to route a message to the specified daemon\nlocated on the indicated node:\n\n"
         "  my node:   head\n  target node:  cn03"), Level.TRANSPORT, "launch", (Subject("host", Who(host="cn03")),)),
        (("At least one pair of MPI processes are unable to reach each other for\nMPI communications.\n\n"
         "  Process 1 ([[11459,1],1]) is on host: cn03\n  Process 2 ([[11459,1],0]) is on host: cn07\n"
         "  BTLs attempted: self"), Level.INITIATING, "config", (Subject("link", Who(host="cn03"), Who(host="cn07")),)),
        (("A requested component was not found, or was unable to be opened.  This\nmeans nothing.\n\nHost:      cn03\n"
         "Framework: psec\nComponent: munge"), Level.INITIATING, "config", (Subject("host", Who(host="cn03")),)),
    ],
)  # fmt: skip
def test_a_paragraph_is_read_to_its_end(text: str, level: Level, cause: Class, about: tuple[Subject, ...]) -> None:
    (trouble,) = _troubles(mpi_blocks.MpiParagraphs(), text)
    assert (trouble.level, trouble.cause, trouble.about) == (level, cause, about)
    assert trouble.place.line == 1


def test_fields_behind_the_rule_belong_to_no_paragraph() -> None:
    text = "ORTE has lost communication with its daemon located on node:\n" + "-" * 74 + "\n  hostname:  cn03"
    (trouble,) = _troubles(mpi_blocks.MpiParagraphs(), text)
    assert trouble.about == ()
