"""A force distribution written in CVXPY, reduced once to the small dense quadratic programme of each tick.

CVXPY's disciplined parametrised programming (DPP) gives the programme's data as sparse matrices times the vector of
parameters: 1/2 x'P x + q'x, rows A x + b that are zero or not negative. A cost of J w + c brings a variable t with the
row t = J w + c; such rows are solved for their variables here, so that the wrenches are what is left. Everything is
one compiled function of the grasp. So is the optimum that no limit bounds, which most ticks have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from granite.config.distribution import ForceDistributionTable
from granite.config.errors import InputError
from granite.config.parts import PartTable, build, own_code
from granite.config.records import Array
from granite.controllers.distribution.grasp import Grasp, GraspShape
from granite.controllers.distribution.quadratic_program import EQUALITY
from granite.controllers.distribution.quantities import Quantities
from granite.mrds.elimination import eliminate

#: rows by what they come from: the object's equation, a variable that CVXPY added, then one for each limit
OBJECT, ADDED = 0, 1
#: what DAQP takes for no bound
UNBOUNDED = 1e30


class CvxpyProblem(NamedTuple):
    """The problem in CVXPY, and what its parameters are."""

    problem: Any
    quantities: Quantities
    tags: list[Any]  #: a parameter of value zero in every row of the object's equation, and of each limit


class _Programme(NamedTuple):
    """CVXPY's programme in symbols: of x, rows A x + b."""

    P: ca.SX
    q: ca.SX
    A: ca.SX
    b: ca.SX
    constant: Array  #: of A: the value of every entry that is known at start, else zero
    zero: int  #: how many rows are zero; the others are not negative
    owner: list[int]  #: of each row
    wrench: range  #: where the wrenches are in x


def write(table: ForceDistributionTable, shape: GraspShape) -> CvxpyProblem:
    """The problem in CVXPY.

    Raises
    ------
    InputError
        Where a term reads an unknown quantity, or is not one of a convex quadratic programme; its key names the term.
    """
    import cvxpy as cp

    quantities, tags = Quantities(shape), [cp.Parameter(name="object")]
    cost = table.tie_break * cp.sum_squares(quantities.wrench) / 2
    for i, options in enumerate(table.objective):
        with _named(f"objective.{i}", options):
            term = build("objective", options, shape).cost(quantities)
            _refuse_cost(term)
        cost += getattr(options, "weight", 1.0) * term
    constraints = [quantities.equation == tags[0]]
    for i, options in enumerate(table.limit):
        tags.append(cp.Parameter(name=f"limit_{i}"))
        with _named(f"limit.{i}", options):
            limits = build("limit", options, shape).constraints(quantities)
            constraints += [_tagged(constraint, tags[-1]) for constraint in limits]
    return CvxpyProblem(cp.Problem(cp.Minimize(cost), constraints), quantities, tags)


def assign(written: CvxpyProblem, grasp: Grasp) -> None:
    """Give the parameters of the problem in CVXPY the values of a grasp, so that `problem.solve()` solves it."""
    symbols = {name: symbol for name, symbol in written.quantities.symbols.items() if getattr(grasp, name).size}
    values = ca.Function("values", list(symbols.values()), [value for _, value in written.quantities.values])
    results = values.call(
        [ca.DM(getattr(grasp, name).ravel().reshape(s.shape, order="F")) for name, s in symbols.items()]
    )
    for (parameter, _), value in zip(written.quantities.values, results, strict=True):
        parameter.value = np.array(value).reshape(parameter.shape)
    for tag in written.tags:
        tag.value = 0.0


def reduce(table: ForceDistributionTable, shape: GraspShape) -> list[ca.Function]:
    """The functions of a tick.

    `programme`, of the fields of `Grasp` that are read, in one block: H, f, A by rows, upper, lower; of each row DAQP's
    sense and the number of its owner; tau' and w_b', J1 and J_b. `judge`, of these, x and the multipliers: torques and
    wrenches of the bases, primal residual,
    dual residual, gap between the costs of the two, and a number that is zero where no limit is active.
    `without_limits`, of the block: the optimum that keeps the equations alone, with the same numbers.
    """
    written = write(table, shape)
    problem = _programme(written)
    T, t0, rows = _eliminate(problem)
    H, f = T.T @ problem.P @ T, T.T @ (problem.P @ t0 + problem.q)
    A, b = problem.A[rows, :] @ T, problem.A[rows, :] @ t0 + problem.b[rows]
    symbols = written.quantities.symbols
    pairs = _opposite(A, list(symbols.values()), problem.zero - (problem.A.shape[0] - len(rows)))
    kept = [i for i in range(len(rows)) if i not in pairs.values()]
    equal = [rows[i] < problem.zero for i in kept]
    lower = ca.vertcat(*(-b[i] for i in kept))
    upper = ca.vertcat(
        *(b[pairs[i]] if i in pairs else -b[i] if e else UNBOUNDED for i, e in zip(kept, equal, strict=True))
    )
    # The square of the object's equation is zero where it holds, so it changes no answer; but wrenches that no
    # objective sees, as those of a rigid arm in strain energy, would leave H almost singular.
    motion = [i for i in kept if problem.owner[rows[i]] == OBJECT]
    # The cost is scaled to a mean of one on the diagonal, for the solver's tolerances are absolute.
    scale = ca.trace(H) / H.shape[0]
    H, f = H / scale + A[motion, :].T @ A[motion, :], f / scale + A[motion, :].T @ b[motion]
    sense, owner = ca.DM([EQUALITY * e for e in equal]), ca.DM([problem.owner[rows[i]] for i in kept])
    outputs = ca.vertcat(symbols["free_torque"], symbols["free_base"])
    output_map = ca.horzcat(symbols["torque_map"], symbols["base_map"])
    results: list[Any] = [H, f, A[kept, :].T, upper, lower, sense, owner, outputs, output_map]
    everything = ca.veccat(*(ca.densify(result) for result in results))
    read = {name: symbol for name, symbol in symbols.items() if ca.depends_on(everything, ca.vec(symbol))}
    data = ca.Function("programme", list(read.values()), [everything], list(read), ["data"])
    given = [ca.SX.sym("given", *result.shape) for result in results]
    judge = _judge(given, shape.n_wrench)
    return [data, judge, _without_limits(given, [i for i, e in enumerate(equal) if e], judge)]


def _without_limits(given: list[ca.SX], equal: list[int], judge: ca.Function) -> ca.Function:
    """H x + f + E' y = 0 and E x = e, with the rows E that are equations: where the limits hold too, the optimum."""
    H, f, At, upper, *_ = given
    Et, n = At[:, equal], len(equal)
    solved, _ = eliminate(H, ca.horzcat(Et, -f))
    y, _ = eliminate(Et.T @ solved[:, :n], Et.T @ solved[:, n] - upper[equal])
    x, multipliers = solved[:, n] - solved[:, :n] @ y, ca.SX(upper.shape[0], 1)
    multipliers[equal] = y
    data = ca.veccat(*given)
    outputs = [x, *judge(data, x, ca.densify(multipliers))[:-1]]
    names = ["x", "torque", "primal", "dual", "gap"]
    return ca.Function("without_limits", [data], [ca.densify(part) for part in outputs], ["data"], names)


def _judge(given: list[ca.SX], n_wrench: int) -> ca.Function:
    H, f, At, upper, lower, sense, _, free_torque, torque_map = given
    x, multipliers = ca.SX.sym("x", f.shape[0]), ca.SX.sym("multipliers", upper.shape[0])
    values, turned = At.T @ x, H @ x
    primal = ca.mmax(ca.vertcat(0.0, values - upper, lower - values))
    dual = ca.mmax(ca.fabs(turned + f + At @ multipliers))
    # Multipliers are positive at upper bounds and negative at lower ones.
    bounds = ca.dot(ca.fmax(multipliers, 0.0), upper) + ca.dot(ca.fmin(multipliers, 0.0), lower)
    gap = ca.fabs(ca.dot(x, turned) + ca.dot(f, x) + bounds)
    torque = free_torque + torque_map.T @ x[:n_wrench]
    pressed = ca.dot(ca.fabs(multipliers), EQUALITY - sense)  # equations do not count
    return ca.Function("judge", [ca.veccat(*given), x, multipliers], [torque, primal, dual, gap, pressed],
                       ["data", "x", "multipliers"], ["torque", "primal", "dual", "gap", "pressed"])  # fmt: skip


def _programme(written: CvxpyProblem) -> _Programme:
    """CVXPY's reduction, with the parameters as symbols."""
    import cvxpy as cp

    problem, quantities = written.problem, written.quantities
    for parameter in problem.parameters():
        parameter.value = np.ones(parameter.shape)
    try:
        data, _, _ = problem.get_problem_data(cp.DAQP, enforce_dpp=True)
    except cp.error.DPPError as error:
        raise InputError(f"can't be reduced: {error}", key="objective") from error
    reduced = data["param_prob"]
    columns, n_x = reduced.param_id_to_col, reduced.x.size
    p = ca.SX.zeros(reduced.total_param_size + 1)
    p[columns[-1]] = 1.0
    for parameter, value in quantities.values:
        if parameter.id in columns:
            p[columns[parameter.id] : columns[parameter.id] + parameter.size] = ca.vec(ca.densify(value))
    m = reduced.constr_size
    rows = ca.reshape(_product(reduced.A, p), m, n_x + 1)
    constant = _constant(reduced.A, columns[-1]).reshape((m, n_x + 1), order="F")[:, :n_x]
    owner = [ADDED] * m
    for number, tag in enumerate(written.tags):
        at = reduced.A[:, [columns[tag.id]]].nonzero()[0] if tag.id in columns else []
        for row in at:
            owner[row % m] = OBJECT if number == 0 else ADDED + number
    start = reduced.var_id_to_col[quantities.wrench.id]
    P = ca.reshape(_product(reduced.P, p), n_x, n_x)
    linear = _product(reduced.q, p)[:n_x]
    return _Programme(
        (P + P.T) / 2, linear, rows[:, :n_x], rows[:, n_x], constant, reduced.cone_dims.zero, owner,
        range(start, start + quantities.shape.n_wrench),
    )  # fmt: skip


def _product(tensor: Any, p: ca.SX) -> ca.SX:
    """A sparse matrix of numbers times the parameters, by its entries: CasADi would fill it."""
    matrix, result = tensor.tocoo(), ca.SX(tensor.shape[0], 1)
    for i, j, value in zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True):
        result[i] += value * p[j]
    return result


def _constant(tensor: Any, column: int) -> Array:
    """Entries that no parameter changes."""
    matrix = tensor.tocsc()
    value = np.asarray(matrix[:, [column]].todense()).ravel()
    changed = np.zeros(len(value), dtype=bool)
    coo = matrix.tocoo()
    changed[coo.row[coo.col != column]] = True
    return np.where(changed, 0.0, value)


def _eliminate(programme: _Programme) -> tuple[ca.SX, ca.SX, list[int]]:
    """x = T y + t0 in what is left of it, and the rows that are left.

    A row that is zero is solved for a variable that CVXPY added, if its coefficient is known at start and all others
    in the row are left or solved for.
    """
    n = programme.A.shape[1]
    own, solved, used = set(programme.wrench), dict[int, int](), set[int]()
    present = [{j for j in range(n) if programme.A.has_nz(i, j)} for i in range(programme.zero)]
    progress = True
    while progress:
        progress = False
        for i in range(programme.zero):
            unknown = present[i] - own - set(solved)
            if i in used or len(unknown) != 1:
                continue
            (j,) = unknown
            if programme.constant[i, j]:
                solved[j], progress = i, True
                used.add(i)
    # The wrenches first, then what could not be eliminated.
    left = [*programme.wrench, *(j for j in range(n) if j not in own and j not in solved)]
    T, t0 = ca.SX(n, len(left)), ca.SX(n, 1)
    for column, j in enumerate(left):
        T[j, column] = 1.0
    for j, i in solved.items():  # in the order in which they were found: each needs only those before it
        row = ca.SX(programme.A[i, :])
        row[j] = 0.0
        T[j, :] = -(row @ T) / programme.constant[i, j]
        t0[j] = -(row @ t0 + programme.b[i]) / programme.constant[i, j]
    return ca.sparsify(T), ca.sparsify(t0), [i for i in range(programme.A.shape[0]) if i not in used]


def _opposite(A: ca.SX, symbols: list[ca.SX], first: int) -> dict[int, int]:
    """Pairs of rows from `first` on with opposite coefficients: a lower and an upper bound of the same expression.

    They are found by their values for two random grasps.
    """
    rng, values = np.random.default_rng(1), ca.Function("rows", symbols, [ca.densify(A)])
    drawn = [values(*(rng.normal(size=s.shape) for s in symbols)) for _ in range(2)]
    numbers = np.hstack([np.array(value) for value in drawn])
    pairs: dict[int, int] = {}
    for i in range(first, len(numbers)):
        for k in range(first, i):
            if k in pairs or k in pairs.values():
                continue
            if np.abs(numbers[i] + numbers[k]).max() <= 1e-12 * np.abs(numbers[i]).max():
                pairs[k] = i
                break
    return pairs


@contextmanager
def _named(key: str, options: PartTable) -> Iterator[None]:
    """A context in which the refusal of a term names it, and a failure of a user's own one too."""
    try:
        with own_code(options.kind):
            yield
    except InputError as refusal:
        if not refusal.key:
            refusal = InputError(refusal.problem, key="kind", value=options.kind, expected=refusal.expected)
        raise refusal.within(key) from refusal.__cause__


def _refuse_cost(cost: Any) -> None:
    """Refuse what is not a convex quadratic form that CVXPY can reduce."""
    import cvxpy as cp

    expected = "a scalar CVXPY expression, convex and quadratic in the wrenches"
    if not isinstance(cost, cp.Expression) or not cost.is_scalar():
        raise InputError("its cost is not one number", expected=expected)
    problem = cp.Problem(cp.Minimize(cost))
    _refuse(problem, "its cost", expected)


def _tagged(constraint: Any, tag: Any) -> Any:
    """The constraint, loosened by its tag, which is zero: the tag finds its rows again."""
    import cvxpy as cp

    expected = "linear inequalities and equalities in the wrenches, as CVXPY constraints"
    equal = isinstance(constraint, cp.constraints.Equality | cp.constraints.Zero)
    if not equal and not isinstance(
        constraint, cp.constraints.Inequality | cp.constraints.NonPos | cp.constraints.NonNeg
    ):
        raise InputError(f"one of its constraints is a {type(constraint).__name__}", expected=expected)
    _refuse(cp.Problem(cp.Minimize(0), [constraint]), "one of its constraints", expected)
    expression = -constraint.args[0] if isinstance(constraint, cp.constraints.NonNeg) else constraint.expr
    return expression == tag if equal else expression <= tag


def _refuse(problem: Any, what: str, expected: str) -> None:
    if not problem.is_dcp():
        raise InputError(f"{what} is not convex by CVXPY's rules", expected=expected)
    if not problem.is_dcp(dpp=True):
        raise InputError(f"{what} has a product of two quantities, which CVXPY can't reduce (DPP)", expected=expected)
    if not problem.is_qp() or problem.is_mixed_integer():
        raise InputError(f"{what} is not one of a quadratic programme", expected=expected)


def owners(table: ForceDistributionTable) -> Sequence[str]:
    """The name of each owner of rows."""
    return ("object", "added", *(f"limit.{i} ({options.kind})" for i, options in enumerate(table.limit)))
