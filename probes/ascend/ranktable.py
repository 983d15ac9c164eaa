"""HCCL's rank table, the JSON file that RANK_TABLE_FILE names, as facts: which NPU of which host is which rank.

Versions 1.0 and 1.2, which adds super-pods. Vendors' examples carry // comments. Values should be texts; numbers are
taken as such, and mentioned. May import: probes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from probes.host import Host
from probes.reading import Reading, Said, State, told

VARIABLE = "RANK_TABLE_FILE"
_DEVICE = ("device_id", "device_ip", "rank_id", "super_device_id", "backup_device_ip", "device_port")
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*+"?|//[^\n]*', re.DOTALL)


def of_host(host: Host) -> dict[str, Reading]:
    """The table, where the environment names one."""
    path = host.environ.get(VARIABLE)
    if not path:
        return {}
    text = host.read(path)
    if text is None:
        said = Said()
        said.value("fault", "there is no such file, or it cannot be read")
        return {"rank_table": told(path, said)}
    said = parse_rank_table(text)
    return {"rank_table": told(path, said) if said else Reading(path, State.FAILED, "it is empty")}


def parse_rank_table(text: str) -> Said:
    """`servers` with their devices, `numbers`: keys whose values are no texts, and what the table says of itself;
    `fault` where it cannot be understood."""
    said = Said()
    if not text.strip("\ufeff \t\r\n"):
        return said
    plain = _STRING_OR_COMMENT.sub(lambda match: "" if match[0].startswith("/") else match[0], text.lstrip("\ufeff"))
    try:
        table = json.loads(plain)
    except json.JSONDecodeError as error:
        line = plain.split("\n")[error.lineno - 1]
        said.value("fault", f"line {error.lineno} is not JSON: {error.msg}", line)
        return said
    except (ValueError, RecursionError):
        said.value("fault", "it is nested too deep, or has numbers that are too long")
        return said
    if not isinstance(table, dict) or not isinstance(table.get("server_list"), list):
        said.value("fault", "there is no server_list in it")
        return said
    for key in ("status", "version", "server_count"):
        if (value := _text(table.get(key))) is not None:
            said.value(key, value, f'"{key}": "{value}"')
    said.value("servers", [_server(server) for server in _objects(table, "server_list")])
    devices = [device for server in _objects(table, "server_list") for device in _objects(server, "device")]
    numbers = [key for key in _DEVICE if any(isinstance(device.get(key), int | float) for device in devices)]
    if numbers:
        said.value("numbers", numbers)
    if "super_pod_list" in table:
        said.value("super_pods", [_super_pod(pod) for pod in _objects(table, "super_pod_list")])
    return said


def _server(server: Mapping[str, Any]) -> dict[str, Any]:
    devices = [{key: _text(device.get(key)) for key in _DEVICE} for device in _objects(server, "device")]
    return {"id": _text(server.get("server_id")), "host": _text(server.get("host_ip")), "devices": devices}


def _super_pod(pod: Mapping[str, Any]) -> dict[str, Any]:
    servers = [_text(server.get("server_id")) for server in _objects(pod, "server_list")]
    return {"id": _text(pod.get("super_pod_id")), "servers": servers}


def _objects(holder: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    values = holder.get(key)
    yield from (value for value in (values if isinstance(values, list) else ()) if isinstance(value, dict))


def _text(value: Any) -> str | None:
    """As text that can be printed, of a length that a word can have."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    return str(value)[:200].encode("utf-8", "replace").decode()
