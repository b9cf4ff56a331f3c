"""The page, the C header and the Python module have the same numbers."""

import re
from pathlib import Path

import pytest

from granite.drivers.board import wire

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/wire.md").read_text()
HEADER = (ROOT / "firmware/core/wire.h").read_text()


def enumeration(name: str) -> dict[str, int]:
    """The members of an enumeration of the header."""
    body = re.search(rf"enum {name} {{(.*?)}};", re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S), re.S)
    assert body
    numbers: dict[str, int] = {}
    for member in body.group(1).split(","):
        key, _, value = (part.strip() for part in member.partition("="))
        numbers[key] = int(value, 0) if value else max(numbers.values(), default=-1) + 1
    return numbers


def members(kind: type) -> dict[str, int]:
    return {member.name: member.value for member in kind}


def test_the_header_has_the_numbers_of_the_module():
    assert enumeration("kind") == members(wire.FrameKind)
    assert enumeration("refusal") == {"NOT_REFUSED": 0} | members(wire.Refusal)
    verdicts = enumeration("verdict")
    assert verdicts == {"INCOMPLETE": 0} | members(wire.FrameVerdict) | {"VERDICTS": len(wire.FrameVerdict) + 1}
    latches = {name.removeprefix("LATCH_"): value for name, value in enumeration("latch_reason").items()}
    assert latches == members(wire.LatchReason)
    assert enumeration("channel_kind") == members(wire.ChannelKind) | {"FIRST_SENSOR": wire.ChannelKind.ENCODER}
    flags = {"FLAG_ARMED": wire.ARMED, "FLAG_EMERGENCY_STOP": wire.EMERGENCY_STOP, "FLAG_LIMITED": wire.LIMITED}
    assert enumeration("report_flag") == flags


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WIRE_VERSION", wire.VERSION),
        ("MAX_FRAME_BYTES", wire.MAX_FRAME),
        ("HEADER_BYTES", wire.HEADER.size),
        ("BOARD_BYTES", wire.BOARD.size),
        ("CHANNEL_BYTES", wire.CHANNEL.size),
        ("REPORT_BYTES", wire.REPORT.size),
        ("VALVE_COUNT_US", round(wire.VALVE_COUNT_S * 1e6)),
    ],
)
def test_the_header_has_the_sizes_of_the_module(name: str, value: int):
    assert re.search(rf"#define {name} {value}u\n", HEADER)


def test_the_page_has_the_numbers_of_the_module():
    kinds = {name: int(code, 16) for name, code in re.findall(r"^\| `([A-Z]+)` (0x[0-9A-F]{2}) \|", PAGE, re.M)}
    assert kinds == {name: code for name, code in members(wire.FrameKind).items() if not name.startswith("WORLD")}
    refusals = re.search(r"## Latch and watchdog\n(.*?)\n## Which", PAGE, re.S)
    assert refusals
    named = {name.upper(): int(code) for code, name in re.findall(r"(\d+) `([a-z_]+)`", refusals.group(1))}
    assert named == members(wire.Refusal)
    channels = {name.upper(): int(code) for name, code in re.findall(r"^\| `([a-z]+)` \| (\d+) \|", PAGE, re.M)}
    assert channels == members(wire.ChannelKind)
    counts = re.findall(r"^\| `([a-z_]+)` \| [a-zA-Z]", PAGE, re.M)
    assert [name.upper() for name in counts] == [
        v.name for v in wire.FrameVerdict if v is not wire.FrameVerdict.ACCEPTED
    ]
