"""Sun 1996, sections 3.2 and 5.5: one flexible link and its elements (tests 6 to 8).

The inverse of the link, from the acceleration of a point at x = xi l to the torque, has the link's zeros for poles.
Units: mass, length and stiffness of the link are one, so poles come in sqrt(EI/(m l^3)).
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy.linalg import eig

from granite.config.contacts import Contact, Side
from granite.config.modules import Module
from granite.kernels.kernel import Array
from granite.mrds.system import System
from tests.peers.interpreted import interpreted
from tests.support.flexible_arms import stiffness
from tests.validation.claims import Claims
from tests.validation.sun_testbed import CUBIC, elements, jacobian, motions, reduced, single_link

pytestmark = pytest.mark.usefixtures("interpreted")


class Link:
    """M, K and the velocity of every point across the link, of n elements, in joint rate and amplitudes."""

    def __init__(self, n: int) -> None:
        arm = single_link(n)
        kept = [*arm.joints, *arm.amplitudes]
        T = motions(arm, kept, arm.closed.constraint_matrix(arm.pose))
        models, at = {name: interpreted(m) for name, m in arm.system.modules.items()}, 0
        blocks: Array = np.zeros((2, arm.system.n_u, arm.system.n_u))
        for model in models.values():
            part = slice(at, at + model.n_u)
            blocks[0, part, part] = model.mass_matrix(arm.pose[part])
            blocks[1, part, part] = stiffness(model, arm.pose[part])
            at += model.n_u
        self.M, self.K = (T.T @ block @ T for block in blocks)
        #: over each element, the deflection is a cubic of x: four points of ours give it
        self.across: list[tuple[float, float, Array]] = []
        for k, name in enumerate(elements(arm)):
            points = ["station0", "station1", "station2", "tip"]
            x = [k / n + next(p.position_m[0] for p in models[name].module.points if p.name == q) for q in points]
            rows = np.array([jacobian(arm, name, point)[1] @ T for point in points])
            self.across.append((k / n, (k + 1) / n, np.linalg.solve(np.vander(x, 4, increasing=True), rows)))

    def output(self, xi: float) -> Array:
        """C (3.28): the velocity of the point over its distance; at the joint itself, the joint's rate."""
        if xi == 0:
            return np.eye(len(self.M))[0]
        coefficients = next(c for a, b, c in self.across if a <= xi <= b)
        row: Array = xi ** np.arange(4) @ coefficients / xi
        return row

    def inverse_poles(self, xi: float) -> Array:
        """Squares s^2 of the zeros: where [M s^2 + K, -B; C, 0] is singular."""
        n = len(self.M)
        B = np.eye(n)[:, :1]
        E = np.block([[self.M, np.zeros((n, 1))], [np.zeros((1, n + 1))]])
        K = np.block([[self.K, -B], [self.output(xi)[None], np.zeros((1, 1))]])
        p = eig(-K, E, right=False)
        poles: Array = p[np.isfinite(p) & (np.abs(p) < 1e12)]
        return poles[np.argsort(np.abs(poles))]

    def critical(self) -> float:
        """The least xi at which one pole is infinite: C M^-1 B = 0."""
        turned = np.linalg.solve(self.M, np.eye(len(self.M))[0])
        for a, b, coefficients in self.across:
            roots = Polynomial(coefficients @ turned).roots()
            real = np.sort(roots.real[(np.abs(roots.imag) < 1e-9) & (roots.real > max(a, 1e-6)) & (roots.real <= b)])
            if len(real):
                return float(real[0])
        raise AssertionError("no point of the link is critical")


def test_sun06_the_poles_of_the_inverse_are_the_printed_ones(claims: Claims) -> None:
    """Section 3.2: 3.53 and 34.8 on the imaginary axis at the joint, 9.97 and 38.99 on the real one at the tip."""
    link = Link(1)
    joint, tip = link.inverse_poles(0.0), link.inverse_poles(1.0)
    assert np.isreal(joint).all()
    assert np.isreal(tip).all()
    units = "sqrt(EI/(m l^3))"
    claims.equal("Sun 6", "poles of the inverse at the joint, imaginary; printed 3.53, 34.8", [3.53273, 34.8069],
                 np.sqrt(-joint.real), 3.5e-4, units)  # fmt: skip
    claims.equal("Sun 6", "poles of the inverse at the tip, real; printed 9.97, 38.99", [9.97180, 38.99440],
                 np.sqrt(tip.real), 9e-4, units)  # fmt: skip
    critical = link.critical()
    claims.near(
        "Sun 6", "point at which the inverse turns unstable, printed 0.529", 5 / 7 - np.sqrt(15) / 21, critical, 1e-4
    )
    assert (link.inverse_poles(critical - 0.01).real < 0).all()
    assert (link.inverse_poles(critical + 0.01).real > 0).any()


def test_sun06_the_transfer_function_at_rest_is_that_of_a_rigid_link(claims: Claims) -> None:
    """(3.33), whose numerator is printed ten times too small: H(0) = 1/I_zz with I_zz = m l^2/3."""
    link = Link(1)
    for xi in (0.3, 1.0):
        s = 1e-4
        H = s**2 * link.output(xi) @ np.linalg.solve(link.M * s**2 + link.K, np.eye(3)[0])
        claims.near("Sun 6", f"transfer function at rest, point at {xi:g} l, against 1/I_zz", 3.0, H, 1e-6, "1/(m l^2)")
        printed = 0.1 * 15120 / (15120 / 3)
        claims.above("Sun 6", f"the printed numerator at {xi:g} l is off by", 1.0, abs(printed - H), "1/(m l^2)")
        s = 7.0
        top = (2.1 * xi**2 - 3 * xi + 1) * s**4 + (882 * xi**2 - 2268 * xi + 1224) * s**2 + 15120
        bottom = (1 / 3 - 0.33) * s**4 + (1224 / 3 - 390.6) * s**2 + 15120 / 3
        H = s**2 * link.output(xi) @ np.linalg.solve(link.M * s**2 + link.K, np.eye(3)[0])
        assert pytest.approx(top / bottom, rel=1e-9) == H


def test_sun06_the_element_matrices_are_the_printed_ones(claims: Claims) -> None:
    """(3.4), (3.8), (3.9) with m = l = EI = 1."""
    M_rr, M_re, M_ee, K, *_ = reduced(single_link(1), rotary=False).blocks
    claims.equal("Sun 6", "inertia of the link about its joint", 1 / 3, M_rr[0, 0], 1e-12, "m l^2")
    printed = [7 / 20, -1 / 20, 13 / 35, -11 / 210, 1 / 105]
    ours = [*M_re[0], M_ee[0, 0], M_ee[0, 1], M_ee[1, 1]]
    claims.equal("Sun 6", "mass of one element (3.8), (3.9)", printed, ours, 1e-12)
    claims.equal("Sun 6", "stiffness of one element (3.4)", [12, -6, 4], [K[0, 0], K[0, 1], K[1, 1]], 1e-7)


@pytest.mark.slow
def test_sun07_more_elements_move_the_critical_point_to_the_joint(claims: Claims) -> None:
    expected = {1: 0.5299, 2: 0.3078, 3: 0.2080, 4: 0.1562, 6: 0.1041, 8: 0.0781}
    critical_points = [Link(n).critical() for n in expected]
    claims.equal(
        "Sun 7", "critical point with 1, 2, 3, 4, 6, 8 elements", list(expected.values()), critical_points, 1e-3, "l"
    )
    assert (np.diff(critical_points) < 0).all()


def test_sun08_the_stiffness_of_two_spatial_elements_is_the_printed_one(claims: Claims) -> None:
    """Example 5.5: all 64 entries, for v_y, v_z, theta_y, theta_z of two nodes; EI is that of 18 x 18 mm."""
    ei, half = 68.95e9 * 0.018**4 / 12, 0.5
    link = {
        "length_m": half, "line_density_kg_m": 0.878, "eiy_n_m2": ei, "eiz_n_m2": ei, "polar_inertia_kg_m": 1e-4,
        "modes_y": 2, "modes_z": 2, "shapes": "polynomial", "polynomials": CUBIC,
    }  # fmt: skip
    modules = []
    for k, base in ((1, "fixed"), (2, "floating")):
        body = {"name": "beam", "flexible": link}
        points = [{"name": n, "body": "beam", "position_m": [x, 0.0, 0.0]} for n, x in (("root", 0.0), ("tip", half))]
        content = {"dimension": "spatial", "base": base, "bodies": [body], "points": points}
        modules.append(Module.model_validate({"name": f"element{k}", **content}))
    sides = Side(module="element1", point="tip"), Side(module="element2", point="root")
    weld = Contact(name="weld", kind="rigid_grasp", first=sides[0], second=sides[1])
    system = System(modules, [weld])
    first, second = (interpreted(m) for m in modules)
    q1, q2 = np.zeros(4), np.array([half, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0.0])
    A = system.contact_set().constraint_matrix(np.concatenate([q1, q2]))
    kept = [0, 1, 2, 3, 10, 11, 12, 13]
    T = np.linalg.solve(np.vstack([A, np.eye(14)[kept]]), np.eye(14)[:, 6:])
    # v_y, v_z, theta_y, theta_z of each node, from the twists of its points
    tip1, tip2 = first.point("tip", q1, np.zeros(4)), second.point("tip", q2, np.zeros(10))
    rows = [1, 2, 4, 5]
    nodes = np.vstack([tip1.jacobian[rows] @ T[:4], tip2.jacobian[rows] @ T[4:]])
    K = np.zeros((8, 8))
    K[:4, :4] = stiffness(first, q1)
    K[4:, 4:] = _stiffness_of_amplitudes(second, q2)
    back = np.linalg.inv(nodes)
    nodal = back.T @ K @ back
    printed = np.zeros((8, 8))
    for v, turn, sign in ((0, 3, 1.0), (1, 2, -1.0)):
        printed[v, v], printed[v, v + 4], printed[v + 4, v + 4] = 115809.5, -57904.8, 57904.8
        printed[turn, turn], printed[turn, turn + 4], printed[turn + 4, turn + 4] = 9650.8, 2412.7, 4825.4
        printed[v, turn + 4], printed[turn, v + 4], printed[v + 4, turn + 4] = sign * np.array(
            [14476.2, -14476.2, -14476.2]
        )
    printed = printed + np.triu(printed, 1).T
    off = np.abs(nodal - printed)
    claims.below("Sun 8", "64 stiffnesses of Example 5.5 against two welded elements, relative", 1e-4,
                 (off[printed != 0] / np.abs(printed[printed != 0])).max())  # fmt: skip
    claims.below("Sun 8", "those that are printed as zero", 1e-3, off[printed == 0].max(), "N/m, N, N m")


def _stiffness_of_amplitudes(model, q: Array) -> Array:
    step, u = 1e-4, np.zeros(model.n_u)
    columns = [(model.bias(q + e, u).copy() - model.bias(q - e, u)) / (2 * step) for e in step * np.eye(len(q))[7:]]
    return np.array(columns).T[6:]
