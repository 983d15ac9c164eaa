"""Whose a file is, as its name and those of its folders say: rank, host and process.

Conservative: a number that may be anything (a job, a year, an array task) is no rank.
May import: facts, known, line.
"""

from __future__ import annotations

import re

from suites.diagnose.evidence.known import people
from suites.diagnose.evidence.line import merged
from suites.diagnose.facts import NOBODY, Who

HOST = r"(?:[A-Za-z][A-Za-z0-9]*-)*(?:node|host|worker|server|compute|dgx|hgx|nid|master|launcher)-?[a-z]{0,3}\d{1,6}"
"""What can be nothing else than a host's or pod's name."""

_ENDING = re.compile(
    r"\.(?:gz|bz2|xz|zst|tgz|tar|zip|pkl|pickle|json|jsonl|log|txt|out|err|stdout|stderr|dump|ring)$", re.IGNORECASE
)
_FILES = tuple(
    re.compile(pattern)
    for pattern in (
        # https://gitcode.com/Ascend/pytorch: status files of torch_npu
        r"torch_hccl_status-(?P<rank>\d+)_(?P<address>[0-9A-Fa-f.:]+)_\d+_\d+_(?P<pid>\d+)_\d+",
        r"plog-(?P<pid>\d+)_\d+",
        # dumps of PyTorch's flight recorder, with or without a host before the rank
        r"(?:\w+_)?trace_rank_(?:(?P<host>[A-Za-z][\w.-]*)[_-])?(?P<rank>\d{1,6})",
        r"(?:\w*_)?dump_(?P<rank>\d{1,6})",
        # of srun's --output=slurm-%j-%t.out; with an underscore it is a task of an array
        r"slurm-\d+-(?P<rank>\d{1,6})",
        # of NCCL_DEBUG_FILE=nccl.%h.%p and %h.%p
        r"nccl(?:[_-]?(?:debug|log))?[._-](?P<host>[A-Za-z][\w-]*(?:\.[\w-]+){0,4})[._](?P<pid>\d{1,8})",
        r"(?P<host>(?=[\w-]*\d)[A-Za-z][\w-]*?(?:\.[A-Za-z][\w-]*){0,4})\.(?P<pid>\d{3,8})",
    )
)
"""The whole name without its endings."""

_PARTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:^|[^a-z])local[-_.]?rank[-_.=]?(?P<local_rank>\d{1,6})(?!\d)",
        r"(?:^|(?<![a-z])(?<!local[-_.])(?<!group[-_.])(?<!node[-_.]))rank[-_.=]?(?P<rank>\d{1,6})(?!\d)",
        rf"(?:^|[_.])(?P<host>{HOST})(?=$|[_.])",
    )
)
"""Somewhere in a name of a file."""

_FOLDERS = tuple(
    re.compile(pattern)
    for pattern in (
        r"rank[-_.=]?(?P<rank>\d{1,6})",
        rf"(?P<host>{HOST}(?:\.[A-Za-z][\w-]*)*)",
        r"(?P<address>\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})",
    )
)
_MSRUN = re.compile(r"(?:^|/)msrun_log[\w.-]{0,40}/worker_(?P<rank>\d{1,6})\.log$")
_TORCHRUN = re.compile(r"(?:^|/)attempt_\d+/(?P<local_rank>\d{1,5})/(?:stdout|stderr|error)[^/]*$")


def owner(name: str) -> Who:
    """Of the file of this name, with its folders and, for a member of an archive, `!member`."""
    name = name.replace("!", "/")
    folder, _, last = name.rpartition("/")
    who = NOBODY
    for part in folder.split("/"):
        who = merged(who, _first(_FOLDERS, _bare(part)))
    if found := _TORCHRUN.search(name):
        return merged(who, people(found))
    if found := _MSRUN.search(name):
        return merged(who, people(found))
    return merged(who, _of_file(_bare(last)))


def _of_file(name: str) -> Who:
    for pattern in _FILES:
        if found := pattern.fullmatch(name):
            return people(found)
    who = NOBODY
    for pattern in _PARTS:
        if found := pattern.search(name):
            who = merged(who, people(found))
    return who


def _first(patterns: tuple[re.Pattern[str], ...], name: str) -> Who:
    return next((people(found) for pattern in patterns if (found := pattern.fullmatch(name))), NOBODY)


def _bare(name: str) -> str:
    while (shorter := _ENDING.sub("", name)) != name and shorter:
        name = shorter
    return name
