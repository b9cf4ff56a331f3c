"""A user's parts as expressions: compiled in the tick and in whole runs, recorded, replayed, refused by name."""

from pathlib import Path

import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.config.run_modes import RequestKind
from granite.kernels.c_compiler import find_compiler
from granite.rt.compiled_run import CompiledRun, parts_in_python
from granite.rt.loop.clock import VirtualClock
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run
from granite.rt.steps.compiled_steps import steps_in_python
from tests.support.compiled_ticks import rows_of

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="compiled steps need a C compiler")

LAW = '''
import casadi as ca
import numpy as np
import granite
from granite.controllers.estimation.kalman import KalmanEstimator


class Integrating(granite.SymbolicLaw):
    """PD and an integral, through the model."""

    class Options(granite.LawTable):
        stiffness_1_s2: float = 1.0
        integral_1_s3: float = 0.01

    def __init__(self, options, model):
        n, q, u = model.n, model.q, model.u
        q_ref, u_ref, before = (ca.SX.sym(name, n) for name in ("q_ref", "u_ref", "before"))
        stiffness, integral, ready = ca.SX.sym("k"), ca.SX.sym("i"), ca.SX.sym("ready")
        total = before + ca.if_else(ready, model.bed.loop.period_s * integral * (q_ref - q), 0.0)
        a = stiffness * (q_ref - q) + 2 * ca.sqrt(stiffness) * (u_ref - u) + total
        force = model.inverse(model.complete(a, ca.SX.zeros(n)))
        function = granite.named_function(
            "integrating",
            {"state_ready": ready, "state_q": q, "state_u": u, "reference_q": q_ref, "reference_u": u_ref,
             "parameter_stiffness": stiffness, "parameter_integral": integral, "memory_total": before},
            {"demand_acceleration": a, "demand_force": force, "demand_wrench": model.wrenches(force),
             "next_total": total},
        )
        parameters = {"stiffness": options.stiffness_1_s2, "integral": options.integral_1_s3}
        super().__init__(model.bed, function, parameters, {"total": [0.0] * n})


class Gyro(granite.Device):
    role = "sensor"

    def signals(self, bed):
        return (granite.Coordinate("rate", "rad/s"),)

    def simulate(self, plant, rng):
        return SimulatedGyro(plant, rng)


class SimulatedGyro:
    def __init__(self, plant, rng):
        self.plant, self.rng, self.number = plant, rng, 0

    def open(self):
        pass

    def close(self):
        pass

    def read(self, t):
        self.plant.advance(t)
        self.number += 1
        rate = self.plant.u[self.plant.bed.layout.joint_u("base_heading")] + 1e-3 * self.rng.standard_normal()
        return granite.Frame(t, self.number, granite.Status.OK, np.array([rate]))


class WithGyro(granite.SymbolicEstimator):
    """The Kalman estimate with the rate of the gyro, and what it changes summed up."""

    class Options(KalmanEstimator.Options):
        weight: float = 0.5

    def __init__(self, options, model):
        u, rate, weight, total = ca.SX.sym("u", model.n), ca.SX.sym("rate"), ca.SX.sym("weight"), ca.SX.sym("total")
        heading, after = model.layout.joint_u("base_heading"), ca.SX(u)
        after[heading] = u[heading] + weight * (rate - u[heading])
        function = granite.named_function(
            "with_gyro",
            {"state_u": u, "sample_gyro_values": rate, "parameter_weight": weight, "memory_total": total},
            {"state_u": after, "next_total": total + after[heading] - u[heading]},
        )
        inner = KalmanEstimator(options, model)
        super().__init__(model.bed, function, {"weight": options.weight}, {"total": 0.0}, inner=inner)


class Measured(granite.SymbolicEstimator):
    """q and u as they are measured, without a filter."""

    def __init__(self, options, model):
        pose, joints, before = ca.SX.sym("pose", 3), ca.SX.sym("joints", 4), ca.SX.sym("before", 3)
        period = model.bed.loop.period_s
        function = granite.named_function(
            "measured",
            {"sample_vision_values": pose, "sample_joint_sensors_values": joints, "memory_before": before},
            {"state_q": ca.vertcat(pose, joints[:2]), "state_u": ca.vertcat((pose - before) / period, joints[2:]),
             "next_before": pose},
        )
        super().__init__(model.bed, function, memory={"before": [0.0] * 3})


class Wire:
    """Applies torques a tick late."""

    class Options(granite.PartTable):
        pass

    def __init__(self, options, name, bed):
        self.next, self.number = np.zeros(len(bed.devices[name].signals(bed))), 0

    def open(self):
        pass

    def close(self):
        pass

    def write(self, t, setpoint):
        applied, self.next = self.next, setpoint
        self.number += 1
        return granite.Frame(t, self.number, granite.Status.OK, applied)

    def stop(self, t):
        self.next = np.zeros(len(self.next))
        return self.write(t, self.next)


class Typo(granite.SymbolicLaw):
    def __init__(self, options, model):
        x = ca.SX.sym("x", model.n)
        super().__init__(model.bed, granite.named_function("typo", {"state_Q": x}, {"demand_force": x}))


class Short(granite.SymbolicLaw):
    def __init__(self, options, model):
        x = ca.SX.sym("x", model.n)
        super().__init__(model.bed, granite.named_function("short", {"state_u": x}, {"demand_force": x[1:]}))


class Doubled(Integrating):
    """Its own method is Python's."""

    def control(self, state, reference):
        demand = super().control(state, reference)
        return demand._replace(force=2 * demand.force)
'''


@pytest.fixture
def law(tmp_path: Path) -> Path:
    file = tmp_path / "lab.py"
    file.write_text(LAW)
    return file


def bed_with(law: Path, name: str, duration: float = 0.6) -> granite.Testbed:
    return granite.load("free-flyer", {"controller.law": f"{law}:{name}", "loop.duration_s": duration})


@pytest.mark.slow
def test_a_law_as_an_expression_is_compiled_with_the_bits_of_its_python_form(law: Path) -> None:
    bed = bed_with(law, "Integrating")
    compiled, _, run = rows_of(bed, compiled=True)
    assert steps_in_python(run.stack) == []
    expected, _, _ = rows_of(bed, compiled=False)
    kept = np.ones(run.channels.width, dtype=bool)
    kept[run.channels.columns("/timing", "steps")] = False
    assert np.array_equal(compiled[:, kept].view(np.uint64), expected[:, kept].view(np.uint64))
    whole = Run(bed)
    assert parts_in_python(whole) == []
    made = CompiledRun(whole).rows()
    assert made is not None
    demand = run.channels.columns("/demand", "force")
    assert np.array_equal(made[0][:, demand], expected[:, demand])
    assert np.abs(expected[-1, demand]).max() > 0
    assert whole.stack.law.memory["total"].any()  # type: ignore[attr-defined]


def assert_equal_to_the_bit(bed: granite.Testbed, simulated: list[str] | None = None) -> Run:
    rows = {}
    for compiled in (True, False):
        run = Run(bed, simulated)
        if not compiled:
            run.compiled_steps = None
        assert (run.compiled_steps is not None) == compiled
        memory = Memory(run.channels, run.ticks)
        run.execute(VirtualClock(), memory)
        kept = np.ones(run.channels.width, dtype=bool)
        kept[run.channels.columns("/timing", "steps")] = False
        rows[compiled] = memory.rows[:, kept].view(np.uint64)
    assert np.array_equal(rows[True], rows[False])
    return run


def test_law_sensor_estimator_and_driver_from_outside_are_compiled_recorded_and_replayed(
    law: Path, tmp_path: Path
) -> None:
    own = {
        "controller.law": f"{law}:Integrating",
        "controller.estimator": {"kind": f"{law}:WithGyro", "weight": 0.4},
        "devices.gyro": {"kind": f"{law}:Gyro"},
        "devices.motors.driver": {"kind": f"{law}:Wire"},
    }
    bed = granite.load("free-flyer", {**own, "loop.duration_s": 0.5})
    simulated = [name for name in bed.devices if name != "motors"]
    run = assert_equal_to_the_bit(bed, simulated)
    assert steps_in_python(run.stack) == []
    assert run.stack.estimator.memory["total"].any()  # type: ignore[attr-defined]
    summary = granite.Run(bed, simulated).record(tmp_path / "run.mcap")
    assert summary["ended"] == "completed", summary["text"]
    log = granite.read_log(tmp_path / "run.mcap")
    assert granite.replay(log).first is None
    difference = log["/state"].base_heading_rad_s - log["/sample"].gyro_rate_rad_s
    assert 0 < abs(difference)[20:].max() < 0.01


def test_an_estimator_that_is_one_function_gives_the_rest_of_the_state_by_itself(law: Path) -> None:
    bed = granite.load(
        "free-flyer/perfect-sensors",
        {"controller.estimator": f"{law}:Measured", "loop.duration_s": 0.5},
    )
    run = assert_equal_to_the_bit(bed)
    assert steps_in_python(run.stack) == []
    state = run.stack.estimator.estimate(run.devices.read(run.ticks * bed.loop.period_s))
    assert state.ready
    assert state.ages.max() < 0.1
    assert np.isnan(state.deviation).all()


def test_it_is_recorded_and_replayed_to_the_bit(law: Path, tmp_path: Path) -> None:
    log = granite.simulate(bed_with(law, "Integrating", 0.5), tmp_path / "run.mcap")
    assert granite.replay(log).first is None


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("Typo", "function 'typo' has an input 'state_Q'"), ("Short", "output 'demand_force' of function 'short' has 4")],
)
def test_a_name_or_size_that_does_not_fit_is_refused(law: Path, name: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Run(bed_with(law, name))


def test_a_method_of_its_own_runs_in_python(law: Path) -> None:
    assert steps_in_python(Run(bed_with(law, "Doubled")).stack) == ["law"]


def test_every_mode_and_every_gain_has_the_bits_of_python_in_the_compiled_form() -> None:
    """Gains change, the robot holds, goes on, floats, begins again and stops; no tick leaves the compiled form."""
    from tests.support.scripted_operator import Request, scripted

    requests = {
        0.5: Request(RequestKind.SET_GAIN, argument=0, value=0.9),
        2.0: RequestKind.HOLD,
        5.0: RequestKind.START,
        7.0: RequestKind.FLOAT,
        8.0: RequestKind.HOLD,
        11.0: RequestKind.RESTART,
        15.0: RequestKind.STOP,
    }
    rows = {}
    for compiled in (True, False):
        done = scripted(requests, "loop.duration_s=20", prepare=(lambda run: None) if compiled else _in_python)
        assert (done.run.compiled_steps is not None) == compiled
        kept = np.ones(done.channels.width, dtype=bool)
        kept[done.channels.columns("/timing", "steps")] = False
        rows[compiled] = done.rows[:, kept]
        assert len(done.modes) >= 6
    assert np.array_equal(rows[True].view(np.uint64), rows[False].view(np.uint64))


def _in_python(run: Run) -> None:
    run.compiled_steps = None
