"""Which modules stay unknowns at the global level: those that others hold who can resist all that holds them."""

import pytest

from granite.mrds.contacts.assembly import hubs
from tests.support.random_systems import closed_chains


@pytest.mark.parametrize(
    ("chains", "joints", "kind", "expected"),
    [
        (2, 6, "rigid_grasp", {"load"}),  # each arm has six joints for six constraints
        (2, 5, "rigid_grasp", set()),  # and one too few
        (2, 3, "hard_point", {"load"}),
        (2, 2, "hard_point", set()),
        (1, 6, "rigid_grasp", set()),  # held by one only
    ],
)
def test_a_body_between_arms_is_a_hub_where_each_arm_resists_its_own_contacts(chains, joints, kind, expected) -> None:
    system, _, _ = closed_chains(chains, joints, kind, seed=1)
    assert hubs(system.modules, tuple(system.contacts.values()), system.planar) == expected
