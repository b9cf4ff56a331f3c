"""The flexible modules of Bonaventura 2002, appendix A: linearised consistently, H not symmetric, misprints corrected.

Kinematics of the tip come on three levels (section 7.3): 1 is of first order; 2 has places of first order and the
Jacobian of the next one; 3 keeps the foreshortening (eq. 129) everywhere.
"""

from __future__ import annotations

from typing import Literal

import casadi as ca
import numpy as np

from tests.support.flexible_arms import LINE_DENSITY, Array
from tests.validation.bonaventura_machine import Equations
from tests.validation.bonaventura_tables import Modes

Level = Literal[1, 2, 3]


def one_link(L: float, modes: int) -> Equations:
    """One link on a fixed base (eq. 132): the mobile link whose base stays where it is."""
    link = mobile_link(L, modes)
    q, u, kept = ca.SX.sym("q", 1 + modes), ca.SX.sym("u", 1 + modes), list(range(2, 3 + modes))
    at = [ca.vertcat(0, 0, q), ca.vertcat(0, 0, u)]
    tip = link.points["tip"]
    H, rest, position, J, drift = ca.substitute(
        [link.H[kept, kept], link.rest[kept], tip.position, tip.J[:, kept], tip.drift], [link.q, link.u], at
    )
    push = ca.DM(np.eye(1 + modes, 1))
    return Equations(q, u, H, rest, push, q[0], {"tip": type(tip)(position, J, drift)})


def mobile_link(L: float, modes: int, level: Level = 3, misprint: bool = False) -> Equations:
    """One link with a free base (A.2): q = base x, base y, angle, amplitudes. `misprint`: H_f,y = H_y,f + h23 s."""
    m, rho = Modes(L, modes), LINE_DENSITY
    q, u = ca.SX.sym("q", 3 + modes), ca.SX.sym("u", 3 + modes)
    c, s, f = ca.cos(q[2]), ca.sin(q[2]), q[3:]
    rate, f_rate = u[2], u[3:]
    n21, n23 = rho * m.first, rho * m.line_weighted
    h21, g21, h23 = _dot(n21, f), _dot(n21, f_rate), n23 @ f
    H = ca.SX(3 + modes, 3 + modes)
    H[0, 0] = H[1, 1] = rho * L
    H[0, 2] = H[2, 0] = -(s * rho * L**2 / 2 + h21 * c)
    H[1, 2] = H[2, 1] = c * rho * L**2 / 2 - h21 * s
    H[0, 3:], H[1, 3:] = -n21[None] * s, n21[None] * c
    H[2, 2] = rho * L**3 / 3
    H[2, 3:], H[3:, 2] = rho * m.moment[None], rho * m.moment
    H[3:, 0] = H[0, 3:].T - h23 * c
    H[3:, 1] = H[1, 3:].T + (h23 * s if misprint else -h23 * s)
    H[3:, 3:] = rho * m.square
    C_x = -rho * L**2 / 2 * rate**2 * c - 2 * rate * g21 * c + h21 * rate**2 * s
    C_y = -rho * L**2 / 2 * rate**2 * s - 2 * rate * g21 * s - h21 * rate**2 * c
    K_ff = m.stiffness + rate**2 * (rho * m.square_weighted / 2 - rho * m.square)
    rest = ca.vertcat(C_x, C_y, 0, K_ff @ f)
    push = ca.DM(np.eye(3 + modes, 3)[:, 2:])
    made = Equations(q, u, H, rest, push, q[2], {})
    place, of_angle, of_f = _tip(m, q[2], f, level)
    J = ca.vertcat(ca.horzcat(ca.SX.eye(2), of_angle, of_f), ca.horzcat(0, 0, 1, m.tip_slope[None]))
    made.points["tip"] = made.spot(q[:2] + place, J)
    made.points["base"] = made.spot(q[:2], ca.horzcat(ca.SX.eye(3), ca.SX(3, modes)))
    return made


def two_link(
    lengths: tuple[float, float],
    modes: tuple[int, int],
    tip_mass: float = 0.0,
    level: Level = 3,
    base: tuple[float, float] = (0.0, 0.0),
    misprint: bool = False,
) -> Equations:
    """Two links on a fixed base (A.1): q = angle of link 1, of link 2 from the base of link 1, amplitudes of both.

    `misprint`: y2 with amplitudes where it must have their rates.
    """
    (L1, L2), rho, M = lengths, LINE_DENSITY, tip_mass
    m1, m2 = Modes(L1, modes[0]), Modes(L2, modes[1])
    n = 2 + sum(modes)
    q, u = ca.SX.sym("q", n), ca.SX.sym("u", n)
    F1, F2 = slice(2, 2 + modes[0]), slice(2 + modes[0], n)
    f1, f2, f1_rate, f2_rate = q[F1], q[F2], u[F1], u[F2]
    s2, c2 = ca.sin(q[1]), ca.cos(q[1])
    tip1 = m1.tip
    w1, w1_rate = _dot(tip1, f1), _dot(tip1, f1_rate)
    z1, z2, z3 = rho * L2 + M, rho * L2 / 2 + M, rho * L2 / 3 + M
    z4, z5 = rho * m2.first + M * m2.tip, rho * m2.moment + M * L2 * m2.tip
    z6 = rho * m2.square + M * np.outer(m2.tip, m2.tip)
    y1, y2 = _dot(z4, f2), _dot(z4, f2 if misprint else f2_rate)
    y3 = rho * m2.square_weighted / 2 + M * L2 * m2.slopes - z6
    y4 = rho * m2.line_weighted + M * m2.slopes
    y5, d13 = y4 @ f2, m1.slopes @ f1
    P1, P2, P3, P4, P5 = rho * L1**3 / 3, z3 * L2**2, z1 * L1, z1 * L1**2, z1 * np.outer(tip1, tip1)
    T1, T2 = (2 * u[0] + u[1]) * u[1], u[0] + u[1]
    T3 = T2**2
    A1 = z2 * (L1 * L2 * c2 + w1 * L2 * s2) - y1 * L1 * s2
    A2 = 2 * z2 * L2 * s2 * w1_rate
    A4 = z2 * (L1 * L2 * s2 - w1 * L2 * c2) + y1 * L1 * c2
    A5, A6 = -2 * y2 * s2, z2 * L2 * c2
    A18, A19, A110 = z1 * w1 * tip1, z2 * d13 * L2 - y1 * tip1, -z2 * L2 * s2 * tip1
    A27, A28, A29, A210 = z4 * L1 * c2 + z5, z4 * L1 * s2, 2 * z4 * w1_rate * s2, z4 * w1 - y5 * L1
    H = ca.SX(n, n)
    H[0, 0], H[0, 1], H[1, 0], H[1, 1] = P1 + P2 + P4 + 2 * A1, P2 + A1, P2 + A1, P2
    H[0, F1] = (rho * m1.moment + (P3 + A6) * tip1).T
    H[0, F2], H[1, F1], H[1, F2] = A27.T, (A6 * tip1).T, z5[None]
    H[F1, 0], H[F1, 1] = H[0, F1].T + A19 * s2, H[1, F1].T + A19 * s2
    H[F1, F1] = rho * m1.square + P5
    H[F1, F2] = tip1 @ (z4[None] * c2)
    H[F2, 0], H[F2, 1] = H[0, F2].T + A210 * s2, H[1, F2].T
    H[F2, F1], H[F2, F2] = H[F1, F2].T, z6
    C = ca.vertcat(
        A2 * u[0] + A5 * L1 * T2 - A4 * T1,
        u[0] * (A2 + A4 * u[0]),
        T3 * A110 + A5 * tip1 * T2 - u[0] ** 2 * A18,
        u[0] * (A29 + u[0] * A28),
    )
    K11 = m1.stiffness + T3 * A6 * m1.slopes
    K11 += u[0] ** 2 * (rho * m1.square_weighted / 2 - rho * m1.square + P3 * m1.slopes)
    K12, K21 = -T3 * c2 * np.outer(tip1, z4), -(u[0] ** 2) * c2 * np.outer(z4, tip1)
    K22 = m2.stiffness + T3 * y3 + u[0] ** 2 * c2 * L1 * y4
    rest = C + ca.vertcat(0, 0, K11 @ f1 + K12 @ f2, K21 @ f1 + K22 @ f2)
    push = np.zeros((n, 2))
    push[0, 0], push[1, 1], push[F1, 1] = 1, 1, -m1.tip_slope
    second = q[0] + q[1]
    made = Equations(q, u, H, rest, ca.DM(push), ca.vertcat(q[0], second), {})
    place1, of_angle1, of_f1 = _tip(m1, q[0], f1, level)
    place2, of_angle2, of_f2 = _tip(m2, second, f2, level)
    J = ca.vertcat(
        ca.horzcat(of_angle1 + of_angle2, of_angle2, of_f1, of_f2),
        ca.horzcat(1, 1, ca.SX(1, modes[0]), m2.tip_slope[None]),
    )
    made.points["tip"] = made.spot(ca.SX(base) + place1 + place2, J)
    return made


def _tip(m: Modes, angle: ca.SX, f: ca.SX, level: Level) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Where the tip of a link is from its base, and how that changes with angle and amplitudes."""
    along, across = ca.vertcat(ca.cos(angle), ca.sin(angle)), ca.vertcat(-ca.sin(angle), ca.cos(angle))
    w = _dot(m.tip, f)
    shortened = ca.dot(f, m.slopes @ f) / 2 if level == 3 else 0
    slopes = m.slopes @ f if level > 1 else ca.SX(m.n, 1)
    place = (m.L - shortened) * along + w * across
    return place, (m.L - shortened) * across - w * along, across @ m.tip[None] - along @ slopes.T


def _dot(weights: Array, amplitudes: ca.SX) -> ca.SX:
    return ca.dot(ca.DM(weights), amplitudes)
