"""The server of the live view: the channels of the log, the scene and the events, on a port of this machine.

It runs in the recorder's process: a client that floods or stalls it costs this process time, and never the loop. The
SDK keeps a bounded number of messages for each client and drops the oldest. Clients can only look.
"""

from __future__ import annotations

import time

import foxglove
import numpy as np
from foxglove.channels import FrameTransformsChannel, LogChannel, SceneUpdateChannel
from foxglove.messages import Log, LogLevel, Timestamp
from foxglove.websocket import WebSocketServer

from granite.config.errors import LogError
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.rt.live.live_scene import LiveScene
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

    def __init__(self, bed: Testbed, channels: Channels, file: McapFile, port: int) -> None:
        foxglove.set_log_level("CRITICAL")  # a client that leaves is no news on the terminal of the run
        self._bed, self._channels, self._file = bed, channels, file
        self._scene = SceneUpdateChannel(SCENE, context=file.context)
        self._frames = FrameTransformsChannel(FRAMES, context=file.context)
        self._log = LogChannel(LOG, context=file.context)
        try:
            self._server: WebSocketServer = foxglove.start_server(
                name=f"granite {bed.name}",
                host=HOST,
                port=port,
                capabilities=[],
                context=file.context,
                message_backlog_size=_BACKLOG,
            )
        except (RuntimeError, OSError) as error:
            raise LogError(f"live view: port {port} can't be opened ({error}), expected a free one") from None
        self._t = channels.column("/sample", "t_s")
        self._live: LiveScene | None = None
        self._waiting: list[Array] = []
        self._due = 0.0

    def show(self, rows: Array) -> None:
        """Send the scene of the last row, at most 30 times a second, and only where a client asked for it."""
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
        at_ns = self._file.log_time(t)
        stamp = Timestamp(*divmod(at_ns, 1_000_000_000))
        of = _LEVELS.get(level, LogLevel.Info)
        line = Log(timestamp=stamp, level=of, message=text, name=name, file="", line=tick)
        self._log.log(line, log_time=at_ns)

    def close(self) -> None:
        """Disconnect all clients."""
        self._server.stop()
