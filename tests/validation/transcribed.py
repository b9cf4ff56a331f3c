"""Claims that do not run Granite: the printed equations themselves, coded in the tests, are compared with something."""

from __future__ import annotations

import re

#: by source and number: which claims, by their words
TRANSCRIBED = {
    **dict.fromkeys(
        ["MRDS 10", "MRDS 12", "MRDS 14", "MRDS 15", "MRDS 16", "MRDS 27", "MRDS 29", "MRDS 30"], "printed module"
    ),
    **dict.fromkeys(["MRDS 11", "MRDS 22", "MRDS 23", "FLX F21"], "^(?!granite sim|by Granite)"),
    **dict.fromkeys(["Lilly-Orin L01", "Lilly-Orin L02"], "recursion against dense"),
    "FLX F13": "by Mackay's recursion",
    "FLX F16": "^recursion against mass points",
    **dict.fromkeys(["FLX F17", "FLX F18"], ", recursion$"),
    "Stanford 3": "^rank",
    "Stanford 8": "closed form|^kinetic energy|is the report's chain",
    "Stanford 9": "speed at which it opens|reduced equations|printed sign",
    "Stanford 10": "least eigenvalue|inertia forces",
    "Stanford 11": "velocity of the hands",
    "Sun 1": "random matrices|as printed are off",
    "Sun 2": "random matrices|as printed are off|and its transpose",
    "Sun 3": "printed|smallest wrenches",
    "Sun 4": r"^\(5.9\)",
    "Sun 19": "^bar at start|^rate of the bar|^largest acceleration",
}


def by(test: str, what: str) -> str:
    """What gave the value of a claim: Granite, or a transcription of the source."""
    words = TRANSCRIBED.get(test)
    return "transcription" if words is not None and re.search(words, what) else "Granite"
