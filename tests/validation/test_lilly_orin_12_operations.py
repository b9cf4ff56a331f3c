"""Lilly and Orin 1991, section V, acceptance tests 12 to 14: operations of a step, their growth, what need not wait.

Operations are counted in the functions that are compiled, so nothing depends on a clock.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import casadi as ca
import numpy as np
import pytest

from granite.config.contacts import Contact, Side
from granite.config.modules import Point
from granite.kernels.kernel import Array
from granite.mrds.contacts.operational import base_pose, leaf_functions
from granite.mrds.system import System
from tests.support.random_systems import closed_chains
from tests.validation.claims import Claims

pytestmark = pytest.mark.usefixtures("interpreted")


_TIMES, _PLUS = (ca.OP_MUL, ca.OP_SQ, ca.OP_DIV), (ca.OP_ADD, ca.OP_SUB, ca.OP_TWICE)


def operations(function: ca.Function) -> Array:
    """Multiplications with divisions and squares; additions with subtractions and doublings."""
    kinds = Counter(function.instruction_id(k) for k in range(function.n_instructions()))
    return np.array([sum(kinds[k] for k in _TIMES), sum(kinds[k] for k in _PLUS)])


def span(function: ca.Function) -> int:
    """The longest run of operations that wait for each other: what is left on any number of processors."""
    depth: dict[int, int] = {}
    longest = 0
    for k in range(function.n_instructions()):
        kind, result = function.instruction_id(k), function.instruction_output(k)
        if kind == ca.OP_OUTPUT:
            longest = max(longest, depth[function.instruction_input(k)[0]])
        else:
            given = () if kind in (ca.OP_INPUT, ca.OP_CONST) else function.instruction_input(k)
            counts = kind in _TIMES or kind in _PLUS
            depth[result[0]] = max((depth[i] for i in given), default=0) + counts
    return longest


def step(system: System) -> ca.Function:
    """(q, u, force) -> accelerations and contact forces, down to single operations."""
    return system.contact_set().assembly.accelerate.expand()


@cache
def around_a_body(m: int, n: int = 6) -> ca.Function:
    """m chains of n joints that hold a body at hard points."""
    return step(closed_chains(m, n, "hard_point", seed=36)[0])


@cache
def in_series(n: int, shuffled: bool = False) -> ca.Function:
    """A chain of n joints whose links are modules, each joined to the one before; named in any order if shuffled."""
    load = closed_chains(1, 1, "hard_point", seed=36)[0].modules["load"]
    points = (
        Point(name="root", body="load", position_m=(0.0, 0.0, 0.0), rotation_rad=(0.3, 0.2, 0.1)),
        Point(name="tip", body="load", position_m=(0.4, 0.1, -0.2), rotation_rad=(1.0, 0.5, -0.4)),
    )
    links = [load.model_copy(update={"name": f"link{k}", "points": points}) for k in range(n)]
    sides = [Side(), *(Side(module=f"link{k}", point="tip") for k in range(n - 1))]
    joints = [
        Contact(name=f"joint{k}", kind="revolute", first=side, second=Side(module=f"link{k}", point="root"))
        for k, side in enumerate(sides)
    ]
    if shuffled:
        order = np.random.default_rng(n).permutation(n)
        links, joints = [links[k] for k in order], [joints[k] for k in order[::-1]]
    return step(System(links, joints))


# --- L12


def test_l12_a_step_takes_no_more_operations_than_table_2(claims: Claims) -> None:
    """Six joints and a hard point: 3402 and 2772 a chain, and 86 and 27 m + 71 for the body.

    What a chain costs is what one more of them adds. The body's own share cannot be compared: ours includes the motion
    of the body and of its points, which the paper takes as given. The whole of three chains is compared instead.
    """
    three, four = operations(around_a_body(3)), operations(around_a_body(4))
    per_chain, whole = four - three, three
    claims.below("Lilly-Orin L12", "multiplications for a chain of 6 joints and a hard point", 3402, int(per_chain[0]))
    claims.below("Lilly-Orin L12", "additions for the same", 2772, int(per_chain[1]))
    claims.below("Lilly-Orin L12", "multiplications for three such chains and the body", 3 * 3402 + 86, int(whole[0]))
    claims.below("Lilly-Orin L12", "additions for the same", 3 * 2772 + 27 * 3 + 71, int(whole[1]))


# --- L13


def straightness(x: list[int], y: list[float]) -> float:
    """R^2 of the best line."""
    return float(np.corrcoef(x, y)[0, 1] ** 2)


def linear(claims: Claims, what: str, sizes: list[int], counts: list[float]) -> None:
    if len(sizes) > 2:
        claims.above("Lilly-Orin L13", f"operations against {what}: R^2 of a line", 0.99, straightness(sizes, counts))
    for size, before, after in zip(sizes[1:], counts, counts[1:], strict=False):
        claims.between("Lilly-Orin L13", f"operations with {size} over half as many {what}", 1.8, 2.2, after / before)


@pytest.mark.parametrize("sizes", [[2, 4, 8], pytest.param([8, 16], marks=pytest.mark.slow)], ids=["8", "16"])
def test_l13_operations_grow_in_proportion_to_the_chains(sizes: list[int], claims: Claims) -> None:
    """From two on: a single chain is no closed one, and solved in another order."""
    linear(claims, "chains", sizes, [operations(around_a_body(m)).sum() for m in sizes])


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[6, 12, 24], [24, 48]], ids=["24", "48"])
def test_l13_operations_grow_in_proportion_to_the_links_where_each_is_a_module(
    sizes: list[int], claims: Claims
) -> None:
    linear(claims, "links in series", sizes, [operations(in_series(n)).sum() for n in sizes])


def test_l13_the_order_in_which_links_are_named_costs_nothing(claims: Claims) -> None:
    more = operations(in_series(12, shuffled=True)).sum() / operations(in_series(12)).sum()
    claims.between("Lilly-Orin L13", "operations of 12 links named in any order over those in series", 0.95, 1.05, more)


@pytest.mark.slow
def test_l13_a_chain_that_is_one_module_is_not_linear_and_yet_cheaper(claims: Claims) -> None:
    """Its mass matrix is factorised whole: a cube in the end, and less work for arms of common length."""
    short, long = (operations(leaf(n)).sum() for n in (4, 8))
    claims.above("Lilly-Orin L13", "operations of one module with 8 joints over 4: not linear", 2.2, long / short)
    claims.below("Lilly-Orin L13", "operations of 8 joints in one module over 8 in series", 1.0,
                 long / operations(in_series(8)).sum())  # fmt: skip


@cache
def leaf(n: int) -> ca.Function:
    chain = closed_chains(1, n, "hard_point", seed=36)[0].modules["chain0"]
    return leaf_functions(chain, (chain.points[0],), planar=False).eliminate


# --- L14


def test_l14_chains_worked_out_at_once_give_the_same_bits(claims: Claims) -> None:
    """Step 1 asks nothing of the other chains. Granite runs it in turn; here threads run it at once."""
    m, module = 8, closed_chains(1, 6, "hard_point", seed=36)[0].modules["chain0"]
    rng = np.random.default_rng(14)
    state = [rng.normal(size=(6, m)) for _ in range(3)]
    base = np.repeat(np.array(base_pose(module)), m, axis=1)
    in_turn, at_once = (leaf(6).map(m, how)(*state, base) for how in ("serial", "thread"))
    differing = sum(int((np.array(a) != np.array(b)).sum()) for a, b in zip(in_turn, at_once, strict=True))
    claims.equal("Lilly-Orin L14", "numbers that differ when 8 chains are worked out at once", 0, differing, 0)


@pytest.mark.slow
def test_l14_the_order_of_the_chains_changes_rounding_only(claims: Claims) -> None:
    system, q, u = closed_chains(3, 6, "hard_point", seed=36)
    force = np.random.default_rng(14).normal(size=system.n_u)
    straight = system.contact_set().accelerate(q, u, force).acceleration
    names = list(system.modules)
    order = [2, 0, 1, 3]
    turned = System([system.modules[names[i]] for i in order], list(system.contacts.values())[::-1])
    parts = [np.split(x, [6, 12, 18]) for x in (q, u, force, straight)]
    q, u, force, expected = (np.concatenate([part[i] for i in order]) for part in parts)
    acceleration = turned.contact_set().accelerate(q, u, force).acceleration
    off = np.abs(acceleration - expected).max() / np.abs(expected).max()
    claims.below("Lilly-Orin L14", "chains summed in another order, relative", 1e-12, off)


def test_l14_what_must_wait_grows_far_slower_than_the_work(claims: Claims) -> None:
    """O(N) + O(log2 m + 1) on m processors: the longest run of operations that wait for each other."""
    few, many = around_a_body(2), around_a_body(8)
    work = operations(many).sum() / operations(few).sum()
    wait = span(many) / span(few)
    claims.above("Lilly-Orin L14", "work of 8 chains over that of 2", 3.5, work)
    claims.below("Lilly-Orin L14", "longest run of waiting operations, 8 chains over 2", 1.2, wait)
    speedup = operations(many).sum() / span(many) / (operations(few).sum() / span(few))
    assert speedup == pytest.approx(work / wait)
    claims.below("Lilly-Orin L14", "longest run of waiting operations with 8 chains", 500, span(many))
