"""Thruster allocation: sharing a wrench, and turning thrust into valves."""

from __future__ import annotations

import ctypes
import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, lsq_linear

from granite.config.controller import Allocation
from granite.config.devices.thrusters import Thruster, Thrusters, Valve
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.parts import PartTable, build, find, options_of
from granite.config.records import NOTHING
from granite.controllers.thrusters.allocator import WITH_COMPILED_FORM, Allocator, build_allocator
from granite.controllers.thrusters.best_pattern import SOURCE as BEST_PATTERN
from granite.controllers.thrusters.contract import ThrusterSet
from granite.controllers.thrusters.delta_sigma import DeltaSigma
from granite.controllers.thrusters.geometry import available_thrust, thruster_matrix, wrench_weight
from granite.controllers.thrusters.least_propellant import LeastPropellant
from granite.controllers.thrusters.proportional import Proportional
from granite.controllers.thrusters.pulse_width import PulseWidth
from granite.controllers.thrusters.threshold import Threshold
from granite.kernels.c_compiler import find_compiler
from granite.kernels.compiled_form import HEADER
from granite.kernels.library import compile_source

TICK = 0.005
METHODS = ("pseudo_inverse", "least_propellant", "best_pattern")
MODULATIONS = ("threshold", "pulse_width", "delta_sigma", "proportional")
COMBINATIONS = [
    (method, modulation)
    for method, modulation in itertools.product(METHODS, MODULATIONS)
    if not (method == "best_pattern" and modulation in ("pulse_width", "delta_sigma"))
]
WEIGHT = wrench_weight("planar", 8.0)


@cache
def stanford(*failed: str) -> Thrusters:
    thrusters = load("free-flyer/ideal").devices_of(Thrusters)["thrusters"]
    units = tuple(u.model_copy(update={"failed": u.name in failed}) for u in thrusters.units)
    return thrusters.model_copy(update={"units": units})


def cube() -> Thrusters:
    """Twelve thrusters on a cube: two on each face, so that every force and torque is in reach."""
    units = []
    for axis, sign, side in itertools.product(range(3), (1, -1), (1, -1)):
        direction, position = np.zeros(3), np.zeros(3)
        direction[axis] = sign
        position[axis] = -0.2 * sign
        position[(axis + 1) % 3] = 0.15 * side
        units.append(
            Thruster(
                name=f"t{len(units)}",
                position_m=tuple(position),
                direction=tuple(direction),
                thrust_n=1.0,
            )
        )
    return stanford().model_copy(update={"units": tuple(units)})


def sharing(method: str, thrusters: Thrusters, dimension="planar", propellant_weight=0.0):
    matrix, available = thruster_matrix(thrusters, dimension), available_thrust(thrusters)
    priced = {"propellant_weight": propellant_weight} if method == "best_pattern" else {}
    options = options_of("sharing", find("sharing", method))(kind=method, **priced)
    return build("sharing", options, thruster_set(available, matrix=matrix, weight=wrench_weight(dimension, 8.0)))


def thruster_set(available, minimum_on=0.01, matrix=NOTHING, weight=WEIGHT) -> ThrusterSet:
    return ThrusterSet(matrix, np.asarray(available), weight, Valve(minimum_on_s=minimum_on), TICK)


def pulse_width(available, pulse_period, minimum_on) -> PulseWidth:
    options = PulseWidth.Options(kind="pulse_width", pulse_period_s=pulse_period)
    return PulseWidth(options, thruster_set(available, minimum_on))


def delta_sigma(available, minimum_on) -> DeltaSigma:
    options = DeltaSigma.Options(kind="delta_sigma", cancel_opposite=False)
    return DeltaSigma(options, thruster_set(available, minimum_on))


def opposite_delta_sigma(minimum_on, cancel_opposite=True) -> DeltaSigma:
    """Of two thrusters of 0.5 and 2 N that push against each other, and one aside."""
    options = DeltaSigma.Options(kind="delta_sigma", cancel_opposite=cancel_opposite)
    matrix = np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
    return DeltaSigma(options, thruster_set([0.5, 2.0, 1.0], minimum_on, matrix))


def allocator(method: str, modulation: str, thrusters: Thrusters, dimension="planar"):
    return build_allocator(thrusters, Allocation(sharing=method, modulation=modulation), dimension, TICK)


force = st.floats(-3.0, 3.0)
torque = st.floats(-1.0, 1.0)
wrenches = st.tuples(force, force, torque).map(np.array)
small_wrenches = st.tuples(st.floats(-0.6, 0.6), st.floats(-0.6, 0.6), st.floats(-0.1, 0.1)).map(np.array)


# --- geometry ---------------------------------------------------------------------------------------------------


def test_a_column_is_the_force_and_its_moment_about_the_origin():
    unit = Thruster(name="a", position_m=(0.1, 0.2, 0.3), direction=(0.0, 0.0, -2.0), thrust_n=1.0)
    thrusters = stanford().model_copy(update={"units": (unit,)})
    assert thruster_matrix(thrusters, "spatial")[:, 0] == pytest.approx([0, 0, -1, -0.2, 0.1, 0])


def test_planar_rows_are_the_in_plane_rows_of_the_spatial_matrix():
    spatial = thruster_matrix(stanford(), "spatial")
    np.testing.assert_array_equal(thruster_matrix(stanford(), "planar"), spatial[[0, 1, 5]])
    assert not spatial[[2, 3, 4]].any()


# --- sharing ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@given(wrench=wrenches)
def test_thrust_stays_between_nothing_and_what_is_available(method, wrench):
    thrust = sharing(method, stanford()).share(wrench)
    assert (thrust >= 0.0).all()
    assert (thrust <= 1.0).all()


@pytest.mark.parametrize("method", ["pseudo_inverse", "least_propellant"])
@given(wrench=small_wrenches)
def test_a_wrench_in_reach_is_met(method, wrench):
    thrust = sharing(method, stanford()).share(wrench)
    assert thruster_matrix(stanford(), "planar") @ thrust == pytest.approx(wrench, abs=5e-6)


@pytest.mark.parametrize("method", ["pseudo_inverse", "least_propellant"])
def test_a_wrench_in_space_is_met(method):
    rng = np.random.default_rng(3)
    share, matrix = sharing(method, cube(), "spatial"), thruster_matrix(cube(), "spatial")
    for _ in range(200):
        wrench = rng.uniform(-1, 1, 6) * [0.2, 0.2, 0.2, 0.02, 0.02, 0.02]
        assert matrix @ share.share(wrench) == pytest.approx(wrench, abs=5e-6)


@pytest.mark.parametrize("method", ["pseudo_inverse", "least_propellant"])
@pytest.mark.parametrize("failed", ["r1", "r4", "r6"])
@given(wrench=small_wrenches)
@settings(max_examples=40)
def test_the_others_share_the_work_of_a_failed_thruster(method, failed, wrench):
    wrench = 0.5 * wrench
    thrust = sharing(method, stanford(failed)).share(wrench)
    assert thruster_matrix(stanford(), "planar") @ thrust == pytest.approx(wrench, abs=5e-6)


def test_pairs_are_found_in_the_geometry():
    share = sharing("pseudo_inverse", stanford())
    assert share.pairs == ((0, 3), (1, 6), (2, 5), (4, 7))
    assert share.alone == ()
    assert sharing("pseudo_inverse", stanford("r4")).alone == (0,)


def test_equal_thrusters_are_paired_one_to_one():
    a = Thruster(name="a", position_m=(0.0, 0.1), direction=(1, 0), thrust_n=1.0)
    b = Thruster(name="b", position_m=(0.0, 0.1), direction=(-1, 0), thrust_n=1.0)
    units = (a, a.model_copy(update={"name": "a2"}), b)
    share = sharing("pseudo_inverse", stanford().model_copy(update={"units": units}))
    assert share.pairs == ((0, 2),)
    assert share.alone == (1,)


def test_an_unpaired_thruster_that_would_have_to_pull_gives_nothing():
    unit = Thruster(name="a", position_m=(0.0, 0.0), direction=(1, 0), thrust_n=1.0)
    share = sharing("pseudo_inverse", stanford().model_copy(update={"units": (unit,)}))
    assert share.share(np.array([0.4, 0.0, 0.0])) == pytest.approx([0.4])
    assert share.share(np.array([-0.4, 0.0, 0.0])) == pytest.approx([0.0], abs=0.0)


@given(wrench=wrenches)
def test_least_propellant_is_the_optimum_of_the_linear_programme(wrench):
    matrix = thruster_matrix(stanford(), "planar")
    thrust = sharing("least_propellant", stanford()).share(wrench)
    referee = linprog(np.ones(8), A_eq=matrix, b_eq=wrench, bounds=[(0.0, 1.0)] * 8, method="highs")
    if referee.status == 0:
        assert matrix @ thrust == pytest.approx(wrench, abs=5e-6)
        assert thrust.sum() == pytest.approx(referee.fun, abs=5e-6)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(4, 14), spatial=st.booleans())
def test_least_propellant_is_optimal_for_any_placement(seed, n, spatial):
    rng = np.random.default_rng(seed)
    rows = 6 if spatial else 3
    matrix, available = rng.normal(size=(rows, n)), rng.uniform(0.2, 2.0, n)
    wrench = matrix @ (available * rng.uniform(0, 1, n))
    thrust = LeastPropellant(
        PartTable(kind="least_propellant"), thruster_set(available, matrix=matrix, weight=np.ones(rows))
    ).share(wrench)
    referee = linprog(np.ones(n), A_eq=matrix, b_eq=wrench, bounds=[(0.0, float(u)) for u in available], method="highs")
    assert matrix @ thrust == pytest.approx(wrench, abs=5e-6)
    assert thrust.sum() == pytest.approx(referee.fun, rel=5e-5)


@given(wrench=wrenches)
def test_out_of_reach_gives_the_nearest_wrench_in_reach(wrench):
    matrix = thruster_matrix(stanford("r2"), "planar")
    available = available_thrust(stanford("r2"))
    thrust = sharing("least_propellant", stanford("r2")).share(wrench)
    weighted = WEIGHT[:, None] * matrix
    referee = lsq_linear(weighted[:, available > 0], WEIGHT * wrench, (0.0, 1.0), method="bvls")
    error = 0.5 * np.sum((weighted @ thrust - WEIGHT * wrench) ** 2)
    assert error == pytest.approx(referee.cost, abs=1e-6, rel=1e-6)


@given(wrench=small_wrenches)
def test_least_propellant_never_costs_more_than_the_pseudo_inverse(wrench):
    least = sharing("least_propellant", stanford()).share(wrench).sum()
    assert least <= sharing("pseudo_inverse", stanford()).share(wrench).sum() + 5e-6


@pytest.mark.parametrize("propellant_weight", [0.0, 0.3])
@given(wrench=wrenches)
@settings(max_examples=60)
def test_no_pattern_beats_the_best_one(propellant_weight, wrench):
    matrix = thruster_matrix(stanford(), "planar")
    best = sharing("best_pattern", stanford(), propellant_weight=propellant_weight).share(wrench)
    patterns = np.array(list(itertools.product((0.0, 1.0), repeat=8)))

    def cost(thrust):
        error = (thrust @ matrix.T - wrench) * WEIGHT
        return (error**2).sum(axis=-1) + propellant_weight * thrust.sum(axis=-1)

    costs = cost(patterns)
    assert cost(best) <= costs.min() + 1e-8
    # Among equally good patterns, the one with the fewest valves.
    fewest = patterns[costs <= costs.min() + 1e-12].sum(axis=1).min()
    assert best.sum() <= fewest


def test_the_best_pattern_for_nothing_is_all_closed():
    assert not sharing("best_pattern", stanford()).share(np.zeros(3)).any()


def test_a_price_on_propellant_closes_valves():
    wrench = np.array([1.2, 0.0, 0.0])
    used = [sharing("best_pattern", stanford(), propellant_weight=w).share(wrench).sum() for w in (0.0, 5.0)]
    assert used[0] > used[1] == 0.0


def test_too_many_valves_for_a_table_are_refused():
    unit = stanford().units[0]
    units = tuple(unit.model_copy(update={"name": f"t{i}"}) for i in range(17))
    with pytest.raises(InputError, match=r"best_pattern.*17 valves.*at most 16") as refusal:
        sharing("best_pattern", stanford().model_copy(update={"units": units}))
    assert refusal.value.key == "controller.allocation.sharing"


@pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
@pytest.mark.parametrize("propellant_weight", [0.0, 0.3])
@pytest.mark.parametrize(("dimension", "rows"), [("planar", 3), ("spatial", 6)])
def test_the_best_pattern_in_c_is_that_in_python(dimension, rows, propellant_weight):
    thrusters = stanford("r2") if dimension == "planar" else cube()
    share = sharing("best_pattern", thrusters, dimension, propellant_weight)
    function = compile_source("best_pattern", HEADER.read_text() + BEST_PATTERN.read_text()).best_pattern
    table, thrust = share.table, np.zeros(len(thrusters.units))
    rng = np.random.default_rng(5)
    demands = [
        np.zeros(rows),
        np.full(rows, 1e9),
        *(rng.normal(size=(500, rows)) * rng.choice([0.01, 1.0, 30.0], (500, 1))),
    ]
    chosen = set()
    for wrench in demands:
        chosen.add(function(*(ctypes.c_void_p(a.ctypes.data) for a in (table, wrench, thrust))))
        assert thrust.tobytes() == share.share(wrench).tobytes()
    assert len(chosen) > 20


# --- modulating -------------------------------------------------------------------------------------------------


def run(modulation, wanted, ticks: int) -> np.ndarray:
    return np.array([modulation.modulate(k * TICK, np.asarray(wanted, dtype=float)) for k in range(ticks)])


def on_runs(column: np.ndarray) -> list[int]:
    """Lengths of the pulses [ticks], without one that is cut off by the end."""
    runs = [len(list(group)) * int(on) for on, group in itertools.groupby(column)]
    if column[-1]:
        runs.pop()
    return [length for length in runs if length]


def test_threshold_opens_above_a_part_of_the_thrust_and_not_at_it():
    modulation = Threshold(Threshold.Options(kind="threshold", threshold=0.5), thruster_set([2.0, 2.0, 2.0]))
    assert modulation.modulate(0.0, np.array([0.99, 1.0, 1.01])).tolist() == [0.0, 0.0, 1.0]


def test_proportional_is_the_wanted_part():
    modulation = Proportional(PartTable(kind="proportional"), thruster_set([2.0, 0.0]))
    assert modulation.modulate(0.0, np.array([0.5, 0.0])).tolist() == [0.25, 0.0]


def test_pulse_width_makes_one_pulse_per_period():
    opening = run(pulse_width(np.ones(1), 0.1, 0.01), [0.3], 60)[:, 0]
    assert opening.tolist() == ([1.0] * 6 + [0.0] * 14) * 3


def test_a_pulse_too_short_is_made_up_for_later():
    opening = run(pulse_width(np.ones(1), 0.1, 0.01), [0.04], 100)[:, 0]
    # 4 ms are wanted per 100 ms, and 10 ms are the shortest pulse: two pulses in five periods.
    assert on_runs(opening) == [2, 2]


def test_delta_sigma_pulses_as_often_as_the_valve_allows():
    opening = run(delta_sigma(np.ones(1), 0.01), [0.5], 400)[:, 0]
    # The third tick comes from what is wanted while the pulse lasts.
    assert set(on_runs(opening)) == {3}
    assert opening.mean() == pytest.approx(0.5, abs=0.01)


def modulations(available, minimum_on):
    return {
        "pulse_width": pulse_width(available, 0.1, minimum_on),
        "delta_sigma": delta_sigma(available, minimum_on),
    }


@pytest.mark.parametrize("kind", ["pulse_width", "delta_sigma"])
@given(parts=st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3), minimum_on=st.sampled_from([0, 0.007, 0.02]))
@settings(max_examples=40, deadline=None)
def test_the_average_thrust_is_the_wanted_one(kind, parts, minimum_on):
    available = np.array([0.5, 1.0, 2.0])
    opening = run(modulations(available, minimum_on)[kind], parts * available, 2000)
    # The missing impulse at the end is a pulse and a pulse period at most.
    assert opening.mean(axis=0) == pytest.approx(parts, abs=0.03 / (2000 * TICK))


@pytest.mark.parametrize("kind", ["pulse_width", "delta_sigma"])
@pytest.mark.parametrize("parts", [(0.3, 0.5, 0.2), (0.7, 0.1, 0.6)])
def test_the_average_thrust_of_valves_that_share_a_supply_is_the_wanted_one(kind: str, parts: tuple[float, ...]):
    """Each further open valve takes 15 % of the thrust of all: the valves are open for longer."""
    available = np.array([0.5, 1.0, 2.0])
    given = thruster_set(available)._replace(shared_drop=0.15)
    made = {"pulse_width": PulseWidth, "delta_sigma": DeltaSigma}[kind]
    modulation = made(made.Options(kind=kind), given._replace(matrix=np.eye(3)))
    opening = run(modulation, parts * available, 4000)
    delivered = opening * 0.85 ** np.maximum(opening.sum(axis=1) - 1, 0)[:, None]
    assert delivered.mean(axis=0) == pytest.approx(parts, abs=0.003)
    assert opening.mean(axis=0).sum() > 1.02 * sum(parts)


@pytest.mark.parametrize("wrench", [(1.5, 0.4, 0.05), (-0.9, -1.8, 0.1)])
def test_no_pattern_of_valves_that_share_a_supply_beats_the_best_one(wrench: tuple[float, ...]):
    matrix, drop = thruster_matrix(stanford(), "planar"), 0.15
    given = ThrusterSet(matrix, np.ones(8), WEIGHT, Valve(), TICK, drop)
    best = build("sharing", options_of("sharing", find("sharing", "best_pattern"))(kind="best_pattern"), given)
    patterns = np.array(list(itertools.product((0.0, 1.0), repeat=8)))

    def cost(pattern):
        left = (1 - drop) ** np.maximum(pattern.sum(axis=-1, keepdims=True) - 1, 0)
        return (((left * pattern @ matrix.T - wrench) * WEIGHT) ** 2).sum(axis=-1)

    assert cost(best.share(np.array(wrench))) <= cost(patterns).min() + 1e-8


@pytest.mark.parametrize("kind", ["pulse_width", "delta_sigma"])
@given(seed=st.integers(0, 10**6), minimum_on=st.sampled_from([0.0, 0.007, 0.01, 0.032]))
@settings(max_examples=40, deadline=None)
def test_no_pulse_is_shorter_than_the_valve_can_make(kind, seed, minimum_on):
    rng = np.random.default_rng(seed)
    modulation = modulations(np.ones(2), minimum_on)[kind]
    opening = np.array([modulation.modulate(k * TICK, rng.random(2) ** 3) for k in range(400)])
    assert set(np.unique(opening)) <= {0.0, 1.0}
    for column in opening.T:
        assert all(length * TICK >= minimum_on - 1e-9 for length in on_runs(column))


@pytest.mark.parametrize("kind", ["pulse_width", "delta_sigma"])
def test_ticks_that_are_left_out_do_not_bias_the_average(kind):
    rng = np.random.default_rng(5)
    modulation = modulations(np.ones(1), 0.01)[kind]
    ticks = np.flatnonzero(rng.random(40000) < 0.95)
    opening = np.array([modulation.modulate(k * TICK, np.array([0.37]))[0] for k in ticks])
    mean = np.sum(opening[:-1] * np.diff(ticks)) / (ticks[-1] - ticks[0])
    assert mean == pytest.approx(0.37, abs=0.002 if kind == "delta_sigma" else 0.02)


@pytest.mark.parametrize("kind", ["pulse_width", "delta_sigma"])
@pytest.mark.parametrize("before", [0.4, 1.0])
def test_a_long_silence_is_not_made_up_for(kind, before):
    modulation = modulations(np.ones(1), 0.01)[kind]
    for k in range(4):
        modulation.modulate(k * TICK, np.array([before]))
    opening = [modulation.modulate(60.0 + k * TICK, np.array([0.5]))[0] for k in range(200)]
    assert np.mean(opening) == pytest.approx(0.5, abs=0.11)


@pytest.mark.parametrize("minimum_on", [0.0, 0.007, 0.032])
def test_opposite_thrusters_do_not_fire_against_each_other(minimum_on):
    """Both want thrust by turns, as noise makes them: the impulse stays, most of the propellant is saved."""
    rng, force = np.random.default_rng(3), np.array([0.5, -2.0, 0.0])
    wanted = np.zeros((4000, 3))
    for k, push in enumerate(0.05 + 0.2 * rng.standard_normal(4000)):
        wanted[k, 0 if push > 0 else 1] = abs(push)
    wanted[:, 2] = 0.1
    used = []
    for cancel in (False, True):
        modulation = opposite_delta_sigma(minimum_on, cancel)
        opening = np.array([modulation.modulate(k * TICK, wanted[k]) for k in range(4000)])
        impulse = (opening @ force).sum() * TICK
        assert impulse == pytest.approx(((wanted[:, 0] - wanted[:, 1]).sum()) * TICK, abs=0.15)
        assert opening[:, 2].mean() == pytest.approx(0.1, abs=0.01)  # not a partner: it is left alone
        for column in opening.T:
            assert all(length * TICK >= minimum_on - 1e-9 for length in on_runs(column))
        used.append((opening[:, :2] @ np.abs(force[:2])).sum() * TICK)
    assert used[1] < 0.55 * used[0]


@pytest.mark.parametrize("minimum_on", [0.011, 0.012])
def test_a_pulse_period_that_is_no_whole_number_of_ticks_still_makes_pulses(minimum_on):
    opening = run(pulse_width(np.ones(1), 0.012, minimum_on), [0.5], 2000)
    assert opening.mean() == pytest.approx(0.5, abs=0.01)


# --- both -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "modulation"), COMBINATIONS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_openings_are_openings_and_a_failed_thruster_stays_closed(method, modulation, seed):
    rng = np.random.default_rng(seed)
    allocate = allocator(method, modulation, stanford("r3", "r8")).allocate
    for k in range(60):
        opening = allocate(k * TICK, rng.normal(size=3) * [1.0, 1.0, 0.3])
        assert opening[2] == 0.0
        assert opening[7] == 0.0
        assert ((opening >= 0.0) & (opening <= 1.0)).all()
        if modulation != "proportional":
            assert np.isin(opening, (0.0, 1.0)).all()


@pytest.mark.parametrize(("method", "modulation"), COMBINATIONS)
def test_the_same_calls_give_the_same_bits(method, modulation):
    demands = np.random.default_rng(1).normal(size=(200, 3)) * [1.0, 1.0, 0.2]
    runs = [
        b"".join(a.allocate(k * TICK, w).tobytes() for k, w in enumerate(demands))
        for a in (allocator(method, modulation, stanford("r5")) for _ in range(2))
    ]
    assert runs[0] == runs[1]


@pytest.mark.parametrize(("method", "modulation"), COMBINATIONS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_wrench_that_is_not_finite_closes_all_valves(method, modulation, bad):
    allocate = allocator(method, modulation, stanford()).allocate
    for k in range(3):
        allocate(k * TICK, np.array([2.0, 0.0, 0.0]))
    for place in range(3):
        wrench = np.zeros(3)
        wrench[place] = bad
        assert not allocate(0.1, wrench).any()
    assert np.isfinite(allocate(0.2, np.array([2.0, 0.0, 0.0]))).all()


@pytest.mark.parametrize(("method", "modulation"), COMBINATIONS)
def test_with_all_thrusters_failed_nothing_opens(method, modulation):
    dead = stanford(*(u.name for u in stanford().units))
    assert not allocator(method, modulation, dead).allocate(0.0, np.array([1.0, 0.2, 0.1])).any()


@pytest.mark.parametrize(("method", "modulation"), COMBINATIONS)
def test_twelve_thrusters_in_space_give_the_demanded_wrench(method, modulation):
    thrusters = cube()
    allocate = allocator(method, modulation, thrusters, "spatial").allocate
    matrix, available = thruster_matrix(thrusters, "spatial"), available_thrust(thrusters)
    for axis in range(3):
        wrench = np.zeros(6)
        wrench[axis] = 1.2
        times = axis + TICK * np.arange(100)
        mean = np.mean([allocate(t, wrench) for t in times.tolist()], axis=0)
        pushed = matrix @ (available * mean)
        if method == "best_pattern" or modulation == "threshold":
            assert 0.6 < pushed[axis] < 2.4
        else:
            assert pushed == pytest.approx(wrench, abs=0.1)


@pytest.mark.parametrize("modulation", ["pulse_width", "delta_sigma"])
def test_a_best_pattern_is_not_modulated_again(modulation):
    with pytest.raises(InputError, match="expected 'threshold'") as refusal:
        allocator("best_pattern", modulation, stanford())
    assert (refusal.value.key, refusal.value.value) == ("controller.allocation.modulation", modulation)


def test_only_ideal_thrusters_are_throttled():
    real = load("free-flyer").devices_of(Thrusters)["thrusters"]
    with pytest.raises(InputError, match=r"simulated\.ideal = true") as refusal:
        allocator("pseudo_inverse", "proportional", real)
    assert (refusal.value.key, refusal.value.value) == ("controller.allocation.modulation", "proportional")


def test_a_pulse_period_shorter_than_the_shortest_pulse_is_refused():
    with pytest.raises(InputError, match=r"pulse_period_s = 0.008: expected at least 0.01") as refusal:
        pulse_width(np.ones(1), 0.008, 0.01)
    assert refusal.value.key == "controller.allocation.modulation.pulse_period_s"


@pytest.mark.parametrize("method", ["pseudo_inverse", "least_propellant"])
@pytest.mark.parametrize("modulation", ["threshold", "delta_sigma", "pulse_width"])
@pytest.mark.parametrize(("failed", "drop"), [((), 0.0), (("r1", "r4"), 0.0), ((), 0.1)])
def test_the_compiled_allocation_is_the_same_to_the_bit(
    method: str, modulation: str, failed: tuple[str, ...], drop: float
) -> None:
    """Also over ticks that were skipped, wrenches that are not finite, and with a shared supply."""
    device = stanford(*failed).model_copy(update={"shared_drop": drop})
    allocation = Allocation.model_validate({"sharing": method, "modulation": modulation})
    compiled = build_allocator(device, allocation, "planar", TICK)
    matrix, available = thruster_matrix(device, "planar"), available_thrust(device)
    thrusters = ThrusterSet(matrix, available, WEIGHT, device.valve, TICK, drop)
    sharing = build("sharing", allocation.sharing, thrusters)
    if method == "pseudo_inverse" and sharing.alone:
        assert isinstance(compiled, Allocator)  # thrusters without a partner need a search
        return
    assert isinstance(compiled, WITH_COMPILED_FORM)
    plain = Allocator(sharing, build("modulation", allocation.modulation, thrusters), len(device.units))
    rng, t, opened = np.random.default_rng(7), 0.0, 0.0
    for k in range(1500):
        wrench = rng.standard_normal(3) * [0.8, 0.8, 0.1] * np.sin(0.01 * k)
        if k % 500 == 499:
            wrench[k % 3] = np.nan
        openings, expected = compiled.allocate(t, wrench), plain.allocate(t, wrench)
        np.testing.assert_array_equal(openings, expected)
        opened += openings.sum()
        t += TICK * (1 + 3 * (k % 97 == 0))
    assert opened > 250
