"""Sharing with the least propellant: optimal or nearest for any layout, equal in both forms; a failure is no zero."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog, lsq_linear

from granite.config.controller import Allocation
from granite.config.devices.thrusters import Thrusters, Valve
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.parts import PartTable
from granite.config.reasons import Reason
from granite.config.records import Array
from granite.controllers.thrusters import nearest
from granite.controllers.thrusters.allocator import Allocator, TableAllocator, build_allocator
from granite.controllers.thrusters.contract import ThrusterSet
from granite.controllers.thrusters.least_propellant import LeastPropellant, SharedWrench, SharingStatus
from granite.controllers.thrusters.pulse_width import PulseWidth
from granite.kernels.c_compiler import find_compiler
from tests.support.compiled_ticks import rows_of


def sharing(matrix: Array, available: Array, weight: Array) -> LeastPropellant:
    return LeastPropellant(PartTable(kind="least_propellant"), ThrusterSet(matrix, available, weight, Valve(), 0.005))


def random_layout(rng: np.random.Generator) -> tuple[Array, Array]:
    """Nozzles on a grid along x and y, so that many optima are equal and some directions missing; or anywhere."""
    n = int(rng.integers(2, 13))
    if rng.random() < 0.5:
        position, angle = rng.integers(-2, 3, (2, n)) * 0.1, rng.integers(0, 4, n) * np.pi / 2
        x, y = np.round([np.cos(angle), np.sin(angle)], 9)
        return np.vstack([x, y, position[0] * y - position[1] * x]), np.full(n, rng.choice([0.2, 1.0, 10.0]))
    rows = 3 if rng.random() < 0.7 else 6
    return rng.normal(size=(rows, n)), rng.uniform(0.1, 2.0, n)


def assert_optimal(seed: int, problems: int) -> set[SharingStatus]:
    """Nearest to the wrench as SciPy's bounded least squares, and least propellant as its linear programme."""
    rng, solution = np.random.default_rng(seed), set()
    for _ in range(problems // 25):
        matrix, available = random_layout(rng)
        m, n = matrix.shape
        weight = np.where(np.arange(m) < m - m // 2, 1.0, 8.0)
        share = sharing(matrix, available, weight)
        for _ in range(25):
            inside = matrix @ (available * rng.uniform(0, 1, n))
            wrench = inside if rng.random() < 0.5 else rng.normal(size=m) * rng.choice([0.01, 1.0, 30.0])
            answer = share.solve(wrench)
            thrust = answer.thrust
            assert answer.status is not SharingStatus.FAILED
            assert ((thrust >= 0.0) & (thrust <= available)).all()
            weighted = weight[:, None] * matrix
            referee = lsq_linear(weighted, weight * wrench, (0.0, available), method="bvls", tol=1e-14, max_iter=500)
            least = np.sqrt(2 * referee.cost)
            assert np.linalg.norm(weighted @ thrust - weight * wrench) <= least + 1e-8 * (1 + least)
            programme = linprog(np.ones(n), A_eq=matrix, b_eq=matrix @ thrust, bounds=[(0.0, a) for a in available])
            if programme.status == 0:  # on the border of the reach, rounding may put it outside
                assert thrust.sum() <= (1 + 5e-5) * programme.fun + 1e-9
            solution.add(answer.status)
    return solution


def test_every_answer_is_nearest_and_cheapest():
    assert assert_optimal(seed=1, problems=300) == {SharingStatus.OPTIMAL, SharingStatus.NEAREST}


@pytest.mark.slow
def test_ten_thousand_answers_are_nearest_and_cheapest():
    assert_optimal(seed=2, problems=10_000)


@pytest.mark.skipif(find_compiler() is None, reason="the compiled form needs a C compiler")
def test_both_forms_have_the_same_bits():
    rng = np.random.default_rng(3)
    for _ in range(60):
        matrix, available = random_layout(rng)
        available[rng.random(len(available)) < 0.1] = 0.0
        share = sharing(matrix, available, np.ones(len(matrix)))
        for scale in (0.0, 1e-9, 0.1, 1.0, 1e3, 1e150):
            wrench = scale * rng.normal(size=len(matrix))
            solution, expected = share.solve(wrench), share.solve_in_python(wrench)
            assert (solution.thrust.tobytes(), solution.status) == (expected.thrust.tobytes(), expected.status)


def test_the_thrust_is_a_continuous_function_of_the_wrench():
    """Also across the border of the reach, where another method finds the answer."""
    device = load("free-flyer").devices_of(Thrusters)["thrusters"]
    share = stanford_sharing()
    rng = np.random.default_rng(4)
    for _ in range(8):
        ends = rng.normal(size=(2, 3)) * [2.0, 2.0, 0.3]
        path = [share.share(ends[0] + s * (ends[1] - ends[0])) for s in np.linspace(0, 1, 1001)]
        assert np.abs(np.diff(path, axis=0)).max() < 0.04 * np.abs(ends[1] - ends[0]).max() * len(device.units)


def stanford_sharing() -> LeastPropellant:
    allocator = build_allocator(
        load("free-flyer").devices_of(Thrusters)["thrusters"],
        Allocation(sharing="least_propellant", modulation="pulse_width"),  # type: ignore[arg-type]
        "planar",
        0.005,
    )
    assert isinstance(allocator, TableAllocator)
    return allocator.sharing


def test_a_failed_solve_gives_no_number_and_its_status(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(nearest, "_CHANGES", 0)
    wrench = np.array([50.0, 0.0, 0.0])
    share = stanford_sharing()
    patterns = share.solve_in_python(wrench)
    assert patterns.status is SharingStatus.FAILED
    assert np.isnan(patterns.thrust).all()
    assert patterns.wrench is wrench
    assert share.solve_in_python(0.01 * wrench).status is SharingStatus.OPTIMAL


@pytest.mark.parametrize("compiled", [True, False])
def test_a_failed_solve_is_never_a_closed_valve(monkeypatch: pytest.MonkeyPatch, compiled: bool):
    share, thrusters = stanford_sharing(), load("free-flyer").devices_of(Thrusters)["thrusters"]
    nothing = np.full(8, np.nan)
    monkeypatch.setattr(share, "solve", lambda w: SharedWrench(w, nothing, SharingStatus.FAILED))
    given = ThrusterSet(np.zeros((3, 8)), np.ones(8), np.ones(3), thrusters.valve, 0.005)
    modulation = PulseWidth(PulseWidth.Options(kind="pulse_width"), given)
    allocator = TableAllocator(share, modulation, None, 8) if compiled else Allocator(share, modulation, 8)
    assert np.isnan(allocator.allocate(0.0, np.array([0.1, 0.0, 0.0]))).all()


@pytest.mark.skipif(find_compiler() is None, reason="the compiled form needs a C compiler")
@pytest.mark.parametrize("compiled", [True, False])
def test_a_run_whose_sharing_fails_is_stopped_by_name(monkeypatch: pytest.MonkeyPatch, compiled: bool):
    """A table whose numbers are none."""
    table = LeastPropellant.table.fget
    assert table is not None
    sizes = np.array([1.0] * 6 + [np.nan] * 2000)
    monkeypatch.setattr(LeastPropellant, "table", property(lambda self: table(self) * sizes[: len(table(self))]))
    _, outcome, _ = rows_of(load("free-flyer/pulse-width", ["loop.duration_s=1"]), compiled)
    assert outcome.reason is Reason.COMMAND_NOT_FINITE


def test_too_many_thrusters_for_a_table_are_refused():
    rng = np.random.default_rng(5)
    with pytest.raises(InputError, match=r"least_propellant.*20 thrusters in 6 directions.*at most 10000 optima"):
        sharing(rng.normal(size=(6, 20)), np.ones(20), np.ones(6))
