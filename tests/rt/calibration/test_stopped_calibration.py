"""A calibration on real devices stops them whatever happens, and says where a stop is not confirmed."""

import os
import signal

import pytest

from granite.config.errors import GraniteError
from granite.config.loader import load
from granite.rt.calibration import session
from granite.rt.calibration.joints import JointsProcedure


class SlowToStop:
    """Devices of which one confirms its stop late or never."""

    def __init__(self, confirms: bool) -> None:
        self._confirms, self.calls = confirms, []

    def open(self):
        self.calls.append("open")

    def stop(self, t, paced):
        os.kill(os.getpid(), signal.SIGINT)  # Ctrl-C again, while the stop lasts
        self.calls.append("stop")
        return {} if self._confirms else {"motors": "no answer"}

    def close(self, paced):
        self.calls.append("close")


@pytest.mark.parametrize("confirms", [True, False])
def test_ctrl_c_does_not_interrupt_the_stop_and_an_unconfirmed_one_is_told(monkeypatch, confirms):
    bed = load("free-flyer")
    devices = SlowToStop(confirms)
    monkeypatch.setattr(session, "build_subset", lambda *_: (devices, bed))
    told = pytest.raises(KeyboardInterrupt) if confirms else pytest.raises(GraniteError, match="not confirmed: motors")
    with told, session.real_bench(JointsProcedure(bed, "joint_sensors")):
        raise KeyboardInterrupt
    assert devices.calls == ["open", "stop", "close"]
