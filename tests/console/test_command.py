"""The commands that serve the page: beside a run, and for other machines with a certificate."""

import http.client
import json
import os
import shutil
import signal
import ssl
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from granite.cli.console import _certificate, _listening
from granite.config.errors import InputError
from granite.console.certificate import own_certificate
from tests.support.console_pages import until
from tests.support.operator_clients import free_address
from tests.support.unhurried import OPTIONS


@pytest.mark.slow
def test_a_run_has_its_page_and_the_page_stays_after_it(tmp_path: Path):
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "GRANITE_KEYS": str(tmp_path / "keys")}
    address = ["--set", f'operator.address="{free_address()}"']
    command = [sys.executable, "-m", "granite.cli", "sim", "free-flyer", "--realtime", "--console", *address, *OPTIONS]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path, env=environment
    ) as process:
        assert process.stdout is not None
        lines: list[str] = []
        threading.Thread(target=lines.extend, args=(process.stdout,), daemon=True).start()
        until(lambda: "console: http://127.0.0.1:" in "".join(lines), 120)
        until(lambda: "until an operator arms" in "".join(lines), 120)
        until(lambda: bool(list((tmp_path / "granite").glob("[0-9]*.json"))), 120)
        time.sleep(2)  # while the run is prepared, Ctrl-C ends the command
        process.send_signal(signal.SIGINT)  # ends the run
        until(lambda: "its page stays until Ctrl-C" in "".join(lines), 120)
        process.send_signal(signal.SIGINT)  # ends the page
        assert process.wait(60) == 3
    assert not list((tmp_path / "granite").glob("[0-9]*.json"))


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl makes the certificate")
def test_a_certificate_is_made_once_for_an_address_and_its_key_is_ours_alone(tmp_path: Path):
    first = own_certificate(tmp_path, "192.0.2.7")
    assert own_certificate(tmp_path, "192.0.2.7") == first
    assert own_certificate(tmp_path, "192.0.2.8").fingerprint != first.fingerprint
    assert stat.S_IMODE(first.key.stat().st_mode) == 0o600
    assert len(first.fingerprint.split(":")) == 32
    ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(first.file, first.key)
    first.file.write_text("damaged")
    assert own_certificate(tmp_path, "192.0.2.7").fingerprint != first.fingerprint


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "a b", "x/../y"])
def test_the_console_listens_at_one_address_that_was_named(host: str):
    with pytest.raises(InputError, match="the address by which the other machine reaches this one"):
        _certificate(host)


@pytest.mark.parametrize(
    ("host", "port", "key"),
    [("192.0.2.7", 0, "--host"), ("no-such-host.invalid", 0, "--host"), ("127.0.0.1", 99999, "--port")],
)
def test_what_is_wrong_with_an_address_is_named_by_its_option(host: str, port: int, key: str):
    with pytest.raises(InputError) as refused:
        _listening(host, port)
    assert refused.value.key == key


@pytest.mark.slow
def test_a_console_that_ends_while_a_log_is_read_says_nothing_of_it(tmp_path: Path):
    """As after Ctrl-C, in the middle of requests that wait for the reader of logs."""
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "granite.cli", "console", "--port", "0", "--folder", str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = process.stdout.readline().partition("console: ")[2].strip()
        host, token = address.removeprefix("http://").partition("/#token=")[::2]
        headers = {"origin": f"http://{host}", "content-type": "application/json"}
        session = http.client.HTTPConnection(host)
        session.request("POST", "/api/session", json.dumps({"token": token}), headers)
        cookie = session.getresponse().headers["set-cookie"].partition(";")[0]
        until(lambda: bool(_workers(process.pid)))
        for worker in _workers(process.pid):
            os.kill(worker, signal.SIGSTOP)  # an order that takes long
        waiting = [http.client.HTTPConnection(host) for _ in range(3)]
        for connection in waiting:
            connection.request("GET", f"/api/log?path={tmp_path / 'x.mcap'}", headers={"cookie": cookie})
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert process.stderr.read() == ""


def _workers(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
