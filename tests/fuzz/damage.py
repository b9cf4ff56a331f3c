"""Damage to trees of values and to text, drawn from a seeded generator."""

import random
from typing import Any

#: numbers at which arithmetic changes its ways
EXTREMES: tuple[Any, ...] = (
    *(0, -1, 1, 2, -0.0, 1e-320, 1e-300, 1e-16, 1e-9, 1e-3, 1e3, 1e6, 1e9, 1e12, 1e15, 1e30, 1e200, 1e300, 1e308),
    *(
        -1e-9,
        -1e6,
        -1e300,
        0.1,
        0.3333333333333333,
        3.141592653589793,
        2**31,
        2**63,
        2**64,
        10**40,
        10**400,
        1 << 20_000,
    ),
    *(float("inf"), float("-inf"), float("nan"), 0x7FFFFFFF, -(2**63)),
)
_ODD: tuple[Any, ...] = (
    *(True, False, "", " ", "50 kg", "none", "\n", "\u0000", "ä€😀", "x" * 5000, "../../etc/passwd", "a.b.c", "base"),
    *([], [[]], [0.0], [1.0, 2.0, 3.0, 4.0], [1e308, 1e308], ["x"], [True], {}, {"x": {}}, {"kind": "x"}, [{}]),
)


def number(rng: random.Random) -> Any:
    """An extreme number, or one of any magnitude."""
    if rng.random() < 0.6:
        return rng.choice(EXTREMES)
    return rng.choice((-1, 1)) * 10 ** rng.uniform(-20, 20)


def value(rng: random.Random) -> Any:
    """Anything that a file can hold."""
    return number(rng) if rng.random() < 0.6 else rng.choice(_ODD)


def places(content: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of nested tables and lists."""
    paths: list[tuple[Any, Any]] = []
    waiting = [content]
    for container in waiting:
        keys = list(container) if isinstance(container, dict) else range(len(container))
        paths += [(container, key) for key in keys]
        waiting += [container[key] for key in keys if isinstance(container[key], dict | list)]
    return paths


def misspelt(rng: random.Random, word: str) -> str:
    """The word with one letter more, less or other."""
    at = rng.randrange(len(word) + 1)
    return word[:at] + rng.choice(("", "_", "x", "_s", "é")) + word[at + rng.randrange(2) :]


def damaged_text(rng: random.Random, text: bytes) -> bytes:
    """The text cut, repeated, mixed up or with foreign bytes in it."""
    content = bytearray(text)
    for _ in range(rng.randint(1, 4)):
        at, to = sorted(rng.randrange(len(content) + 1) for _ in "ab")
        to = min(to, at + rng.choice((1, 10, 200, 5000)))
        match rng.randrange(7):
            case 0:
                del content[at:to]
            case 1:
                content[at:at] = content[at:to]
            case 2:
                content[at:at] = rng.choice((b"\xef\xbb\xbf", b"\x00", b"\xff\xfe", b"\r", b"\xc3", b"\xed\xa0\x80"))
            case 3:
                content[at:at] = rng.choice((b"[", b"]", b"{", b'"', b"'''", b"=", b"<", b"&", b"#", b"</a>", b"\n"))
            case 4 if at < len(content):
                content[at] ^= 1 << rng.randrange(8)
            case 5:
                del content[to:]
            case _:
                content[at:at] = rng.choice((b"[", b"{a=", b"(", b"<a>")) * rng.choice((10, 300, 20_000))
    return bytes(content)
