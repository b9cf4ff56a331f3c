"""Bonaventura 2002, Table 21: natural frequencies with two modes a link (acceptance test 2)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

from granite.kernels.kernel import Array
from granite.mrds.flexible.integrals import at_section
from tests.peers.interpreted import interpreted
from tests.support.flexible_arms import flexible, planar_arm, stiffness
from tests.validation.claims import Claims


def frequencies(links: list[dict[str, float]], link: int) -> Array:
    """Of one link by itself [rad/s], the elbow at 90 degrees, the second link not turning in the world.

    That is what the table holds still: its q2 is the angle from the first link's base, ours from its tip.
    """
    module = planar_arm(links)
    model, n = interpreted(module), len(links)
    q = np.zeros(model.n_q)
    motion = np.zeros((model.n_u, 2))
    first = n + 2 * link
    motion[first : first + 2] = np.eye(2)
    if n > 1:
        q[1] = np.pi / 2
    if link == 0 and n > 1:
        bent = module.bodies[1].flexible
        assert bent is not None
        motion[1] = -at_section(bent, bent.length_m).slope
    M, K = model.mass_matrix(q), stiffness(model, q)
    return np.sqrt(eigh(motion.T @ K @ motion, motion.T @ M @ motion, eigvals_only=True))


@pytest.mark.parametrize(
    ("system", "links", "printed", "computed"),
    [
        ("1", [flexible(1.0, 2)], [[10.2, 63.6]], [[10.150, 63.608]]),
        ("2a", [flexible(1.0, 2), flexible(0.5, 2)], [[5.83, 49.6], [40.6, 254]], [[5.8267, 49.552], [40.599, 254.43]]),
        (
            "2b",
            [flexible(1.0, 2), flexible(0.5, 2, tip_mass_kg=0.5)],
            [[3.68, 47.0], [12.8, 187]],
            [[3.6799, 47.009], [12.753, 186.52]],
        ),
    ],
)
def test_mrds02_frequencies_are_the_printed_ones(
    system: str, links: list[dict[str, float]], printed: list[list[float]], computed: list[list[float]], claims: Claims
) -> None:
    for link, (three_digits, more) in enumerate(zip(printed, computed, strict=True)):
        ours = frequencies(links, link)
        for k, (expected, got) in enumerate(zip(three_digits, ours, strict=True), start=1):
            what = f"System {system}, frequency {k} of link {link + 1} (Table 21)"
            claims.near("MRDS 2", what, expected, got, 5e-3, "rad/s")
        assert ours == pytest.approx(more, rel=1e-4)
