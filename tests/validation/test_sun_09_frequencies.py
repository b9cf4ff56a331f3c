"""Sun 1996, section 6.3: eigenvalues of one arm of the planar test bed (tests 9 to 12).

Three plants (6.33 to 6.35): A, joints held still; B, hand held still by the joints' torques; C, hand held still from
outside with loose joints. All of them come from modules and grasps of ours, with the inertia of the beams' sections
against turning added, which our beams leave out: it is worth 0.08 % of the highest frequency.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

from granite.kernels.kernel import Array
from tests.validation.claims import Claims
from tests.validation.sun_testbed import (
    BASES,
    EI,
    ELBOW,
    LEFT,
    LENGTH,
    LINE_DENSITY,
    WRIST,
    Matrices,
    arm,
    matrices,
    reduced,
    single_link,
)

pytestmark = pytest.mark.usefixtures("interpreted")


def eigenvalues(M: Array, K: Array) -> Array:
    """Of M q'' + K q = 0, one of each pair, largest first: imaginary is a frequency, real a divergence."""
    squares: Array = np.sqrt(np.linalg.eigvals(-np.linalg.solve(M, K)).astype(complex))
    return squares[np.argsort(-np.abs(squares))]


def plants(m: Matrices) -> dict[str, Array]:
    _, _, M_ee, K, *_ = m.blocks
    return {"A": eigenvalues(M_ee, K), "B": eigenvalues(m.hat[1], K), "C": eigenvalues(m.tilde, K)}


def printed(claims: Claims, test: str, what: str, expected: list[float], got: Array) -> None:
    """To the digits that are printed, and to a part in 5000."""
    claims.equal(test, what, expected, got, 5e-3, "1/s")
    assert np.abs(got / np.array(expected) - 1).max() < 2e-4


def off(expected: list[float], got: Array) -> float:
    return float(np.abs(got / np.array(expected) - 1).max())


def test_sun09_matrices_of_the_arm_are_those_worked_out(claims: Claims) -> None:
    """FRR, initial pose; nodes (v1, v1', v2, v2')."""
    M_rr, _, M_ee, K, J_r, J_e = matrices("FRR").blocks
    expected = [4.574045, 0.436684, 0.006303, 1.811300, 0.001, 0.001]
    claims.equal("Sun 9", "inertia of FRR at its joints", expected, M_rr[np.triu_indices(3)], 1e-6, "kg m^2")
    expected = [21.690189, 1.884730, -2.752093]
    claims.equal("Sun 9", "inertia of the last node of FRR", expected, [M_ee[2, 2], M_ee[3, 3], M_ee[2, 3]], 1e-6)
    claims.equal("Sun 9", "stiffness of the first and last node of FRR", [114796.63, 1195.80], [K[0, 0], K[3, 3]], 5e-3)
    jacobian = [[-0.217157, 0.282843, -0.070711], [0.424264, 0.424264, 0.070711], [1, 1, 1]]
    claims.equal("Sun 9", "Jacobian of the hand of FRR, joints", jacobian, J_r, 1e-6)
    elastic = [[0, 0, -1, 0.282843], [0, 0, 0, 0.424264], [0, 0, 0, 1]]
    claims.equal("Sun 9", "Jacobian of the hand of FRR, nodes", elastic, J_e, 1e-6)


def test_sun09_joints_held_still_give_table_6_1(claims: Claims) -> None:
    poles = plants(matrices("FRR"))["A"]
    assert np.abs(poles.real).max() < 1e-6
    expected = [3032.45, 842.25, 20.54, 8.72]
    printed(claims, "Sun 9", "FRR, joints still, Table 6.1", expected, poles.imag)
    without = plants(reduced(arm("FRR", LEFT, BASES[0]), rotary=False))["A"].imag
    what = "the same without inertia of the sections, as our beams are: off by, relative"
    claims.below("Sun 9", what, 1e-3, off(expected, without))


def test_sun09_table_3_1_as_printed_fails(claims: Claims) -> None:
    """Its mass 0.473 kg is a misprint of 0.437 kg, and the motors' c_y has the other sign."""
    other_side = tuple((m, c_x, -c_y, second) for m, c_x, c_y, second in (ELBOW, WRIST))
    expected = np.array([3032.45, 842.25, 20.54, 8.72])
    for what, changed in (
        ("the motors' c_y as printed", {"motors": other_side}),
        ("a link of 0.473 kg as printed", {"density": 0.473 / LENGTH}),
    ):
        poles = plants(reduced(arm("FRR", LEFT, BASES[0], **changed)))["A"].imag
        claims.above("Sun 9", f"Table 6.1 with {what} is off by, relative", 5e-3, np.abs(poles / expected - 1).max())
    claims.equal("Sun 9", "mass of the flexible link, printed 0.473", 0.437, LINE_DENSITY * LENGTH, 5e-4, "kg")


def test_sun10_a_hand_held_from_outside_gives_tables_6_2_and_6_3(claims: Claims) -> None:
    """Table 6.2 prints 5275.49 and 2162.64, Table 6.3 5752.49 and 2161.64 for the same."""
    poles = plants(matrices("FRR"))["C"]
    expected = [5752.49, 2161.64, 582.75, 77.11]
    printed(claims, "Sun 10", "FRR, hand held from outside, Table 6.3", expected, poles.imag)
    claims.above("Sun 10", "Table 6.2 prints 5275.49, off by", 400.0, abs(poles[0].imag - 5275.49), "1/s")
    claims.above("Sun 10", "Table 6.2 prints 2162.64, off by", 0.9, abs(poles[1].imag - 2162.64), "1/s")
    poles = plants(matrices("RFR"))["C"]
    assert np.abs(poles.real).max() < 1e-6
    printed(claims, "Sun 10", "RFR, hand held from outside", [5754.24, 2165.48, 595.77, 124.84], poles.imag)
    tilde = matrices("FFR").tilde
    claims.above("Sun 10", "FFR: least eigenvalue of the inertia", 1e-6, np.linalg.eigvalsh(tilde).min())


def test_sun11_a_hand_held_by_torques_diverges(claims: Claims) -> None:
    poles = plants(matrices("FRR"))["B"]
    assert np.abs(np.append(poles[:3].imag, poles[3].real)).max() < 1e-6
    size = np.append(poles[:3].real, poles[3].imag)
    expected = [3958.27, 2059.26, 710.94, 64.39]
    printed(claims, "Sun 11", "FRR, hand held by torques: three real ones, one imaginary", expected, size)


def along_the_motion(phi: float) -> tuple[float, ...]:
    """Joint angles of the left arm while the bar stands at phi: its wrist is at the bar's end."""
    reach = -0.5 * np.array([np.cos(phi), np.sin(phi)]) - np.array(BASES[0])
    inner = float(np.arccos(np.clip(np.linalg.norm(reach) / (2 * LENGTH), -1, 1)))
    first = float(np.arctan2(reach[1], reach[0])) + inner
    return first, -2 * inner, phi - first + 2 * inner


def test_sun11_held_hands_keep_their_eigenvalues_along_the_motion(claims: Claims) -> None:
    start = plants(matrices("FRR"))
    assert along_the_motion(np.pi / 4) == pytest.approx(LEFT.tolist(), abs=1e-12)
    changed = {"B": 0.0, "C": 0.0}
    for phi in np.linspace(np.pi / 4, -np.pi / 4, 5)[1:]:
        here = plants(matrices("FRR", along_the_motion(float(phi))))
        for plant in changed:
            changed[plant] = max(changed[plant], np.abs(here[plant] / start[plant] - 1).max())
    for plant, change in changed.items():
        claims.below("Sun 11", f"change of the eigenvalues of {plant} along the motion, FRR, relative", 1e-9, change)
    end = plants(matrices("FRR", along_the_motion(-np.pi / 4)))["A"].imag[2:]
    claims.equal("Sun 11", "the two lowest of A at the end, from 20.54 and 8.72", [30.79, 5.64], end, 5e-3, "1/s")


def test_sun12_half_a_percent_of_damping_gives_tables_6_1_and_6_2(claims: Claims) -> None:
    """Each link by itself is damped in its own modes. Two of the printed values do not come out (-0.05, 5753.35)."""
    _, _, M_link, K_link, *_ = reduced(single_link(2, LENGTH, LINE_DENSITY, EI)).blocks
    squares, V = eigh(K_link, M_link)
    claims.equal(
        "Sun 12", "the link by itself, clamped", [130.10, 821.68, 2777.97, 8050.36], np.sqrt(squares), 5e-3, "1/s"
    )
    D = M_link @ V @ np.diag(2 * 0.005 * np.sqrt(squares)) @ V.T @ M_link
    m = matrices("FRR")
    _, _, M_ee, K, *_ = m.blocks
    for plant, M, real, imaginary in (
        ("A", M_ee, [-12.95, -3.11, -0.0036, -0.0025], [3032.43, 842.24, 20.54, 8.72]),
        ("C", m.tilde, [-321.0, -58.5, -5.52, -0.0502], [5737.35, 2162.84, 582.81, 77.11]),
    ):
        A = np.block([[np.zeros((4, 4)), np.eye(4)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
        poles = np.linalg.eigvals(A)
        poles = poles[poles.imag > 0]
        poles = poles[np.argsort(-poles.imag)]
        claims.below("Sun 12", f"damped {plant}, real parts {_shown(real)} 1/s: off by", 0.01, off(real, poles.real))
        what = f"damped {plant}, imaginary parts {_shown(imaginary)} 1/s: off by"
        claims.below("Sun 12", what, 2e-4, off(imaginary, poles.imag))
    claims.above("Sun 12", "Table 6.2 prints 5753.35 for 5737.35, off by", 15.0, 5753.35 - poles[0].imag, "1/s")


def _shown(numbers: list[float]) -> str:
    return ", ".join(f"{x:g}" for x in numbers)
