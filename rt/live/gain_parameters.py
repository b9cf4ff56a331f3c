"""Gains of the law as parameters of the live view, for every client to read; to set only where the run allows it.

The server has no keys, and a web page that a browser on this machine shows can connect to it: whoever starts
the run decides whether its clients may set gains. What they ask for is checked as on the operator channel, becomes an
input of a tick, and is changed along the same ramp.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from foxglove.websocket import Client, Parameter, ServerListener

from granite.config.errors import InputError
from granite.config.gains import LiveGain, asked_gain
from granite.config.records import Array
from granite.config.run_modes import Reply, Request, RequestKind
from granite.config.testbed import Testbed
from granite.logs.channels import Channels
from granite.rt.operator.request_ring import RequestRing

_READ_ONLY = "gains can only be read here: expected a run with --live-gains, or granite operate, which has a key"
#: parameters that are set at once, and characters of a name, at most: more would keep the recorder from its rows
_MOST, _LONGEST = 64, 64


class GainParameters(ServerListener):  # type: ignore[misc]  # the SDK has no types
    """Answers clients in threads of the server; `look` is called by the recorder.

    Parameters
    ----------
    bed, channels
        The testbed and its rows.
    requests
        To the loop; None: gains can only be read.
    refuse
        Says a refusal to all clients.
    """

    def __init__(
        self, bed: Testbed, channels: Channels, requests: RequestRing | None, refuse: Callable[[str], None]
    ) -> None:
        self._gains: tuple[LiveGain, ...] = bed.controller.law.live_gains(bed) if bed.controller else ()
        self._names = [gain.name for gain in self._gains]
        #: that the loop was last asked for and agreed to
        self._values = [gain.value for gain in self._gains]
        self._requests, self._refuse = requests, refuse
        self._lock = threading.Lock()  # several clients, one ring
        self._asked = [channels.column("/operation", entry) for entry in ("request", "reply", "argument", "value")]

    def on_get_parameters(
        self, client: Client, param_names: list[str], request_id: str | None = None
    ) -> list[Parameter]:
        """The gains of these names; of none: all."""
        return [self._parameter(i) for i, name in enumerate(self._names) if not param_names or name in param_names]

    def on_set_parameters(
        self, client: Client, parameters: list[Parameter], request_id: str | None = None
    ) -> list[Parameter]:
        """Ask the loop for each; what is refused keeps its value, and all clients get the reason."""
        answered = []
        if len(parameters) > _MOST:
            self._refuse(
                f"client {client.id} of the live view set {len(parameters)} parameters: expected at most {_MOST}"
            )
            return self.on_get_parameters(client, [])
        for each in parameters:
            try:
                answered.append(Parameter(each.name, value=self._ask(client.id, each)))
            except InputError as refusal:
                self._refuse(f"client {client.id} of the live view set a parameter: refused: {refusal}")
                answered += self.on_get_parameters(client, [each.name])
        return answered

    def look(self, rows: Array) -> list[Parameter]:
        """The gains that the loop agreed to change in these rows, whoever asked for it."""
        if not rows[:, self._asked[0]].any():
            return []
        asked, changed = rows[:, self._asked], set()
        for _, _, index, value in asked[(asked[:, 0] == RequestKind.SET_GAIN) & (asked[:, 1] == Reply.DONE)].tolist():
            self._values[int(index)] = value
            changed.add(int(index))
        return [self._parameter(i) for i in sorted(changed)]

    def _ask(self, client: int, parameter: Parameter) -> float:
        """The value that the loop was asked for."""
        if len(parameter.name) > _LONGEST:
            raise InputError(f"a name of {len(parameter.name)} characters", expected=f"at most {_LONGEST}")
        index, value = asked_gain(self._gains, parameter.name, parameter.get_value())
        if self._requests is None:
            raise InputError(_READ_ONLY)
        with self._lock:
            if not self._requests.put(Request(RequestKind.SET_GAIN, -client, index, value)):
                raise InputError("too many requests wait", key=parameter.name, value=value)
        return value

    def _parameter(self, index: int) -> Parameter:
        return Parameter(self._names[index], value=self._values[index])
