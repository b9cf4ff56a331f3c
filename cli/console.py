"""`granite console`: one page in the browser to see, operate and replay runs."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path
from typing import Annotated

import typer

from granite.cli.screen import out
from granite.config.errors import InputError

_HOST = "127.0.0.1"


def console(
    logs: Annotated[list[Path] | None, typer.Argument(metavar="[LOG]...", help="logs to show at once")] = None,
    folder: Annotated[Path, typer.Option(metavar="FOLDER", help="where the list of logs is from")] = Path("runs"),
    port: Annotated[int, typer.Option(metavar="PORT", help="of the page; 0: a free one")] = 8760,
) -> None:
    """Serve one page in the browser: running loops, their operation, and logs."""
    import uvicorn

    from granite.console.server import Console, server_config
    from granite.logs.log import read_log
    from granite.rt.process.run_register import register_folder

    for log in logs or []:
        read_log(log, without_rows=True)  # bad ones are refused now
    served = Console(folder, logs or [])
    try:
        listening = socket.create_server((_HOST, port))
    except (OSError, OverflowError) as error:
        raise InputError(
            "the console can't listen there", key="--port", value=port, expected=f"a free port ({error})"
        ) from None
    port = listening.getsockname()[1]
    served.tokens.write(register_folder() / f"console-{port}.token")
    hosts = [f"{name}:{port}" for name in (_HOST, "localhost")]
    server = uvicorn.Server(server_config(served.app(hosts)))
    of_log = f"&log={Path(logs[0]).absolute()}" if logs else ""
    out.print(f"console: http://{_HOST}:{port}/#token={served.tokens.operating}{of_log}", soft_wrap=True)
    out.print(f"only to look: http://{_HOST}:{port}/#token={served.tokens.looking}{of_log}", soft_wrap=True)
    out.print("Ctrl-C ends the console; runs go on", soft_wrap=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
