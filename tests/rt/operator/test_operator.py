"""The operator channel obeys those with a key, answers every message, and can't be disturbed by anyone else."""

import contextlib
import os
import resource
import signal
import socket as sockets
import stat
import time

import pytest
import zmq

import granite
from benchmarks.attack import attack
from granite.config.errors import InputError
from granite.config.gains import around
from granite.config.loader import load
from granite.config.operator_channel import OperatorTable
from granite.config.reasons import Reason
from granite.config.run_modes import RequestKind
from granite.rt.operator import client
from granite.rt.operator.client import Operator
from granite.rt.operator.keys import loop_keys, new_operator, operators, read_pair
from granite.rt.operator.link import OperatorLink
from granite.rt.operator.messages import read_message
from granite.rt.operator.request_lanes import SHARE
from granite.rt.operator.strangers import Strangers
from tests.support.operator_clients import SILENCE_S, Answering, Hasty, free_address
from tests.support.operator_clients import channel as channel
from tests.support.operator_clients import no_patience as no_patience
from tests.support.strangers import give_away
from tests.support.waiting import until

GAINS = (around("elbow_stiffness", "1/s2", 100.0, "stiffness"),)


def test_keys_are_made_once_and_are_private(tmp_path):
    first = loop_keys(tmp_path / "keys")
    assert loop_keys(tmp_path / "keys") == first
    assert list(operators(tmp_path / "keys")) == ["console", "operator"]
    for path in (tmp_path / "keys").rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600)
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700


def test_an_answer_has_the_mode_and_the_cause_after_the_request(channel):
    _, folder, address = channel
    with Operator(address, folder=folder) as operator:
        answer = operator.ask("hold")
    assert (answer["ok"], answer["mode"], answer["cause"]) == (True, "holding", "operator_hold")


def test_a_secret_key_that_others_can_read_is_refused(tmp_path):
    loop_keys(tmp_path)
    (tmp_path / "operator.secret").chmod(0o644)
    with pytest.raises(InputError, match="others can read the secret key"):
        read_pair(tmp_path, "operator")


@pytest.mark.parametrize("place", ["", "operators"])
@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_of_keys_that_others_can_write_is_refused(place, mode, tmp_path):
    folder = tmp_path / "keys"
    loop_keys(folder)
    (folder / place).chmod(mode)
    with pytest.raises(InputError, match=r"are not used, because other users can write '.*chmod go-w"):
        operators(folder)
    with pytest.raises(InputError, match="because other users can write"):
        new_operator(folder, "second")


@pytest.mark.parametrize("place", ["", "..", "operators"])
def test_a_folder_of_keys_that_belongs_to_another_user_is_refused(place, tmp_path):
    folder = tmp_path / "above" / "keys"
    loop_keys(folder)
    give_away(folder / place)
    with pytest.raises(InputError, match=r"are not used, because '.*' belongs to another user"):
        operators(folder)


@pytest.mark.parametrize("name", ["operators/operator.public", "loop.public", "operator.secret"])
def test_a_key_that_another_user_owns_or_can_write_is_refused(name, tmp_path):
    loop_keys(tmp_path)
    read = {"loop.public": client.public_key, "operator.secret": lambda folder: read_pair(folder, "operator")}
    (tmp_path / name).chmod(0o666)
    with pytest.raises(InputError, match=r"others can (write|read) the (secret )?key"):
        read.get(name, operators)(tmp_path)
    (tmp_path / name).chmod(0o600)
    read.get(name, operators)(tmp_path)
    give_away(tmp_path / name)
    with pytest.raises(InputError, match="belongs to another user"):
        read.get(name, operators)(tmp_path)


@pytest.mark.parametrize("name", ["", "Bob", "../x", "loop", "a" * 40])
def test_a_bad_name_of_a_key_is_refused(name, tmp_path):
    with pytest.raises(InputError, match="a name in lower case"):
        new_operator(tmp_path, name)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"[" * 900, "no JSON"),
        (b"[]", "without a command"),
        (b'{"do": 1}', "without a command"),
        (b'{"do": "fly"}', "no such command"),
        (b'{"do": "report"}', "no such command"),
        (b'{"do": "attach"}', "no such command"),
        (b'{"do": "hold", "now": 1}', "with the keys do, now"),
        (b'{"do": "set_gain"}', "with the keys do"),
        (b'{"do": "set_gain", "gain": "knee", "value": 1}', "the law has no such gain"),
        (b'{"do": "set_gain", "gain": ["x"], "value": 1}', "the law has no such gain"),
        (b'{"do": "set_gain", "gain": "elbow_stiffness", "value": NaN}', "expected 25 to 400 1/s2"),
        (b'{"do": "set_gain", "gain": "elbow_stiffness", "value": true}', "expected 25 to 400 1/s2"),
        (b'{"do": "set_gain", "gain": "elbow_stiffness", "value": 401}', "expected 25 to 400 1/s2"),
        (b'{"do": "set_gain", "gain": "elbow_stiffness", "value": 1' + b"0" * 400 + b"}", "expected 25 to 400 1/s2"),
        (b'{"do": "hold", "do": "stop"}', "no JSON"),
        (b'"' + b"x" * 2000 + b'"', "a message of 2002 bytes"),
    ],
)
def test_a_malformed_message_is_refused_in_one_sentence(content, said):
    with pytest.raises(InputError) as refusal:
        read_message(content, GAINS)
    assert said in str(refusal.value)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        *[(none, r"expected tcp://HOST:PORT, such as") for none in ("nope", "udp://x:1", "tcp://*", "tcp://x:1e3")],
        ("5", "expected text in quotes"),
        *[(f"tcp://127.0.0.1:{n}", f"no port {n}, expected a port from 1 to 65535") for n in (0, 65536, 99999, 105790)],
    ],
)
def test_an_address_that_is_none_is_refused(address, said):
    with pytest.raises(InputError, match=rf"operator\.address = .*{said}"):
        load("free-flyer", [f"operator.address={address}"])


@pytest.mark.parametrize("address", ["tcp://*:1", "tcp://[::1]:65535", "tcp://lab-pc.local:5790", "ipc:///tmp/channel"])
def test_an_address_of_a_host_and_a_port_or_of_a_file_is_accepted(address):
    assert load("free-flyer", [f"operator.address={address}"]).operator.address == address
    assert OperatorTable().address.startswith("tcp://127.0.0.1:")


def test_a_command_reaches_the_loop_with_its_sender_and_is_answered(channel):
    loop, folder, address = channel
    loop.asked.clear()
    with Operator(address, "operator", folder) as first, Operator(address, "second", folder) as second:
        assert first.ask("hold")["ok"]
        answer = second.ask("set_gain", gain="elbow_stiffness", value=120.0)
        assert (answer["ok"], answer["mode"], answer["bed"]) == (True, "holding", "free-flyer")
        listed = {gain["name"]: gain["value"] for gain in first.ask("gains")["gains"]}
    assert listed["elbow_stiffness"] == 120.0
    names = [loop.link.names[request.sender - 1] for request in loop.asked]
    assert [(r.ask, name) for r, name in zip(loop.asked, names, strict=True)] == [
        (RequestKind.HOLD, "operator"),
        (RequestKind.SET_GAIN, "second"),
    ]
    assert loop.asked[1].value == 120.0


def test_a_message_that_is_too_long_gets_a_refusal(channel):
    _, folder, address = channel
    with Operator(address, "operator", folder) as operator:
        for size in (1025, 5000, 300_000):
            answer = operator.ask("status", more="x" * size)
            assert not answer["ok"]
            assert "bytes, expected at most 1024" in answer["text"]
        with pytest.raises(InputError, match="expected at most 1048576"):
            operator.ask("status", more="x" * 1_100_000)
        assert operator.ask("status")["ok"]


def test_an_operator_who_watches_and_falls_silent_is_reported_and_one_who_leaves_is_not(channel):
    loop, folder, address = channel
    loop.asked.clear()
    with Operator(address, "operator", folder) as leaving:
        leaving.ask("watch")
        leaving.ask("leave")
    with Operator(address, "second", folder) as silent:
        silent.ask("watch")
    until(lambda: loop.asked)
    assert [(r.ask, r.argument, r.sender) for r in loop.asked] == [(RequestKind.REPORT, Reason.OPERATOR_LOST, 3)]


def test_a_watch_is_renewed_by_its_own_connection_alone(channel):
    loop, folder, address = channel
    loop.asked.clear()
    with Operator(address, "second", folder) as silent, Operator(address, "second", folder) as polling:
        silent.ask("watch")
        deadline = time.monotonic() + 60
        while not loop.asked and time.monotonic() < deadline:
            assert polling.ask("status")["ok"]
            polling.ask("leave")  # a watch that it does not have
            silent.ask("status")
            time.sleep(0.05)
    assert [(r.ask, r.argument, r.sender) for r in loop.asked] == [(RequestKind.REPORT, Reason.OPERATOR_LOST, 3)]


def test_a_watch_goes_on_when_its_client_connects_again(channel):
    loop, folder, address = channel
    loop.asked.clear()
    with Operator(address, "second", folder) as operator:
        operator.watch()
        with operator._lock:  # the old connection stays, as where a cable was pulled
            operator._socket, lost = operator._connect(), operator._socket
        time.sleep(1.5 * SILENCE_S)
        lost.close(0)
    assert loop.asked == []


def test_a_channel_that_hangs_is_lost_until_it_goes_on(channel):
    loop, _, _ = channel
    channel_id = loop.link._process.pid
    assert loop.link.is_alive()
    os.kill(channel_id, signal.SIGSTOP)
    try:
        began = time.monotonic()
        until(lambda: not loop.link.is_alive())
        assert time.monotonic() - began == pytest.approx(SILENCE_S, abs=1.0)
    finally:
        os.kill(channel_id, signal.SIGCONT)
    until(loop.link.is_alive)


def idle_connections(stack, address, count):
    """Open TCP connections that never send a byte."""
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    return [stack.enter_context(sockets.create_connection((host, int(port)), timeout=10.0)) for _ in range(count)]


def test_a_thousand_idle_connections_do_not_keep_an_operator_out(channel, monkeypatch):
    _, folder, _ = channel
    address = free_address()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4096:
        pytest.skip(f"the system grants {hard} descriptors")
    with contextlib.ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        link = OperatorLink.start(load("free-flyer", [f'operator.address="{address}"']), folder)
        stack.callback(link.close)
        stack.enter_context(Answering(link))
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, hard))
        assert resource.prlimit(link._process.pid, resource.RLIMIT_NOFILE) == (hard, hard)
        monkeypatch.setattr(client, "ANSWER_S", 10.0)
        idle = idle_connections(stack, address, 1100)
        with Operator(address, "operator", folder) as operator:
            assert operator.ask("emergency_stop")["ok"]
        for connection in idle:  # none of them lasts
            with contextlib.suppress(ConnectionError):
                while connection.recv(100):
                    pass


def test_of_too_many_connections_without_a_key_the_oldest_are_closed(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda which: (64, 64))
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: None)
    with contextlib.ExitStack() as stack:
        context = stack.enter_context(zmq.Context())
        router = stack.enter_context(context.socket(zmq.ROUTER))
        strangers = Strangers(context, router)
        stack.enter_context(strangers.events)
        port = router.bind_to_random_port("tcp://127.0.0.1")
        idle = idle_connections(stack, f"tcp://127.0.0.1:{port}", 100)
        for connection in idle:
            connection.setblocking(False)
        closed = []
        deadline = time.monotonic() + 0.8  # before the time of a handshake is over
        while len(closed) < 68 and time.monotonic() < deadline:
            strangers.look()
            for index, connection in enumerate(idle):
                with contextlib.suppress(BlockingIOError):
                    while connection.recv(100):
                        pass
                    closed.append(index)
            closed = sorted(set(closed))
            time.sleep(0.01)
        router.disable_monitor()
    assert closed == list(range(68))


def test_a_flood_of_one_operator_keeps_neither_a_stop_nor_another_operator_from_the_loop(channel):
    loop, folder, address = channel
    loop.asked.clear()
    with Hasty(address, "operator", folder) as flooding, Hasty(address, "second", folder) as other:
        with loop.turn:
            flooding.send(*["hold"] * 100)
            refused = flooding.hear(100 - SHARE)
            other.send("float", "stop", "emergency_stop", "status")  # the channel itself answers the last one
            (status,) = other.hear(1)
        assert other.hear(3) == ["done"] * 3
        assert flooding.hear(SHARE) == ["done"] * SHARE
    assert set(refused) == {"refused: too many requests wait"}
    assert status.startswith("free-flyer is")
    assert [(each.ask, each.sender) for each in loop.asked] == [
        (RequestKind.EMERGENCY_STOP, 3),
        (RequestKind.STOP, 3),
        *[(RequestKind.HOLD, 2)] * SHARE,
        (RequestKind.FLOAT, 3),
    ]


def test_an_emergency_stop_overtakes_a_flood_of_stops(channel):
    loop, folder, address = channel
    loop.asked.clear()
    with Hasty(address, "operator", folder) as flooding, Hasty(address, "second", folder) as other:
        with loop.turn:
            flooding.send(*["stop"] * 100)
            flooding.hear(100 - SHARE)
            other.send("emergency_stop", "status")
            other.hear(1)
        assert other.hear(1) == ["done"]
        flooding.hear(SHARE)
    assert [each.ask for each in loop.asked] == [RequestKind.EMERGENCY_STOP, *[RequestKind.STOP] * SHARE]


def test_a_lost_operator_is_reported_once_although_too_many_requests_wait(channel):
    loop, folder, address = channel
    loop.asked.clear()
    with Hasty(address, "second", folder) as silent:
        with loop.turn:
            # More stops than may wait: there is no room for the report, until the loop takes some.
            silent.send("watch", *["hold", "stop"] * (SHARE + 1))
            silent.hear(3)
            time.sleep(1.5 * SILENCE_S)
        silent.hear(2 * SHARE)
    until(lambda: RequestKind.REPORT in [each.ask for each in loop.asked], 10.0)
    time.sleep(1.5 * SILENCE_S)
    reports = [each for each in loop.asked if each.ask is RequestKind.REPORT]
    assert [(each.argument, each.sender) for each in reports] == [(Reason.OPERATOR_LOST, 3)]


def test_a_client_without_a_right_key_gets_nothing_and_nothing_malformed_reaches_the_loop(channel):
    loop, folder, address = channel
    loop.asked.clear()
    heard = attack(address, folder, 0.4, 2000)
    assert [heard.answers[name] for name in ("no key", "wrong key", "wrong server")] == [0, 0, 0]
    assert heard.answers["malformed"] > 0  # refused, each
    assert loop.asked == []
    with Operator(address, "second", folder) as operator:
        assert operator.ask("hold")["ok"]
    assert [request.ask for request in loop.asked] == [RequestKind.HOLD]


@pytest.mark.usefixtures("no_patience")
def test_a_key_of_others_and_a_run_that_is_not_there_are_named(tmp_path):
    loop_keys(tmp_path)
    with pytest.raises(InputError, match="no key"):
        Operator("tcp://127.0.0.1:1", "nobody", tmp_path)
    with (
        Operator(f"ipc://{tmp_path}/nothing", "operator", tmp_path) as operator,
        pytest.raises(InputError, match="no answer"),
    ):
        operator.ask("status")


def test_an_address_in_use_is_refused(channel):
    _, folder, _ = channel
    taken = zmq.Context.instance().socket(zmq.REP)
    port = taken.bind_to_random_port("tcp://127.0.0.1")
    said = r"another run or program listens there already, expected a free address, such as --set operator\.address="
    with pytest.raises(InputError, match=said):
        OperatorLink.start(load("free-flyer", [f'operator.address="tcp://127.0.0.1:{port}"']), folder)
    taken.close(0)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    ("bed", "realtime", "said"), [("free-flyer", False, "virtual time"), ("mrds-1", True, "can't hold its pose")]
)
def test_an_operator_is_refused_where_there_is_nothing_to_operate(bed, realtime, said, tmp_path):
    with pytest.raises(InputError, match=said):
        granite.Run(load(bed)).record(tmp_path / "run.mcap", realtime=realtime, operator=True)
