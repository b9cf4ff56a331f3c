"""An estimator of your own as an expression: the Kalman estimate with its rates behind a low-pass filter.

In a testbed's file: estimator = { kind = "own_estimator.py:SmoothRates", weight = 0.9 }
`KalmanEstimator` is not part of the public API, and may change.
"""

import casadi as ca
import numpy as np

import granite
from granite.controllers.estimation.kalman import KalmanEstimator


class SmoothRates(granite.SymbolicEstimator):
    """u = u_before + weight (u_kalman - u_before)."""

    class Options(KalmanEstimator.Options):
        weight: float = 0.5

    def __init__(self, options: Options, model: granite.ControlModel) -> None:
        u, before, weight = ca.SX.sym("u", model.n), ca.SX.sym("before", model.n), ca.SX.sym("weight")
        after = before + weight * (u - before)
        inputs = {"state_u": u, "memory_u": before, "parameter_weight": weight}
        function = granite.named_function("smooth_rates", inputs, {"state_u": after, "next_u": after})
        numbers = {"weight": options.weight}, {"u": np.zeros(model.n)}
        super().__init__(model.bed, function, *numbers, inner=KalmanEstimator(options, model))


if __name__ == "__main__":
    for weight in (1.0, 0.5):
        estimator = {"kind": f"{__file__}:SmoothRates", "weight": weight}
        bed = granite.load("free-flyer", {"controller.estimator": estimator, "loop.duration_s": 10.0})
        log = granite.simulate(bed)
        change = np.diff(log["/state"].elbow_rad_s[100:]).std()
        print(f"weight {weight}: the elbow's rate changes by {1e3 * change:.2f} mrad/s a tick")
