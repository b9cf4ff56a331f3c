"""A user's law as one expression: compiled in the tick and in whole runs, recorded, replayed, refused by name."""

from pathlib import Path

import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.config.run_modes import RequestKind
from granite.kernels.c_compiler import find_compiler
from granite.rt.compiled_run import CompiledRun, parts_in_python
from granite.rt.run import Run
from granite.rt.steps.compiled_steps import steps_in_python
from tests.support.compiled_ticks import rows_of

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="compiled steps need a C compiler")

LAW = '''
import casadi as ca
import granite


class Integrating(granite.SymbolicLaw):
    """PD and an integral, through the model."""

    class Options(granite.LawTable):
        stiffness_1_s2: float = 1.0
        integral_1_s3: float = 0.01

    def __init__(self, options, model):
        n, q, u = model.n, model.q, model.u
        q_ref, u_ref, before = (ca.SX.sym(name, n) for name in ("q_ref", "u_ref", "before"))
        stiffness, integral, ready = ca.SX.sym("k"), ca.SX.sym("i"), ca.SX.sym("ready")
        total = before + ca.if_else(ready, model.bed.loop.period_s * integral * (q_ref - q), 0.0)
        a = stiffness * (q_ref - q) + 2 * ca.sqrt(stiffness) * (u_ref - u) + total
        force = model.inverse(model.complete(a, ca.SX.zeros(n)))
        function = granite.named_function(
            "integrating",
            {"state_ready": ready, "state_q": q, "state_u": u, "reference_q": q_ref, "reference_u": u_ref,
             "parameter_stiffness": stiffness, "parameter_integral": integral, "memory_total": before},
            {"demand_acceleration": a, "demand_force": force, "demand_wrench": model.wrenches(force),
             "next_total": total},
        )
        parameters = {"stiffness": options.stiffness_1_s2, "integral": options.integral_1_s3}
        super().__init__(model.bed, function, parameters, {"total": [0.0] * n})


class Typo(granite.SymbolicLaw):
    def __init__(self, options, model):
        x = ca.SX.sym("x", model.n)
        super().__init__(model.bed, granite.named_function("typo", {"state_Q": x}, {"demand_force": x}))


class Short(granite.SymbolicLaw):
    def __init__(self, options, model):
        x = ca.SX.sym("x", model.n)
        super().__init__(model.bed, granite.named_function("short", {"state_u": x}, {"demand_force": x[1:]}))


class Doubled(Integrating):
    """Its own method is Python's."""

    def control(self, state, reference):
        demand = super().control(state, reference)
        return demand._replace(force=2 * demand.force)
'''


@pytest.fixture
def law(tmp_path: Path) -> Path:
    file = tmp_path / "lab.py"
    file.write_text(LAW)
    return file


def bed_with(law: Path, name: str, duration: float = 1.5) -> granite.Testbed:
    return granite.load("free-flyer", {"controller.law": f"{law}:{name}", "loop.duration_s": duration})


def test_a_law_as_an_expression_is_compiled_with_the_bits_of_its_python_form(law: Path) -> None:
    bed = bed_with(law, "Integrating")
    compiled, _, run = rows_of(bed, compiled=True)
    assert steps_in_python(run.stack) == []
    expected, _, _ = rows_of(bed, compiled=False)
    kept = np.ones(run.channels.width, dtype=bool)
    kept[run.channels.place("/timing", "steps")] = False
    assert np.array_equal(compiled[:, kept].view(np.uint64), expected[:, kept].view(np.uint64))
    whole = Run(bed)
    assert parts_in_python(whole) == []
    made = CompiledRun(whole).rows()
    assert made is not None
    demand = run.channels.place("/demand", "force")
    assert np.array_equal(made[0][:, demand], expected[:, demand])
    assert np.abs(expected[-1, demand]).max() > 0
    assert whole.stack.law.memory["total"].any()  # type: ignore[attr-defined]


def test_it_is_recorded_and_replayed_to_the_bit(law: Path, tmp_path: Path) -> None:
    log = granite.simulate(bed_with(law, "Integrating", 0.5), tmp_path / "run.mcap")
    assert granite.replay(log).first is None


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("Typo", "function 'typo' has an input 'state_Q'"), ("Short", "output 'demand_force' of function 'short' has 4")],
)
def test_a_name_or_size_that_does_not_fit_is_refused(law: Path, name: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Run(bed_with(law, name))


def test_a_method_of_its_own_runs_in_python(law: Path) -> None:
    assert steps_in_python(Run(bed_with(law, "Doubled")).stack) == ["law"]


def test_every_mode_and_every_gain_has_the_bits_of_python_in_the_compiled_form() -> None:
    """Gains change, the robot holds, goes on, floats, begins again and stops; no tick leaves the compiled form."""
    from tests.support.scripted_operator import Request, scripted

    requests = {
        0.5: Request(RequestKind.SET_GAIN, argument=0, value=0.9),
        2.0: RequestKind.HOLD,
        5.0: RequestKind.START,
        7.0: RequestKind.FLOAT,
        8.0: RequestKind.HOLD,
        11.0: RequestKind.RESTART,
        15.0: RequestKind.STOP,
    }
    rows = {}
    for compiled in (True, False):
        done = scripted(requests, "loop.duration_s=20", prepare=(lambda run: None) if compiled else _in_python)
        assert (done.run.compiled_steps is not None) == compiled
        kept = np.ones(done.channels.width, dtype=bool)
        kept[done.channels.place("/timing", "steps")] = False
        rows[compiled] = done.rows[:, kept]
        assert len(done.modes) >= 6
    assert np.array_equal(rows[True].view(np.uint64), rows[False].view(np.uint64))


def _in_python(run: Run) -> None:
    run.compiled_steps = None
