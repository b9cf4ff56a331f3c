"""The LEAP vehicle of the Stanford report of 1987, appendix C: as printed, and as a module of ours.

A base with two arms of two links and a momentum wheel. The report's speeds u are the velocity of the base in its own
axes and absolute rates; ours are world axes and relative rates: u_report = S(q) q'. Its arm 1 is measured from -b1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from granite.config.contacts import Contact, Side
from granite.config.modules import Body, Joint, Module, Point
from granite.kernels.kernel import Array
from granite.mrds.system import System

#: the report's coordinates 4 to 8, as joints of ours
JOINTS = ["shoulder1", "elbow1", "shoulder2", "elbow2", "wheel"]


@dataclass(frozen=True)
class Leap:
    """l1..l15, m1..m6, I1..I6 and theta1..theta3; no values are printed, so these are ours."""

    length: Array
    mass: Array
    inertia: Array
    theta: Array

    def module(self) -> Module:
        l1, l2, l3, l4, l5, l6, l7, l8, l9, l10, l11, l12, l13, l14, l15 = self.length.tolist()
        names = ["base", "upper1", "fore1", "upper2", "fore2", "rotor"]
        centres = [(0.0, 0.0), (l2, l3), (l5, l6), (l9, l10), (l12, l13), (0.0, 0.0)]
        at = [
            tuple((r * np.array([np.cos(a), np.sin(a)])).tolist())
            for r, a in zip((l1, l8, l15), self.theta, strict=True)
        ]
        joints = [
            ("shoulder1", "base", "upper1", at[0], np.pi), ("elbow1", "upper1", "fore1", (l4, 0.0), 0.0),
            ("shoulder2", "base", "upper2", at[1], 0.0), ("elbow2", "upper2", "fore2", (l11, 0.0), 0.0),
            ("wheel", "base", "rotor", at[2], 0.0),
        ]  # fmt: skip
        return Module(
            name="leap", dimension="planar", base="floating",
            bodies=tuple(
                Body(name=n, mass_kg=m, com_m=c, inertia_kg_m2=i)
                for n, m, c, i in zip(names, self.mass.tolist(), centres, self.inertia.tolist(), strict=True)
            ),
            joints=tuple(
                Joint(name=n, parent=p, child=c, origin_m=o, rotation_rad=(0.0, 0.0, yaw)) for n, p, c, o, yaw in joints
            ),
            points=(
                Point(name="tip1", body="fore1", position_m=(l7, 0.0)),
                Point(name="tip2", body="fore2", position_m=(l14, 0.0)),
            ),
        )  # fmt: skip

    def system(self, q: Array) -> System:
        """The vehicle and two bars that it can hold: pins where its tips are in this pose (ours)."""
        bars = [
            Contact(
                name=f"bar{k + 1}", kind="revolute", first=Side(position_m=tuple(tip.tolist())),
                second=Side(module="leap", point=f"tip{k + 1}"),
            )
            for k, tip in enumerate(self.tips(q))
        ]  # fmt: skip
        return System([self.module()], bars)

    def tips(self, q: Array) -> tuple[Array, Array]:
        """World positions of P5 and P8."""
        l1, l4, l7, l8, l11, l14 = self.length[[0, 3, 6, 7, 10, 13]]
        th1, th2, _ = self.theta
        q3, q4, q5, q6, q7 = q[2:7]

        def along(angle: float) -> Array:
            return np.array([np.cos(angle), np.sin(angle)])

        base = q[:2]
        tip1 = base + l1 * along(q3 + th1) - l4 * along(q3 + q4) - l7 * along(q3 + q4 + q5)
        tip2 = base + l8 * along(q3 + th2) + l11 * along(q3 + q6) + l14 * along(q3 + q6 + q7)
        return tip1, tip2

    def equations(self, q: Array, u: Array) -> tuple[Array, Array]:
        """M (C.17) and f_I."""
        l1, l2, l3, l4, l5, l6, _, l8, l9, l10, l11, l12, l13, _, l15 = self.length
        m1, m2, m3, m4, m5, m6 = self.mass
        I1, I2, I3, I4, I5, I6 = self.inertia
        (s1, s2, s3), (c1, c2, c3) = np.sin(self.theta), np.cos(self.theta)
        z1 = m1 + m2 + m3 + m4 + m5 + m6
        z2 = -(m2 + m3) * l1 * s1 - (m4 + m5) * l8 * s2 - m6 * l15 * s3
        z11 = (m2 + m3) * l1 * c1 + (m4 + m5) * l8 * c2 + m6 * l15 * c3
        z3, z4, z5, z6 = m2 * l2 + m3 * l4, m2 * l3, m3 * l5, m3 * l6
        z7, z8, z9, z10 = -(m4 * l9 + m5 * l11), -m4 * l10, -m5 * l12, -m5 * l13
        z12 = I1 + (m2 + m3) * l1**2 + (m4 + m5) * l8**2 + m6 * l15**2
        z13 = m2 * l1 * l3 * c1 - m3 * l1 * l4 * s1 - m2 * l1 * l2 * s1
        z14 = -m2 * l1 * l3 * s1 - m3 * l1 * l4 * c1 - m2 * l1 * l2 * c1
        z15, z16 = m3 * l1 * l6 * c1 - m3 * l1 * l5 * s1, -m3 * l1 * l6 * s1 - m3 * l1 * l5 * c1
        z17 = -m4 * l8 * l10 * c2 + m5 * l8 * l11 * s2 + m4 * l8 * l9 * s2
        z18 = m4 * l8 * l10 * s2 + m5 * l8 * l11 * c2 + m4 * l8 * l9 * c2
        z19, z20 = -m5 * l8 * l13 * c2 + m5 * l8 * l12 * s2, m5 * l8 * l13 * s2 + m5 * l8 * l12 * c2
        z21, z22, z23 = I2 + m2 * (l2**2 + l3**2) + m3 * l4**2, -m3 * l4 * l6, m3 * l4 * l5
        z24, z25 = I3 + m3 * (l5**2 + l6**2), I4 + m4 * (l9**2 + l10**2) + m5 * l11**2
        z26, z27, z28, z29 = -m5 * l11 * l13, m5 * l11 * l12, I5 + m5 * (l12**2 + l13**2), I6

        angles = np.array([q[3], q[3] + q[4], q[5], q[5] + q[6], q[4], q[6]])
        (s4, s45, s6, s67, s5, s7), (c4, c45, c6, c67, c5, c7) = np.sin(angles), np.cos(angles)
        row1 = np.array([z3 * s4 + z4 * c4, z5 * s45 + z6 * c45, z7 * s6 + z8 * c6, z9 * s67 + z10 * c67])
        row2 = np.array([z4 * s4 - z3 * c4, z6 * s45 - z5 * c45, z8 * s6 - z7 * c6, z10 * s67 - z9 * c67])
        row3 = np.array([z13 * s4 + z14 * c4, z15 * s45 + z16 * c45, z17 * s6 + z18 * c6, z19 * s67 + z20 * c67])
        M = np.diag([z1, z1, z12, z21, z24, z25, z28, z29])
        M[0, 2], M[1, 2], M[0, 3:7], M[1, 3:7], M[2, 3:7] = z2, z11, row1, row2, row3
        M[3, 4], M[5, 6] = z22 * s5 + z23 * c5, z26 * s7 + z27 * c7
        M = M + np.triu(M, 1).T
        u1, u2, u3 = u[:3]
        square = u[3:7] ** 2
        turn = np.array([z14 * s4 - z13 * c4, z16 * s45 - z15 * c45, z18 * s6 - z17 * c6, z20 * s67 - z19 * c67])
        elbow1, elbow2 = z23 * s5 - z22 * c5, z27 * s7 - z26 * c7
        f = np.zeros(8)
        f[0] = u2 * u3 * z1 + u3**2 * z11 + square @ row2
        f[1] = -u1 * u3 * z1 - u3**2 * z2 - square @ row1
        f[2] = -u1 * u3 * z11 + u2 * u3 * z2 + square @ turn
        f[3:7] = -u1 * u3 * row2 + u2 * u3 * row1 - u3**2 * turn
        f[3:7] += elbow1 * np.array([square[1], -square[0], 0, 0]) + elbow2 * np.array([0, 0, square[3], -square[2]])
        return M, f

    def contact(self, q: Array, u: Array) -> tuple[Array, Array, Array]:
        """K2 (C.27), A and b (C.28, C.29) with both hands on the bar; the wheel's column is zero."""
        l1, l4, l7, l8, l11, l14 = self.length[[0, 3, 6, 7, 10, 13]]
        th1, th2, _ = self.theta
        q4, q5, q6, q7 = q[3:7]
        q45, q67 = q4 + q5, q6 + q7
        s, c = np.sin, np.cos
        K2 = np.array([
            [c(q45), -s(q45), -c(q67), s(q67)],
            [s(q45), c(q45), -s(q67), -c(q67)],
            [l1 * s(q45 - th1), l1 * c(q45 - th1), -l8 * s(q67 - th2), -l8 * c(q67 - th2)],
            [-l4 * s(q5), -l4 * c(q5), 0, 0], [0, -l7, 0, 0],
            [0, 0, -l11 * s(q7), -l11 * c(q7)], [0, 0, 0, -l14], [0, 0, 0, 0],
        ])  # fmt: skip
        A = np.array([
            [1, 0, -l1 * s(th1), l4 * s(q4), l7 * s(q45), 0, 0, 0],
            [0, 1, l1 * c(th1), -l4 * c(q4), -l7 * c(q45), 0, 0, 0],
            [1, 0, -l8 * s(th2), 0, 0, -l11 * s(q6), -l14 * s(q67), 0],
            [0, 1, l8 * c(th2), 0, 0, l11 * c(q6), l14 * c(q67), 0],
        ])  # fmt: skip
        u1, u2, u3, u4, u5, u6, u7, _ = u
        b = np.array([
            u2 * u3 + u3**2 * l1 * c(th1) - u4**2 * l4 * c(q4) - u5**2 * l7 * c(q45),
            -u1 * u3 + u3**2 * l1 * s(th1) - u4**2 * l4 * s(q4) - u5**2 * l7 * s(q45),
            u2 * u3 + u3**2 * l8 * c(th2) + u6**2 * l11 * c(q6) + u7**2 * l14 * c(q67),
            -u1 * u3 + u3**2 * l8 * s(th2) + u6**2 * l11 * s(q6) + u7**2 * l14 * s(q67),
        ])  # fmt: skip
        return K2, A, b

    def reduction(self, q: Array) -> Array:
        """A_rs (C.23): u4..u7 of u1..u3; infinite at a straight elbow."""
        l1, l4, l7, l8, l11, l14 = self.length[[0, 3, 6, 7, 10, 13]]
        th1, th2, _ = self.theta
        q4, q5, q6, q7 = q[3:7]
        q45, q67 = q4 + q5, q6 + q7
        s, c = np.sin, np.cos
        with np.errstate(divide="ignore"):
            return np.array([
                np.array([c(q45), s(q45), l1 * s(q45 - th1)]) / (l4 * s(q5)),
                -np.array([c(q4), s(q4), l1 * s(q4 - th1)]) / (l7 * s(q5)),
                -np.array([c(q67), s(q67), l8 * s(q67 - th2)]) / (l11 * s(q7)),
                np.array([c(q6), s(q6), l8 * s(q6 - th2)]) / (l14 * s(q7)),
            ])  # fmt: skip


#: motors 1 to 5 on the report's speeds (C.18)
K1 = np.zeros((8, 5))
for _motor, (_from, _to) in enumerate([(2, 3), (3, 4), (2, 5), (5, 6), (2, 7)]):
    K1[_from, _motor], K1[_to, _motor] = -1.0, 1.0

OURS = Leap(
    np.array([0.24, 0.15, 0.025, 0.3, 0.15, 0.025, 0.3, 0.24, 0.15, -0.025, 0.3, 0.15, -0.025, 0.3, 0.1]),
    np.array([45.0, 1.0, 1.0, 1.0, 1.0, 4.0]),
    np.array([1.3, 0.0075, 0.0075, 0.0075, 0.0075, 0.02]),
    np.array([2.2, 0.9, -1.5]),
)
#: the state of the regression numbers
Q = np.array([0.1, -0.2, 0.3, -1.0, -0.9, 1.1, 0.8, 0.5])
U_FREE = np.array([0.03, 0.05, 0.02, 0.4, -0.3, 0.2, 0.6, 5.0])
U_CLOSED = np.array(
    [0.03, 0.05, 0.02, 0.22589955996112387, -0.10887018715283267, -0.1935597426623929, 0.27472113772450174, 5.0]
)
TAU = np.array([0.2, -0.1, 0.3, 0.05, -0.02])


def order(module: Module) -> list[int]:
    """Where the report's coordinates stand in ours."""
    names = [j.name for j in module.joints_in_tree_order()]
    return [0, 1, 2, *(3 + names.index(n) for n in JOINTS)]


def speeds(q: Array, q_dot: Array) -> tuple[Array, Array]:
    """S and S' of u_report = S q', in the report's order."""
    c, s = np.cos(q[2]), np.sin(q[2])
    S, S_dot = np.zeros((8, 8)), np.zeros((8, 8))
    S[:2, :2] = [[c, s], [-s, c]]
    S_dot[:2, :2] = q_dot[2] * np.array([[-s, c], [-c, -s]])
    S[2:, 2] = 1.0
    S[[3, 4, 4, 5, 6, 6, 7], [3, 3, 4, 5, 5, 6, 7]] = 1.0
    return S, S_dot


def mine(module: Module, of_report: Array) -> Array:
    """A vector of q or q' in our order."""
    ours = np.empty(8)
    ours[order(module)] = of_report
    return ours
