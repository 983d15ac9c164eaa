"""NCCL's log in the forms of its generations: communicators, calls, set-up, warnings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.diagnose.evidence import nccl_log
from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.nccl_speaker import speech
from suites.diagnose.evidence.nccl_texts import CORE
from suites.diagnose.facts import NOBODY, Call, Fact, Group, Identity, Level, Seen, Setting, Signature, Trouble, Who
from tests.suites.diagnose.evidence.feeding import fed, only

FORMS = (
    "node01:4711:4720 [2] {where} NCCL WARN {text}",
    "[2026-03-04 05:06:07] node01:4711:4720 [2] {where} NCCL WARN {text}",
    "[2026-03-04 05:06:07] node01:4711:4720 [2] {where} (ncclDoSomething) NCCL WARN {text}",
    "node01:4711:4720 [2] NCCL WARN {text}",
    "node01:4711:4720 [2] WARN {text}",
    "node01:4711:4720 [2] /long/path/of/a/build/rccl/hipify/src/{where} NCCL WARN {text}",
)
"""Of newer and older NCCL, of 2.2, and of RCCL."""


def log(text: str) -> list[Fact]:
    return fed(nccl_log.NcclLog(), text)


def troubles(text: str) -> list[Trouble]:
    return only(log(text), Trouble)


@pytest.mark.parametrize("form", FORMS)
def test_who_warns_is_told_in_every_form(form: str) -> None:
    text = form.format(where="misc/ibvwrap.cc:88", text="Call to ibv_reg_mr failed with error Cannot allocate memory")
    (trouble,) = troubles(text)
    assert (trouble.who.host, trouble.who.pid, trouble.who.device) == ("node01", 4711, "gpu2")
    assert trouble.place.text == text.strip()


@pytest.mark.parametrize(
    ("before", "words", "who"),
    [
        (
            "node01:4711:4720 [2] NCCL INFO ",
            "WARN ncclx NCCL WARN Cuda failure",
            Who(host="node01", pid=4711, device="gpu2"),
        ),
        ("step 3 NCCL WARN ", "node01:4711:4720 [2] NCCL INFO Cuda failure", NOBODY),
        ("x" * 5000 + " node01:4711:4720 [2] NCCL WARN ", "a", Who(host="node01", pid=4711, device="gpu2")),
        ("x" * 5000 + ":4711:4720 [2] NCCL WARN ", "a", Who(device="gpu2")),
        ("x" * 5000 + "NCCL WARN ", "a", NOBODY),
    ],
)
def test_the_first_level_of_a_line_is_its_speakers(before: str, words: str, who: Who) -> None:
    said = speech(Line(before + words, 1, "job.log"))
    assert said is not None
    assert (said.line.text, said.line.who, said.warns) == (words, who, before.endswith("WARN "))


def test_words_of_a_level_alone_are_not_nccls() -> None:
    assert speech(Line("[2] trainer WARN loss is nan", 1, "job.log")) is None
    assert speech(Line("node01:4711:4720 [2] NCCL says nothing", 1, "job.log")) is None


def test_each_line_has_its_own_speaker() -> None:
    wrapped = Line("node01:4711:4720 [2] NCCL INFO a", 1, "job.log", Who(rank=5))
    for line, who in (
        (wrapped, Who(5, "node01", 4711, "gpu2")),
        (replace(wrapped, who=Who(rank=6)), Who(6, "node01", 4711, "gpu2")),
    ) * 2:
        said = speech(line)
        assert said is not None
        assert said.line.who == who


WARNINGS = [
    ("NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129", "nccl.completion_12", "transport"),
    ("NET/IB : Got completion from peer 192.0.2.9<33012> with status=12 opcode=0 len=0 vendor err 129 (Recv)",
     "nccl.completion_12", "transport"),
    (("NET/IB: Got completion from peer 192.0.2.9<33012> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0)"),
     "nccl.completion_12", "transport"),
    ("NET/IB : Got completion with error 5, opcode 0, len 0, vendor err 249", "nccl.completion_5", None),
    ("NET/IB : Got completion with error 4, opcode 0, len 0, vendor err 81", "nccl.completion_4", "transport"),
    ("Call to ibv_modify_qp failed with error Invalid argument", "nccl.qp_refused", "transport"),
    (("Call to ibv_modify_qp failed with 101 Network is unreachable, on dev mlx5_2:1, curr state INIT, next state RTR"),
     "nccl.qp_unreachable", "transport"),
    ("Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", "nccl.memlock", "resource"),
    ("Call to posix_fallocate failed: No space left on device", "nccl.shm_full", "resource"),
    ("Error: failed to extend /dev/shm/nccl-AbCdEf to 9637892 bytes, error: No space left on device (28)",
     "nccl.shm_full", "resource"),
    ("Error while creating shared memory segment /dev/shm/nccl-AbCdEf (size 9637888)", "nccl.shm_failed", None),
    ("Mismatched NCCL version detected : rank 0 version 22105 rank 3 version 21805", "nccl.version_mismatch", "config"),
    ("bootstrapRoot: rank 4 of 8 ranks has already checked in", "nccl.checked_in", "config"),
    ("Bootstrap : no socket interface found", "nccl.no_interface", "config"),
    ("NET/IB : Unable to open device erdma_1", "nccl.device_unopened", "config"),
    ("Cuda failure 'uncorrectable ECC error encountered'", "nccl.ecc", "device"),
    ("Cuda failure 'invalid argument'", "nccl.cuda", "crashed"),
    ("Call to connect to 192.0.2.7<40012> failed : Connection refused", "nccl.refused", "transport"),
    ("socketProgress: Connection closed by remote peer node07<41222>", "nccl.closed", None),
    ("[Proxy Service 1] Failed to execute operation Connect from rank 1, retcode 2", "nccl.proxy", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "known_as", "cause"), WARNINGS)
def test_what_a_warning_means(text: str, known_as: str, cause: str | None) -> None:
    (trouble,) = troubles(FORMS[0].format(where="transport/net.cc:1", text=text))
    assert (trouble.known_as, trouble.cause) == (known_as, cause)
    assert bool(cause) == (trouble.level <= Level.TRANSPORT)


def test_every_row_is_met_by_a_warning_or_named_here() -> None:
    met = {name for _, name, _ in WARNINGS}
    others = {
        "nccl.completion_1", "nccl.completion", "nccl.registration", "nccl.root_mismatch", "nccl.mismatched_call",
        "nccl.ordinal", "nccl.invalid_rank", "nccl.illegal_access", "nccl.launch_failure", "nccl.no_gpu_memory",
        "nccl.received_nothing", "nccl.reset", "nccl.aborted", "nccl.code", "nccl.duplicate_gpu",
    }  # fmt: skip
    assert {row.name for row in CORE} == met | others


def test_a_card_that_fails_to_register_memory_of_the_host_is_not_out_of_shared_memory() -> None:
    told = troubles(
        "node01:4711:4720 [1] misc/shmutils.cc:103 NCCL WARN Cuda failure 'invalid argument'\n\n"
        "node01:4711:4720 [1] misc/shmutils.cc:114 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-"
        "x (size 9637888)"
    )
    assert [trouble.cause for trouble in told] == ["crashed", None]


@pytest.mark.parametrize(
    "text",
    [
        "NCCL INFO socketPollConnect: connect to 192.0.2.9<4000> returned Connection refused, retrying (1/34)",
        "misc/socket.cc:9 NCCL WARN Call to connect returned Connection refused, retrying",
        "NCCL INFO Call to connect to 192.0.2.9<4000> failed : No route to host",
        "NCCL INFO transport/p2p.cc:77 Cuda failure 'peer access is already enabled'",
    ],
)
def test_what_is_tried_again_or_was_but_a_try_is_no_failure(text: str) -> None:
    assert not troubles(f"node01:4711:4720 [2] {text}")


INIT = (
    "{host}:{pid}:900 [0] NCCL INFO [Rank {rank}] ncclCommInitRankConfig comm {pointer} rank {rank} nranks 2 cudaDev 0 "
    "nvmlDev 0 busId 1b000 commId 0x5ca1ab1e00c0ffee - Init COMPLETE"
)
CALL = (
    "{host}:{pid}:{pid} [0] NCCL INFO {op}: opCount {number} sendbuff 0x7f01 recvbuff 0x7f02 count {count} "
    "datatype 7 op 0 root 0 comm {pointer} [nranks=2] stream 0x55aa"
)


def test_a_pointer_is_joined_with_the_communicator_that_all_ranks_know() -> None:
    facts = log(
        INIT.format(host="node01", pid=11, rank=0, pointer="0xaaa1") + "\n"
        + INIT.format(host="node02", pid=12, rank=1, pointer="0xbbb2") + "\n"
        + CALL.format(host="node02", pid=12, op="AllGather", number="f7", count=512, pointer="0xbbb2")
    )  # fmt: skip
    (call,) = only(facts, Call)
    assert (call.seq, call.who.group_rank, call.state) == (0xF7, 1, "entered")
    assert call.group == "comm 0x5ca1ab1e00c0ffee"
    assert call.signature == Signature("allgather", 512, "float32")
    assert {group.size for group in only(facts, Group)} == {2}
    assert Who(host="node01", pid=11, device="gpu0", group=call.group, group_rank=0) in [
        identity.who for identity in only(facts, Identity)
    ]
    assert [seen.verbose for seen in only(facts, Seen) if seen.who.host == "node02"] == [False, True]


def test_without_its_beginning_a_communicator_is_the_one_of_as_many_ranks() -> None:
    calls = only(
        log(
            CALL.format(host="node01", pid=11, op="AllReduce", number="10", count=4, pointer="0xaaa1") + "\n"
            + CALL.format(host="node02", pid=12, op="Reduce", number="10", count=4, pointer="0xbbb2")
        ),
        Call,
    )  # fmt: skip
    assert calls[0].group == calls[1].group
    assert [call.signature.op for call in calls] == ["allreduce", "reduce"]
    assert calls[0].signature.operator == "sum"


def test_calls_that_are_all_number_0_are_counted_by_their_order() -> None:
    line = CALL.format(host="node01", pid=11, op="AllReduce", number="0", count=4, pointer="0xaaa1")
    assert [call.seq for call in only(log("\n".join([line] * 3)), Call)] == [0, 1, 2]


SPLIT = (
    "node01:{pid}:900 [0] NCCL INFO ncclCommSplit comm {pointer} rank {rank} nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 "
    "parent {parent} {rest}"
)


@pytest.mark.parametrize(
    "form",
    [
        "splitCount 2 color {color} key 5- Init START",
        "splitCount 2 color {color} key 5 - Init COMPLETE",
        "childCount 2 color {color} key 5- Init START",
        "color {color} key 5 commId 0x5ca1ab1e00c0ffee - Init START",
    ],
)
def test_what_was_split_off_is_named_by_its_parent_and_colour(form: str) -> None:
    def calls(pid: int, color: int) -> list[Call]:
        pointers = {"pid": pid, "rank": 1, "pointer": f"0x{pid}c", "parent": f"0x{pid}a"}
        told = [
            INIT.format(host="node01", **pointers | {"pointer": pointers["parent"]}),
            SPLIT.format(rest=form.format(color=color), **pointers),
            SPLIT.format(rest=form.format(color=color), **pointers).replace("START", "COMPLETE"),
            CALL.format(host="node01", op="AllReduce", number="3", count=4, **pointers),
        ]
        return [call for call in only(log("\n".join(told)), Call) if call.signature.op != "init"]

    (one,), (same,), (other,) = calls(11, 0), calls(12, 0), calls(13, 1)
    assert one.group == same.group != other.group
    assert one.group != "comm 0x5ca1ab1e00c0ffee"
    assert (one.who.group, one.who.group_rank) == (one.group, 1)


def test_zeros_before_a_number_do_not_make_another_communicator() -> None:
    groups = only(
        log(
            "\n".join(
                INIT.format(host="node01", pid=11, rank=0, pointer="0xaaa1").replace("0x5ca1ab1e00c0ffee", number)
                for number in ("0x0cc", "0xcc")
            )
        ),
        Group,
    )
    assert {group.key for group in groups} == {"comm 0xcc"}


def test_what_was_destroyed_has_come_to_its_end() -> None:
    facts = log(
        "\n".join(
            (
                INIT.format(host="node01", pid=11, rank=0, pointer="0xaaa1"),
                CALL.format(host="node01", pid=11, op="AllReduce", number="9", count=4, pointer="0xaaa1"),
                "node01:11:11 [0] NCCL INFO comm 0xaaa1 rank 0 nranks 2 cudaDev 0 busId 1b000 - Destroy COMPLETE",
            )
        )
    )
    assert [(call.seq, call.state) for call in only(facts, Call)] == [(9, "entered"), (9, "done")]


def message(op: str, peer: int, number: int) -> str:
    line = CALL.format(host="node01", pid=11, op=op, number=f"{number:x}", count=4, pointer="0xaaa1")
    return line.replace("root 0", f"root {peer}")


def test_messages_are_counted_by_peer_and_direction() -> None:
    opened = INIT.format(host="node01", pid=11, rank=0, pointer="0xaaa1")
    lines = [message("Send", 1, 0), message("Recv", 1, 0), message("Send", 1, 1)]
    told = [
        (c.seq, c.peer.group_rank, c.peer_sends, c.signature.op) for c in only(log("\n".join([opened, *lines])), Call)
    ]
    assert told == [(2, 1, False, "send"), (1, 1, True, "recv")]
    assert not only(log("\n".join(lines)), Call)  # where the first ones may lie before the beginning


def test_messages_do_not_shift_the_numbers_of_collectives() -> None:
    def numbers(*lines: str) -> list[int]:
        opened = INIT.format(host="node01", pid=11, rank=0, pointer="0xaaa1")
        return [c.seq for c in only(log("\n".join([opened, *lines])), Call) if c.peer is None]

    reduce = [message("AllReduce", 0, number) for number in range(5)]
    assert numbers(*reduce[:3]) == [0, 1, 2]
    assert numbers(reduce[0], message("Send", 1, 1), message("Recv", 1, 1), reduce[2], reduce[3]) == [0, 1, 2]
    assert numbers(reduce[0], message("Send", 1, 1), reduce[1], message("Send", 1, 1), reduce[2]) == [0, 1, 2]


def test_what_hosts_are_set_up_with_is_told_without_their_names_and_addresses() -> None:
    facts = log(
        "node01:11:12 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:192.0.2.1<0>\n"
        "node01:11:12 [0] NCCL INFO Using network IB\n"
        "node02:11:12 [0] NCCL INFO NET/IB : No device found.\n"
        "node02:11:12 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth1\n"
        "node01:11:12 [0] NCCL INFO NCCL version 2.21.5+cuda12.4"
    )
    told = {(s.who.host, s.key): s.value for s in only(facts, Setting)}
    assert told == {
        ("node01", "nccl.devices"): "mlx5_0/RoCE mlx5_1/RoCE",
        ("node01", "nccl.network"): "IB",
        ("node02", "nccl.devices"): "none",
        ("node02", "env.NCCL_SOCKET_IFNAME"): "eth1",
        ("node01", "nccl.version"): "2.21.5+cuda12.4",
    }


def test_an_end_without_direct_access_to_the_gpu_is_named() -> None:
    both = "node{n}:1{n}:2{n} [0] NCCL INFO Channel 00/0 : 9[1a000] -> 2[6b000] [{way}] via NET/IB/{by}"
    send = both.format(n="01", way="send", by="0/GDRDMA")
    (trouble,) = troubles(send + "\n" + both.format(n="02", way="receive", by="1"))
    assert (trouble.cause, trouble.about[0].who.host, trouble.who.rank) == ("config", "node02", 2)
    assert not troubles(send + "\n" + both.format(n="02", way="receive", by="1/GDRDMA"))


def test_one_end_of_a_path_is_compared_with_the_other_ones_log() -> None:
    end = "node01:11:21 [0] NCCL INFO Channel 00/0 : 9[1a000] -> 2[6b000] [send] via NET/IB/0{}"
    for by, value in (("/GDRDMA", "yes"), ("", "no")):
        told = [(s.who.host, s.key, s.value) for s in only(log(end.format(by)), Setting)]
        assert told == [("node01", "nccl.direct 9 -> 2", value)]


def test_a_card_that_is_far_from_a_gpu_is_no_fault() -> None:
    far = "node02:12:22 [0] NCCL INFO GPU Direct RDMA Disabled for GPU ca000 / HCA 0 (distance 7 > 4)"
    end = "node{n}:1{n}:2{n} [0] NCCL INFO Channel 00/0 : 9[1a000] -> 2[6b000] [{way}] via NET/IB/{by}"
    send, receive = end.format(n="01", way="send", by="0/GDRDMA"), end.format(n="02", way="receive", by="1")
    assert not troubles("\n".join((far, send, receive)))
    assert not only(log("\n".join((far, receive))), Setting)


def test_loopback_is_to_blame_only_where_somebody_cannot_connect() -> None:
    chosen = "node01:11:12 [0] NCCL INFO NET : Using interface lo:127.0.0.1<0>"
    refused = "node02:21:22 [1] include/socket.h:361 NCCL WARN Call to connect timeout : Connection refused"
    assert not [t for t in troubles(chosen) if t.cause]
    first = next(t for t in troubles(chosen + "\n" + refused) if t.level == Level.INITIATING)
    assert (first.cause, first.about[0].who.host) == ("config", "node01")


def test_a_link_that_no_hardware_has_is_a_hypervisors() -> None:
    tree = "node05:1:2 [5] NCCL INFO {blanks}+ PCI[{rate}] - PCI/0-65000 (104c823200000000)"
    (trouble,) = troubles(tree.format(blanks="", rate="0.2"))
    assert (trouble.cause, trouble.about[0].who.host) == ("config", "node05")
    assert not troubles(tree.format(blanks="    ", rate="48.0"))


SAMPLES = [FORMS[2].format(where="a.cc:1", text=text) for text, _, _ in WARNINGS] + [
    INIT.format(host="node01", pid=11, rank=0, pointer="0xaaa1"),
    CALL.format(host="node01", pid=11, op="AllReduce", number="10", count=4, pointer="0xaaa1"),
]


@given(st.lists(st.sampled_from(SAMPLES) | st.text(max_size=80), max_size=6), st.integers(0, 300))
def test_it_never_raises(lines: list[str], cut: int) -> None:
    log("\n".join(line[:cut] if index % 2 else line for index, line in enumerate(lines)))
