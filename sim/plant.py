"""The plant: the robot's multibody model on the granite, pushed by thrusters and motors, in fixed steps."""

from __future__ import annotations

import math
from typing import Protocol

import casadi as ca
import numpy as np

from config import coordinates
from config.base import spatial
from config.records import Array
from config.testbed import Testbed
from mrds.compilation import compile_functions
from mrds.dynamics import Dynamics
from mrds.integrators import rk4_step
from mrds.symbols import vector
from mrds.tree import Tree

GRAVITY = 9.81  #: [m/s^2]
_ROUNDING = 1e-6  #: of a step: times closer than this are the same


class ThrustSource(Protocol):
    """What pushes the root body."""

    impulse_left: float  #: in the tank [N s]; NaN: no tank
    impulse_used: float  #: so far [N s]

    def thrust(self, t0: float, t1: float) -> Array:
        """Mean thrust of each thruster from t0 to t1 (n_t) [N]; every interval is asked for once, in turn."""


class TorqueSource(Protocol):
    """What turns the joints."""

    torque: Array  #: (n_m) [N m]


class Observer(Protocol):
    """What must see every step of the motion, not only its state at the ticks."""

    def observe(self, t: float, q: Array, u: Array) -> None:
        """The true state at time t; the arrays are valid during the call only."""


class Plant:
    """The true motion of the robot.

    Devices attach themselves: one source of thrust, one of torque, any number of observers. Without a source
    there is no force.
    """

    thrusters: ThrustSource | None = None
    motors: TorqueSource | None = None

    def __init__(self, bed: Testbed) -> None:
        self.step_s = bed.simulation.physics_step_s
        n_q = len(coordinates.positions(bed.robot))
        n_t = len(bed.devices.thrusters.units) if bed.devices.thrusters else 0
        self._kernel = compile_functions("plant", [step_function(bed)])["plant_step"]
        x, p, h = self._kernel.inputs
        x[:], h[:] = initial_state(bed), self.step_s
        # The state lives in the inputs of the kernel; these are views of it.
        self._x, self._q, self._u, self._thrust, self._torque = x, x[:n_q], x[n_q:], p[:n_t], p[n_t:]
        self._steps = 0
        self._next = (1 - _ROUNDING) * self.step_s
        self.observers: list[Observer] = []
        #: mean thrust delivered over the last tick (n_t) [N]
        self.thrust: Array = np.zeros(n_t)

    @property
    def t(self) -> float:
        """Time of the state [s]."""
        return self._steps * self.step_s

    @property
    def q(self) -> Array:
        """True coordinates (n_q)."""
        return self._q.copy()

    @property
    def u(self) -> Array:
        """True velocities (n_u)."""
        return self._u.copy()

    @property
    def impulse_left(self) -> float:
        """Impulse left in the tank [N s]; NaN without a tank."""
        return self.thrusters.impulse_left if self.thrusters else math.nan

    @property
    def impulse_used(self) -> float:
        """Impulse delivered by all thrusters so far [N s]."""
        return self.thrusters.impulse_used if self.thrusters else 0.0

    def advance(self, t: float) -> None:
        """Go on to the last physics step that is not after t; nothing happens if the plant is there."""
        if t < self._next:
            return
        h, x, q, u = self.step_s, self._x, self._q, self._u
        first, last = self._steps, int(t / h + _ROUNDING)
        if self.motors:
            self._torque[:] = self.motors.torque
        total = np.zeros(len(self._thrust))
        for k in range(first, last):
            if self.thrusters:
                self._thrust[:] = thrust = self.thrusters.thrust(k * h, (k + 1) * h)
                total += thrust
            x[:] = self._kernel.evaluate()[0]
            for observer in self.observers:
                observer.observe((k + 1) * h, q, u)
        self._steps = last
        self._next = (last + 1 - _ROUNDING) * h
        self.thrust = total / (last - first)


def initial_state(bed: Testbed) -> Array:
    """x = [q; u] at the start: what `simulation.initial` says, zero elsewhere, and no rotation."""
    q, u = coordinates.positions(bed.robot), coordinates.velocities(bed.robot)
    x = np.array([bed.simulation.initial.get(c.key, 0.0) for c in (*q, *u)])
    quaternion = [i for i, c in enumerate(q) if c.unit == "1"]
    if quaternion:
        if not x[quaternion].any():
            x[quaternion[0]] = 1.0
        x[quaternion] /= np.linalg.norm(x[quaternion])
    return x


def step_function(bed: Testbed) -> ca.Function:
    """(x, p, h) -> x after h, with x = [q; u] and p = [thrust of each thruster; torque of each motor]."""
    tree = Tree(bed.robot)
    n_t = len(bed.devices.thrusters.units) if bed.devices.thrusters else 0
    p = ca.SX.sym("p", n_t + len(bed.devices.motors))
    force = _thrust(bed, tree, p[:n_t]) + _torque(bed, tree, p[n_t:])
    if not bed.simulation.table.ideal:
        force += _table(bed, tree)
    x = ca.vertcat(tree.q, tree.u)
    x_dot = ca.vertcat(tree.q_dot, Dynamics(tree).forward(force))
    return rk4_step(
        "plant_step",
        ca.Function("plant_rhs", [x, p], [x_dot]),
        ca.Function("plant_projection", [x], [ca.vertcat(tree.projected(), tree.u)]),
    )


def _thrust(bed: Testbed, tree: Tree, thrust: ca.SX) -> ca.SX:
    root = tree.bodies[0]
    total = ca.SX.zeros(tree.u.numel())
    units = bed.devices.thrusters.units if bed.devices.thrusters else ()
    for i, unit in enumerate(units):
        direction = vector(spatial(unit.direction)) / math.hypot(*unit.direction)
        force = thrust[i] * (root.R_WB @ direction)
        total += _generalised(tree, tree.point_velocity(root.name, unit.position_m), force)
    return total


def _torque(bed: Testbed, tree: Tree, torque: ca.SX) -> ca.SX:
    names = [c.name for c in coordinates.velocities(bed.robot)]
    total = ca.SX.zeros(tree.u.numel())
    for i, motor in enumerate(bed.devices.motors):
        total[names.index(motor.joint)] += torque[i]
    return total


def _table(bed: Testbed, tree: Tree) -> ca.SX:
    """Slope and air-pad drag at each mass centre (Stanford report, L134; the laws of drag are ours)."""
    table = bed.simulation.table
    downhill = vector([math.cos(table.tilt_direction_rad), math.sin(table.tilt_direction_rad), 0.0])
    total = ca.SX.zeros(tree.u.numel())
    for body in tree.bodies:
        weight = body.mass * GRAVITY
        force = weight * table.tilt_g * downhill
        if table.drag_ratio > 0:
            v, v0 = body.v_WC, table.drag_speed_m_s
            # Coulomb's law, made smooth where the velocity changes sign: v/|v| becomes v/sqrt(v^2 + v0^2).
            speed = ca.sqrt(ca.dot(v, v) + v0**2) if table.drag == "coulomb" else v0
            force -= table.drag_ratio * weight * v / speed
        total += _generalised(tree, body.v_WC, force)
    return total


def _generalised(tree: Tree, velocity: ca.SX, force: ca.SX) -> ca.SX:
    """Generalised force of a force on a point moving at `velocity`: (dv/du)^T f (virtual power)."""
    return ca.jtimes(velocity, tree.u, force, True)
