"""The row: every record goes in and comes out with the same bits."""

import json
import re

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import from_json, load, to_json
from granite.config.records import STEPS, Tick
from granite.logs.channels import Channels
from granite.logs.record_form import in_order
from granite.logs.row_layout import read_layout
from tests.support.recorded_ticks import bits, make_tick

BED = load("free-flyer")


def bare_bed():
    """The free-flyer without a sensor, motor or thruster."""
    return BED.model_copy(update={"devices": {}})


def gripping_bed():
    """The free-flyer with a contact that is closed and opened by command, and an audit."""
    grip = "[{name='grip', kind='revolute', first={position_m=[2.0, 1.0]}, second={module='vehicle', point='tip'}}]"
    holds = "[{from_s=0, closed=[]}, {from_s=5, closed=['grip']}]"
    return load("free-flyer", [f"contacts={grip}", f"behaviour.holds={holds}", "simulation.audit=true"])


def assert_same(a, b, where="tick"):
    assert type(a) is type(b), where
    if isinstance(a, tuple):
        for name, x, y in zip(getattr(a, "_fields", range(len(a))), a, b, strict=True):
            assert_same(x, y, f"{where}.{name}")
    elif isinstance(a, np.ndarray):
        np.testing.assert_array_equal(bits(a), bits(b), where)
    elif isinstance(a, float):
        assert bits([a]) == bits([b]), where
    else:
        assert a == b, where


GOALS = BED.with_changes({"behaviour": {"kind": "on_demand"}})


@pytest.mark.parametrize(
    "bed", [BED, bare_bed(), gripping_bed(), GOALS], ids=["free-flyer", "no devices", "grips", "on demand"]
)
def test_records_come_back_from_a_row_with_the_same_bits(bed):
    channels = Channels.of(bed)
    for k in range(20):
        tick = make_tick(bed, k, reason=k, stop=k % 5 == 0, lost=2 * k, overruns=3 * k)
        row = np.frombuffer(channels.pack(*tick))
        assert_same(tick, channels.read(row))


def test_the_values_of_a_topic_stand_in_the_order_of_its_record():
    assert in_order("/reference", ["task", "done", "direct.grip", "a", "t", "u", "q"]) == [
        "t",
        "q",
        "u",
        "a",
        "done",
        "direct.grip",
        "task",
    ]
    mixed = ["stop", "value", "limit", "command_t", "setpoint.motors", "thrust", "subject", "reason", "t"]
    ordered = ["t", "command_t", "setpoint.motors", "thrust", "reason", "subject", "value", "limit", "stop"]
    assert in_order("/verdict", mixed) == ordered
    frames = ["applied.motors.t", "applied.motors.values", "vision.t", "vision.values", "t"]
    assert in_order("/sample", frames) == [frames[-1], *frames[2:4], *frames[:2]]


def test_a_value_that_no_record_has_is_refused():
    with pytest.raises(ValueError, match="not in list"):
        in_order("/state", ["t", "speed"])


def test_without_a_simulated_plant_the_truth_is_nan():
    channels = Channels.of(BED)
    row = np.frombuffer(channels.pack(*make_tick(BED, 0)._replace(truth=None)))
    truth = channels.read(row).truth
    assert all(np.isnan(values).all() for values in truth)
    assert np.isfinite(row[channels.column("/timing", "delay_s")])


def test_a_record_of_the_wrong_size_is_refused():
    channels = Channels.of(BED)
    tick = make_tick(BED, 0)
    short = tick.truth._replace(q=tick.truth.q[:1])
    with pytest.raises(ValueError, match=f"expected {8 * channels.width}"):
        channels.pack(*tick._replace(truth=short))


def test_topics_tile_the_row_and_values_are_found_by_name():
    channels = Channels.of(BED)
    assert [t.name for t in channels.topics] == [f"/{name}" for name in Tick._fields]
    assert channels.topics[0].start == 0
    assert channels.topics[-1].stop == channels.width
    for before, after in zip(channels.topics, channels.topics[1:], strict=False):
        assert before.stop == after.start

    tick = make_tick(BED, 4)
    row = np.frombuffer(channels.pack(*tick))
    for topic, key, value in (
        ("/sample", "joint_sensors_elbow_rate_rad_s", tick.sample.frames[0].values[3]),
        ("/sample", "joint_sensors_t_s", tick.sample.frames[0].t),
        ("/sample", "vision_number", tick.sample.frames[1].number),
        ("/sample", "vision_status", tick.sample.frames[1].status),
        ("/sample", "vision_base_heading_rad", tick.sample.frames[1].values[2]),
        ("/sample", "applied_thrusters_r8_opening", tick.sample.applied[1].values[7]),
        ("/sample", "applied_motors_status", tick.sample.applied[0].status),
        ("/state", "base_x_deviation_m", tick.state.deviation[0]),
        ("/state", "vision_age_s", tick.state.ages[1]),
        ("/reference", "shoulder_rad_s2", tick.reference.a[3]),
        ("/demand", "base_y_force_n", tick.demand.force[1]),
        ("/demand", "base_heading_torque_n_m", tick.demand.force[2]),
        ("/demand", "wrench_mz_n_m", tick.demand.wrench[2]),
        ("/command", "thrusters_r1_opening", tick.command.setpoints[1][0]),
        ("/command", "thrusters_r1_thrust_n", tick.command.thrust[0]),
        ("/verdict", "motors_elbow_torque_n_m", tick.verdict.command.setpoints[0][1]),
        ("/verdict", "limit", tick.verdict.limit),
        ("/applied", "motors_elbow_torque_n_m", tick.applied[0].values[1]),
        ("/truth", "base_y_m_s", tick.truth.u[1]),
        ("/truth", "thrusters_tank_n_s", tick.truth.tank[0]),
        *(("/timing", f"{step}_s", tick.timing.steps[i]) for i, step in enumerate(STEPS)),
    ):
        assert bits([row[channels.column(topic, key)]]) == bits([value]), (topic, key)


def test_an_entry_of_a_record_is_a_column_or_several_of_all_rows():
    channels = Channels.of(BED)
    ticks = [make_tick(BED, k) for k in range(5)]
    rows = np.array([np.frombuffer(channels.pack(*tick)) for tick in ticks])
    q = rows[:, channels.columns("/state", "q")]
    np.testing.assert_array_equal(bits(q), bits([tick.state.q for tick in ticks]))
    t = rows[:, channels.columns("/applied", "thrusters.t")]
    np.testing.assert_array_equal(t, [tick.applied[1].t for tick in ticks])
    pose = rows[:, channels.columns("/sample", "vision.values")]
    np.testing.assert_array_equal(bits(pose), bits([tick.sample.frames[1].values for tick in ticks]))


def test_the_layout_follows_from_the_configuration_in_the_log():
    again = Channels.of(from_json(to_json(BED)))
    assert [t.message for t in again.topics] == [t.message for t in Channels.of(BED).topics]


@pytest.mark.parametrize("bed", [BED, bare_bed(), gripping_bed()], ids=["free-flyer", "no devices", "grips"])
def test_the_layout_in_a_log_reads_rows_without_the_testbed(bed):
    channels = Channels.of(bed)
    again = Channels(read_layout(json.loads(json.dumps(channels.layout()))))
    assert again.topics == channels.topics
    tick = make_tick(bed, 3, reason=2, subject=4, value=1.5, limit=1.0)
    assert_same(tick, again.read(np.frombuffer(channels.pack(*tick))))


def test_a_topic_or_value_that_is_not_there_is_refused_with_the_nearest_name():
    channels = Channels.of(BED)
    with pytest.raises(InputError, match="did you mean '/state'"):
        channels.topic("/sate")
    with pytest.raises(InputError, match=r"/reference has no such value.*did you mean 'base_x_m'"):
        channels.column("reference", "base_xm")


def test_names_are_ros_2_field_names_with_their_unit():
    for topic in Channels.of(BED).topics:
        for line in topic.message.splitlines():
            assert re.fullmatch(r"float64 [a-z](_?[a-z0-9])*  # [\w.]+ \[[^\]]+\]", line), line
    assert "float64 base_x_m_s  # u [m/s]" in Channels.of(BED).topics[1].message


def test_two_values_of_the_same_name_are_refused():
    text = to_json(BED).replace('"r2"', '"shoulder_torque_n_m"').replace('"r3"', '"r_"')
    with pytest.raises(InputError, match="r__opening"):
        Channels.of(from_json(text))
    robot = BED.modules[0]
    prismatic = robot.joints[0].model_copy(update={"name": "base_x", "kind": "prismatic"})
    module = robot.model_copy(update={"joints": (prismatic, robot.joints[1])})
    with pytest.raises(InputError, match="two values of /state would be called 'base_x_m'"):
        Channels.of(BED.model_copy(update={"modules": (module,)}))


def test_truth_has_as_many_numbers_as_the_plant():
    channels = Channels.of(BED)
    assert channels.columns("/truth", "thrust") == slice(
        channels.column("/truth", "thrusters_r1_thrust_n"), channels.column("/truth", "thrusters_r8_thrust_n") + 1
    )
    assert not any(value.name.startswith("energy") for _, value in channels.topics[-2].values)
    audited = Channels.of(BED.model_copy(update={"simulation": BED.simulation.model_copy(update={"audit": True})}))
    assert audited.column("/truth", "energy_j") > audited.column("/truth", "thrusters_tank_n_s")
