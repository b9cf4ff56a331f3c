"""State machines: changes of state, time-outs, what they record, and what is refused before anything moves."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import granite
from granite.config.behaviour import StateNote
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import NOTHING, State
from granite.controllers.behaviours.state_machine import StateMachine
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
