"""Changes for runs in real time on a loaded machine: no tick is left out, none is too late, none is blocked."""

LIMITS = {"loop.priority": 0, "loop.overrun": "catch_up", "loop.longest_lateness_s": 30.0, "loop.watchdog_s": 30.0}
#: the same as lines
UNHURRIED = tuple(f"{key}={value}" for key, value in LIMITS.items())
#: the same for the command line
OPTIONS = tuple(word for change in UNHURRIED for word in ("--set", change))
