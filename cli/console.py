"""`granite console`: one page in the browser to see, operate, replay and tune runs; alone, or beside a run."""

from __future__ import annotations

import contextlib
import errno
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from granite.cli.screen import err, out
from granite.config.errors import InputError

if TYPE_CHECKING:
    from granite.console.certificate import Certificate


_HERE = "127.0.0.1"
_ANYWHERE = ("0.0.0.0", "::", "")


def console(
    logs: Annotated[list[Path] | None, typer.Argument(metavar="[LOG]...", help="logs to show at once")] = None,
    folder: Annotated[Path, typer.Option(metavar="FOLDER", help="where the list of logs is from")] = Path("runs"),
    port: Annotated[int, typer.Option(metavar="PORT", help="of the page; 0: a free one")] = 8760,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="of this machine, for a tablet; encrypted, with its own certificate")
    ] = _HERE,
) -> None:
    """Serve one page in the browser: running loops, their operation, logs, tuning and new runs."""
    from granite.console.server import Console, Server, server_config
    from granite.logs.log import read_log
    from granite.rt.process.run_register import register_folder

    for log in logs or []:
        read_log(log, without_rows=True)  # bad ones are refused now
    served = Console(folder, logs or [])
    certificate = _certificate(host)
    listening = _listening(host, port)
    port = listening.getsockname()[1]
    served.tokens.write(register_folder() / f"console-{port}.token")
    names = (_HERE, "localhost") if certificate is None else (host,)
    scheme = "http" if certificate is None else "https"
    app = served.app([f"{name}:{port}" for name in names], scheme)
    files = (certificate.file, certificate.key) if certificate else ()
    server = Server(server_config(app, *files))
    of_log = f"&log={Path(logs[0]).absolute()}" if logs else ""
    address = f"{scheme}://{names[0]}:{port}/#token="
    out.print(f"console: {address}{served.tokens.operating}{of_log}", soft_wrap=True)
    out.print(f"only to look: {address}{served.tokens.looking}{of_log}", soft_wrap=True)
    if certificate is not None:
        _print_code(f"{address}{served.tokens.operating}", certificate)
    out.print("Ctrl-C ends the console; runs go on", soft_wrap=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])


def _certificate(host: str) -> Certificate | None:
    """Of the console's own, where other machines may open the page."""
    from granite.console.certificate import own_certificate
    from granite.rt.operator.keys import key_folder

    if host == _HERE:
        return None
    if host in _ANYWHERE or not re.fullmatch(r"[A-Za-z0-9.:-]+", host):
        raise InputError(key="--host", value=host, expected="the address by which the other machine reaches this one")
    folder = key_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return own_certificate(folder, host)


def _listening(host: str, port: int) -> socket.socket:
    from granite.console.server import listening_socket

    try:
        return listening_socket(host, port)
    except (OSError, OverflowError) as error:
        # Below zero: a name that nobody knows.
        if isinstance(error, OSError) and (error.errno == errno.EADDRNOTAVAIL or (error.errno or 0) < 0):
            expected = "an address of this machine, as 'ip address' lists them"
            raise InputError(key="--host", value=host, expected=expected) from None
        expected = f"a free port of this machine ({error})"
        raise InputError("the console can't listen there", key="--port", value=port, expected=expected) from None


def _print_code(address: str, certificate: Certificate) -> None:
    """The address for a camera, and what the browser must show before it is trusted."""
    import segno

    segno.make(address, error="l").terminal(compact=True)
    out.print(f"certificate, SHA-256: {certificate.fingerprint}", soft_wrap=True)
    out.print("the browser warns once: go on where it shows the same fingerprint", soft_wrap=True)


@contextlib.contextmanager
def console_beside(log: Path | None, ends_with_run: bool) -> Iterator[None]:
    """A console that shows the folder of the log, from before a run until Ctrl-C after it."""
    folder = Path("runs") if log is None else log.absolute().parent
    command = [sys.executable, "-m", "granite.cli", "console", "--port", "0", "--folder", str(folder)]
    # In a session of its own: Ctrl-C, which stops the run, leaves the page there.
    stdout = sys.stderr if ends_with_run else None
    process = subprocess.Popen(command, start_new_session=True, stdout=stdout)
    has_run = False
    try:
        yield
        has_run = True
    except SystemExit:
        has_run = True
        raise
    finally:
        with contextlib.suppress(KeyboardInterrupt):
            if has_run and not ends_with_run and process.poll() is None:
                err.print("granite: the run is over, its page stays until Ctrl-C", soft_wrap=True)
                process.wait()
        process.terminate()
        process.wait()


def free_port(first: int) -> int:
    """This port, or where a program listens there already any free one."""
    for port in (first, 0):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    return first
