"""The server of the live view: the channels of the log, the scene and the events, on a port of this machine.

It runs in the recorder's process: a client that floods or stalls it costs this process time, and never the loop. The
SDK keeps a bounded number of messages for each client and drops the oldest. Clients can only look, unless the run lets
them set gains.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time

import foxglove
import numpy as np
from foxglove import Channel, Schema
from foxglove.channels import LogChannel
from foxglove.messages import Log, LogLevel, Timestamp
from foxglove.websocket import Capability, ChannelView, Client, WebSocketServer

from granite.config.errors import LogError
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.logs.channels import Channels
from granite.logs.mcap_file import CDR_HEADER, McapFile
from granite.rt.live.gain_parameters import GainParameters
from granite.rt.live.live_view import LINKS, ROWS, ROWS_HEAD, LiveView
from granite.rt.live.origin_check import OriginCheck, hidden_host
from granite.rt.process.other_cores import OtherCores, threads_of
from granite.views.scene_messages.scene_stream import PERIOD, SCENE, SceneStream

HOST = "127.0.0.1"
LOG = "/log"
_ROWS_SCHEMA = Schema(name="granite_msgs/msg/Rows", encoding="ros2msg", data=b"float64[] values\n")
#: time between two messages with the shapes of the scene, which a slow client may have lost [s]
_SHAPES_PERIOD = 5.0
_LEVELS = {"info": LogLevel.Info, "warning": LogLevel.Warning, "error": LogLevel.Error}
#: for clients that read slowly [s]
_CLOSE_LIMIT = 1.0
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
        self._file = file
        self._scene = SceneStream(bed, channels, file)
        self._log = LogChannel(LOG, context=file.context)
        self._link_news, schema = view.links, {"type": "object", "title": "granite.Link"}
        self._links = Channel(LINKS, schema=schema, context=file.context)
        self._rows = Channel(ROWS, schema=_ROWS_SCHEMA, message_encoding="cdr", context=file.context)
        self._tick, self._tick_now = channels.column("/timing", "tick"), 0
        self._t = channels.column("/sample", "t_s")
        self._clients = _Clients(bed, channels, view.gains, self._refuse)
        self._clients.scene = self._scene
        try:
            listening = socket.create_server((HOST, view.port))
        except OSError as error:
            problem = f"live view: port {view.port} can't be opened ({error}), another run may have it"
            raise LogError(f"{problem}: expected a free one by --live-port") from None
        host = hidden_host()
        try:
            self._server: WebSocketServer = foxglove.start_server(
                name=f"granite {bed.name}",
                host=host,
                port=0,
                capabilities=[Capability.Parameters],
                server_listener=self._clients,
                context=file.context,
                message_backlog_size=_BACKLOG,
            )
        except (RuntimeError, OSError) as error:
            listening.close()
            raise LogError(f"live view: its server can't be started ({error})") from None
        self._door = OriginCheck(listening, (host, self._server.port))
        self._cores = OtherCores()
        self._waiting: list[Array] = []
        #: time of the run from which the next scene, and the next shapes are sent [s]
        self._due = self._shapes_due = -np.inf

    def show(self, rows: Array) -> None:
        """Send changed gains, and the scene of the last row, at most 30 times a second: to clients and the log.

        The rows as one message and what links counted go to clients alone: the log has them in its own form.
        """
        self._tick_now = int(rows[-1, self._tick])
        if changed := self._clients.look(rows):
            self._server.publish_parameter_values(changed)
        if self._rows.has_sinks():
            head = CDR_HEADER + ROWS_HEAD.pack(rows.size)
            self._rows.log(head + rows.astype("<f8").tobytes(), log_time=self._file.log_time(rows[-1, self._t]))
        for link in self._link_news.take():
            self._links.log(json.dumps(link).encode(), log_time=self._file.log_time(link["t_s"]))
        self._waiting.append(rows)
        if (t := float(rows[-1, self._t])) < self._due:
            return
        self._due = max(self._due + PERIOD, t + PERIOD / 2)  # rows in uneven batches: the mean rate is kept
        if t >= self._shapes_due:
            self._shapes_due = t + _SHAPES_PERIOD
            own = os.getpid()  # its first thread writes the log, for which any core is right
            self._cores.leave([os.getppid()], [thread for thread in threads_of(own) if thread != own])
            self._scene.forget()
        self._scene.show(np.vstack(self._waiting))
        self._waiting.clear()

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
        """Disconnect all clients; one that does not read is not waited for, its connection ends with the process."""
        stopping = threading.Thread(target=self._server.stop, daemon=True)
        stopping.start()
        stopping.join(_CLOSE_LIMIT)
        self._door.close(_CLOSE_LIMIT)


class _Clients(GainParameters):
    """Clients that set gains, and that need the shapes of the scene when they come."""

    scene: SceneStream

    def on_subscribe(self, client: Client, channel: ChannelView) -> None:
        """Somebody new asks for a topic."""
        if channel.topic == SCENE:
            self.scene.forget()
