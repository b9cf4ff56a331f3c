"""The process of the operator channel: a ZeroMQ socket with CURVE keys on one side, the loop's rings on the other.

A client without a key of the folder does not get past the handshake, which libzmq does in a thread of its own. Each
message of the others is checked and answered: by this process, or by the loop, to which a valid command goes. It
ends when the loop has finished or died.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import zmq
from zmq.utils import z85

from granite.config.errors import GraniteError, InputError, one_of
from granite.config.expected_modes import answer_text
from granite.config.gains import LiveGain
from granite.config.operator_address import LONGEST_ANSWERED
from granite.config.reasons import Reason
from granite.config.run_modes import Reply, Request, RequestKind, RunMode
from granite.drivers.ordered_process import carry_out
from granite.rt.operator.goal_requests import GoalRequests
from granite.rt.operator.keys import operators, read_pair
from granite.rt.operator.link import ANSWER_WIDTH, ANSWERS
from granite.rt.operator.messages import ASKS, Message, read_message
from granite.rt.operator.path_planning import PathPlanning
from granite.rt.operator.request_lanes import RequestLanes
from granite.rt.operator.strangers import Strangers
from granite.rt.process.posix_signals import TERMINATING
from granite.rt.process.ring import Ring

#: where libzmq asks who may connect (ZeroMQ RFC 27)
_ZAP = "inproc://zeromq.zap.01"
_DOMAIN = b"granite"
#: how long it waits for a message [ms], and while an answer of the loop is due
_IDLE_MS, _BUSY_MS = 50, 2
#: messages of clients in one go, so that the loop's answers never wait for a flood
_AT_ONCE = 50
#: in place of an address in use
_FREE = "a free address, such as --set operator.address=tcp://127.0.0.1:5791"

#: commands whose content becomes a request
_WITH_CONTENT = ("go", "jog", "act", "follow")
_TOO_MANY = "refused: too many requests wait"
#: a duration that was searched is made longer so often, by this factor, where the reference has moved on since
_LONGER, _STRETCH = 3, 1.3
#: of the way to a path from rest [s]
_SHORTEST_LEAD_S = 0.5


class WaitingClient(NamedTuple):
    """A client whose command is with the loop."""

    route: list[bytes]
    message: Message
    sender: str
    request: Request
    #: how often a duration that was searched may be longer than it was found
    longer: int = 0


class PathTransfer:
    """A path on its way to the loop: the knots that still have to go, and the client who waits."""

    def __init__(self, client: WaitingClient, requests: Sequence[Request]) -> None:
        self.client, self.requests = client, deque(requests)
        #: when a path around measured obstacles begins [s, monotonic]; of others the way to it takes a fixed time
        self.begins: float | None = None
        #: numbers of the knots that the loop has not answered
        self.pending: dict[int, Request] = {}


class OperatorChannel:
    """The sockets and the rings."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._requests = RequestLanes.of(order["requests"], order["numbers"])
        self._answers = Ring(order["answers"], ANSWERS, ANSWER_WIDTH + order["numbers"])
        self._goals = GoalRequests(order["testbed"], order["actions"])
        self._transfer: PathTransfer | None = None
        self._planning = PathPlanning(order["testbed"])
        #: route and name of the client for whom a path is being planned, and whether it is to be followed
        self._planned_for: tuple[list[bytes], str, bool] | None = None
        #: who has the controls, and since when
        self._holder, self._since = 0, 0.0
        self._gains = tuple(LiveGain(*gain) for gain in order["gains"])
        self._values = [gain.value for gain in self._gains]
        self._bed, self._silence, self._loop = order["bed"], order["silence_s"], order["loop"]
        self._names: list[str] = order["names"]
        self._log: str | None = order["log"]
        folder = Path(order["folder"])
        known = operators(folder)
        self._by_key = {known[name]: name for name in self._names if name in known}
        self._context = zmq.Context()
        self._zap = self._context.socket(zmq.REP)
        self._zap.bind(_ZAP)
        keys = read_pair(folder, "loop")
        socket = self._socket = self._context.socket(zmq.ROUTER)
        socket.curve_server = True
        socket.curve_publickey, socket.curve_secretkey = keys
        socket.zap_domain = _DOMAIN
        socket.router_handover = (
            True  # a client that reconnects under its name, before the old connection is known lost
        )
        socket.linger = 0
        socket.rcvhwm = socket.sndhwm = 100
        socket.maxmsgsize = LONGEST_ANSWERED
        self._strangers = Strangers(self._context, socket)
        socket.bind(order["address"])
        self._poller = zmq.Poller()
        for each in (self._zap, self._socket, self._strangers.events):
            self._poller.register(each, zmq.POLLIN)
        self._waiting: dict[int, WaitingClient] = {}
        self._number = 0
        #: who watches by which connection, and since when nothing was heard of it
        self._watching: dict[bytes, tuple[str, float]] = {}
        self._refused = 0
        self._mode, self._cause, self._t, self._is_at_rest = RunMode.RUNNING, Reason.PASSED, 0.0, False

    def serve(self) -> None:
        """Until the loop has finished or died."""
        while True:
            over = self._answers.finished or os.getppid() != self._loop
            for number, reply, mode, cause, is_at_rest, t, holder, since, *goal in self._answers.take().tolist():
                limit, part, *motion = goal
                self._is_at_rest, self._holder, self._since = bool(is_at_rest), int(holder), since
                self._goals.note(motion)
                refusal = self._goals.sentence(Reply(int(reply)), int(limit), part)
                self._hear(int(number), int(reply), int(mode), int(cause), t, refusal)
            self._hand_over()
            self._take_plan()
            if over:
                break
            ready = dict(
                self._poller.poll(_BUSY_MS if self._waiting or self._transfer or self._planned_for else _IDLE_MS)
            )
            self._strangers.look()
            if self._zap in ready:
                self._admit()
            if self._socket in ready:
                for _ in range(_AT_ONCE):
                    if not self._receive():
                        break
            self._miss(time.monotonic())
        for number in list(self._waiting):
            self._hear(number, Reply.DONE, RunMode.STOPPED, 0, self._t)
        self._planning.close()
        self._context.destroy(linger=200)

    def _admit(self) -> None:
        """Whether a client may connect: its key is one of the operators'."""
        version, request, domain, _address, _identity, mechanism, *credentials = self._zap.recv_multipart()
        key = z85.encode(credentials[0]) if mechanism == b"CURVE" and len(credentials) == 1 else b""
        name = self._by_key.get(key) if domain == _DOMAIN else None
        self._refused += name is None
        said = (b"200", b"OK", name.encode()) if name else (b"400", b"unknown key", b"")
        self._zap.send_multipart([version, request, *said, b""])

    def _receive(self) -> bool:
        """Take one message, if there is one."""
        try:
            frames = self._socket.recv_multipart(zmq.NOBLOCK, copy=False)
        except zmq.Again:
            return False
        route, body = [frame.bytes for frame in frames[:-1]], frames[-1].bytes
        sender = str(frames[-1].get("User-Id"))
        self._strangers.trust(int(frames[-1].get(zmq.SRCFD)))
        try:
            if len(route) != 2 or route[1]:
                raise InputError(f"a message of {len(frames)} parts", expected="one, as a REQ socket sends it")
            self._do(route, sender, read_message(body, self._gains))
        except InputError as refusal:
            self._say(route, ok=False, text=f"refused: {refusal}")
        return True

    def _do(self, route: list[bytes], sender: str, message: Message) -> None:
        if message.do in ASKS:
            self._ask(route, sender, message)
            return
        if message.do == "watch":
            # By connection, and by no other message: another program with the same key is not the one that watches.
            self._watching[route[0]] = sender, time.monotonic()
        elif message.do == "leave":
            self._watching.pop(route[0], None)
        elif message.do == "plan":
            self._plan(route, sender, message.content, is_flown=False)
            return
        more = {"gains": self._listed(), "log": self._log} if message.do == "gains" else {}
        if message.do == "goals":
            more = self._goals.listed()
        self._say(route, ok=True, text=self._state(), **more)

    def _ask(self, route: list[bytes], sender: str, message: Message) -> None:
        """Send a command to the loop."""
        number = self._names.index(sender) + 1
        if message.do in _WITH_CONTENT and not self._requests.has_room(number):  # before a search, which takes time
            self._say(route, ok=False, text=_TOO_MANY)
        elif message.do == "follow":
            self._follow(route, sender, message)
        elif message.do == "go" and message.content.get("plan", False) is not False:
            if (plan := message.content["plan"]) is not True:
                raise InputError(key="plan", value=plan, expected="true or false")
            self._plan(route, sender, message.content, is_flown=True)
        else:
            request = self._request(message, number)._replace(sender=number)
            longer = _LONGER if message.do == "go" and self._goals.was_found else 0
            self._send(WaitingClient(route, message, sender, request, longer))

    def _follow(self, route: list[bytes], sender: str, message: Message) -> None:
        """Begin to hand a path over."""
        self._refuse_second_path()
        number = self._names.index(sender) + 1
        *knots, follow = self._goals.follow(message.content)
        client = WaitingClient(route, message, sender, follow._replace(sender=number))
        self._transfer = PathTransfer(client, [knot._replace(sender=number) for knot in knots])

    def _plan(self, route: list[bytes], sender: str, content: Mapping[str, Any], is_flown: bool) -> None:
        """Let the path to a goal be planned; it is followed as one that an operator sends, or the answer."""
        self._refuse_second_path()
        if self._mode is not RunMode.RUNNING:
            raise InputError(f"the run is {self._mode.name.lower()}", key="plan", value=True, expected="start first")
        if self._holder not in (0, self._names.index(sender) + 1):
            raise InputError(self._controls(), key="plan", value=True, expected="lease take first")
        self._planning.begin(self._goals.to_plan(content))
        self._planned_for = route, sender, is_flown

    def _take_plan(self) -> None:
        """Follow or show a path that has been planned, or say why there is none."""
        if self._planned_for is None:
            return
        route, sender, is_flown = self._planned_for
        self._keep_watching(route, sender)
        if (plan := self._planning.take()) is None:
            return
        self._planned_for = None
        try:
            if failure := plan.get("failure"):
                raise InputError(failure)
            if not is_flown:
                self._say(route, ok=True, text="planned", **plan)
                return
            if self._goals.knows_obstacles and self._planning.begins < time.monotonic() + _SHORTEST_LEAD_S:
                raise InputError("the plan took longer than obstacles were foreseen", expected="to ask again")
            self._follow(route, sender, Message("follow", content=plan))
            if self._goals.knows_obstacles and self._transfer:
                self._transfer.begins = self._planning.begins
        except InputError as refusal:
            self._say(route, ok=False, text=f"refused: {refusal}")

    def _drop_plan(self) -> None:
        """A hold forgets the goal, also one that is still being planned: a start must not fly it."""
        assert self._planned_for is not None
        route, *_ = self._planned_for
        self._planned_for = None
        self._planning.close()
        self._say(route, ok=False, text=f"refused: the run is {self._mode.name.lower()}, its goal is forgotten")

    def _refuse_second_path(self) -> None:
        if self._transfer is not None or self._planned_for is not None:
            problem = "being planned" if self._planned_for else "on its way to the loop"
            raise InputError(f"another path is {problem}", expected="to wait for its answer")

    def _keep_watching(self, route: list[bytes], sender: str) -> None:
        """Who waits for the answer about a path can't send another message."""
        if route[0] in self._watching:
            self._watching[route[0]] = sender, time.monotonic()

    def _controls(self) -> str:
        return f"operator '{self._names[self._holder - 1]}' has the controls since {self._since:.1f} s"

    def _request(self, message: Message, sender: int) -> Request:
        if message.do == "lease":
            return Request(RequestKind.LEASE, argument=self._next_holder(message.content, sender))
        if message.do in _WITH_CONTENT:
            request: Request = getattr(self._goals, message.do)(message.content)
            return request
        return Request(ASKS[message.do], argument=message.gain, value=message.value)

    def _next_holder(self, content: Mapping[str, Any], sender: int) -> int:
        action, to = content["action"], content.get("to")
        if action not in ("take", "release", "pass") or (to is not None) != (action == "pass"):
            raise InputError(key="action", value=action, expected="take, release, or pass with the name of an operator")
        if action == "pass" and to not in self._names:
            raise InputError("no such operator", key="to", value=to, expected=one_of(str(to), self._names))
        if action == "pass":
            return self._names.index(str(to)) + 1
        return sender if action == "take" else 0

    def _send(self, client: WaitingClient) -> bool:
        self._number += 1
        is_sent = self._requests.put(client.request._replace(number=self._number))
        if is_sent:
            self._waiting[self._number] = client
        else:
            self._say(client.route, ok=False, text=_TOO_MANY)
        return is_sent

    def _hand_over(self) -> None:
        """Send the next knots of a path to the loop, as many as may wait; after the last answer, follow it."""
        if (transfer := self._transfer) is None:
            return
        client = transfer.client
        self._keep_watching(client.route, client.sender)
        while transfer.requests and self._requests.has_room(client.request.sender):
            self._number += 1
            knot = transfer.requests.popleft()
            self._requests.put(knot._replace(number=self._number))
            transfer.pending[self._number] = knot
        if not transfer.requests and not transfer.pending:
            self._transfer = None
            if transfer.begins is not None:
                lead = max(transfer.begins - time.monotonic(), _SHORTEST_LEAD_S)
                client = client._replace(request=client.request._replace(value=lead))
            self._send(client)

    def _hear(self, number: int, reply: int, mode: int, cause: int, t: float, refusal: str = "") -> None:
        """A message of the loop: the answer to a request, a gain that others have changed, or the status of the run."""
        self._mode, self._cause = RunMode(mode), Reason(cause)
        if self._planned_for is not None and self._mode is not RunMode.RUNNING:
            self._drop_plan()
        if number < 0:
            self._values[-1 - number] = t
            return
        self._t = t
        if not number:
            return
        if self._transfer is not None and (knot := self._transfer.pending.pop(number, None)):
            if reply != Reply.DONE:
                client, self._transfer = self._transfer.client, None
                text = refusal or answer_text(RequestKind.FOLLOW, Reply(reply), self._mode, self._cause)
                self._say(client.route, ok=False, text=f"{text}, at {knot.value:g} s of the path")
            return
        if (waiting := self._waiting.pop(number, None)) is None:
            return
        if reply == Reply.NOT_FEASIBLE and waiting.longer:
            request = waiting.request._replace(value=_STRETCH * waiting.request.value)
            self._send(waiting._replace(request=request, longer=waiting.longer - 1))
            return
        if reply == Reply.DONE and waiting.message.do == "set_gain":
            self._values[waiting.message.gain] = waiting.message.value
        text = refusal or answer_text(ASKS[waiting.message.do], Reply(reply), self._mode, self._cause)
        if reply == Reply.NOT_IN_CONTROL and self._holder:
            text = f"refused: {self._controls()}, expected lease take first"
        more = _outcome(waiting) if reply == Reply.DONE else {}
        self._say(waiting.route, ok=reply == Reply.DONE, text=text, **more)

    def _miss(self, now: float) -> None:
        """Report operators who watch and have fallen silent."""
        for connection, (name, heard) in list(self._watching.items()):
            if now - heard > self._silence:
                sender = self._names.index(name) + 1
                # Again in the next round where it can't wait: it must arrive.
                if self._requests.put(Request(RequestKind.REPORT, sender, Reason.OPERATOR_LOST, now - heard)):
                    del self._watching[connection]

    def _say(self, route: list[bytes], **answer: Any) -> None:
        status = {
            "bed": self._bed, "mode": self._mode.name.lower(), "at_rest": self._is_at_rest, "t_s": self._t,
            "refused_keys": self._refused,
        }  # fmt: skip
        if self._cause:
            status["cause"] = self._cause.name.lower()
        if self._holder:
            status["lease"] = {"holder": self._names[self._holder - 1], "since_s": self._since}
        self._socket.send_multipart([*route, json.dumps({**answer, **status}).encode()], zmq.NOBLOCK)

    def _state(self) -> str:
        because = f", because {self._cause.text}" if self._cause else ""
        return f"{self._bed} is {self._mode.name.lower()} at {self._t:.1f} s{because}"

    def _listed(self) -> list[dict[str, Any]]:
        return [{**gain._asdict(), "value": value} for gain, value in zip(self._gains, self._values, strict=True)]


def _outcome(waiting: WaitingClient) -> dict[str, float]:
    """What an accepted goal takes: its time, and of a planned path the impulse, too."""
    if waiting.message.do == "go":
        return {"duration_s": waiting.request.value}
    if waiting.message.do != "follow":
        return {}
    content = waiting.message.content
    first, *_, last = content["columns"]["t_s"]
    planned = {"impulse_n_s": content["impulse_n_s"]} if "impulse_n_s" in content else {}
    return {"duration_s": waiting.request.value + last - first, **planned}


def work(order: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Listen as the order says."""
    for number in TERMINATING:
        signal.signal(number, signal.SIG_IGN)  # it ends with the loop
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.nice(10)
    try:
        channel = OperatorChannel(order)
    except (zmq.ZMQError, GraniteError, OSError) as error:
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            yield {"failure": "another run or program listens there already", "expected": _FREE}
        else:
            yield {"failure": f"nobody can listen there: {error}"}
        return
    yield {"ready": True}
    channel.serve()


if __name__ == "__main__":
    carry_out(work)
