"""What nccl-tests and PyTorch say and quote of NCCL and CUDA."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.diagnose.evidence import nccl_benchmark, nccl_quoted
from suites.diagnose.evidence.known import KnownTexts
from suites.diagnose.facts import NOBODY, Level, Trouble, Who
from tests.suites.diagnose.evidence.feeding import fed, only

OWN = [
    ("node01: Test CUDA failure common.cu:963 'invalid device ordinal'", "nccl_tests.ordinal", "config"),
    ("node01: Test HIP failure common.cu:963 'out of memory'", "nccl_tests.memory", "resource"),
    ("node01: Test CUDA failure common.cu:9 'uncorrectable ECC error encountered'", "nccl_tests.ecc", "device"),
    (" .. node01 pid 4711: Test failure common.cu:1012", "nccl_tests.code", None),
]
QUOTED = (
    "node01: Test NCCL failure common.cu:1012 'unhandled system error (run with NCCL_DEBUG=INFO for details) / "
    "Call to posix_fallocate failed : No space left on device'"
)


def quoted(text: str, who: Who = NOBODY) -> list[Trouble]:
    return only(fed(nccl_quoted.Quoted(), text, who=who), Trouble)


@pytest.mark.parametrize(("text", "known_as", "cause"), OWN)
def test_what_a_test_fails_of(text: str, known_as: str, cause: str | None) -> None:
    (trouble,) = only(fed(KnownTexts(nccl_benchmark.ROWS), text), Trouble)
    assert (trouble.known_as, trouble.cause, trouble.who.host) == (known_as, cause, "node01")
    assert not quoted(text)


@pytest.mark.parametrize("text", [QUOTED, QUOTED.removeprefix("node01: ")])
def test_nccls_last_words_stand_behind_the_name_of_the_error(text: str) -> None:
    (trouble,) = quoted(text, Who(host="node01"))
    assert (trouble.known_as, trouble.cause, trouble.who.host) == ("nccl.shm_full", "resource", "node01")
    assert trouble.place.text == text


@pytest.mark.parametrize("end", ["\n", " ", "\n\n"])
def test_what_stands_below_last_error_is_nccls(end: str) -> None:
    (trouble,) = quoted(
        "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\n"
        f"Last error:{end}Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 4000\n"
        "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 4000",
        Who(rank=1),
    )
    assert (trouble.known_as, trouble.level) == ("nccl.duplicate_gpu", Level.INITIATING)


@given(st.lists(st.sampled_from([QUOTED, "Last error:", "", *(text for text, _, _ in OWN)]) | st.text(max_size=40)))
def test_it_never_raises(lines: list[str]) -> None:
    quoted("\n".join(lines))


def test_what_xla_quotes() -> None:
    text = "NCCL operation ncclGroupEnd() failed: unhandled cuda error. Last NCCL warning(error) log entry (may be "
    (trouble,) = quoted(text + "unrelated) 'Cuda failure 2 'out of memory''.")
    assert trouble.known_as == "nccl.no_gpu_memory"
    assert not quoted(text + "unrelated) ''.")
