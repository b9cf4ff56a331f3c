"""A free-flyer in momentum coordinates: no torque and no inverse of the mass matrix in its equations.

    m v' = R(heading) D f + drag + slope          v of the mass centre c, thrusts f
    H'   = moment of the thrusts about c          angular momentum about c
    heading' = (H - A(q) w) / I(q)                joint rates w
    q' = w,   w' = joint accelerations

The state is [c; heading; q; v; H; w]. With the base's origin at p, c - p = (M[2, 1], -M[2, 0]) / m; A and I are the row
of the mass matrix on the heading, taken about c instead of p.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError
from granite.config.footprints import obstacles
from granite.config.testbed import Testbed
from granite.controllers.model import ControlModel
from granite.controllers.run_modes.decelerations import base_deceleration
from granite.controllers.thrusters.geometry import available_thrust, thruster_matrix
from granite.mrds.height_map import GRAVITY


class MomentumModel:
    """The equations of one free-flyer in the plane.

    Parameters
    ----------
    model
        The controller's model.
    module
        The free-flyer, by name; none: the only one.

    Attributes
    ----------
    directions
        Wrench of one newton of each thruster, in axes of the base.
    part
        Its coordinates among those of the model; `q` are its symbols.
    motion
        (state, controls) -> its q, u and u'; controls are thrusts, then joint accelerations.
    state
        (q, u) -> state.
    pose, twist
        (state) -> q, and (state) -> u.
    """

    def __init__(self, model: ControlModel, module: str = "") -> None:
        refuse_unplannable(model.bed)
        self.model, bed = model, model.bed
        self.module = next(one for one in model.layout.modules if module in ("", one.name))
        device = next(device for device in bed.devices_of(Thrusters).values() if device.pushed(bed) == self.module)
        part = self.part = model.layout.q[self.module.name]
        q, u, M = model.q[part], model.u[part], model.mass_matrix[part, part]
        self.q, self.n_joints, self.n_thrusters = q, q.numel() - 3, len(device.units)
        self.n, self.n_controls = 6 + 2 * self.n_joints, self.n_thrusters + self.n_joints
        self.thrust, self.deceleration = available_thrust(device), base_deceleration(bed, device)
        mass = self.mass = float(ca.DM(M[0, 0]))
        arm = ca.vertcat(M[2, 1], -M[2, 0]) / mass  # c - p in world axes
        inertia = M[2, 2] - mass * ca.dot(arm, arm)
        joints = M[2, 3:] - arm[0] * M[1, 3:] + arm[1] * M[0, 3:]
        spin = inertia * u[2] + joints @ u[3:]
        whole = ca.vertcat(q[:2] + arm, q[2], q[3:], M[:2, :] @ u / mass, spin, u[3:])
        self.state = ca.Function("state", [q, u], [whole])

        # Of the joint angles alone, in axes of the base.
        straight = (ca.substitute(part, q[2], 0) for part in (arm, inertia, joints))
        in_base = self._in_base = ca.Function("in_base", [q[3:]], [*straight])
        self.directions = ca.DM(thruster_matrix(device, "planar"))

        x, controls = ca.SX.sym("x", self.n), ca.SX.sym("controls", self.n_controls)
        c, heading, angles, v, H, w = self._split(x)
        thrust, bending = ca.vertsplit(controls, [0, self.n_thrusters, self.n_controls])
        arm, inertia, joints = in_base(angles)
        wrench = self.directions @ thrust
        push = (_turned(heading, wrench[:2]) + _table_force(bed, mass, v)) / mass
        turning = (H - joints @ w) / inertia
        rate = ca.vertcat(v, turning, w, push, _moment(wrench, arm), bending)
        arm = _turned(heading, arm)
        pose = ca.vertcat(c - arm, heading, angles)
        twist = ca.jtimes(pose, x, rate)  # without the controls: they change velocities only
        self.motion = ca.Function("motion", [x, controls], [pose, twist, ca.jtimes(twist, x, rate)])
        self.pose = ca.Function("pose", [x], [pose])
        self.twist = ca.Function("twist", [x], [ca.substitute(twist, controls, ca.SX.zeros(self.n_controls))])

    def step(self, x: ca.SX, before: ca.SX, after: ca.SX, h: ca.SX) -> ca.SX:
        """The state after a time h in which wrench, in axes of the base, and joint accelerations are linear.

        Each part follows from those before it: joints in closed form, then momentum, heading, and the mass centre, by
        Simpson's rule where a rate does not depend on its own part, and by Runge-Kutta under drag. So derivatives are
        those of a chain, a fraction of those of Runge-Kutta for all parts at once.
        """
        c, heading, angles, v, H, w = self._split(x)
        (f, a), (f_end, a_end) = (ca.vertsplit(one, [0, 3, 3 + self.n_joints]) for one in (before, after))
        w_middle, w_end = w + h / 8 * (3 * a + a_end), w + h / 2 * (a + a_end)
        q_middle, q_end = angles + h / 2 * w + h**2 / 48 * (5 * a + a_end), angles + h * w + h**2 / 6 * (2 * a + a_end)
        bodies = [self._in_base(q) for q in (angles, q_middle, q_end)]
        wrenches = f, (f + f_end) / 2, f_end
        moments = [_moment(wrench, arm) for wrench, (arm, _, _) in zip(wrenches, bodies, strict=True)]
        spins = H, *_integrals(H, h, moments)
        turns = zip(spins, bodies, (w, w_middle, w_end), strict=True)
        headings = (
            heading,
            *_integrals(heading, h, [(spin - A @ rate) / inertia for spin, (_, inertia, A), rate in turns]),
        )
        pushes = [_turned(t, wrench[:2]) / self.mass for t, wrench in zip(headings, wrenches, strict=True)]

        def slowed(velocity: ca.SX) -> ca.SX:
            return _table_force(self.model.bed, self.mass, velocity) / self.mass

        k1 = pushes[0] + slowed(v)
        k2 = pushes[1] + slowed(v + h / 2 * k1)
        k3 = pushes[1] + slowed(v + h / 2 * k2)
        k4 = pushes[2] + slowed(v + h * k3)
        c_end, v_end = c + h * v + h**2 / 6 * (k1 + k2 + k3), v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return ca.vertcat(c_end, headings[2], q_end, v_end, spins[2], w_end)

    def _split(self, x: ca.SX) -> list[ca.SX]:
        """Mass centre, heading, joint angles, velocity, angular momentum and joint rates."""
        n = self.n_joints
        parts: list[ca.SX] = ca.vertsplit(x, [0, 2, 3, 3 + n, 5 + n, 6 + n, 6 + 2 * n])
        return parts


def refuse_unplannable(bed: Testbed) -> None:
    """Raise where paths can't be planned: they are for free-flyers in the plane, without contacts."""
    modules = [module for module in bed.known.modules if module.name not in obstacles(bed)]
    pushed = [device.pushed(bed) for device in bed.devices_of(Thrusters).values()]
    odd = [module.name for module in modules if pushed.count(module) != 1]
    problems = {
        "the testbed is spatial": not bed.planar,
        "the base is fixed": any(module.base == "fixed" for module in modules),
        f"'{''.join(odd[:1])}' has not one device of thrusters": bool(odd),
        "a link is flexible": any(body.flexible for module in bed.modules for body in module.bodies),
        "it has contacts": bool(bed.contacts),
    }
    for problem, is_true in problems.items():
        if is_true:
            expected = "free-flyers of rigid bodies in the plane"
            raise InputError(problem, key="behaviour.kind", value=bed.behaviour.kind, expected=expected)


def _turned(heading: ca.SX, vector: ca.SX) -> ca.SX:
    cosine, sine = ca.cos(heading), ca.sin(heading)
    return ca.vertcat(cosine * vector[0] - sine * vector[1], sine * vector[0] + cosine * vector[1])


def _moment(wrench: ca.SX, arm: ca.SX) -> ca.SX:
    """About the mass centre, of a wrench about the base's origin; both in axes of the base."""
    return wrench[2] - arm[0] * wrench[1] + arm[1] * wrench[0]


def _integrals(start: ca.SX, h: ca.SX, rates: Sequence[ca.SX]) -> tuple[ca.SX, ca.SX]:
    """At the middle and the end of a time, of the parabola through three rates."""
    first, middle, last = rates
    return start + h / 24 * (5 * first + 8 * middle - last), start + h / 6 * (first + 4 * middle + last)


def _table_force(bed: Testbed, mass: float, v: ca.SX) -> ca.SX:
    """Drag and slope of the table [N], as the testbed has them; `granite identify` measures both."""
    table = bed.simulation.table
    if table.ideal:
        return ca.SX.zeros(2)
    speed = ca.sqrt(ca.dot(v, v) + table.drag_speed_m_s**2) if table.drag == "coulomb" else table.drag_speed_m_s
    downhill = ca.vertcat(ca.cos(table.tilt_direction_rad), ca.sin(table.tilt_direction_rad))
    return mass * GRAVITY * (table.tilt_g * downhill - table.drag_ratio * v / speed)
