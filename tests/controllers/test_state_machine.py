"""State machines: changes of state, time-outs, what they record, and what is refused before anything moves."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import casadi as ca
import numpy as np
import pytest

import granite
from granite.config.behaviour import StateNote
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import NOTHING, State
from granite.controllers.behaviours.leap import Leap
from granite.controllers.behaviours.state_machine import Instant, StateMachine
from granite.controllers.behaviours.task_plan import TaskPlan, TickForm, TickResults, TickSymbols
from granite.controllers.model import ControlModel

OWN = '''
import numpy as np
import granite


class Nod(granite.StateMachine):
    """The elbow goes forth, and back when the operator's time is over."""

    class Options(granite.StateMachine.Options):
        machine = (
            granite.StateNote("wait", "waits", {"forth": "after 0.1 s"}),
            granite.StateNote("forth", "turns the elbow", {}, 0.2, "back"),
            granite.StateNote("back", "turns it back", {}),
        )

    def leave_wait(self, now):
        return "forth" if now.since >= 0.1 else None

    def enter_forth(self, now):
        self.start = now.state.q

    def act_forth(self, now):
        return self.turned(now, 0.1)

    def act_back(self, now):
        return self.turned(now, -0.1)._replace(done=True)

    def turned(self, now, angle):
        q, task = self.start.copy(), self.tasks.nothing(self.code)
        q[4] += angle
        for i in range(5):
            self.tasks.weigh(task, i, 1.0)
        return granite.Action(q, np.zeros(5), np.zeros(5), task)
'''


def moment(t: float, q: np.ndarray) -> State:
    return State(t, True, q, np.zeros(8), NOTHING, NOTHING, holding=np.zeros(4))


class Machine(StateMachine):
    class Options(StateMachine.Options):
        machine: ClassVar[tuple[StateNote, ...]] = (
            StateNote("first", "waits", {"second": "at once"}),
            StateNote("second", "does nothing", {"third": "never"}, 0.5, "third"),
            StateNote("third", "ends", {}),
        )

    def leave_first(self, now: object) -> str:
        return "second"


def mean_heading(tick: TickSymbols) -> TickResults:
    """The mean heading over two ticks is the reference of the elbow, and a condition says that it is large."""
    mean, q = (tick.memory + tick.state_q[2]) / 2, ca.SX(tick.q)
    q[4] = mean + tick.numbers
    return TickResults(q, tick.u, tick.a, tick.task, tick.state_q[2], mean > 1, ca.SX(mean))


class WaitingMachine(StateMachine):
    """Sleeps until a condition of its tick changes, and says when it looked."""

    class Options(StateMachine.Options):
        machine: ClassVar[tuple[StateNote, ...]] = (
            StateNote("first", "waits", {"second": "turned"}),
            StateNote("second", "ends", {}),
        )

    def __init__(self, options: StateMachine.Options, model: ControlModel) -> None:
        super().__init__(options, model, TickForm(None, 1, 1, ("turned",), mean_heading))
        self.looked: list[float] = []

    def enter_first(self, now: Instant) -> None:
        self.sleep(np.inf, awaited=("turned",))

    def leave_first(self, now: Instant) -> str | None:
        self.looked.append(now.t)
        return "second" if self.conditions["turned"] else None

    def enter_second(self, now: Instant) -> None:
        self.sleep(np.inf)

    def plan_first(self, now: Instant) -> TaskPlan:
        plan = self.new_plan()
        plan.more[0] = 10.0 * (self.name == "second")
        return plan

    plan_second = plan_first


@pytest.fixture(scope="module")
def model() -> ControlModel:
    return ControlModel(load("leap"))


def test_a_machine_passes_several_states_in_a_tick_and_obeys_its_time_outs(model: ControlModel) -> None:
    machine = Machine(Machine.Options(kind="machine", timeout_s={"second": 0.3}), model)
    names = []
    for k in range(80):
        reference = machine.decide(moment(0.005 * k, np.zeros(8)))
        names.append(machine.name)
        assert reference.task[0] == machine.code
        assert not reference.task[1:].any()
    assert names[0] == "second"
    assert names.index("third") == 61


@pytest.mark.usefixtures("interpreted")
def test_a_sleeping_state_wakes_in_the_tick_in_which_its_condition_changes(model: ControlModel) -> None:
    """Its filter goes on meanwhile, and the plan of the next state is in force in that tick."""
    machine, headings = WaitingMachine(WaitingMachine.Options(kind="waiting"), model), [0.0, 0.5, 0.8, 1.6, 0.0, 0.0]
    elbow = [machine.decide(moment(float(t), np.full(8, q))).q[4] for t, q in enumerate(headings)]
    assert machine.looked == [0.0, 3.0]
    assert elbow == pytest.approx([0.0, 0.25, 0.65, 11.2, 10.8, 10.0])


def test_the_same_states_give_the_same_references_to_the_bit(model: ControlModel) -> None:
    q = np.random.default_rng(1).standard_normal((100, 8))
    machines = [Machine(Machine.Options(kind="machine"), model) for _ in range(2)]
    first, second = ([m.decide(moment(0.01 * k, q[k])) for k in range(100)] for m in machines)
    assert all(a.task.tobytes() == b.task.tobytes() for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ((StateNote("a", "", {"c": "now"}),), "state 'a' leads to 'c'"),
        ((StateNote("a", "", {}, 1.0, "b"),), "state 'a' leads to 'b'"),
        ((), "no states"),
    ],
)
def test_a_machine_that_leads_nowhere_is_refused(
    model: ControlModel, states: tuple[StateNote, ...], message: str
) -> None:
    class Wrong(StateMachine):
        class Options(StateMachine.Options):
            machine: ClassVar[tuple[StateNote, ...]] = states

    with pytest.raises(InputError, match=message):
        Wrong(Wrong.Options(kind="wrong"), model)


def test_a_plan_permits_thrusters_where_its_state_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    bed = load("leap/thrusters", {"behaviour.thrusters_in": ["push"]})
    machine = Leap(bed.behaviour, ControlModel(bed))
    permitted = []
    for note in bed.behaviour.states():
        machine.name = note.name
        plan = machine.new_plan()
        permitted += [note.name] * int(plan.numbers[-1])
        plan.coast()
        assert plan.numbers[-1] == 0.0
    assert permitted == ["push"]
    assert {note.name for note in load("leap/thrusters").behaviour.states() if note.thrusters} == {
        "midcourse",
        "settle",
    }


def test_a_time_out_of_an_unknown_state_is_refused(model: ControlModel) -> None:
    with pytest.raises(InputError, match="no such state"):
        Machine(Machine.Options(kind="machine", timeout_s={"thrid": 1.0}), model)


@pytest.mark.slow
def test_a_machine_in_a_file_runs_and_its_states_are_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    file = tmp_path / "nod.py"
    file.write_text(OWN)
    law = {"kind": "task_space"}
    bed = load("free-flyer/ideal", {"behaviour": f"{file}:Nod", "controller.law": law, "loop.duration_s": 2.5})
    path = tmp_path / "nod.mcap"
    granite.simulate(bed, path)
    log = granite.read_log(path)
    assert [s["state"] for s in log.summary["states"]] == ["wait", "forth", "back"]
    events = [event["name"] for event in log.events]
    assert [name for name in events if name.startswith("state_")] == ["state_wait", "state_forth", "state_back"]
    elbow = log["/truth"].elbow_rad
    assert log.summary["ended"] == "completed", log.summary["text"]
    assert elbow[-1] - elbow[0] == pytest.approx(-0.1, abs=5e-3)
    assert granite.replay(log).first is None
