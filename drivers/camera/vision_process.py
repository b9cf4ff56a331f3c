"""The process of the vision sensor, which answers when it has seen the first frame, or why there is none.

It ends with its source, and when standard input ends.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

from granite.config.devices.camera import Camera
from granite.config.errors import GraniteError
from granite.config.loader import from_json
from granite.drivers.camera.watch import vision
from granite.drivers.ordered_process import carry_out, request_priority
from granite.drivers.pose_stream.sockets import passed_sender

#: below the loop
_LOWER_PRIORITY = 30


def work(order: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Publish poses until the source or standard input ends."""
    threading.Thread(target=_end_with_the_host, daemon=True).start()
    bed, name = from_json(order["bed"]), order["device"]
    camera = bed.devices[name]
    assert isinstance(camera, Camera)
    has_answered = False
    why = "no frame comes from it"
    try:
        for _ in vision(bed, camera, order["source"], passed_sender(order["socket"])):
            if not has_answered:
                request_priority(bed.loop.priority - _LOWER_PRIORITY)
                has_answered, why = True, "no frame comes from it any more"
                yield {"ready": True}
    except GraniteError as error:
        why = str(error)
    if has_answered:
        sys.stderr.write(f"devices.{name}: source '{order['source']}': {why}\n")
    else:
        yield {"failure": why}


def _end_with_the_host() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    carry_out(work)
