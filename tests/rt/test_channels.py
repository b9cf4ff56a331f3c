"""The row: every record goes in and comes out with the same bits."""

import re

import numpy as np
import pytest
from recorded_ticks import bits, make_tick

from granite.config.errors import InputError
from granite.config.loader import from_json, load, to_json
from granite.rt.channels import STEPS, Channels, Tick

BED = load("free-flyer")


def bare_bed():
    """The free-flyer without a sensor, motor or thruster."""
    return BED.model_copy(update={"devices": BED.devices.model_validate({})})


def assert_same(a, b, where="tick"):
    assert type(a) is type(b), where
    if isinstance(a, tuple):
        for name, x, y in zip(a._fields, a, b, strict=True):
            assert_same(x, y, f"{where}.{name}")
    elif isinstance(a, np.ndarray):
        np.testing.assert_array_equal(bits(a), bits(b), where)
    elif isinstance(a, float):
        assert bits([a]) == bits([b]), where
    else:
        assert a == b, where


@pytest.mark.parametrize("bed", [BED, bare_bed()], ids=["free-flyer", "no devices"])
def test_records_come_back_from_a_row_with_the_same_bits(bed):
    channels = Channels(bed)
    for k in range(20):
        tick = make_tick(bed, k, reason=k, stop=k % 5 == 0, lost=2 * k, overruns=3 * k)
        row = np.frombuffer(channels.pack(*tick))
        assert_same(tick, channels.read(row))


def test_without_a_simulated_plant_the_truth_is_nan():
    channels = Channels(BED)
    row = np.frombuffer(channels.pack(*make_tick(BED, 0)._replace(truth=None)))
    truth = channels.read(row).truth
    assert all(np.isnan(values).all() for values in truth)
    assert np.isfinite(row[channels.column("/timing", "delay_s")])


def test_a_record_of_the_wrong_size_is_refused():
    channels = Channels(BED)
    tick = make_tick(BED, 0)
    short = tick.truth._replace(q=tick.truth.q[:1])
    with pytest.raises(ValueError, match=f"expected {8 * channels.width}"):
        channels.pack(*tick._replace(truth=short))


def test_topics_tile_the_row_and_values_are_found_by_name():
    channels = Channels(BED)
    assert [t.name for t in channels.topics] == [f"/{name}" for name in Tick._fields]
    assert channels.topics[0].start == 0
    assert channels.topics[-1].stop == channels.width
    for before, after in zip(channels.topics, channels.topics[1:], strict=False):
        assert before.stop == after.start

    tick = make_tick(BED, 4)
    row = np.frombuffer(channels.pack(*tick))
    for topic, key, value in (
        ("/sample", "elbow_rate_rad_s", tick.sample.joint_rate[1]),
        ("/sample", "base_heading_rad", tick.sample.pose[2]),
        ("/sample", "applied_r8_opening", tick.sample.applied.opening[7]),
        ("/state", "base_x_deviation_m", tick.state.deviation[0]),
        ("/reference", "shoulder_rad_s2", tick.reference.a[3]),
        ("/demand", "base_y_force_n", tick.demand.force[1]),
        ("/demand", "base_heading_torque_n_m", tick.demand.force[2]),
        ("/command", "r1_thrust_n", tick.command.thrust[0]),
        ("/verdict", "elbow_torque_n_m", tick.verdict.command.torque[1]),
        ("/truth", "base_y_m_s", tick.truth.u[1]),
        ("/truth", "tank_n_s", tick.truth.tank),
        *(("/timing", f"{step}_s", tick.timing.steps[i]) for i, step in enumerate(STEPS)),
    ):
        assert bits([row[channels.column(topic, key)]]) == bits([value]), (topic, key)


def test_an_entry_of_a_record_is_a_column_or_several_of_all_rows():
    channels = Channels(BED)
    ticks = [make_tick(BED, k) for k in range(5)]
    rows = np.array([np.frombuffer(channels.pack(*tick)) for tick in ticks])
    q = rows[:, channels.place("/state", "q")]
    np.testing.assert_array_equal(bits(q), bits([tick.state.q for tick in ticks]))
    t = rows[:, channels.place("/applied", "t")]
    np.testing.assert_array_equal(t, [tick.applied.t for tick in ticks])


def test_the_layout_follows_from_the_configuration_in_the_log():
    again = Channels(from_json(to_json(BED)))
    assert [t.message for t in again.topics] == [t.message for t in Channels(BED).topics]


def test_names_are_ros_2_field_names_with_their_unit():
    for topic in Channels(BED).topics:
        for line in topic.message.splitlines():
            assert re.fullmatch(r"float64 [a-z](_?[a-z0-9])*  # \w+ \[[^\]]+\]", line), line
    assert "float64 base_x_m_s  # u [m/s]" in Channels(BED).topics[1].message


def test_two_values_of_the_same_name_are_refused():
    text = to_json(BED).replace('"r2"', '"shoulder_torque_n_m"').replace('"r3"', '"r_"')
    with pytest.raises(InputError, match="r__opening"):
        Channels(from_json(text))
    robot = BED.robot
    prismatic = robot.joints[0].model_copy(update={"name": "base_x", "kind": "prismatic"})
    module = robot.model_copy(update={"joints": (prismatic, robot.joints[1])})
    with pytest.raises(InputError, match="two values of /state would be called 'base_x_m'"):
        Channels(BED.model_copy(update={"modules": (module,)}))


def test_truth_has_as_many_numbers_as_the_plant():
    channels = Channels(BED)
    assert channels.place("/truth", "thrust") == slice(
        channels.column("/truth", "r1_thrust_n"), channels.column("/truth", "r8_thrust_n") + 1
    )
    assert not any(value.name.startswith("energy") for _, value in channels.topics[-2].values)
    audited = Channels(BED.model_copy(update={"simulation": BED.simulation.model_copy(update={"audit": True})}))
    assert audited.column("/truth", "energy_j") > audited.column("/truth", "tank_n_s")
