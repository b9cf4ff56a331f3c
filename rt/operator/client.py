"""The operator's side: ask a running loop, and watch it."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import zmq

from granite.config.errors import InputError
from granite.config.operator_address import LONGEST_ANSWERED
from granite.rt.operator.keys import key_folder, public_key, read_pair

#: how long an answer may take [s]
ANSWER_S = 2.0
#: how long a path may take to be planned and handed over [s]
PLANNING_S = 75.0
#: time between two signs of life of an operator who watches [s]
WATCH_S = 0.5


class Operator:
    """A connection to a run, with the key of a person.

    Parameters
    ----------
    address
        Of the loop, as in `operator.address` of its testbed.
    name
        Of the key.
    folder
        Of the keys.

    Examples
    --------
    >>> with Operator("tcp://127.0.0.1:5790") as operator:  # doctest: +SKIP
    ...     operator.ask("hold")["mode"]
    'holding'
    """

    def __init__(self, address: str, name: str = "operator", folder: Path | None = None) -> None:
        folder = folder or key_folder()
        self._address, self._name = address, name
        self._server, self._keys = public_key(folder), read_pair(folder, name)
        #: names the connection, also after it was lost and made anew; a name may not begin with 0
        self._route = b"o" + os.urandom(15)
        self._context = zmq.Context()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._watch: threading.Thread | None = None
        self._socket = self._connect()

    def __enter__(self) -> Operator:
        """The connection."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def ask(self, do: str, *, wait_s: float | None = None, **more: Any) -> dict[str, Any]:
        """Send a command; the answer of the loop, with `ok`, `text` and `mode`.

        Parameters
        ----------
        do
            The command.
        wait_s
            How long the answer may take, if not as usual.
        more
            What else the message has.

        Raises
        ------
        InputError
            Where nobody answers.
        """
        patience = ANSWER_S if wait_s is None else wait_s
        message = json.dumps({"do": do, **more}).encode()
        if len(message) > LONGEST_ANSWERED:  # the channel would close the connection
            raise InputError(f"a message of {len(message)} bytes", key=do, expected=f"at most {LONGEST_ANSWERED}")
        with self._lock:
            self._socket.send(message)
            if not self._socket.poll(round(1000 * patience)):
                self._socket.close(0)  # a REQ socket that waits for an answer can't send
                self._socket = self._connect()
                raise InputError(
                    f"no answer from {self._address} within {patience:g} s",
                    expected=f"a run with --operator there, which knows the key '{self._name}'",
                )
            answer: dict[str, Any] = json.loads(self._socket.recv())
        return answer

    def go(self, target: Mapping[str, float], duration_s: float | None = None, plan: bool = False) -> dict[str, Any]:
        """Go to a pose; the answer of the loop, with the duration.

        Parameters
        ----------
        target
            By key, such as `{"base_x_m": 2.0}`; other coordinates go on with their own path.
        duration_s
            How long it takes; None: a duration that leaves thrust and torque for disturbances.
        plan
            By a path that is planned first, around zones and with little propellant; from rest alone. The answer comes
            when it is flown, after seconds, with its impulse `impulse_n_s`.
        """
        more: dict[str, Any] = {} if duration_s is None else {"duration_s": duration_s}
        if plan:
            return self.ask("go", wait_s=PLANNING_S, target=dict(target), plan=True, **more)
        return self.ask("go", target=dict(target), **more)

    def plan(self, target: Mapping[str, float], duration_s: float | None = None) -> dict[str, Any]:
        """Plan the path to a pose, from rest, without flying it: `duration_s`, `impulse_n_s`, and `columns`.

        Parameters
        ----------
        target
            As of `go`.
        duration_s
            How long it takes; None: the blend of time and propellant that costs least.

        Examples
        --------
        >>> operator.follow(operator.plan({"base_x_m": 2.0})["columns"])  # doctest: +SKIP
        """
        more: dict[str, Any] = {} if duration_s is None else {"duration_s": duration_s}
        return self.ask("plan", wait_s=PLANNING_S, target=dict(target), **more)

    def jog(self, **rates: float) -> dict[str, Any]:
        """Move coordinates at these rates [m/s, rad/s] for `operator.jog_s`: repeat it to go on.

        Parameters
        ----------
        rates
            By name, such as `base_x=0.05`.
        """
        return self.ask("jog", rates=rates)

    def follow(self, columns: Mapping[str, Sequence[float]], approach_s: float | None = None) -> dict[str, Any]:
        """Follow a path through samples.

        Parameters
        ----------
        columns
            The columns of a path's file by key, `t_s` first.
        approach_s
            Time of the way to the first sample; None: it is searched.
        """
        more: dict[str, Any] = {} if approach_s is None else {"approach_s": approach_s}
        listed = {key: list(map(float, column)) for key, column in columns.items()}
        # The loop takes a sample a tick.
        return self.ask("follow", wait_s=ANSWER_S + 0.02 * len(listed.get("t_s", ())), columns=listed, **more)

    def act(self, action: str) -> dict[str, Any]:
        """Ask for something that the behaviour offers by name, such as `grip left` or `leap`.

        Parameters
        ----------
        action
            As `ask("goals")` lists it.
        """
        return self.ask("act", action=action)

    def lease(self, action: str = "take", to: str | None = None) -> dict[str, Any]:
        """Take the controls, `release` them, or `pass` them on.

        Parameters
        ----------
        action
            What to do.
        to
            The operator who gets them.
        """
        more: dict[str, Any] = {} if to is None else {"to": to}
        return self.ask("lease", action=action, **more)

    def watch(self) -> None:
        """From now on the run holds when this client is gone for `operator.silence_s`."""
        self.ask("watch")
        self._watch = threading.Thread(target=self._keep_watching, name="watch", daemon=True)
        self._watch.start()

    def close(self) -> None:
        """End watching, and close the connection."""
        self._over.set()
        if self._watch is not None:
            self._watch.join()
            with contextlib.suppress(InputError):  # the run may be over
                self.ask("leave")
        self._context.destroy(0)

    def _keep_watching(self) -> None:
        while not self._over.wait(WATCH_S):
            try:
                self.ask("watch")
            except InputError:
                continue

    def _connect(self) -> zmq.Socket[bytes]:
        socket = self._context.socket(zmq.REQ)
        socket.linger = 0
        socket.routing_id = self._route
        socket.curve_serverkey = self._server
        socket.curve_publickey, socket.curve_secretkey = self._keys
        try:
            socket.connect(self._address)
        except zmq.ZMQError as error:
            raise InputError(str(error), key="address", value=self._address, expected="tcp://HOST:PORT") from None
        return socket
