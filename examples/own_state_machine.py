"""A state machine of your own: an arm waves until its time is over, and comes to rest."""

import numpy as np

import granite


class Wave(granite.StateMachine):
    """Two states: `wave`, which its time-out ends, and `rest`."""

    class Options(granite.StateMachine.Options):
        machine = (
            granite.StateNote("wave", "swings the elbow", {}, timeout_s=6.0, on_timeout="rest"),
            granite.StateNote("rest", "holds the pose", {}),
        )
        swing_rad: float = 0.3

    def __init__(self, options: Options, model: granite.ControlModel) -> None:
        super().__init__(options, model)
        self.swing, self.elbow = options.swing_rad, model.layout.joint_u("elbow")

    def enter_wave(self, now: granite.Instant) -> None:
        self.start = now.state.q

    def act_wave(self, now: granite.Instant) -> granite.Action:
        return self.action(now, self.swing * (1 - np.cos(np.pi * now.since)) / 2)

    def act_rest(self, now: granite.Instant) -> granite.Action:
        return self.action(now, 0.0)._replace(done=True)

    def action(self, now: granite.Instant, angle: float) -> granite.Action:
        q, rest, task = self.start.copy(), np.zeros(len(self.start)), self.tasks.nothing(self.code)
        q[self.elbow] += angle
        for i in range(len(q)):
            self.tasks.weigh(task, i, 1.0)  # every coordinate follows the reference
        return granite.Action(q, rest, rest, task)


if __name__ == "__main__":
    changes = {"behaviour": f"{__file__}:Wave", "controller.law": "task_space", "loop.duration_s": 8.0}
    log = granite.simulate(granite.load("free-flyer", changes))
    for entered in log.summary["states"]:
        print(f"{entered['t_s']:.2f} s: {entered['state']}")
