"""Bonaventura 2002, section 8.3.5.3, System 5c: a large inertial load on four flexible links (acceptance tests 22, 23).

With two modes a link the thesis's simulation broke off after about seven seconds, and it suspected a mode of the system
that equal numbers of modes skip. The printed two-link module, linearised, flutters; nothing else breaks: the same
links as four one-link modules of the same thesis do not, and neither do ours (test 24).

With one mode a link the thesis saw the end at about twelve seconds; here it comes at 15.5. It says which sets of modes
are stable and plots them; the angles expected here come from an independent program.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from tests.support.flexible_arms import Array
from tests.validation.bonaventura_machine import TIME, Hold, Machine, sines
from tests.validation.bonaventura_tables import SYSTEM_5C
from tests.validation.bonaventura_truncated import mobile_link, one_link, two_link
from tests.validation.claims import Claims

Modes = tuple[int, int, int, int]


def robot(modes: Modes) -> tuple[Machine, Array]:
    """A two-link module and two mobile links, and where they are at first: straight."""
    a, b, c, d = sines(SYSTEM_5C)
    modules = [two_link((1.0, 1.0), modes[:2]), mobile_link(1.0, modes[2]), mobile_link(1.0, modes[3])]
    holds = [Hold((0, "tip"), (1, "base"), torque=c), Hold((1, "tip"), (2, "base"), torque=d)]
    start = [np.zeros(2 + sum(modes[:2])), _at(2.0, modes[2]), _at(3.0, modes[3])]
    return Machine(modules, [a, b, 0, 0], holds), np.concatenate(start)


def _at(x: float, modes: int) -> Array:
    return np.concatenate([[x], np.zeros(2 + modes)])


def test_mrds22_two_modes_a_link_break_off_after_seven_seconds(claims: Claims) -> None:
    machine, start = robot((2, 2, 2, 2))
    end = machine.run(start, 13.0).t[-1]
    claims.equal("MRDS 22", "System 5c by the printed modules, two modes a link, breaks off at", 7.18, end, 0.3, "s")
    assert end == pytest.approx(7.0, abs=0.3)


@pytest.mark.slow
def test_mrds22_one_mode_a_link_breaks_off_later(claims: Claims) -> None:
    machine, start = robot((1, 1, 1, 1))
    claims.equal("MRDS 22", "one mode a link breaks off at", 15.5, machine.run(start, 17.0).t[-1], 0.3, "s")


def test_mrds22_mrds23_the_robot_flutters_before_it_breaks(claims: Claims) -> None:
    """Eigenvalues of the motion around the state at 6 s: one pair grows."""
    growth = {}
    for modes in ((2, 2, 2, 2), (3, 2, 2, 2)):
        machine, start = robot(modes)
        path = machine.run(start, 6.0)
        x = ca.vertcat(machine.q, machine.u)
        rate = ca.Function("rate", [TIME, x], [ca.jacobian(ca.vertcat(machine.u, machine.acceleration), x)])
        values = np.linalg.eigvals(np.array(rate(6.0, np.concatenate([path.q[-1], path.u[-1]]))))
        growth[modes] = max((v for v in values if abs(v.imag) > 20), key=lambda v: v.real)
    claims.equal("MRDS 22", "growth at 6 s, two modes a link", 4.8, growth[2, 2, 2, 2].real, 0.5, "1/s")
    claims.equal("MRDS 22", "its frequency", 190.0, abs(growth[2, 2, 2, 2].imag), 5.0, "rad/s")
    claims.below("MRDS 23", "growth at 6 s, three modes in the first link", 0.5, growth[3, 2, 2, 2].real, "1/s")


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        ((3, 2, 2, 2), [26.949, 73.621, 127.421, 23.641]),
        pytest.param((2, 1, 1, 1), [26.925, 73.597, 127.391, 23.635], marks=pytest.mark.slow),
    ],
)
def test_mrds23_one_mode_more_in_the_first_link_completes_the_run(
    modes: Modes, expected: list[float], claims: Claims
) -> None:
    machine, start = robot(modes)
    path = machine.run(start, 13.0)
    what = f"System 5c by the printed modules, modes {', '.join(map(str, modes))}: links at 13 s"
    claims.equal("MRDS 23", what, expected, np.degrees(path.angles[-1]), 0.05, "deg")
    assert path.t[-1] == pytest.approx(13.0)


@pytest.mark.parametrize("modes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_mrds23_the_same_links_as_four_modules_complete_the_run(modes: int, claims: Claims) -> None:
    """The thesis's own one-link modules: what flutters is its two-link module."""
    first, *torques = sines(SYSTEM_5C)
    links = [one_link(1.0, modes), *(mobile_link(1.0, modes) for _ in range(3))]
    holds = [Hold((k, "tip"), (k + 1, "base"), torque=torques[k]) for k in range(3)]
    start = np.concatenate([np.zeros(1 + modes), *(_at(float(k), modes) for k in (1, 2, 3))])
    path = Machine(links, [first, 0, 0, 0], holds).run(start, 13.0)
    what = f"System 5c by four printed one-link modules, {modes} mode{'s' * (modes > 1)} a link: links at 13 s"
    claims.equal("MRDS 23", what, [26.949, 73.621, 127.421, 23.641], np.degrees(path.angles[-1]), 0.15, "deg")
