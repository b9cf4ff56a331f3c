import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.modules import Body, Module
from granite.sim.lab import Lab
from granite.sim.plant.plant import Plant
from tests.support.dense_model import Model

MOVING = [
    "simulation.initial.base_x_m_s=0.1",
    "simulation.initial.base_heading_rad_s=0.3",
    "simulation.initial.shoulder_rad_s=-0.5",
    "simulation.initial.elbow_rad_s=0.8",
]


def lab_with(bed, *names):
    """The plant of a testbed, and these of its devices."""
    lab = Lab(bed)
    return lab.plant, *(lab.device(name) for name in names)


def energies(plant, model, duration, steps):
    values = []
    for t in np.linspace(0.0, duration, steps + 1):
        plant.advance(t)
        values.append(model.kinetic_energy(plant.q, plant.u))
    return np.array(values)


def test_free_motion_keeps_energy_and_momentum():
    bed = load("free-flyer/ideal", overrides=MOVING)
    plant, model = Plant(bed), Model(bed.modules[0])
    energy = model.kinetic_energy(plant.q, plant.u)
    momentum = model.momentum(plant.q, plant.u).copy()
    plant.advance(10.0)
    assert model.kinetic_energy(plant.q, plant.u) == pytest.approx(energy, rel=1e-9)
    np.testing.assert_allclose(model.momentum(plant.q, plant.u), momentum, atol=1e-9)


def test_motors_only_move_momentum_around_and_the_energy_is_their_work():
    bed = load("free-flyer/ideal", overrides=["loop.period_s=0.001"])
    plant, motors = lab_with(bed, "motors")
    model, work = Model(bed.modules[0]), 0.0
    for k in range(1000):
        torque = 0.2 * np.array([math.sin(0.01 * k), math.cos(0.02 * k)])
        before = plant.q
        motors.write(plant.t, torque)
        plant.advance((k + 1) * 0.001)
        work += torque @ (plant.q - before)[3:]
    np.testing.assert_allclose(model.momentum(plant.q, plant.u), 0.0, atol=1e-12)
    assert model.kinetic_energy(plant.q, plant.u) == pytest.approx(work, rel=1e-9)
    assert work > 1e-3


def test_each_thruster_pushes_as_the_report_says():
    rj, heading = 0.13, 0.7
    c, s = math.cos(heading), math.sin(heading)
    force = np.array([[-c, s, s, c, c, -s, -s, -c], [-s, -c, -c, s, s, c, c, -s]])  # C_RF of section 4.4, rows 1 and 2
    moment = rj * np.array([1, -1, 1, -1, 1, -1, 1, -1])  # row 3, about the base's origin
    bed = load("free-flyer/ideal", overrides=["simulation.initial={base_heading_rad=0.7}"])
    model = Model(bed.modules[0])
    for i in range(8):
        plant, thrusters = lab_with(bed, "thrusters")
        thrusters.write(0.0, np.eye(8)[i])
        plant.advance(0.001)
        momentum = model.momentum(plant.q, plant.u)
        np.testing.assert_allclose(momentum[:2], 1e-3 * force[:, i], atol=1e-9)
        assert momentum[5] == pytest.approx(1e-3 * moment[i], abs=1e-9)


def test_all_thrusters_together_cancel():
    bed = load("free-flyer/ideal")
    plant, thrusters = lab_with(bed, "thrusters")
    thrusters.write(0.0, np.ones(8))
    start = plant.q
    plant.advance(1.0)
    np.testing.assert_allclose(plant.q, start, atol=1e-14)
    assert plant.impulse_used == pytest.approx(8.0)


def rebuilt(bed, module, **devices):
    """The testbed with another robot, and only these devices."""
    safety = bed.safety.model_copy(update={"age_s": {}})
    return bed.model_copy(update={"modules": (module,), "devices": devices, "controller": None, "safety": safety})


def test_a_fixed_arm_moves_by_its_motors_alone():
    bed = load("free-flyer/ideal", overrides=["simulation.initial={elbow_rad=0.9}"])
    arm = bed.modules[0].model_copy(update={"base": "fixed"})
    plant, motors = lab_with(rebuilt(bed, arm, motors=bed.devices["motors"]), "motors")
    motors.write(0.0, np.array([0.1, -0.05]))
    plant.advance(0.5)
    work = 0.1 * plant.q[0] - 0.05 * (plant.q[1] - 0.9)
    assert Model(arm).kinetic_energy(plant.q, plant.u) == pytest.approx(work, rel=1e-9)


def test_a_spatial_body_tumbles_with_its_momentum_and_a_unit_quaternion():
    body = Body(name="box", mass_kg=3.0, com_m=(0.1, 0.0, 0.05), inertia_kg_m2=(0.1, 0.2, 0.25, 0.01, 0.0, 0.02))
    module = Module(name="craft", dimension="spatial", base="floating", bodies=(body,))
    bed = load("free-flyer/ideal")
    start = {"box_wx_rad_s": 0.5, "box_wy_rad_s": 2.0, "box_x_m_s": 0.1}
    bed = bed.model_copy(update={"simulation": bed.simulation.model_copy(update={"initial": start})})
    plant, model = Plant(rebuilt(bed, module)), Model(module)
    momentum = model.momentum(plant.q, plant.u).copy()
    plant.advance(5.0)
    np.testing.assert_allclose(model.momentum(plant.q, plant.u), momentum, atol=1e-9)
    assert np.linalg.norm(plant.q[3:]) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("drag", ["coulomb", "viscous"])
def test_drag_only_ever_takes_energy(drag):
    overrides = [*MOVING, "simulation.table.tilt_g=0.0", "simulation.table.drag_ratio=1e-2"]
    bed = load("free-flyer/clean", overrides=[*overrides, f"simulation.table.drag='{drag}'"])
    energy = energies(Plant(bed), Model(bed.modules[0]), 3.0, 300)
    assert np.all(np.diff(energy) < 0)


def test_viscous_drag_slows_pure_translation_exponentially():
    overrides = [
        "simulation.initial={base_x_m_s=0.1}",
        "simulation.table.tilt_g=0.0",
        "simulation.table.drag='viscous'",
        "simulation.table.drag_ratio=1e-3",
        "simulation.table.drag_speed_m_s=0.01",
    ]
    plant = Plant(load("free-flyer/clean", overrides=overrides))
    plant.advance(2.0)
    assert plant.u[0] == pytest.approx(0.1 * math.exp(-2.0 * 1e-3 * 9.81 / 0.01), rel=1e-9)
    np.testing.assert_allclose(plant.u[1:], 0.0, atol=1e-12)


def test_viscous_drag_of_pads_at_a_radius_slows_turning_exponentially():
    """I w' = -drag_ratio m g r (r w / v0), and the mass centre does not move."""
    overrides = {
        "simulation.initial": {"object_body_heading_rad_s": 0.1},
        "simulation.table": {
            "tilt_g": 0.0, "drag": "viscous", "drag_ratio": 1e-3, "drag_speed_m_s": 0.01, "pad_radius_m": 0.05,
        },
        "contacts": [],
    }  # fmt: skip
    plant = Plant(load("fixed-dual-arm/open-loop", overrides))
    plant.advance(2.0)
    decay = 1e-3 * 2.0 * 9.81 * 0.05**2 / 0.01 / 0.02
    assert plant.u[-1] == pytest.approx(0.1 * math.exp(-2.0 * decay), rel=1e-9)
    np.testing.assert_allclose(plant.u[:-1], 0.0, atol=1e-12)


def test_table_pulls_downhill_alike_on_every_body():
    overrides = [
        "simulation.table.drag_ratio=0.0",
        "simulation.table.tilt_g=1e-3",
        "simulation.table.tilt_direction_rad=2.0",
    ]
    plant = Plant(load("free-flyer/clean", overrides=overrides))
    plant.advance(1.0)
    want = 9.81e-3 * np.array([math.cos(2.0), math.sin(2.0), 0.0, 0.0, 0.0])
    np.testing.assert_allclose(plant.u, want, atol=1e-12)


def test_on_an_ideal_table_rest_is_rest_to_the_bit():
    plant = Plant(load("free-flyer/clean", overrides=["simulation.table.ideal=true"]))
    start = plant.q
    plant.advance(5.0)
    assert np.array_equal(plant.q, start)


def test_an_ideal_table_is_one_without_slope_and_drag():
    ideal = Plant(load("free-flyer/clean", overrides=[*MOVING, "simulation.table.ideal=true"]))
    level = Plant(
        load(
            "free-flyer/clean",
            overrides=[*MOVING, "simulation.table.tilt_g=0.0", "simulation.table.drag_ratio=0.0"],
        )
    )
    for plant in (ideal, level):
        plant.advance(2.0)
    np.testing.assert_allclose(level.q, ideal.q, rtol=1e-12)


def test_steps_are_small_enough_for_the_preset():
    """The fixed steps against an adaptive integrator with a tight tolerance, all effects on."""
    bed = load("free-flyer/clean", overrides=MOVING)
    plant, model = Plant(bed), Model(bed.modules[0])
    mass = np.array([b.mass_kg for b in bed.modules[0].bodies])
    table = bed.simulation.table

    def velocities(q, u):
        """Mass-centre velocities of the three bodies and their derivatives by u, by hand (planar chain)."""
        a = np.cumsum(q[2:])
        J = np.zeros((3, 2, 5))
        J[:, :, :2] = np.eye(2)
        lever = [(0.24, 0.0), (0.30, 0.0)]
        com = [(0.025, 0.051), (0.15, 0.025), (0.15, 0.025)]
        for body in range(3):
            for link in range(body + 1):
                x, y = lever[link] if link < body else com[body]
                c, s = math.cos(a[link]), math.sin(a[link])
                J[body, :, 2 : 3 + link] += np.array([[-s * x - c * y], [c * x - s * y]])
        return J @ u, J

    def rhs(t, x):
        q, u = x[:5], x[5:]
        v, J = velocities(q, u)
        smooth = np.sqrt((v**2).sum(1, keepdims=True) + table.drag_speed_m_s**2)
        downhill = np.array([math.cos(table.tilt_direction_rad), math.sin(table.tilt_direction_rad)])
        pull = 9.81 * mass[:, None] * (table.tilt_g * downhill - table.drag_ratio * v / smooth)
        force = np.einsum("bij,bi->j", J, pull)
        return np.concatenate([u, model.forward_dynamics(q, u, force)])

    want = solve_ivp(rhs, (0.0, 5.0), np.concatenate([plant.q, plant.u]), rtol=1e-11, atol=1e-13).y[:, -1]
    plant.advance(5.0)
    np.testing.assert_allclose(np.concatenate([plant.q, plant.u]), want, atol=1e-8)


def test_advancing_at_once_or_in_parts_is_the_same_to_the_bit():
    """Whether a call of compiled code makes a whole tick or one step, and whatever the valves do meanwhile."""
    bed = load("free-flyer/clean", overrides=[*MOVING, "devices.thrusters.simulated.tank_n_s=20.0"])
    parts = {"at once": [300], "ticks": 60 * [5], "steps": 300 * [1], "uneven": 30 * [7, 0, 1, 2]}
    states = {}
    for name, steps in parts.items():
        plant, thrusters = lab_with(bed, "thrusters")
        for k, command in enumerate((np.ones(8), np.eye(8)[2], 0.5 * np.ones(8), np.zeros(8))):
            thrusters.write(k * 0.3, command)
            for until in np.cumsum(steps):
                plant.advance(k * 0.3 + until * 0.001)
        assert plant.t == pytest.approx(1.2)
        plant.advance(0.0)
        states[name] = np.concatenate([plant.q, plant.u, plant.joints, plant.impulse_left, [plant.impulse_used]])
    assert all(np.array_equal(state, states["at once"]) for state in states.values())
    assert states["at once"][-1] > 1.0


def test_observers_see_every_step_at_its_time():
    class Witness:
        def __init__(self):
            self.seen = {}

        def observe(self, last, path):
            for k, x in enumerate(path):
                self.seen[last - len(path) + 1 + k] = x.copy()

    bed = load("free-flyer/clean", overrides=MOVING)
    plant, again, witness = Plant(bed), Plant(bed), Witness()
    plant.observers.append(witness)
    plant.advance(0.018)
    assert list(witness.seen) == list(range(1, 19))
    for step, x in witness.seen.items():
        again.advance(step * bed.simulation.physics_step_s)
        assert np.array_equal(x, np.concatenate([again.q, again.u]))


def swinging_arm(*overrides):
    """The arm alone on a fixed base, turning; only the sensed joints matter."""
    bed = load("free-flyer/ideal", overrides=[*MOVING, *overrides])
    kept = {k: v for k, v in bed.simulation.initial.items() if not k.startswith("base")}
    bed = bed.model_copy(update={"simulation": bed.simulation.model_copy(update={"initial": kept})})
    arm = bed.modules[0].model_copy(update={"base": "fixed"})
    return Plant(rebuilt(bed, arm, joint_sensors=bed.devices["joint_sensors"]))


def test_rates_behind_the_filters_are_those_of_an_independent_integration():
    a, b = 60.0, 140.0
    plant = swinging_arm(f"devices.joint_sensors.filter_a_rad_s={a}", f"devices.joint_sensors.filter_b_rad_s={b}")
    times = 0.001 * np.arange(201)
    angle = [plant.q]
    for t in times[1:]:
        plant.advance(t)
        angle.append(plant.q)
    start = swinging_arm().u

    def stages(t, w):
        """Two low-pass stages behind the angle, which starts as if it had always moved at its first rate."""
        now = np.array([np.interp(t, times, track) for track in np.transpose(angle)])
        return np.concatenate([a * (now - w[:2]), b * (w[:2] - w[2:])])

    first = angle[0] - start / a
    w = solve_ivp(stages, (0.0, 0.2), np.concatenate([first, first - start / b]), rtol=1e-9, atol=1e-12, max_step=1e-3)
    end = w.y[:, -1]
    np.testing.assert_allclose(plant.joints, [*plant.q, *(b * (end[:2] - end[2:]))], atol=1e-8)
    assert np.abs(plant.joints[2:] - plant.u).max() > 1e-3


def test_rate_filters_start_without_a_transient():
    plant = swinging_arm()
    np.testing.assert_array_equal(plant.joints[2:], [-0.5, 0.8])
    plant.advance(0.001)
    np.testing.assert_allclose(plant.joints[2:], [-0.5, 0.8], atol=1e-4)


def test_without_rate_filters_the_rates_are_the_true_ones():
    plant = swinging_arm("devices.joint_sensors.filter_a_rad_s=0", "devices.joint_sensors.filter_b_rad_s=0")
    plant.advance(0.5)
    np.testing.assert_array_equal(plant.joints, [*plant.q, *plant.u])


def test_state_handed_out_does_not_change_later():
    plant = Plant(load("free-flyer/clean", overrides=MOVING))
    q = plant.q
    kept = q.copy()
    plant.advance(0.1)
    assert np.array_equal(q, kept)


def test_a_step_that_does_not_divide_the_period_is_refused():
    with pytest.raises(InputError, match="physics_step_s"):
        Plant(load("free-flyer/clean", overrides=["simulation.physics_step_s=0.0015"]))
