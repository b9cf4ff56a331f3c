"""FLX of Mackay 1988: the dynamics I z'' = R of a serial chain of flexible links by his recursion, and as our module.

Links bend in both planes in clamped-free modes (eq. 3.4) and do not shorten; what carries the next link is turned by
the skew matrix of its angles (eq. 2.8). The recursion is written as corrected; `printed` puts single misprints back.
z = (q_1, modes of link 1, q_2, modes of link 2, ..), the modes of a link along y before those along z.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

from granite.config.modules import Module
from granite.kernels.kernel import Array

#: roots of cos x cosh x = -1
ROOTS = (1.875104068711961, 4.694091132974175, 7.854757438237613)
#: gravity of Table 3.2, and the standard link of Table 3.1
G, LENGTH, MASS, EI = 9.81, 4.0, 10.955, 2.0e11 * 1.476e-7
_X, _W = np.polynomial.legendre.leggauss(16)


def shape(mode: int, a: float, x: Array, derivative: int = 0) -> Array:
    """Eq. 3.4."""
    B = ROOTS[mode]
    k, s = normalisation(mode), B / a
    ch, sh, c, n = np.cosh(s * x), np.sinh(s * x), np.cos(s * x), np.sin(s * x)
    forms = {0: k * (ch - c) - (sh - n), 1: k * (sh + n) - (ch - c), 2: k * (ch + c) - (sh + n)}
    value: Array = s**derivative * forms[derivative]
    return value


def normalisation(mode: int) -> float:
    """His shape over ours, whose coefficient of cosh is 1."""
    B = ROOTS[mode]
    return (math.sinh(B) + math.sin(B)) / (math.cosh(B) + math.cos(B))


def gauss(a: float) -> tuple[Array, Array]:
    return a * (_X + 1) / 2, a * _W / 2


@dataclass(frozen=True)
class FlxLink:
    """A joint about z, its rigid mass as half a pseudo-inertia (eq. 2.28), S, and a uniform beam along x."""

    length: float = 0.0
    line_density: float = 0.0
    stiffness: tuple[float, float] = (EI, EI)  #: for deflection along y, along z
    modes: tuple[int, int] = (0, 0)  #: along y, along z
    S: Array = field(default_factory=lambda: np.eye(4))
    J: Array = field(default_factory=lambda: np.zeros((4, 4)))

    @property
    def planes(self) -> list[tuple[int, int]]:
        """Of every mode: 1 or 2 for y or z, and its number."""
        return [(plane, k) for plane in (1, 2) for k in range(self.modes[plane - 1])]


class Flx:
    """I and R of a chain by Mackay's recursion."""

    def __init__(self, links: list[FlxLink], gravity: Array, printed: frozenset[str] = frozenset()) -> None:
        self.links, self.printed = links, printed
        self.gravity = np.array([*gravity, 0.0])
        self._constants = [_constants(link) for link in links]
        self.sizes = [1 + len(link.planes) for link in links]
        self.n_z = sum(self.sizes)
        ends = np.cumsum([0, *self.sizes])
        #: where the coordinates of each link begin
        self.at = ends[:-1].tolist()

    def dynamics(self, z: Array, zd: Array, force: Array | None = None) -> tuple[Array, Array]:
        """I (2.64 to 2.81) and R (2.82 to 2.85); the force acts on the joints."""
        n, links, numbers = len(self.links), self.links, self._constants
        q, w = z[self.at], zd[self.at]
        d = [z[at + 1 : at + size] for at, size in zip(self.at, self.sizes, strict=True)]
        dd = [zd[at + 1 : at + size] for at, size in zip(self.at, self.sizes, strict=True)]
        A, U, A2 = zip(*(_turn(angle) for angle in q), strict=True)
        L = [c.H + np.tensordot(x, c.M, 1) for c, x in zip(numbers, d, strict=True)]
        Ld = [np.tensordot(x, c.M, 1) for c, x in zip(numbers, dd, strict=True)]
        D = [self._D(c, x) for c, x in zip(numbers, d, strict=True)]
        G_star = []
        for link, c, x in zip(links, numbers, d, strict=True):
            first = np.tensordot(x, c.C1, 1)
            half = c.C0 + first + first.T + np.einsum("k,j,kjab->ab", x, x, c.C2)
            G_star.append(link.S @ half @ link.S.T + link.J)

        # forward: positions, velocities, and accelerations without z'' (2.62, 2.63)
        hat, hat_d, hat_v = [np.eye(4)], [np.zeros((4, 4))], [np.zeros((4, 4))]
        W, Wd, Wv, star, star_d = [], [], [], [], []
        for j, link in enumerate(links):
            W.append(hat[j] @ A[j])
            Wd.append(hat_d[j] @ A[j] + hat[j] @ U[j] * w[j])
            Wv.append(hat_v[j] @ A[j] + 2 * hat_d[j] @ U[j] * w[j] + hat[j] @ A2[j] * w[j] ** 2)
            star.append(W[j] @ link.S)
            star_d.append(Wd[j] @ link.S)
            hat.append(star[j] @ L[j])
            hat_d.append(star_d[j] @ L[j] + star[j] @ Ld[j])
            hat_v.append(Wv[j] @ link.S @ L[j] + 2 * star_d[j] @ Ld[j])

        step = [links[j].S @ L[j] @ A[j + 1] for j in range(n - 1)]
        tilde = {(j, j): np.eye(4) for j in range(n)}
        for j in range(n):
            for i in range(j + 1, n):
                tilde[j, i] = tilde[j, i - 1] @ step[i - 1]
        F_tilde: dict[tuple[int, int], Array] = {}
        for h in reversed(range(n)):
            own = G_star[n - 1 if "2.79" in self.printed else h]
            F_tilde[h, h] = own + (F_tilde[h, h + 1] @ step[h].T if h < n - 1 else 0.0)
            for j in reversed(range(h)):
                F_tilde[j, h] = step[j] @ F_tilde[j + 1, h]
        for j in range(n):
            for h in range(j):
                F_tilde[j, h] = F_tilde[h, j].T
        push = [hat[j] @ U[j] for j in range(n)]

        inertia = np.zeros((self.n_z, self.n_z))
        for j in range(n):
            for h in range(n):
                inertia[self.at[j], self.at[h]] = 2 * np.trace(push[j] @ F_tilde[j, h] @ push[h].T)
                for k in range(len(d[h])):
                    value = 0.0
                    if h < n - 1:
                        F = F_tilde[j, h + 1] @ A[h + 1].T
                        value += 2 * np.trace(push[j] @ F @ numbers[h].M[k].T @ star[h].T)
                    if h >= j:
                        inner = links[h].S @ D[h][k] @ links[h].S.T @ W[h].T
                        value += 2 * np.trace(push[j] @ tilde[j, h] @ inner)
                    inertia[self.at[j], self.at[h] + 1 + k] = inertia[self.at[h] + 1 + k, self.at[j]] = value
        for j in range(n):
            for f in range(len(d[j])):
                for h in range(j, n):
                    for k in range(len(d[h])):
                        value = 0.0
                        bent = star[j] @ numbers[j].M[f]
                        if h < n - 1:
                            N = A[j + 1] @ F_tilde[j + 1, h + 1] @ A[h + 1].T
                            value += 2 * np.trace(bent @ N @ numbers[h].M[k].T @ star[h].T)
                        if h > j:
                            inner = links[h].S @ D[h][k] @ links[h].S.T @ W[h].T
                            value += 2 * np.trace(bent @ A[j + 1] @ tilde[j + 1, h] @ inner)
                        else:
                            value += 2 * np.trace(star[j] @ numbers[j].C2[k, f] @ star[j].T)
                        a, b = self.at[j] + 1 + f, self.at[h] + 1 + k
                        inertia[a, b] = inertia[b, a] = value

        # backward: Q (2.83) and P (2.84), then R (2.82, 2.85)
        Q, P = np.zeros((4, 4)), np.zeros(4)
        rest = np.zeros(self.n_z)
        g_sign = -1.0 if "2.45" in self.printed else 1.0
        for j in reversed(range(n)):
            c, S = numbers[j], links[j].S
            if j < n - 1:
                Q_next, P_next = A[j + 1] @ Q, A[j + 1] @ P
                Q, P = S @ L[j] @ Q_next, S @ L[j] @ P_next
            Q = Q + G_star[j] @ Wv[j].T + 2 * S @ np.tensordot(dd[j], D[j], 1) @ S.T @ Wd[j].T
            P = P + S @ (c.r + d[j] @ c.e) + 2 * links[j].J[:, 3]
            rest[self.at[j]] = -2 * np.trace(push[j] @ Q) + g_sign * self.gravity @ push[j] @ P
            for f in range(len(d[j])):
                own = Wv[j] @ S @ D[j][f] @ S.T @ W[j].T
                own = own + 2 * star_d[j] @ np.tensordot(dd[j], c.C2[:, f], 1) @ star[j].T
                value = -2 * np.trace(own) - c.K[f] * d[j][f] + self.gravity @ star[j] @ c.e[f]
                if j < n - 1:
                    bent = star[j] @ c.M[f]
                    value += -2 * np.trace(bent @ Q_next) + self.gravity @ bent @ P_next
                rest[self.at[j] + 1 + f] = value
        if force is not None:
            rest[self.at] += force
        return inertia, rest

    def accelerate(self, z: Array, zd: Array, force: Array | None = None) -> Array:
        inertia, rest = self.dynamics(z, zd, force)
        return np.linalg.solve(inertia, rest)

    def _D(self, c: _Constants, d: Array) -> Array:
        """Eq. 2.37 for every mode of a link; printed with the order of the last two indices reversed."""
        second = c.C2.transpose(1, 0, 2, 3) if "2.37" in self.printed else c.C2
        return c.C1 + np.einsum("l,lkab->kab", d, second)


def run(dynamics: Flx, z: Array, zd: Array, h: float, steps: int) -> tuple[Array, Array]:
    """State after steps of classical Runge and Kutta without forces."""

    def rate(x: Array) -> Array:
        return np.concatenate([x[len(z) :], dynamics.accelerate(x[: len(z)], x[len(z) :])])

    x = np.concatenate([z, zd])
    for _ in range(steps):
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3))
    return x[: len(z)], x[len(z) :]


@dataclass(frozen=True)
class _Constants:
    H: Array
    M: Array
    C0: Array
    C1: Array
    C2: Array
    r: Array
    e: Array
    K: Array


def _constants(link: FlxLink) -> _Constants:
    """Integrals of eqs. 2.29 to 2.31, 2.39 to 2.41 and 2.54, and M at the tip (2.8)."""
    a, μ, planes = link.length, link.line_density, link.planes
    x, w = gauss(a)
    along = np.stack([x, 0 * x, 0 * x, 1 + 0 * x])
    H = np.eye(4)
    H[0, 3] = a
    C0 = 0.5 * μ * (along * w) @ along.T
    phi, M, K = np.zeros((len(planes), 4, len(x))), np.zeros((len(planes), 4, 4)), np.zeros(len(planes))
    for i, (plane, k) in enumerate(planes):
        phi[i, plane] = shape(k, a, x)
        tip, slope = (float(shape(k, a, np.array([a]), n)[0]) for n in (0, 1))
        M[i, plane, 3] = tip
        M[i, 0, plane], M[i, plane, 0] = -slope, slope
        K[i] = link.stiffness[plane - 1] * (shape(k, a, x, 2) ** 2 * w).sum()
    C1 = 0.5 * μ * np.einsum("an,kbn,n->kab", along, phi, w)
    C2 = 0.5 * μ * np.einsum("kan,jbn,n->kjab", phi, phi, w)
    return _Constants(H, M, C0, C1, C2, 2 * C0[:, 3], 2 * C1[:, 3, :], K)


def _turn(angle: float) -> tuple[Array, Array, Array]:
    """A and its first and second derivative."""
    c, s = math.cos(angle), math.sin(angle)
    A, U = np.eye(4), np.zeros((4, 4))
    A[:2, :2] = [[c, -s], [s, c]]
    U[:2, :2] = [[-s, -c], [c, -s]]
    A2 = np.zeros((4, 4))
    A2[:2, :2] = -A[:2, :2]
    return A, U, A2


# --- the same chain as a module of ours


def module_of(links: list[FlxLink], gravity: Array, name: str, polar: float = 1e-9) -> Module:
    """The chain on the ground. S may turn but not shift; a joint without mass gets one of a microgram."""
    ground = {"name": "ground", "mass_kg": 1.0, "inertia_kg_m2": [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]}
    bodies: list[dict[str, object]] = [ground]
    joints = []
    for i, link in enumerate(links):
        turned = link.S[:3, :3]
        body: dict[str, object] = {"name": f"link{i + 1}", **_rigid(link.J, turned)}
        if link.length:
            body["flexible"] = {
                "length_m": link.length, "line_density_kg_m": link.line_density, "polar_inertia_kg_m": polar,
                "eiz_n_m2": link.stiffness[0], "eiy_n_m2": link.stiffness[1], "modes_y": link.modes[0],
                "modes_z": link.modes[1], "shapes": "cantilever",
            }  # fmt: skip
        bodies.append(body)
        before = links[i - 1].length if i else 0.0
        # The frame of our body is turned by S already: its joint turns about what was z.
        joints.append(
            {
                "name": f"joint{i + 1}", "parent": f"link{i}" if i else "ground", "child": f"link{i + 1}",
                "origin_m": [before, 0.0, 0.0], "rotation_rad": Rotation.from_matrix(turned).as_euler("xyz").tolist(),
                "axis": turned[2].tolist(),
            }
        )  # fmt: skip
    content = {"dimension": "spatial", "base": "fixed", "bodies": bodies, "joints": joints}
    return Module.model_validate({"name": name, "gravity_m_s2": list(map(float, gravity)), **content})


def _rigid(J: Array, turned: Array) -> dict[str, object]:
    full = 2 * J
    mass = max(float(full[3, 3]), 1e-9)
    centre = turned.T @ full[:3, 3] / mass
    second = turned.T @ full[:3, :3] @ turned - mass * np.outer(centre, centre)
    second = second + (1e-9 * np.eye(3) if not J.any() else 0.0)
    inertia = np.trace(second) * np.eye(3) - second
    moments = [float(inertia[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    return {"mass_kg": mass, "com_m": centre.tolist(), "inertia_kg_m2": moments}


def order(links: list[FlxLink]) -> list[int]:
    """Where the entries of z stand in our q: all joints come before all modes."""
    return [place for _, place in sorted(_places(links))]


def scale(links: list[FlxLink]) -> Array:
    """Ours over his, for every entry of z: his shapes are larger."""
    return np.array([s for link in links for s in (1.0, *(normalisation(k) for _, k in link.planes))])


def ours(links: list[FlxLink], z: Array) -> Array:
    """A vector of coordinates or rates in our order and scale."""
    q = np.empty(len(z))
    q[order(links)] = scale(links) * z
    return q


def _places(links: list[FlxLink]) -> Iterator[tuple[int, int]]:
    z, mode = 0, len(links)
    for i, link in enumerate(links):
        yield z, i
        for k in range(len(link.planes)):
            yield z + 1 + k, mode + k
        z, mode = z + 1 + len(link.planes), mode + len(link.planes)


# --- chains of the tests


def standard(modes: tuple[int, int]) -> FlxLink:
    """Table 3.1; its diameters would give 10.865 kg, its mass is used."""
    return FlxLink(LENGTH, MASS / LENGTH, (EI, EI), modes)


def three_links(modes: tuple[int, int] = (1, 1), hub: float = 0.0) -> list[FlxLink]:
    """Section 3.3.5: a joint about the vertical of no length, and two standard links; `hub` is
    half the mass on every joint, spread by 1 m along x and along y."""
    S = np.eye(4)
    S[:3, :3] = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    J = np.diag([hub, hub, 0.0, hub])
    return [FlxLink(S=S, J=J), *(FlxLink(LENGTH, MASS / LENGTH, (EI, EI), modes, J=J) for _ in range(2))]


def random_links(seed: int, shifted: bool) -> list[FlxLink]:
    """Three links of 11 coordinates that bend in both planes, with any joint masses and twists."""
    rng = np.random.default_rng(seed)
    links = []
    for modes in ((1, 1), (2, 1), (1, 2)):
        S = np.eye(4)
        S[:3, :3] = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()
        if shifted:
            S[:3, 3] = rng.normal(size=3) * 0.2
        points = np.vstack([rng.normal(size=(3, 6)) * 0.3, np.ones(6)])
        J = 0.5 * (points * rng.uniform(0.1, 0.4, 6)) @ points.T
        stiffness = rng.uniform(50, 200), rng.uniform(50, 200)
        links.append(FlxLink(rng.uniform(0.5, 1.5), rng.uniform(0.5, 2.0), stiffness, modes, S, J))
    return links
