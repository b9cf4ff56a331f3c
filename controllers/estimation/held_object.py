"""Pose of an object in space from the arms that hold it rigidly: no camera is needed.

Joints come from the Kalman estimator with rigid links, modes from strain gauges where these determine them, else they
are zero. Each arm i then gives the pose and the twist of the object through its tip E and the point P of the object
that it holds, which coincide:

    R_WO = R_WE R_EP R_OP^T         p_O = p_E - R_WO p_OP         v_O = v_E + w x (p_O - p_E)

The estimate is the mean over the arms. Its deviation is that of the joints of all arms through their Jacobians.

The joints are predicted with the object in the hands: a wrist is light, and the torque that carries the object would
turn it alone by several rad/s in a period. Behind ports a frame is a period old and corrects that a period too late.
"""

from __future__ import annotations

import casadi as ca

from granite.config.base import spatial
from granite.config.errors import InputError
from granite.config.modules import Module, Point
from granite.config.rotations import rotation
from granite.config.testbed import Testbed
from granite.controllers.estimation.kalman import KalmanEstimator
from granite.controllers.estimation.measured_modes import MeasuredModes
from granite.controllers.model import ControlModel
from granite.controllers.symbolic import SymbolicEstimator
from granite.kernels.compilation import compile_once
from granite.kernels.function_part import named_function


class HeldObjectEstimator(SymbolicEstimator):
    """Arms by the Kalman estimator, the object by their kinematics."""

    class Options(KalmanEstimator.Options):
        """Process noise of the joints, as the Kalman estimator has it."""

    def __init__(self, options: Options, model: ControlModel) -> None:
        bed = model.bed
        _refuse_others(bed)
        arms = _HoldingArms(bed.model_copy(update={"modules": tuple(map(stiffened, bed.modules))}))
        names = [c.name for c in arms.layout.velocities]
        known = [c.name for c in bed.known.velocities]
        n = len(known) - 6 * len(bed.control.objects)
        #: of the velocities of the arms, which are joints and which modes
        joints = [i for i in range(n) if known[i] in names]
        modes = [i for i in range(n) if known[i] not in names]
        #: gauges may measure them
        self.modes = MeasuredModes(len(modes))
        kernel = compile_once("held_object", bed.fingerprint, lambda: [_function(model, joints, modes)])["held_object"]
        numbers = {"amplitude": self.modes.amplitude, "rate": self.modes.rate}
        sizes = dict.fromkeys(("state_q", "state_u", "state_deviation", "state_rate_deviation"), len(joints))
        super().__init__(bed, kernel, numbers, inner=KalmanEstimator(options, arms), inner_sizes=sizes)
        self.parameters |= numbers


class _HoldingArms(ControlModel):
    """The arms of a testbed, which accelerate with the objects that they hold."""

    def __init__(self, bed: Testbed) -> None:
        super().__init__(bed.model_copy(update={"controller": bed.control.model_copy(update={"objects": ()})}))
        self._with_objects = bed

    def acceleration_under(self, gripped: frozenset[str]) -> ca.Function:
        """(q, u, torque of each motor, thrust of each thruster, disturbance) -> u' of the arms alone."""
        whole = ControlModel(self._with_objects)
        moved = whole.acceleration_under(gripped)
        sizes = {"q": self.q.numel(), "u": self.n, "tau": moved.size1_in(2), "thrust": moved.size1_in(3), "d": self.n}
        q, u, torque, thrust, d = (ca.MX.sym(name, size) for name, size in sizes.items())
        pose, twist, _ = _kinematics(whole)(q, u, ca.DM.zeros(self.n))
        disturbance = ca.vertcat(d, ca.DM.zeros(whole.n - self.n))
        a = moved(ca.vertcat(q, pose), ca.vertcat(u, twist), torque, thrust, disturbance)
        return ca.Function("acceleration", [q, u, torque, thrust, d], [a[: self.n]])


def stiffened(module: Module) -> Module:
    """The module with rigid links: uniform rods with the masses at their tips."""
    bodies = []
    for body in module.bodies:
        if (link := body.flexible) is None:
            bodies.append(body)
            continue
        L, rod, tip = link.length_m, link.line_density_kg_m * link.length_m, link.tip_mass_kg
        mass, lever = rod + tip + body.mass_kg, (rod / 2 + tip) * L
        across = rod * L**2 / 3 + tip * L**2 - lever**2 / mass
        planar = module.dimension == "planar"
        about = across if planar else (link.polar_inertia_kg_m * L + 1e-9, across, across, 0.0, 0.0, 0.0)
        com = (lever / mass, 0.0) if planar else (lever / mass, 0.0, 0.0)
        bodies.append(body.model_copy(update={"flexible": None, "mass_kg": mass, "com_m": com, "inertia_kg_m2": about}))
    return module.model_copy(update={"bodies": tuple(bodies)})


def _refuse_others(bed: Testbed) -> None:
    key = "controller.estimator.kind"
    for name in bed.control.objects:
        if bed.module(name).dimension != "spatial" or bed.module(name).joints_in_tree_order():
            problem = f"'{name}' is no rigid body in space"
            raise InputError(problem, key=key, value="held_object", expected="objects that are; else 'kalman'")
        if not _holders(bed, name):
            problem = f"no controlled arm on a fixed base holds '{name}' rigidly"
            raise InputError(problem, key=key, value="held_object", expected="a contact of kind 'rigid_grasp'")


def _holders(bed: Testbed, carried: str) -> list[tuple[Module, Point, Point]]:
    """Arm, its point and that of the object, of every rigid grasp on it that stays closed."""
    holders = []
    for contact in bed.contacts:
        sides = {side.module: str(side.point) for side in (contact.first, contact.second)}
        arms = [module for module in bed.controlled if module.name in sides and module.base == "fixed"]
        if contact.kind == "rigid_grasp" and carried in sides and arms and not bed.holds:
            holders.append((arms[0], _point(arms[0], sides), _point(bed.module(carried), sides)))
    return holders


def _point(module: Module, sides: dict[str, str]) -> Point:
    return next(point for point in module.points if point.name == sides[module.name])


def _function(model: ControlModel, joints: list[int], modes: list[int]) -> ca.Function:
    """The state of the arms with rigid links, and their modes -> the state of arms and objects."""
    n = len(joints) + len(modes)
    inputs = {f"state_{name}": ca.SX.sym(name, len(joints)) for name in ("q", "u", "deviation", "rate_deviation")}
    inputs |= {f"parameter_{name}": ca.SX.sym(name, len(modes)) for name in ("amplitude", "rate")}
    q, u, deviation, rate_deviation = (ca.SX.zeros(n) for _ in range(4))
    q[joints], u[joints], deviation[joints], rate_deviation[joints], q[modes], u[modes] = inputs.values()
    kinematics = _kinematics(model)
    pose, twist, uncertain = kinematics(q, u, deviation)
    # The twist is linear in the rates: its deviation follows from theirs as that of the pose from those of the angles.
    _, _, uncertain_rate = kinematics(q, u, rate_deviation)
    outputs = {
        "state_q": ca.vertcat(q, pose),
        "state_u": ca.vertcat(u, twist),
        "state_deviation": ca.vertcat(deviation, uncertain),
        "state_rate_deviation": ca.vertcat(rate_deviation, uncertain_rate),
        "state_correction": ca.SX.zeros(model.n),
        "state_disturbance": ca.SX.zeros(model.n),
    }
    return named_function("held_object", inputs, outputs)


def _kinematics(model: ControlModel) -> ca.Function:
    """(q and u of the arms, their deviations) -> poses of the objects, twists, deviations."""
    bed = model.bed
    n_q = sum(len(range(*model.layout.q[m.name].indices(10**6))) for m in bed.controlled)
    n_u = sum(len(range(*model.layout.u[m.name].indices(10**6))) for m in bed.controlled)
    q, u, sigma = model.q[:n_q], model.u[:n_u], ca.SX.sym("deviation", n_u)
    poses, twists, deviations = [], [], []
    for name in bed.control.objects:
        holders = _holders(bed, name)
        position, quaternion, twist = ca.SX(3, 1), ca.SX(4, 1), ca.SX(6, 1)
        for arm, own, held in holders:
            tip = model.point(arm.name, own.name)
            R = tip.rotation @ ca.DM(rotation(own.rotation_rad) @ rotation(held.rotation_rad).T)
            lever = -R @ ca.DM(list(spatial(held.position_m)))
            position += (tip.position + lever) / len(holders)
            quaternion += _quaternion(R)
            w = tip.angular_velocity
            twist += ca.vertcat(tip.velocity + ca.cross(w, lever), R.T @ w) / len(holders)
        poses.append(ca.vertcat(position, quaternion / ca.norm_2(quaternion)))
        twists.append(twist)
        deviations.append(ca.sqrt(ca.jacobian(twist, u) ** 2 @ sigma**2))
    outputs = (ca.densify(ca.vertcat(*part)) for part in (poses, twists, deviations))
    return ca.Function("held_object", [q, u, sigma], list(outputs))


def _quaternion(R: ca.SX) -> ca.SX:
    """Scalar first and not negative; each part from its own sum on the diagonal, which loses no digits near zero."""

    def part(total: ca.SX, sign: ca.SX | float) -> ca.SX:
        return ca.copysign(ca.sqrt(ca.fmax(total, 0.0)) / 2, sign)

    x, y, z = R[0, 0], R[1, 1], R[2, 2]
    return ca.vertcat(
        part(1 + x + y + z, 1.0), part(1 + x - y - z, R[2, 1] - R[1, 2]),
        part(1 - x + y - z, R[0, 2] - R[2, 0]), part(1 - x - y + z, R[1, 0] - R[0, 1]),
    )  # fmt: skip
