"""Texts spoiled as they are on their way: cut anywhere, with other line ends and blanks, with bytes that are none."""

from __future__ import annotations

from hypothesis import strategies as st


def spoiled(data: bytes) -> st.SearchStrategy[bytes]:
    """What can become of an output that was copied, logged or interrupted."""
    places = st.integers(0, len(data))
    lines = data.splitlines(keepends=True)
    return st.one_of(
        places.map(lambda end: data[:end]),
        places.map(lambda start: data[start:]),
        st.tuples(places, st.binary(min_size=1, max_size=4)).map(lambda put: data[: put[0]] + put[1] + data[put[0] :]),
        st.tuples(places, places).map(lambda span: data[: min(span)] + data[max(span) :]),
        st.lists(st.sampled_from(lines or [b""]), max_size=30).map(b"".join),
        st.sampled_from([
            data.replace(b"\n", b"\r\n"), data.replace(b"\t", b"    "), data.replace(b"    ", b"\t"),
            b"\xef\xbb\xbf" + data, b"\x1b[4m" + data + b"\x1b[0m", data.upper(), data * 2, data.replace(b":", b""),
            data.replace(b"0", b"99999999999999999999"), data.replace(b"|", b" "), data.replace(b" ", b""),
        ]),
    )  # fmt: skip
