"""The summary of a run is what NumPy finds in all of its rows at once, however they came in."""

import json
import math

import numpy as np
import pytest

from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.records import STEPS
from granite.logs.channels import Channels
from granite.logs.contact_changes import OUT_OF_REACH, Change, ContactChanges
from granite.logs.contact_summary import ContactSummary
from granite.logs.json_records import finite
from granite.logs.run_summary import Metrics
from granite.logs.summary import EDGES, Summary
from granite.mrds.energy import Energy
from granite.rt.run_in_memory import simulate_in_memory
from tests.support.drawn_pages import log_of
from tests.support.jointed_beds import bar_between_arms

BED = load("free-flyer")
CHANNELS = Channels.of(BED)
AT = CHANNELS.columns
PERIOD = BED.loop.period_s
NAMES = [c.name for c in BED.known.positions]
UNITS = [f"thrusters_r{i}" for i in range(1, 9)]
N, NOT_READY = 3000, 8


def made_up(n: int = N, truth: bool = True) -> np.ndarray:
    """Rows of a run of 15 s: pulses, clamped torques, a few skipped ticks, steps from 1 us to 10 ms."""
    rng = np.random.default_rng(7)
    rows = np.zeros((n, CHANNELS.width))
    tick = np.arange(n)
    tick[n // 2 :] += 4
    rows[:, AT("/timing", "tick")] = tick
    rows[:, AT("/timing", "scheduled")] = rows[:, AT("/truth", "t")] = tick * PERIOD
    rows[:, AT("/timing", "delay")] = rng.uniform(0.0, 1e-4, n)
    rows[:, AT("/timing", "steps")] = 10 ** rng.uniform(-6, -2, (n, len(STEPS)))
    rows[:, AT("/timing", "overruns")] = tick > n // 2
    rows[NOT_READY:, AT("/state", "ready")] = 1.0
    rows[:NOT_READY, AT("/verdict", "reason")] = Reason.WAITING_FOR_SENSORS
    rows[100:110, AT("/verdict", "reason")] = Reason.SETPOINT_CLAMPED
    for topic in ("/reference", "/state", "/truth"):
        rows[:, AT(topic, "q")] = 0.3 * rng.normal(size=(n, len(NAMES)))  # headings less than half a turn apart
    rows[:NOT_READY, AT("/state", "q")] = 1e3  # what is estimated before the sensors report counts for nothing
    rows[:, AT("/applied", "motors.values")] = rng.normal(size=(n, 2))
    opening = (rng.random((n, len(UNITS))) < 0.2).astype(float)
    rows[:, AT("/applied", "thrusters.values")] = opening
    rows[:, AT("/verdict", "thrust")] = 0.9 * opening
    rows[:, AT("/command", "thrust")] = np.nan  # only what the guard let through is delivered
    rows[:, AT("/truth", "thrust")] = np.vstack((np.zeros(len(UNITS)), 0.8 * opening[:-1]))
    if not truth:
        for entry in ("t", "q", "u", "thrust", "tank"):
            rows[:, AT("/truth", entry)] = np.nan
    return rows


def summed_up(rows: np.ndarray, *cuts: int) -> dict:
    summary = Summary(BED, CHANNELS)
    for batch in np.split(rows, cuts):
        summary.update(batch)
    return summary.result()


BATCHES = {
    "one by one": tuple(range(1, N)),
    "by seven": tuple(range(7, N, 7)),
    "one large and one small": (N - 1,),
    "one small and one large": (1,),
    "with empty ones between": (0, 5, 5, 5, N // 2, N),
    "cut where the last 5 s begin": (N - 1001, N - 1000, N - 999),
}


def assert_alike(a, b, where: str = "") -> None:
    """Equal but for the order in which floats were added."""
    if isinstance(a, dict):
        assert list(a) == list(b), where
        for key in a:
            assert_alike(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, float):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-15, nan_ok=True), where
    else:
        assert a == b, where


@pytest.mark.parametrize("cuts", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("truth", [True, False], ids=["with truth", "without truth"])
def test_the_batches_do_not_matter(cuts: tuple[int, ...], truth: bool):
    rows = made_up(truth=truth)
    assert_alike(summed_up(rows, *cuts), summed_up(rows))


@pytest.mark.parametrize("topic", ["/truth", "/state"])
def test_tracking_errors_are_those_of_the_whole_array(topic: str):
    rows = made_up(truth=topic == "/truth")
    summary = summed_up(rows, 500, 1700)
    error = np.abs(rows[:, AT(topic, "q")] - rows[:, AT("/reference", "q")])[NOT_READY:]
    t = rows[NOT_READY:, AT("/timing", "scheduled")]
    last = error[t > t[-1] - 5.0 + 1e-9]
    assert len(last) == 1000
    assert summary["measured_against"] == {"/truth": "truth", "/state": "estimate"}[topic]
    for i, name in enumerate(NAMES):
        said = summary["tracking_error"][name]
        assert said["max"] == error[:, i].max()
        assert said["rms"] == pytest.approx(np.sqrt(np.mean(error[:, i] ** 2)))
        assert said["max_in_last_5_s"] == last[:, i].max()
        assert said["unit"] == ("m" if name in ("base_x", "base_y") else "rad")


def test_the_last_5_s_are_seconds_and_not_ticks():
    rows = made_up()[: N // 2 + 500]  # four ticks were skipped in the last five seconds
    rows[:, AT("/truth", "q")] = rows[:, AT("/reference", "q")]
    t = rows[:, AT("/timing", "scheduled")]
    first = int(np.flatnonzero(t > t[-1] - 5.0 + 1e-9)[0])
    rows[first - 1, AT("/truth", "q")] += 1.0
    assert summed_up(rows)["tracking_error"]["elbow"]["max_in_last_5_s"] == 0.0
    rows[first, AT("/truth", "q")] += 0.5
    assert summed_up(rows)["tracking_error"]["elbow"]["max_in_last_5_s"] == pytest.approx(0.5)


def test_a_run_shorter_than_5_s_is_its_own_last_stretch():
    error = summed_up(made_up(20))["tracking_error"]["base_x"]
    assert error["max_in_last_5_s"] == error["max"]


def test_the_error_of_the_estimate_is_against_the_truth_once_it_is_ready():
    rows = made_up()
    off = np.abs(rows[:, AT("/state", "q")] - rows[:, AT("/truth", "q")])[NOT_READY:].max(axis=0)
    summary = summed_up(rows, 3, 1000)
    assert [summary["estimation_error"][name]["max"] for name in NAMES] == off.tolist()
    assert summed_up(made_up(truth=False))["estimation_error"] == {}


def test_a_heading_that_a_sensor_gives_in_another_turn_is_no_error():
    rows = made_up()
    before = summed_up(rows)
    rows[:, AT("/truth", "q")][:, NAMES.index("base_heading")] += 2 * math.pi
    after = summed_up(rows)
    for metric in ("tracking_error", "estimation_error"):
        assert after[metric]["base_heading"]["max"] == pytest.approx(before[metric]["base_heading"]["max"])


def test_a_truth_that_is_lost_on_the_way_is_replaced_by_the_estimate_row_by_row():
    rows = made_up()
    rows[2000:, AT("/truth", "q")] = np.nan
    actual = np.where(np.arange(N)[:, None] < 2000, rows[:, AT("/truth", "q")], rows[:, AT("/state", "q")])
    peak = np.abs(actual - rows[:, AT("/reference", "q")])[NOT_READY:].max(axis=0)
    for cuts in BATCHES.values():
        summary = summed_up(rows, *cuts)
        assert [error["max"] for error in summary["tracking_error"].values()] == peak.tolist()


def test_a_run_that_was_never_ready_has_no_error_instead_of_none_at_all():
    rows = made_up(5)
    summary = summed_up(rows)
    assert all(math.isnan(error["max"]) for error in summary["tracking_error"].values())
    json.dumps(finite(summary), allow_nan=False)


def test_percentiles_are_right_to_a_bin_and_the_largest_exactly():
    rows = made_up()
    timing = summed_up(rows, 11, 1500)["timing"]
    steps = rows[:, AT("/timing", "steps")]
    durations = dict(zip(STEPS, steps.T, strict=True))
    durations |= {"tick": steps.sum(axis=1), "wake_up": rows[:, AT("/timing", "delay")]}
    bin_width = EDGES[1] / EDGES[0]
    assert set(timing) == set(durations)
    for name, seconds in durations.items():
        for key, percent in (("median_us", 50), ("p99_us", 99)):
            exact = np.percentile(seconds, percent, method="inverted_cdf") * 1e6
            assert exact <= timing[name][key] * (1 + 1e-12), name
            assert timing[name][key] <= exact * bin_width * (1 + 1e-12), name
        assert timing[name]["max_us"] == pytest.approx(seconds.max() * 1e6)
        assert sum(timing[name]["histogram"].values()) == N


def test_times_beyond_the_histogram_are_counted_and_the_largest_is_kept():
    rows = made_up(10)
    rows[:, AT("/timing", "delay")] = 25.0
    timing = summed_up(rows)["timing"]["wake_up"]
    assert timing["median_us"] == timing["max_us"] == pytest.approx(25e6)
    json.dumps(finite(timing), allow_nan=False)


def test_pulses_are_openings_of_a_closed_valve_also_across_batches():
    rows = made_up()
    opening = rows[:, AT("/applied", "thrusters.values")]
    pulses = sum(int(np.count_nonzero(np.diff(valve, prepend=0.0) > 0)) for valve in opening.T)
    assert summed_up(rows, *range(1, 400))["propellant"]["pulses"] == pulses


@pytest.mark.parametrize("truth", [True, False], ids=["delivered", "expected"])
def test_impulse_is_thrust_over_time_and_mass_follows_from_specific_impulse(truth: bool):
    rows = made_up(truth=truth)
    t, opening = rows[:, AT("/timing", "scheduled")], rows[:, AT("/applied", "thrusters.values")]
    # An open valve gives its thrust until the next tick, also where that came late.
    by_thruster = (0.8 if truth else 0.9) * (np.diff(t)[:, None] * opening[:-1]).sum(axis=0)
    propellant = summed_up(rows, 4, 1499, 1500, 1501)["propellant"]
    assert list(propellant["by_thruster_n_s"]) == UNITS
    assert list(propellant["by_thruster_n_s"].values()) == pytest.approx(by_thruster.tolist())
    assert propellant["impulse_n_s"] == pytest.approx(by_thruster.sum())
    assert propellant["mass_g"] == pytest.approx(1000 * by_thruster.sum() / (60.0 * 9.80665))


def test_counts_and_the_last_state_are_those_of_the_rows():
    rows = made_up()
    rows[-1, AT("/timing", "lost")] = 3
    summary = summed_up(rows, 1000)
    assert summary["ticks"] == N
    assert summary["duration_s"] == pytest.approx((N + 4) * PERIOD)
    assert summary["guard"] == {"passed": N - 18, "waiting_for_sensors": 8, "setpoint_clamped": 10}
    assert (summary["overruns"], summary["rows_lost"]) == (1, 3)
    assert {name: value["value"] for name, value in summary["final_state"].items()} == dict(
        zip(NAMES, rows[-1, AT("/truth", "q")].tolist(), strict=True)
    )
    peaks = np.abs(rows[:, AT("/applied", "motors.values")]).max(axis=0).tolist()
    assert [summary["applied"][f"motors_{joint}_torque"]["max"] for joint in ("shoulder", "elbow")] == peaks


def test_a_run_without_a_row_says_so():
    assert Summary(BED, CHANNELS).result() == {"ticks": 0}


def test_work_and_internal_force_are_those_of_the_rows() -> None:
    log = simulate_in_memory(load("fixed-dual-arm/open-loop", {"loop.duration_s": 2.0}))
    truth, applied = log["/truth"], log["/applied"]
    joints = ("left_shoulder", "left_elbow", "right_shoulder", "right_elbow")
    turned = [np.diff(truth[f"{joint}_rad"]) * applied[f"motors_{joint}_torque_n_m"][:-1] for joint in joints]
    assert log.summary["energy"] == {"motor_work_j": pytest.approx(np.abs(turned).sum())}
    squeeze = truth.object_squeeze_n
    assert log.summary["squeeze"]["object"]["rms"] == pytest.approx(np.sqrt(np.mean(squeeze**2)))


def test_the_elastic_energy_is_that_of_the_model() -> None:
    log = simulate_in_memory(load("flx-pendulum", {"loop.duration_s": 0.5}))
    truth = log.rows[:, log.channels.columns("/truth", "q")], log.rows[:, log.channels.columns("/truth", "u")]
    energy = Energy(log.bed.modules)
    strain = max(energy.balance(q, u).strain for q, u in zip(*truth, strict=True))
    assert log.summary["energy"] == {"largest_elastic_j": pytest.approx(strain)}
    assert strain > 0


def happened(closed: list, caught: list, lost: list) -> list[Change]:
    bed = bar_between_arms()
    truth = {"closed": closed, "caught": caught, "lost": np.reshape(lost, (-1, 1))}
    log = log_of(bed, np.zeros((len(lost), len(bed.positions))), **truth)
    summary = ContactSummary(bed, log.channels)
    summary.update(log.rows)
    changes = list(ContactChanges(bed, log.channels).look(log.rows))
    metrics: Metrics = {"ticks": len(log.rows)}
    summary.add_to(metrics)
    assert [c["energy_lost_j"] for c in metrics["switching"]] == [c.energy_lost for c in changes]
    return changes


def test_energy_lost_in_one_tick_is_reported_once_with_the_greatest_impulse() -> None:
    left, right = happened([[0, 0], [1, 1]], [[0, 0], [0.2, 0.5]], [0, 0.3])
    assert (left.what, right.what) == ("closed", "closed")
    assert left.energy_lost is None
    assert right.energy_lost == pytest.approx(0.3)
    assert left.sentence == "contact left_grip closed, by an impulse of 0.2 N s"
    assert right.sentence == "contact right_grip closed, an impulse of 0.5 N s took 0.3 J"


def test_a_grip_that_never_closed_does_not_open() -> None:
    changes = happened([[0, 1], [3, 1], [0, 0], [0, 0]], np.zeros((4, 2)).tolist(), [0, 0, 0, 0])
    assert [(c.contact, c.what) for c in changes] == [("left_grip", "out of reach"), ("right_grip", "opened")]


def test_a_grip_out_of_reach_may_close_later() -> None:
    (change,) = happened([[3, 0], [1, 0]], [[0, 0], [0.1, 0]], [0, 0.2])
    assert (change.contact, change.what, change.energy_lost) == ("left_grip", "closed", pytest.approx(0.2))


@pytest.mark.parametrize(
    ("what", "impulse", "words"),
    [
        ("opened", 0.0, "contact grip opened"),
        ("closed", 0.0, "contact grip closed"),
        ("closed", 0.25, "contact grip closed, an impulse of 0.25 N s took 0.0125 J"),
        ("slips", 0.0, "contact grip slips"),
        ("sticks", 0.0, "contact grip sticks"),
        ("struck", 0.25, "contact grip was struck, an impulse of 0.25 N s took 0.0125 J"),
        (OUT_OF_REACH, 0.0, "contact grip is commanded to close, but its other side is out of reach"),
    ],
)
def test_a_change_is_a_sentence(what: str, impulse: float, words: str) -> None:
    assert Change(0.1, 20, "grip", what, impulse, 0.0125).sentence == words
