"""The process of the vision sensor: its order comes as a line of JSON on standard input.

It answers with a line when the first frame has been seen, or with the reason why there is none. It ends with its
source, and when standard input ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

from granite.config.devices.camera import Camera
from granite.config.errors import GraniteError
from granite.config.loader import from_json
from granite.drivers.camera.vision import vision
from granite.drivers.ordered_process import request_priority
from granite.drivers.pose_stream.sockets import passed_sender

#: below the loop
_LOWER_PRIORITY = 30


def main() -> None:
    """Publish poses until the source or standard input ends."""
    order = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_the_host, daemon=True).start()
    bed, name = from_json(order["bed"]), order["device"]
    camera = bed.devices[name]
    assert isinstance(camera, Camera)
    answered = False
    try:
        for _ in vision(bed, camera, order["source"], passed_sender(order["socket"])):
            if not answered:
                request_priority(bed.loop.priority - _LOWER_PRIORITY)
                answered = _answer(ready=True)
        why = "no frame comes from it any more" if answered else "no frame comes from it"
    except GraniteError as error:
        why = str(error)
    if answered:
        sys.stderr.write(f"devices.{name}: source '{order['source']}': {why}\n")
    else:
        _answer(failure=why)


def _end_with_the_host() -> None:
    sys.stdin.read()
    os._exit(0)


def _answer(**message: Any) -> bool:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
    return True


if __name__ == "__main__":
    main()
