"""What hccn_tool says of encryption and certificates."""

from __future__ import annotations

from probes.ascend.hccn_tls import parse_tls

SWITCH = (
    "dev_id:{device}, tls switch[{switch}](0:disable, 1:enable), tls preconfigured[1](0:non-preset, 1:preset), "
    "tls alarm time threshold[30]days\n"
)
CERTIFICATE = """\
dev_id:2, [{name}] info:
         subject[/C=XX/O=made/CN=up.example]
         issuer[/C=XX/O=made/CN=root]
         start_time[Sat Jan  4 03:00:00 2025 GMT]
         end_time[Sun Jan  4 03:00:00 2026 GMT]
         tls expiration status[{state}](0:normal, 1:near expiration, 2:has expired)
"""


def test_the_switch_of_each_device_that_was_asked_in_a_loop() -> None:
    said = parse_tls(SWITCH.format(device=2, switch=1) + SWITCH.format(device=3, switch=0))
    assert said.values == {"switch": 1, "switches": {"2": 1, "3": 0}, "alarm_days": 30}
    assert said.lines["switch 3"].startswith("dev_id:3, tls switch[0]")


def test_certificates_with_their_end_and_without_their_owner() -> None:
    said = parse_tls(
        SWITCH.format(device=2, switch=0)
        + CERTIFICATE.format(name="pub cert", state=0)
        + CERTIFICATE.format(name="crl", state=2)
    )
    assert said.values["certificates"] == [
        {"name": "pub cert", "ends": "2026-01-04T03:00:00", "state": "normal"},
        {"name": "crl", "ends": "2026-01-04T03:00:00", "state": "expired"},
    ]
    assert "up.example" not in str(said)
    assert said.lines["certificate crl"].startswith("tls expiration status[2]")


def test_where_there_are_none() -> None:
    assert not parse_tls("No certificate found, please set certs firstly!\n")
