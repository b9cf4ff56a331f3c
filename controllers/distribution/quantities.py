"""What a term of the force distribution may read, as CVXPY symbols: the wrenches, and all that is affine in them.

A quantity that changes from tick to tick is a CVXPY parameter. A product of two of them is not affine and would be
refused, so everything that has a fixed value is a plain array: the stiffness, the limits, the period.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from granite.config.errors import InputError, one_of
from granite.controllers.distribution.grasp import GraspShape
from granite.mrds.dynamics import solve

#: inputs of the compiled map: the fields of `Grasp`, each as CasADi symbols
Symbols = dict[str, ca.SX]


class Quantities:
    """The quantities of a grasp; a name that is none of them is refused.

    Attributes
    ----------
    wrench
        The variable: w [N, N m], of all grips, on the object, in world axes.
    torque
        Of each driven joint [N m], affine in w.
    previous_torque
        Of the tick before [N m].
    elastic_acceleration
        q_e'', affine in w.
    elastic, elastic_rate
        q_e and q_e'.
    unguided
        J3^T w less what it is where the arms bend as if led from outside, affine in w.
    base_wrench
        Of each base of a vehicle, which its thrusters give, in its own axes [N, N m], affine in w.
    ramp
        Part of the set points that is in force, from 0 to 1.
    internal_wrench
        The part of w that does not move the object, (1 - A1^+ A1) w.
    torque_limit, stiffness, period_s, n_space
        Known at start: limit of each joint [N m], K_ee, time between two ticks [s], 2 in a plane and 3 in space.
    """

    _names = (
        "wrench", "torque", "previous_torque", "elastic_acceleration", "elastic", "elastic_rate", "unguided",
        "base_wrench", "ramp", "internal_wrench",
        "torque_limit", "stiffness", "period_s", "n_space", "force", "moment", "local_force", "line",
        "internal_axial_force",
    )  # fmt: skip

    def __init__(self, shape: GraspShape) -> None:
        import cvxpy as cp  # takes two seconds: only where a distribution is reduced

        self._cp, self.shape = cp, shape
        self.wrench = cp.Variable(shape.n_wrench, name="wrench")
        self.torque_limit, self.stiffness, self.period_s = shape.torque_limit, shape.stiffness, shape.period_s
        self.n_space = shape.n_space
        #: the value of each parameter, from the fields of a grasp
        self.values: list[tuple[Any, ca.SX]] = []
        n_w, n_j, n_e, n_g, n_s = shape.n_wrench, len(shape.joints), shape.n_elastic, len(shape.grips), shape.n_space
        # NumPy arrays are by rows and CasADi's by columns: a matrix arrives as its transpose.
        self.symbols: Symbols = {
            "matrix": ca.SX.sym("matrix", n_w, shape.n_object), "load": ca.SX.sym("load", shape.n_object),
            "free_torque": ca.SX.sym("free_torque", n_j), "torque_map": ca.SX.sym("torque_map", n_w, n_j),
            "free_elastic": ca.SX.sym("free_elastic", n_e), "elastic_map": ca.SX.sym("elastic_map", n_w, n_e),
            "elastic": ca.SX.sym("elastic", n_e), "elastic_rate": ca.SX.sym("elastic_rate", n_e),
            "previous_torque": ca.SX.sym("previous_torque", n_j),
            "positions": ca.SX.sym("positions", n_s, n_g), "axes": ca.SX.sym("axes", n_s, n_s * n_g),
            "guided": ca.SX.sym("guided", n_e), "free_base": ca.SX.sym("free_base", shape.n_base),
            "base_map": ca.SX.sym("base_map", n_w, shape.n_base), "ramp": ca.SX.sym("ramp"),
        }  # fmt: skip
        self._made: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise InputError(
            f"reads the quantity '{name}', but there is none of that name", expected=one_of(name, self._names)
        )

    @property
    def equation(self) -> Any:
        """A1 w - b1, zero where the object moves as demanded."""
        s = self.symbols
        return self._parameter("matrix", s["matrix"].T) @ self.wrench - self._parameter("load", s["load"])

    @property
    def torque(self) -> Any:
        """Of each driven joint [N m]."""
        s = self.symbols
        moving = self._parameter("torque_map", s["torque_map"].T) @ self.wrench
        return self._parameter("free_torque", s["free_torque"]) + moving

    @property
    def previous_torque(self) -> Any:
        """Of each driven joint in the tick before [N m]."""
        return self._parameter("previous_torque", self.symbols["previous_torque"])

    @property
    def elastic_acceleration(self) -> Any:
        """q_e''."""
        self._refuse_rigid()
        s = self.symbols
        moving = self._parameter("elastic_map", s["elastic_map"].T) @ self.wrench
        return self._parameter("free_elastic", s["free_elastic"]) + moving

    @property
    def elastic(self) -> Any:
        """q_e."""
        self._refuse_rigid()
        return self._parameter("elastic", self.symbols["elastic"])

    @property
    def elastic_rate(self) -> Any:
        """q_e'."""
        self._refuse_rigid()
        return self._parameter("elastic_rate", self.symbols["elastic_rate"])

    @property
    def unguided(self) -> Any:
        """J3^T w less what it is where the arms bend as if led from outside."""
        self._refuse_rigid()
        s = self.symbols
        moving = self._parameter("elastic_map", s["elastic_map"].T) @ self.wrench
        return moving - self._parameter("guided", s["guided"])

    def base_wrench(self, base: int) -> Any:
        """Of a base, in its own axes [N, N m]."""
        s, part = self.symbols, slice(3 * base, 3 * base + 3)
        moving = self._parameter(f"base_map_{base}", s["base_map"][:, part].T) @ self.wrench
        return self._parameter(f"free_base_{base}", s["free_base"][part]) + moving

    @property
    def ramp(self) -> Any:
        """Part of the set points that is in force."""
        return self._parameter("ramp", self.symbols["ramp"])

    @property
    def internal_wrench(self) -> Any:
        """The part of w that does not move the object."""
        return self._parameter("projector", self._projector) @ self.wrench

    def internal_axial_force(self, grip: int, first: int, second: int) -> Any:
        """Internal force at a grip along the line from one grip to another [N]."""
        row = self._line(first, second).T @ self._projector[self.shape.force_part(grip), :]
        return self._parameter(f"axial_{grip}_{first}_{second}", row.T) @ self.wrench

    def force(self, grip: int, of: Any = None) -> Any:
        """Force of a grip on the object [N], world axes: of w, or of another stack of wrenches."""
        return (self.wrench if of is None else of)[self.shape.force_part(grip)]

    def moment(self, grip: int, of: Any = None) -> Any:
        """Moment of a grip on the object [N m]."""
        return (self.wrench if of is None else of)[self.shape.moment_part(grip)]

    def local_force(self, grip: int) -> Any:
        """Force of a grip in its own axes [N], the first into the object."""
        n = self.n_space
        axes = self.symbols["axes"][:, n * grip : n * (grip + 1)].T
        return self._parameter(f"axes_{grip}", axes) @ self.force(grip)

    def line(self, first: int, second: int) -> Any:
        """Unit vector from one grip to another, world axes."""
        return self._parameter(f"line_{first}_{second}", self._line(first, second))

    @property
    def _projector(self) -> ca.SX:
        """1 - A1^+ A1, Sun (4.29)."""
        At = self.symbols["matrix"]
        return ca.SX.eye(At.shape[0]) - At @ solve(At.T @ At, At.T)

    def _line(self, first: int, second: int) -> ca.SX:
        between = self.symbols["positions"][:, second] - self.symbols["positions"][:, first]
        return between / ca.norm_2(between)

    def _parameter(self, name: str, value: ca.SX) -> Any:
        if name not in self._made:
            rows, columns = value.shape
            self._made[name] = self._cp.Parameter((rows, columns) if columns > 1 else rows, name=name)
            self.values.append((self._made[name], value))
        return self._made[name]

    def _refuse_rigid(self) -> None:
        if not self.shape.n_elastic:
            raise InputError("needs elastic coordinates, but all links are rigid", expected="a flexible link")
