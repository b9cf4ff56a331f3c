"""Motors that confirm their stop and drive on are named by their joints."""

import numpy as np
import pytest

from granite.config.loader import load
from granite.rt.checks.after_stop import driven_after_stop
from granite.rt.devices import build_devices
from granite.rt.run import Run
from granite.rt.run_options import RunOptions
from tests.support.unhurried import LIMITS

FAULT = "simulation.events=[{kind='fault', at_s=0, device='motors', what='does_not_stop'}]"


@pytest.mark.parametrize(("faults", "named"), [([FAULT], True), ([], False)], ids=["drives on", "stopped"])
def test_a_motor_that_drives_on_after_its_stop_is_named(faults, named):
    bed = load("free-flyer", faults)
    devices, _ = build_devices(bed)
    devices.read(0.0)
    devices.all()["motors"].write(0.0, np.array([0.0, 0.05]))
    devices.read(0.2)
    assert devices.stop(0.2) == {}  # it confirms its stop
    driven = driven_after_stop(bed, devices, 0.2)
    assert list(driven) == (["motors"] if named else [])
    assert not named or "but elbow goes from" in driven["motors"]


def test_a_run_in_real_time_ends_with_a_look_at_its_joints(tmp_path, monkeypatch):
    monkeypatch.setattr("granite.rt.run.driven_after_stop", lambda *_: {"motors": "elbow goes on"})
    bed = load("free-flyer", {"loop.duration_s": 0.05, **LIMITS})
    summary = Run(bed).record(tmp_path / "run.mcap", RunOptions(realtime=True))
    assert summary["ended"] == "stop_not_confirmed"
    assert summary["not_stopped"] == {"motors": "elbow goes on"}
