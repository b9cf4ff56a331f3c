"""The server of the live view: the channels of the log, the scene and the events, on a port of this machine.

It runs in the recorder's process: a client that floods or stalls it costs this process time, and never the loop. The
SDK keeps a bounded number of messages for each client and drops the oldest. Clients can only look, unless the run lets
them set gains.
"""

from __future__ import annotations

import time

import foxglove
import numpy as np
from foxglove.channels import FrameTransformsChannel, LogChannel, SceneUpdateChannel
from foxglove.messages import Log, LogLevel, Timestamp
from foxglove.websocket import Capability, WebSocketServer

from granite.config.errors import LogError
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.rt.live.gain_parameters import GainParameters
from granite.rt.live.live_scene import LiveScene
from granite.rt.live.live_view import LiveView
from granite.rt.logs.channels import Channels
from granite.rt.logs.mcap_file import McapFile

HOST = "127.0.0.1"
#: period of the scene [s]
PERIOD = 1 / 30
SCENE, FRAMES, LOG = "/scene", "/tf", "/log"
_LEVELS = {"info": LogLevel.Info, "warning": LogLevel.Warning, "error": LogLevel.Error}
#: messages that wait for a client at most: a second of a fast loop
_BACKLOG = 4096


class LiveServer:
    """Serves a run while it is recorded.

    Raises
    ------
    LogError
        Where the port can't be had.
    """

    def __init__(self, bed: Testbed, channels: Channels, file: McapFile, view: LiveView) -> None:
        foxglove.set_log_level("CRITICAL")  # a client that leaves is no news on the terminal of the run
        self._bed, self._channels, self._file = bed, channels, file
        self._scene = SceneUpdateChannel(SCENE, context=file.context)
        self._frames = FrameTransformsChannel(FRAMES, context=file.context)
        self._log = LogChannel(LOG, context=file.context)
        self._t, self._tick = channels.column("/sample", "t_s"), channels.column("/timing", "tick")
        self._tick_now = 0
        self._gains = GainParameters(bed, channels, view.gains, self._refuse)
        try:
            self._server: WebSocketServer = foxglove.start_server(
                name=f"granite {bed.name}",
                host=HOST,
                port=view.port,
                capabilities=[Capability.Parameters],
                server_listener=self._gains,
                context=file.context,
                message_backlog_size=_BACKLOG,
            )
        except (RuntimeError, OSError) as error:
            raise LogError(f"live view: port {view.port} can't be opened ({error}), expected a free one") from None
        self._live: LiveScene | None = None
        self._waiting: list[Array] = []
        self._due = 0.0

    def show(self, rows: Array) -> None:
        """Send changed gains, and the scene of the last row: at most 30 times a second, and only if a client asked."""
        self._tick_now = int(rows[-1, self._tick])
        if changed := self._gains.look(rows):
            self._server.publish_parameter_values(changed)
        if not (self._scene.has_sinks() or self._frames.has_sinks()):
            self._waiting.clear()
            return
        self._waiting.append(rows.copy())
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + 0.9 * PERIOD
        every = np.vstack(self._waiting)
        self._waiting.clear()
        if self._live is None:
            self._live = LiveScene(self._bed, self._channels, every[0])
        at_ns = self._file.log_time(float(every[-1, self._t]))
        frames, scene = self._live.messages(every, at_ns)
        self._frames.log(frames, log_time=at_ns)
        self._scene.log(scene, log_time=at_ns)

    def event(self, t: float, tick: int, level: str, name: str, text: str) -> None:
        """Send an event of the run as a line of a log."""
        self._say(self._file.log_time(t), tick, level, name, text)

    def _refuse(self, sentence: str) -> None:
        """Send a refusal to all clients; called in threads of the server, also before the run begins."""
        self._say(time.time_ns(), self._tick_now, "warning", "parameter_refused", sentence)

    def _say(self, at_ns: int, tick: int, level: str, name: str, text: str) -> None:
        stamp = Timestamp(*divmod(at_ns, 1_000_000_000))
        of = _LEVELS.get(level, LogLevel.Info)
        line = Log(timestamp=stamp, level=of, message=text, name=name, file="", line=tick)
        self._log.log(line, log_time=at_ns)

    def close(self) -> None:
        """Disconnect all clients."""
        self._server.stop()
