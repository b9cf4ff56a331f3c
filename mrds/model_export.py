"""The dynamics of a testbed as C code that stands alone: a source, a header, and an example that links it.

    M(q) u' + h(q, u) = F + J^T w          of all modules, with the contacts that are closed

CasADi generates the same code that the library compiles; the header has sizes, names and units of all coordinates.
Plain loops and functions of `math.h`: no allocation, no state, so that it runs on a microcontroller (Mackay 1988,
chapter 4, wrote Fortran in this way).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import casadi as ca

from granite.config.testbed import Testbed
from granite.config.whole_file import refuse_output, write_whole
from granite.kernels.compilation import c_source
from granite.mrds.dynamics import Dynamics
from granite.mrds.system import System
from granite.mrds.tree import Tree

#: each function: what it takes, what it gives
_FUNCTIONS = {
    "mass_matrix": "M (NU x NU, by columns) of q",
    "bias": "h (NU) of q and u: Coriolis, centrifugal, gravity and elastic terms",
    "inverse_dynamics": "generalised force (NU) of q, u and u'",
    "acceleration": "u' (NU) of q, u and generalised force, with all contacts closed",
    "position_rate": "q' (NQ) of q and u",
}
_MOTOR_FORCE = {"motor_force": "generalised force (NU) of the torque of each motor (NMOTOR), through its transmission"}


def model_functions(bed: Testbed) -> list[ca.Function]:
    """The functions of a testbed, by the names in its header, in all coordinates q and velocities u."""
    trees = [Tree(module) for module in bed.modules]
    dynamics = [Dynamics(tree) for tree in trees]
    q, u = (ca.vertcat(*(getattr(tree, name) for tree in trees)) for name in ("q", "u"))
    n = u.numel()
    a = ca.vertcat(*(one.acceleration for one in dynamics))
    M = ca.diagcat(*(one.mass_matrix for one in dynamics))
    functions = [
        ca.Function("mass_matrix", [q], [ca.densify(M)], ["q"], ["M"]),
        ca.Function("bias", [q, u], [ca.vertcat(*(one.bias for one in dynamics))], ["q", "u"], ["h"]),
        ca.Function(
            "inverse_dynamics", [q, u, a], [ca.vertcat(*(one.inverse for one in dynamics))], ["q", "u", "a"], ["force"]
        ),
        ca.Function("position_rate", [q, u], [ca.vertcat(*(tree.q_dot for tree in trees))], ["q", "u"], ["q_dot"]),
    ]
    given: list[Any]
    acceleration: Any
    if bed.contacts:
        joined = System(bed.modules, bed.contacts).contact_set()
        given = [ca.MX.sym(name, size) for name, size in (("q", q.numel()), ("u", n), ("force", n))]
        acceleration = joined.assembly.accelerate(*given)[0]
    else:
        force = ca.SX.sym("force", n)
        given, parts, first = [q, u, force], [], 0
        for one in dynamics:
            own = one.tree.u.numel()
            parts.append(one.forward(force[first : first + own]))
            first += own
        acceleration = ca.vertcat(*parts)
    functions.append(ca.Function("acceleration", given, [acceleration], ["q", "u", "force"], ["u_dot"]))
    if bed.motors:
        torque, pushed = ca.SX.sym("torque", len(bed.motors)), ca.SX.zeros(n)
        at_joints = torque if bed.transmission is None else ca.DM(bed.transmission) @ torque
        for i, motor in enumerate(bed.motors):
            pushed[bed.layout.joint_u(motor.joint)] = at_joints[i]
        functions.append(ca.Function("motor_force", [torque], [pushed], ["torque"], ["force"]))
    return functions


def export_model(bed: Testbed, path: Path, overwrite: bool = False) -> tuple[Path, Path, Path]:
    """Write the C source at `path`, a header and an example beside it; the three paths.

    Raises
    ------
    InputError
        Where one of them can't be written or would be replaced.
    """
    refuse_output("model", path, (".c",), overwrite)
    name = re.sub(r"\W", "_", path.stem)
    header, example = path.with_suffix(".h"), path.with_name(f"{path.stem}_example.c")
    content = {
        path: f'#include "{header.name}"\n' + c_source(name, {f.name(): f for f in model_functions(bed)}),
        header: _header(bed, name),
        example: _example(bed, name, header.name),
    }
    for file in content:
        refuse_output("model", file, (file.suffix,), overwrite)
    for file, text in content.items():
        with write_whole("model", file, (file.suffix,), overwrite) as unfinished:
            unfinished.write_text(text, "utf-8")
    return path, header, example


def _header(bed: Testbed, name: str) -> str:
    upper = name.upper()
    closed = ", ".join(contact.name for contact in bed.contacts) or "none"
    coordinates = "\n".join(
        f" *   {letter}[{i}]  {c.name} [{c.unit}]"
        for letter, every in (("q", bed.positions), ("u", bed.velocities))
        for i, c in enumerate(every)
    )
    coordinates += "".join(f"\n *   torque[{i}]  motor {motor.joint} [N m]" for i, motor in enumerate(bed.motors))
    functions = "\n".join(
        f"/* {what}. */\nint {name}_{function}(const double **arg, double **res, long long *iw, double *w, int mem);\n"
        f"int {name}_{function}_work(long long *n_arg, long long *n_res, long long *n_iw, long long *n_w);"
        for function, what in (_FUNCTIONS | (_MOTOR_FORCE if bed.motors else {})).items()
    )
    return f"""/* Dynamics of the testbed {bed.name}, generated by Granite. Closed contacts: {closed}.
 *
{coordinates}
 *
 * arg and res are arrays of pointers to arguments and results; iw and w are work space of the sizes that _work gives.
 * Compile with -ffp-contract=off for the bits of Granite.
 */
#ifndef {upper}_H
#define {upper}_H
#define {upper}_NQ {len(bed.positions)}
#define {upper}_NU {len(bed.velocities)}
#define {upper}_NMOTOR {len(bed.motors)}
#ifdef __cplusplus
extern "C" {{
#endif
{functions}
#ifdef __cplusplus
}}
#endif
#endif
"""


def _example(bed: Testbed, name: str, header: str) -> str:
    upper = name.upper()
    start = ", ".join(repr(bed.simulation.initial.get(c.key, float(c.name.endswith("_qw")))) for c in bed.positions)
    return f"""/* Accelerations of {bed.name} at its start without forces.
 *   cc -O1 -ffp-contract=off {name}_example.c {name}.c -lm && ./a.out
 */
#include <stdio.h>
#include <stdlib.h>
#include "{header}"

int main(void) {{
    double q[{upper}_NQ] = {{{start}}}, u[{upper}_NU] = {{0}}, force[{upper}_NU] = {{0}}, u_dot[{upper}_NU];
    long long n_arg, n_res, n_iw, n_w;
    {name}_acceleration_work(&n_arg, &n_res, &n_iw, &n_w);
    const double **arg = calloc((size_t)n_arg, sizeof *arg);
    double **res = calloc((size_t)n_res, sizeof *res), *w = calloc((size_t)n_w + 1, sizeof *w);
    long long *iw = calloc((size_t)n_iw + 1, sizeof *iw);
    arg[0] = q, arg[1] = u, arg[2] = force, res[0] = u_dot;
    if ({name}_acceleration(arg, res, iw, w, 0)) return 1;
    for (int i = 0; i < {upper}_NU; i++) printf("%a\\n", u_dot[i]);
    return 0;
}}
"""
