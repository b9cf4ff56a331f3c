"""Hardware: motors and thrusters on a board, sensors simulated: what the board reports moves the simulated plant.

    python hardware.py /dev/serial/by-id/usb-my-adapter

Without a port, the board is its firmware as a program behind a pseudo-terminal.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import granite
from granite.rt.rehearsal.board_program import board_program


def fly(port: str) -> None:
    driver = {"kind": "board", "port": port, "board": "free-flyer", "watchdog_s": 0.5}
    on_board = {f"devices.{name}.driver": driver for name in ("motors", "thrusters")}
    # A desktop that is busy with other programs delays the loop and the answers.
    patience = {"loop.longest_lateness_s": 1.0, "loop.watchdog_s": 1.0, "loop.stop_timeout_s": 1.0}
    bed = granite.load("free-flyer", {**on_board, **patience, "loop.duration_s": 2.0})
    run = granite.Run(bed, simulate=["joint_sensors", "vision"])
    outcome = run.record("hardware.mcap", realtime=True, overwrite=True)
    print(f"ended: {outcome['ended']}, {outcome['propellant']['pulses']} pulses of the board's valves")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        fly(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            port = Path(folder) / "port"
            files = ("--port", port, "--world", Path(folder) / "world", "--with-parent")
            with subprocess.Popen([board_program(), *files]) as board:
                while not port.exists() and board.poll() is None:
                    time.sleep(0.01)
                fly(str(port))
                board.terminate()
