"""Modules joined by contacts move as one dense KKT solve says, whatever the topology and the kinds of contact."""

import numpy as np
import pytest
from scipy.linalg import block_diag

from config.contacts import Contact, Side
from config.errors import InputError
from mrds.contacts import KINDS
from mrds.model import Model
from mrds.system import DEPENDENT, System
from tests.mrds.random_systems import random_states, random_system, split
from tests.peers.random_trees import random_module

SEEDS = range(12)


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch: pytest.MonkeyPatch):
    """Hundreds of systems are not worth compiling."""
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")


class Referee:
    """M, h and the constraints of a system, from the single modules and from the slip of its contacts."""

    def __init__(self, system: System, contact_set) -> None:
        self.system, self.set = system, contact_set
        self.models = {name: Model(module) for name, module in system.modules.items()}

    def mass_and_bias(self, q, u):
        qs, us = split(self.system, q, "q"), split(self.system, u, "u")
        M = block_diag(*(m.mass_matrix(qs[n]).copy() for n, m in self.models.items()))
        return M, np.concatenate([m.bias(qs[n], us[n]).copy() for n, m in self.models.items()])

    def moved(self, q, u, t):
        """q after a time t at constant u' = 0, to high order: a straight line but for quaternions."""
        qs, us = split(self.system, q, "q"), split(self.system, u, "u")
        steps = 20
        for _ in range(steps):
            for name, model in self.models.items():
                h, x, v = t / steps, qs[name], us[name]
                k1 = model.position_rate(x, v).copy()
                k2 = model.position_rate(x + h / 2 * k1, v).copy()
                k3 = model.position_rate(x + h / 2 * k2, v).copy()
                k4 = model.position_rate(x + h * k3, v).copy()
                qs[name] = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return np.concatenate(list(qs.values()))

    def constraints(self, q, u):
        """A, as the slip is linear in u, and the rate of the slip at u' = 0, by a difference of order eight."""
        zero = self.set.errors(q, np.zeros_like(u))[1]
        A = np.stack([self.set.errors(q, e)[1] - zero for e in np.eye(len(u))], axis=1)
        h = 2e-3
        weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
        rate = sum(
            w * (self.set.errors(self.moved(q, u, k * h), u)[1] - self.set.errors(self.moved(q, u, -k * h), u)[1])
            for k, w in weights.items()
        )
        return A, rate / h


@pytest.mark.parametrize("dimension", ["planar", "spatial"])
@pytest.mark.parametrize("seed", SEEDS)
def test_accelerations_and_forces_equal_one_dense_kkt_solve(seed: int, dimension: str):
    system = random_system(seed, dimension)
    closed = system.contact_set()
    q, u, force = random_states(system, seed)
    referee = Referee(system, closed)
    M, h = referee.mass_and_bias(q, u)
    A, bias = referee.constraints(q, u)
    n, m = len(u), closed.n_held
    K = np.block([[M, -A.T], [A, np.zeros((m, m))]])
    expected = np.linalg.lstsq(K, np.concatenate((force - h, -bias)), rcond=1e-12)[0]
    motion = closed.accelerate(q, u, force)
    if np.linalg.matrix_rank(A, tol=1e-9) < m:
        assert motion.independence <= DEPENDENT
        if np.abs(A @ expected[:n] + bias).max() > 1e-6:
            return  # contradicting constraints: no acceleration meets them
    scale = 1 + np.abs(expected[:n]).max()
    condition = max(1.0, 1e-5 / max(motion.independence, 1e-12))
    np.testing.assert_allclose(motion.acceleration, expected[:n], atol=1e-9 * scale * condition)
    np.testing.assert_allclose(A @ motion.acceleration + bias, 0, atol=1e-9 * scale * condition)
    if motion.independence > DEPENDENT:
        np.testing.assert_allclose(motion.force, expected[n:], atol=1e-9 * (1 + np.abs(expected[n:]).max()) * condition)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_dual_basis_is_dual(kind: str):
    import casadi as ca

    from mrds.contacts.kind import Relative
    from tests.mrds.random_systems import PARAMETERS

    rng = np.random.default_rng(1)
    R = ca.DM(np.linalg.qr(rng.normal(size=(3, 3)))[0])
    relative, given = Relative(ca.SX(ca.DM(rng.normal(size=3))), ca.SX(R)), PARAMETERS.get(kind, {})
    modes, bases = KINDS[kind].modes(relative, given), KINDS[kind].bases(relative, given, planar=False)
    phi = np.array(ca.DM(ca.evalf(ca.densify(ca.horzcat(modes.free, modes.constrained)))))
    psi = np.array(ca.DM(ca.evalf(ca.densify(ca.horzcat(bases.psi_u, bases.psi_c)))))
    np.testing.assert_allclose(psi.T @ phi, np.eye(6), atol=1e-14)


@pytest.mark.parametrize("dimension", ["planar", "spatial"])
@pytest.mark.parametrize("seed", range(2))
def test_the_slip_is_the_rate_of_the_gap_where_the_gap_is_closed(seed: int, dimension: str):
    """Both sides at one place: gap zero; a small motion opens the gap at the rate of the slip."""
    module = random_module(seed, dimension, "floating", 1)
    points = (module.points[0].model_copy(update={"name": "here"}),)
    a, b = (module.model_copy(update={"name": name, "points": points}) for name in ("a", "b"))
    kinds = sorted(set(KINDS) - {"rolling"} - ({"universal", "plane"} if dimension == "planar" else set()))
    for kind in kinds:
        contact = Contact(
            name="c", kind=kind, first=Side(module="a", point="here"), second=Side(module="b", point="here"),
            parameters={"pitch_m_rad": 0.07} if kind == "screw" else {},
        )  # fmt: skip
        closed = System([a, b], [contact]).contact_set()
        q, u, _ = random_states(closed.system, seed)
        half = len(q) // 2
        q[half:] = q[:half]
        gap, slip = closed.errors(q, u)
        np.testing.assert_allclose(gap, 0, atol=1e-12)
        referee, h = Referee(closed.system, closed), 1e-6
        ahead, behind = (closed.errors(referee.moved(q, u, s * h), u)[0] for s in (1, -1))
        np.testing.assert_allclose((ahead - behind) / (2 * h), slip, atol=1e-7 * (1 + np.abs(slip).max()))


def test_dependent_constraints_are_solved_by_least_norm_and_said():
    """The same grasp twice: half the force each, the accelerations of one grasp."""
    first = random_module(3, "spatial", "floating", 2)
    a, b = (first.model_copy(update={"name": name}) for name in ("a", "b"))

    def grasp(name: str) -> Contact:
        return Contact(
            name=name,
            kind="rigid_grasp",
            first=Side(module="a", point="point0"),
            second=Side(module="b", point="point0"),
        )

    system = System([a, b], [grasp("one"), grasp("two")])
    q, u, force = random_states(system, 3)
    once, twice = system.contact_set(["one"]).accelerate(q, u, force), system.contact_set().accelerate(q, u, force)
    assert once.independence > DEPENDENT
    assert twice.independence <= DEPENDENT
    np.testing.assert_allclose(twice.acceleration, once.acceleration, atol=1e-8 * np.abs(once.acceleration).max())
    np.testing.assert_allclose(twice.force, np.tile(once.force / 2, 2), atol=1e-8 * np.abs(once.force).max())


def test_an_open_set_moves_every_module_by_itself():
    system = random_system(5, "spatial")
    q, u, force = random_states(system, 5)
    motion = system.contact_set([]).accelerate(q, u, force)
    qs, us, fs = (split(system, x, of) for x, of in ((q, "q"), (u, "u"), (force, "u")))
    expected = [Model(m).forward_dynamics(qs[n], us[n], fs[n]).copy() for n, m in system.modules.items()]
    np.testing.assert_allclose(motion.acceleration, np.concatenate(expected), rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "glue"}, "kind = 'glue'"),
        ({"first": Side(module="c", point="point0")}, "first.module = 'c'"),
        ({"second": Side(module="b", point="nose")}, "second.point = 'nose'"),
        ({"kind": "screw"}, "pitch_m_rad is missing"),
        ({"parameters": {"pitch_m_rad": 1.0}}, "unknown parameter pitch_m_rad"),
        ({"first": Side(), "second": Side()}, "joins the ground to itself"),
    ],
)
def test_a_contact_that_cannot_be_is_refused_by_name(change, words):
    module = random_module(1, "spatial", "floating", 1)
    a, b = (module.model_copy(update={"name": name}) for name in ("a", "b"))
    contact = Contact(
        name="hold", kind="rigid_grasp", first=Side(module="a", point="point0"), second=Side(module="b", point="point0")
    )
    with pytest.raises(InputError, match="contact 'hold'") as refusal:
        System([a, b], [contact.model_copy(update=change)])
    assert words in str(refusal.value)
