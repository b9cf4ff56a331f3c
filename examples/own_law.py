"""A control law of your own: one class, named by the testbed. It is recorded and replayed like any other.

In a testbed's file: law = { kind = "own_law.py:SlidingMode", boundary_rad_s = 0.05 }
"""

import numpy as np

import granite


class SlidingMode:
    """a = a_ref + lambda (u_ref - u) + rho sat(s), s = (u_ref - u) + lambda (q_ref - q); F = M a + h - d."""

    class Options(granite.LawTable):
        bandwidth_rad_s: float = 1.0
        reach_rad_s2: float = 0.05
        joint_reach_rad_s2: float = 2.0  # against the friction of the joints
        boundary_rad_s: float = 0.02

    def __init__(self, options: Options, model: granite.ControlModel) -> None:
        self.options, self.inverse = options, model.compile_inverse()
        self.reach = np.full(model.n, options.reach_rad_s2)
        self.reach[model.driven] = options.joint_reach_rad_s2

    def control(self, state: granite.State, reference: granite.Reference) -> granite.Demand:
        bandwidth = self.options.bandwidth_rad_s
        rate_error = reference.u - state.u
        s = rate_error + bandwidth * (reference.q - state.q)
        reach = self.reach * np.clip(s / self.options.boundary_rad_s, -1.0, 1.0)
        acceleration = reference.a + bandwidth * rate_error + reach
        return granite.Demand(state.t, *self.inverse(state.q, state.u, acceleration, state.disturbance))


if __name__ == "__main__":
    bed = granite.load("free-flyer", {"controller.law": f"{__file__}:SlidingMode", "loop.duration_s": 10.0})
    log = granite.simulate(bed, "own_law.mcap", overwrite=True)
    error = log["/truth"].base_x_m - log["/reference"].base_x_m
    print(f"error in x after 10 s: {1e3 * error[-1]:.2f} mm; replays to the bit: {granite.replay(log).first is None}")
