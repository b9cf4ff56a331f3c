"""A driver of your own: the motors are real, here a program behind a socket; all other devices are simulated.

In a testbed's file: [devices.motors] driver = { kind = "own_driver.py:SocketMotors", port = 5005 }
"""

import contextlib
import socket
import struct
import threading

import numpy as np

import granite


class SocketMotors:
    """Sends torques as doubles, and receives the applied ones. It never blocks: no answer repeats the last one."""

    class Options(granite.PartTable):
        port: int
        silent_s: float = 0.02  # without an answer for longer than that, the guard ends the run

    def __init__(self, options: Options, name: str, bed: granite.Testbed) -> None:
        self.options, self.n, self.number = options, len(bed.devices[name].signals(bed)), 0
        self.applied, self.answered = np.zeros(self.n), 0.0
        self.sent = self.answers = 0
        self.first_stop = None

    def open(self):
        self.socket = socket.create_connection(("127.0.0.1", self.options.port))
        self.socket.setblocking(False)

    def write(self, t, setpoint):
        self.exchange(t, setpoint)
        silent = t - self.answered > self.options.silent_s
        return self.frame(t, granite.Status.SILENT if silent else granite.Status.OK)

    def stop(self, t):
        """The loop stops again until the board has answered the first stop, and applies zero."""
        self.exchange(t, np.zeros(self.n))
        self.first_stop = self.first_stop or self.sent
        return self.frame(t, granite.Status.OK if self.answers >= self.first_stop else granite.Status.NO_FRAME)

    def exchange(self, t, setpoint):
        self.socket.send(setpoint.tobytes())
        self.sent += 1
        with contextlib.suppress(BlockingIOError):  # no answer yet
            answers = self.socket.recv(4096)
            self.applied, self.answered = np.frombuffer(answers[-8 * self.n :]), t
            self.answers += len(answers) // (8 * self.n)

    def frame(self, t, status):
        self.number += 1
        return granite.Frame(t, self.number, status, self.applied)

    def close(self):
        self.socket.close()


def board(server: socket.socket, received: list[bytes]) -> None:
    """The other end: limits each torque to 0.5 N m and answers with the applied one."""
    connection, _ = server.accept()
    with contextlib.suppress(ConnectionError):  # the driver has closed the connection
        while data := connection.recv(4096):
            received.append(data)
            torques = struct.unpack(f"{len(data) // 8}d", data)
            connection.send(struct.pack(f"{len(torques)}d", *(max(-0.5, min(0.5, tau)) for tau in torques)))


if __name__ == "__main__":
    server, received = socket.create_server(("127.0.0.1", 0)), []
    thread = threading.Thread(target=board, args=(server, received), daemon=True)
    thread.start()
    # A desktop that is busy with other programs delays the loop and the answers.
    driver = {"kind": f"{__file__}:SocketMotors", "port": server.getsockname()[1], "silent_s": 1.0}
    patience = {"loop.longest_lateness_s": 1.0, "loop.watchdog_s": 1.0, "loop.stop_timeout_s": 1.0}
    bed = granite.load("free-flyer", {"devices.motors.driver": driver, "loop.duration_s": 1.0, **patience})
    run = granite.Run(bed, simulate=["joint_sensors", "vision", "thrusters"])
    outcome = run.record("own_driver.mcap", realtime=True, overwrite=True)
    thread.join(timeout=2.0)
    print(f"ended: {outcome['ended']}, {len(received)} commands, the last one zero: {not any(received[-1])}")
