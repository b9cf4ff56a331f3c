"""A free-flyer in momentum coordinates: no torque and no inverse of the mass matrix in its equations.

    m v' = R(heading) D f + drag + slope          v of the mass centre c, thrusts f
    H'   = moment of the thrusts about c          angular momentum about c
    heading' = (H - A(q) w) / I(q)                joint rates w
    q' = w,   w' = joint accelerations

The state is [c; heading; q; v; H; w]. With the base's origin at p, c - p = (M[2, 1], -M[2, 0]) / m; A and I are the row
of the mass matrix on the heading, taken about c instead of p.
"""

from __future__ import annotations

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
    part
        Its coordinates among those of the model; `q` are its symbols.
    rate
        (state, controls) -> rate of the state; controls are thrusts, then joint accelerations.
    motion
        (state, controls) -> its q, u and u'.
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

        n, x, controls = self.n_joints, ca.SX.sym("x", self.n), ca.SX.sym("controls", self.n_controls)
        c, heading, angles, v, H, w = ca.vertsplit(x, [0, 2, 3, 3 + n, 5 + n, 6 + n, 6 + 2 * n])
        turned = ca.vertcat(0, 0, heading, angles)
        arm, inertia, joints = (ca.substitute(part, q, turned) for part in (arm, inertia, joints))
        thrust, bending = ca.vertsplit(controls, [0, self.n_thrusters, self.n_controls])
        wrench = ca.DM(thruster_matrix(device, "planar")) @ thrust
        cosine, sine = ca.cos(heading), ca.sin(heading)
        force = ca.vertcat(cosine * wrench[0] - sine * wrench[1], sine * wrench[0] + cosine * wrench[1])
        moment = wrench[2] - arm[0] * force[1] + arm[1] * force[0]
        turning = (H - joints @ w) / inertia
        rate = ca.vertcat(v, turning, w, (force + _table_force(bed, mass, v)) / mass, moment, bending)
        self.rate = ca.Function("rate", [x, controls], [rate])
        pose = ca.vertcat(c - arm, heading, angles)
        twist = ca.jtimes(pose, x, rate)  # without the controls: they change velocities only
        self.motion = ca.Function("motion", [x, controls], [pose, twist, ca.jtimes(twist, x, rate)])
        self.pose = ca.Function("pose", [x], [pose])
        self.twist = ca.Function("twist", [x], [ca.substitute(twist, controls, ca.SX.zeros(self.n_controls))])


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


def _table_force(bed: Testbed, mass: float, v: ca.SX) -> ca.SX:
    """Drag and slope of the table [N], as the testbed has them; `granite identify` measures both."""
    table = bed.simulation.table
    if table.ideal:
        return ca.SX.zeros(2)
    speed = ca.sqrt(ca.dot(v, v) + table.drag_speed_m_s**2) if table.drag == "coulomb" else table.drag_speed_m_s
    downhill = ca.vertcat(ca.cos(table.tilt_direction_rad), ca.sin(table.tilt_direction_rad))
    return mass * GRAVITY * (table.tilt_g * downhill - table.drag_ratio * v / speed)
