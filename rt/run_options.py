"""How a run is recorded: the options that commands, scripts and the run itself share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from granite.config.errors import InputError


@dataclass(frozen=True)
class RunOptions:
    """Options of a recorded run.

    Raises
    ------
    InputError
        Where an option needs another one.
    """

    #: keep pace with wall-clock time; else in virtual time, as fast as the machine runs
    realtime: bool = False
    #: replace the log if it exists
    overwrite: bool = False
    #: draw a progress bar on standard error
    progress: bool = False
    #: changes of the testbed, such as those by `--set`, as text for the log's metadata
    changes: Sequence[str] = ()
    #: response of each actuator to the wiggle before the run, for the log's metadata; none: it was not tried
    wiggle: Sequence[str] = ()
    #: where a signal ended the run, send it to the handler of the caller when all is closed: after Ctrl-C,
    #: KeyboardInterrupt is raised; else the summary alone has it
    pass_signals_on: bool = True
    #: in real time: begin at rest, until an operator arms and starts the run over the operator channel
    operator: bool = False
    #: in real time: the port of this machine on which the run can be watched; None: no live view
    live: int | None = None
    #: let any client of the live view set gains within their bounds; it asks nobody for a key
    live_gains: bool = False
    #: in real time: topics of ROS 2; with an operator they, and services, can ask for what an operator can
    ros2: bool = False

    def __post_init__(self) -> None:
        if self.operator and not self.realtime:
            raise InputError("a run in virtual time waits for nobody", key="operator", expected="--realtime with it")
        if self.live is not None and not self.realtime:
            raise InputError("a run in virtual time can't be watched", key="live", expected="--realtime with it")
        if self.ros2 and not self.realtime:
            raise InputError("a run in virtual time can't be watched", key="ros2", expected="--realtime with it")
        if self.live_gains and self.live is None:
            raise InputError("there is no live view", key="live_gains", expected="the port of one with it")
