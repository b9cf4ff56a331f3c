"""Shapes of the modes of a uniform beam, base at x = 0, tip at x = L.

All of them are clamped at the base. Eigenfunctions of a pinned base have their slope there subtracted, s(x) - s'(0) x:
together with the rotation of the link they span the same space.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from granite.config.modules import Flexible
from granite.kernels.kernel import Array


@dataclass(frozen=True)
class Shape:
    """s(x) = cos cos(bx) + sin sin(bx) + grow e^(b(x-L)) + fade e^(-bx) + sum_k power_k x^k.

    No term ever exceeds its coefficient on the beam, so high modes lose no digits (cosh and sinh would).
    """

    b: float
    length: float
    cos: float = 0.0
    sin: float = 0.0
    grow: float = 0.0
    fade: float = 0.0
    power: tuple[float, ...] = ()

    def __call__(self, x: Array, derivative: int = 0) -> Array:
        """s, or its derivative of that order, at all x."""
        b, quarter = self.b, derivative * math.pi / 2
        waves = self.cos * np.cos(b * x + quarter) + self.sin * np.sin(b * x + quarter)
        waves = waves + self.grow * np.exp(b * (x - self.length)) + (-1) ** derivative * self.fade * np.exp(-b * x)
        powers = np.polynomial.Polynomial(self.power or (0.0,)).deriv(derivative)
        value: Array = b**derivative * waves + powers(x)
        return value

    def scaled(self, factor: float) -> Shape:
        """The shape times a number."""
        terms = {name: factor * getattr(self, name) for name in ("cos", "sin", "grow", "fade")}
        return replace(self, **terms, power=tuple(factor * p for p in self.power))


def bending_shapes(link: Flexible) -> tuple[Shape, ...]:
    """One shape for each mode, as many as the bending plane with more modes has."""
    n, L = max(link.modes_y, link.modes_z), link.length_m
    if link.shapes == "polynomial":
        rows = link.polynomials or _ascending_polynomials(n)
        return tuple(Shape(1.0, L, power=(0.0, 0.0, *(c / L**k for k, c in enumerate(row, start=2)))) for row in rows)
    if link.shapes == "tip_loaded":
        return _tip_loaded(n, link)
    make = {
        "cantilever": _cantilever,
        "pinned_free": _pinned_free,
        "pinned_pinned": _pinned_pinned,
        "clamped_clamped": _clamped_clamped,
    }[link.shapes]
    return tuple(make(k, L) for k in range(1, n + 1))


def twisting_shapes(link: Flexible) -> tuple[Shape, ...]:
    """Eigenfunctions of twist, fixed at the base and free at the tip; the integral of s^2 is L."""
    n, L = link.modes_x, link.length_m
    return tuple(Shape((k - 0.5) * math.pi / L, L, sin=math.sqrt(2)) for k in range(1, n + 1))


def stretching_shapes(link: Flexible) -> tuple[Shape, ...]:
    """Shapes of stretch: with polynomials of bending x/L, (x/L)^2 and so on, else eigenfunctions as those of twist."""
    n, L = link.modes_stretch, link.length_m
    if link.shapes == "polynomial":
        return tuple(Shape(1.0, L, power=(*[0.0] * k, L**-k)) for k in range(1, n + 1))
    return tuple(Shape((k - 0.5) * math.pi / L, L, sin=math.sqrt(2)) for k in range(1, n + 1))


def _ascending_polynomials(n: int) -> list[list[float]]:
    """Coefficients of (x/L)^2, (x/L)^3, ...: the integral of s^2 is L, that of two shapes is 0.

    The first is the deflection by a force at the tip, the first two that by any load at the tip.
    """
    powers = np.arange(max(n, 2)) + 2
    basis = np.eye(len(powers))
    basis[:2, :2] = [[3.0, -1.0], [1.0, 0.0]]
    gram = basis @ (1.0 / (powers[:, None] + powers + 1)) @ basis.T
    rows: list[list[float]] = np.linalg.solve(np.linalg.cholesky(gram), basis)[:n].tolist()
    return rows


def _cantilever(mode: int, L: float) -> Shape:
    """Clamped and free: cosh bx - cos bx - a (sinh bx - sin bx), cos B cosh B = -1; the integral of s^2 is L."""
    B = _root(lambda z: math.cos(z) + 1 / math.cosh(z), mode - 1)
    a = (math.cosh(B) + math.cos(B)) / (math.sinh(B) + math.sin(B))
    # (1 - a)/2 e^B without the difference of nearly equal numbers
    grow = (math.sin(B) - math.cos(B) - math.exp(-B)) / (1 - math.exp(-2 * B) + 2 * math.sin(B) * math.exp(-B))
    return Shape(B / L, L, cos=-1.0, sin=a, grow=grow, fade=(1 + a) / 2)


def _tip_loaded(n: int, link: Flexible) -> tuple[Shape, ...]:
    """Clamped, with a body on the tip: mass mu rho L, its centre a L ahead of the tip, inertia iota rho L^3 about it.

    The tip has the force and the moment that move the body (cantilever with tip inertia); with x in units of L,

        w_xxx + B^4 mu (w + a w_x) = 0,      w_xx - B^4 (mu a (w + a w_x) + iota w_x) = 0.

    The two solutions that are clamped at the base meet both where the determinant vanishes. The integral of s^2 is L.
    """
    from scipy.optimize import brentq  # takes longer to import than a rigid robot takes to start

    L, beam = link.length_m, link.line_density_kg_m * link.length_m
    mass, ahead, inertia = link.shape_load
    mu, a, iota = mass / beam, ahead / L, inertia / (beam * L**2)

    def at_tip(B: Array) -> Array:
        """Both conditions, by B^3 and by B^2, of the two solutions: with e^(B(x-1)), and with e^(-Bx)."""
        e, c, s = np.exp(-B), np.cos(B), np.sin(B)
        w = np.array([1 - e * (c + s), s - c + e])
        w_x = B * np.array([1 + e * (s - c), s + c - e])
        w_xx, w_xxx = np.array([1 + e * (c + s), c - s + e]), np.array([1 + e * (c - s), -s - c - e])
        centre = w + a * w_x
        return np.array([w_xxx + B * mu * centre, w_xx - B**2 * (mu * a * centre + iota * w_x)])

    def determinant(B: Array) -> Array:
        (p, q), (r, s) = at_tip(B)
        return np.asarray(p * s - q * r)

    # The k-th root is below that of a free tip, and so below k pi; a heavy body makes the first two small.
    grid = np.geomspace(1e-3, n * math.pi, 20_000)
    signs = np.sign(determinant(grid))
    shapes = []
    for i in np.flatnonzero(signs[1:] != signs[:-1])[:n]:
        B = float(brentq(determinant, grid[i], grid[i + 1], xtol=1e-15, rtol=1e-15))
        rows, e = at_tip(np.array(B)), math.exp(-B)
        fade, grow = rows[np.abs(rows).max(axis=1).argmax()].tolist()
        shape = Shape(B / L, L, cos=fade - grow * e, sin=-fade - grow * e, grow=grow, fade=-fade)
        x, weight = np.polynomial.legendre.leggauss(80)
        shapes.append(shape.scaled(1 / math.sqrt(float(shape(L * (x + 1) / 2) ** 2 @ weight) / 2)))
    return tuple(shapes)


def _clamped_clamped(mode: int, L: float) -> Shape:
    """The same form with cos B cosh B = 1; the integral of s^2 is L."""
    B = _root(lambda z: math.cos(z) - 1 / math.cosh(z), mode)
    a = (math.cosh(B) - math.cos(B)) / (math.sinh(B) - math.sin(B))
    grow = (math.cos(B) - math.sin(B) - math.exp(-B)) / (1 - math.exp(-2 * B) - 2 * math.sin(B) * math.exp(-B))
    return Shape(B / L, L, cos=-1.0, sin=a, grow=grow, fade=(1 + a) / 2)


def _pinned_free(mode: int, L: float) -> Shape:
    """sin bx + (sin B / sinh B) sinh bx, tan B = tanh B, scaled so that the integral of s^2 is L; then clamped."""
    B = _root(lambda z: math.sin(z) - math.cos(z) * math.tanh(z), mode)
    grow = math.sin(B) / (1 - math.exp(-2 * B))
    # The integral is L/2 (1 - (sin B / sinh B)^2).
    size = math.sqrt(2 / (1 - (math.sin(B) / math.sinh(B)) ** 2))
    return _clamped(Shape(B / L, L, sin=1.0, grow=grow, fade=-grow * math.exp(-B)).scaled(size))


def _pinned_pinned(mode: int, L: float) -> Shape:
    """sin bx with B = mode times pi, scaled so that the integral of s^2 is L; then clamped."""
    return _clamped(Shape(mode * math.pi / L, L, sin=math.sqrt(2)))


def _clamped(shape: Shape) -> Shape:
    return replace(shape, power=(0.0, -float(shape(np.zeros(1), 1)[0])))


def _root(function: Callable[[float], float], after: int) -> float:
    """The root between `after` and `after + 1` times pi."""
    from scipy.optimize import brentq  # takes longer to import than a rigid robot takes to start

    root: float = brentq(function, after * math.pi, (after + 1) * math.pi, xtol=1e-15, rtol=1e-15)
    return root
