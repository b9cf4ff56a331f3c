"""Bonaventura 2002, acceptance tests 3 and 4: the dual basis of a screw; a revolute joint is a screw without pitch."""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.mrds.contacts import KINDS
from granite.mrds.contacts.kind import RelativePose
from tests.validation.claims import Claims

PITCH = 0.07
HERE = RelativePose(ca.SX.zeros(3), ca.SX.eye(3))


def _numbers(matrix: ca.SX):
    return np.array(ca.DM(ca.densify(matrix)))


def _phi(kind: str, **parameters: float):
    modes = KINDS[kind].modes(HERE, parameters)
    return _numbers(modes.free), _numbers(modes.constrained)


def _psi(kind: str, **parameters: float):
    bases = KINDS[kind].bases(HERE, parameters, planar=False)
    return _numbers(bases.psi_u), _numbers(bases.psi_c)


def test_mrds03_the_screw_has_the_printed_modes_and_their_dual(claims: Claims) -> None:
    """Eq. 30 and 31; psi^T phi = 1 (eq. 25)."""
    phi_u, phi_c = _phi("screw", pitch_m_rad=PITCH)
    psi_u, psi_c = _psi("screw", pitch_m_rad=PITCH)
    np.testing.assert_array_equal(phi_u[:, 0], [0, 0, PITCH, 0, 0, 1])
    np.testing.assert_array_equal(phi_c, np.eye(6)[:, :5])
    np.testing.assert_allclose(psi_u[:, 0], np.eye(6)[5], atol=1e-14)
    expected = np.eye(6)[:, :5]
    expected[5, 2] = -PITCH
    np.testing.assert_allclose(psi_c, expected, atol=1e-14)
    psi, phi = np.hstack([psi_u, psi_c]), np.hstack([phi_u, phi_c])
    claims.below("MRDS 3", "screw: psi^T phi off the identity", 1e-14, np.abs(psi.T @ phi - np.eye(6)).max())


def test_mrds04_a_revolute_joint_is_a_screw_without_pitch(claims: Claims) -> None:
    for revolute, screw in zip((*_phi("revolute"), *_psi("revolute")), (
        *_phi("screw", pitch_m_rad=0.0), *_psi("screw", pitch_m_rad=0.0)
    ), strict=True):  # fmt: skip
        np.testing.assert_array_equal(revolute, screw)
    free = _phi("revolute")[0][:, 0]
    claims.equal("MRDS 4", "free mode of a revolute joint, linear part first", np.eye(6)[5], free, 0)


def test_mrds04_the_printed_revolute_joint_slides(claims: Claims) -> None:
    """Eq. 27 prints the third unit vector: with the linear part first that is a motion along z, which a hinge holds."""
    printed = np.eye(6)[2]
    _, psi_c = _psi("revolute")
    held = np.abs(psi_c.T @ printed).max()
    claims.equal("MRDS 4", "part of the mode printed in eq. 27 that a hinge holds", 1, held, 1e-6)
    assert np.abs(psi_c.T @ np.eye(6)[5]).max() == 0
