"""A control law of your own as one CasADi function with named inputs and outputs: it runs compiled, as ours do.

In a testbed's file: law = { kind = "own_symbolic_law.py:SymbolicSlidingMode", boundary_rad_s = 0.05 }
"""

import casadi as ca
import numpy as np

import granite


class SymbolicSlidingMode(granite.SymbolicLaw):
    """The law of own_law.py: a = a_ref + lambda (u_ref - u) + rho sat(s); F = M a + h - d."""

    class Options(granite.LawTable):
        bandwidth_rad_s: float = 1.0
        reach_rad_s2: float = 0.05
        joint_reach_rad_s2: float = 2.0  # against the friction of the joints
        boundary_rad_s: float = 0.02

    def __init__(self, options: Options, model: granite.ControlModel) -> None:
        n, q, u = model.n, model.q, model.u
        q_ref, u_ref, a_ref, d = (ca.SX.sym(name, n) for name in ("q_ref", "u_ref", "a_ref", "d"))
        bandwidth, boundary, reach = ca.SX.sym("bandwidth"), ca.SX.sym("boundary"), ca.SX.sym("reach", n)
        s = u_ref - u + bandwidth * (q_ref - q)
        a = a_ref + bandwidth * (u_ref - u) + reach * ca.fmax(-1.0, ca.fmin(1.0, s / boundary))
        a = model.complete(a, d)
        force = model.inverse(a) - d
        inputs = {
            "state_q": q,
            "state_u": u,
            "state_disturbance": d,
            "reference_q": q_ref,
            "reference_u": u_ref,
            "reference_a": a_ref,
            "parameter_bandwidth": bandwidth,
            "parameter_reach": reach,
            "parameter_boundary": boundary,
        }
        outputs = {"demand_acceleration": a, "demand_force": force, "demand_wrench": model.wrenches(force)}
        reaches = np.full(n, options.reach_rad_s2)
        reaches[model.driven] = options.joint_reach_rad_s2
        function = granite.named_function("sliding_mode", inputs, outputs)
        super().__init__(
            model.bed,
            function,
            {"bandwidth": options.bandwidth_rad_s, "reach": reaches, "boundary": options.boundary_rad_s},
        )


if __name__ == "__main__":
    law = f"{__file__}:SymbolicSlidingMode"
    log = granite.simulate(granite.load("free-flyer", {"controller.law": law, "loop.duration_s": 10.0}))
    error = log["/truth"].base_x_m - log["/reference"].base_x_m
    print(f"error in x after 10 s: {1e3 * error[-1]:.2f} mm; replays to the bit: {granite.replay(log).first is None}")
