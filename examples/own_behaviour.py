"""A behaviour of your own: the base moves along a circle while its heading and its arm stay."""

import numpy as np

import granite


class Circle:
    """Starts at the pose of the robot when the state becomes ready, and accelerates smoothly."""

    class Options(granite.Behaviour):
        radius_m: float = 0.3
        period_s: float = 30.0

    def __init__(self, options: Options, model: granite.ControlModel) -> None:
        self.options, self.rest = options, np.zeros(model.n)
        self.x, self.y = model.layout.joint_u("base_x"), model.layout.joint_u("base_y")
        self.start: tuple[float, np.ndarray] | None = None

    def decide(self, state: granite.State) -> granite.Reference:
        if self.start is None:
            if not state.ready:
                return granite.Reference(state.t, np.nan_to_num(state.q), self.rest, self.rest, False)
            self.start = state.t, state.q
        began, centre = self.start
        tau, w = state.t - began, 2 * np.pi / self.options.period_s
        angle, rate, turn = w * (tau - np.sin(w * tau) / w), w * (1 - np.cos(w * tau)), w * w * np.sin(w * tau)
        q, u, a = centre.copy(), self.rest.copy(), self.rest.copy()
        r, c, s = self.options.radius_m, np.cos(angle), np.sin(angle)
        q[self.x] += r * s
        q[self.y] += r * (1 - c)
        u[self.x], u[self.y] = r * rate * c, r * rate * s
        a[self.x], a[self.y] = r * (turn * c - rate**2 * s), r * (turn * s + rate**2 * c)
        return granite.Reference(state.t, q, u, a, tau > self.options.period_s)


if __name__ == "__main__":
    bed = granite.load("free-flyer", {"behaviour": f"{__file__}:Circle", "loop.duration_s": 32.0})
    log = granite.simulate(bed)
    x, y = log["/truth"].base_x_m, log["/truth"].base_y_m
    print(f"x from {x.min():.2f} to {x.max():.2f} m, y from {y.min():.2f} to {y.max():.2f} m")
