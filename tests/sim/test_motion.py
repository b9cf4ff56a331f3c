"""One physics step of a plant with contacts: elimination in symbols and singular values in numbers agree."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.loader import load
from granite.config.start import initial_motion
from granite.mrds.contacts import contact_set
from granite.mrds.start import consistent_start
from granite.mrds.system import System
from granite.sim.plant.constrained_plant import ConstrainedPlant
from granite.sim.plant.equations import initial_state
from granite.sim.plant.motion import N_AUDITED, is_driven, n_extra

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.mark.parametrize("method", ["projection", "baumgarte", "none"])
@pytest.mark.parametrize("name", ["mrds-6a", "mrds-3", "fixed-dual-arm/open-loop"])
def test_both_ways_to_solve_for_contact_forces_take_the_same_step(
    name: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed = load(name, [f"simulation.constraint_stabilisation.method={method}", "simulation.audit=true"])
    contacts = System(bed.modules, bed.contacts).contact_set(bed.contact_sets[0])
    plant = ConstrainedPlant(bed, contacts, tick=1)
    q, u = consistent_start(bed, contacts, *initial_motion(bed))
    rng = np.random.default_rng(3)
    u = contacts.project(q, 0.1 * rng.normal(size=len(u)))[1]
    state = np.concatenate(initial_state(bed, q, u))
    steps = plant.step
    steps.run((state, steps.no_thrust, 0.1 * rng.normal(size=steps.no_torque.size)))
    assert not plant.needs_svd(steps)
    eliminated = steps.after.copy()
    # No independence is good enough now, so that every solution is by singular values.
    monkeypatch.setattr(contact_set, "ELIMINATION_SINE_SQUARED", np.inf)
    plant.step_by_svd(steps)
    np.testing.assert_allclose(steps.after, eliminated, atol=1e-10, equal_nan=True)
    assert np.abs(eliminated - state)[: len(q)].max() > 1e-6


def test_time_and_work_are_states_only_where_they_are_needed() -> None:
    still, driven = load("mrds-6a"), load("mrds-3")
    assert (is_driven(still), is_driven(driven)) == (False, True)
    audited = load("mrds-3", ["simulation.audit=true"])
    assert [n_extra(bed) for bed in (still, driven, audited)] == [0, 1, 1 + N_AUDITED]
