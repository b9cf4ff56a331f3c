"""A learned policy, such as one trained in `granite.gym`, from an ONNX file: a network of the state, compiled.

    o = [q - q_ref, u]          what it observes
    a = a_max clip(pi(o), -1, 1)          every `ticks` ticks; a_max is what a brake may use
    F = M a + h - d             d: the estimated disturbance

CasADi reads the network as an expression, so no other library runs in the tick, and a run replays to the bit. Weights
are the numbers of the file; the arithmetic is double.
"""

from __future__ import annotations

import base64
import binascii
import math
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import casadi as ca
import numpy as np
from pydantic import Field, model_validator

from granite.config.errors import InputError
from granite.config.law import LawTable
from granite.config.paths import missing_part
from granite.controllers.model import ControlModel
from granite.controllers.run_modes.decelerations import largest_accelerations
from granite.controllers.symbolic import SymbolicLaw
from granite.kernels.compilation import compile_once
from granite.kernels.function_part import named_function

#: a network is straight-line code: of more operations the compiler would take minutes
_MOST_OPERATIONS = 200_000
_MOST_BYTES = 4_000_000


class Policy(SymbolicLaw):
    """The law; a network that is no function of the observation is refused."""

    class Options(LawTable):
        """The network, and how often it is asked."""

        arguments: ClassVar[frozenset[str]] = frozenset({"path", "ticks", "content"})
        gives_joint_accelerations: ClassVar[bool] = True

        #: an ONNX file, beside the testbed's file
        path: str
        #: it acts anew every so many ticks, as a step of the environment in which it was trained
        ticks: int = Field(default=10, ge=1, le=1000)
        #: the file, in base 64; it replaces the file in a log
        content: str | None = None

        @model_validator(mode="before")
        @classmethod
        def _read(cls, table: Any) -> Any:
            """Read the file, unless this is a testbed that has its content."""
            if not isinstance(table, dict) or not isinstance(table.get("path"), str) or table.get("content"):
                return table
            path = Path(table["path"])
            try:
                size = path.stat().st_size
                if size > _MOST_BYTES:
                    raise InputError(f"a file of {size} bytes", key="path", value=str(path),
                                     expected=f"at most {_MOST_BYTES}")  # fmt: skip
                return {**table, "content": base64.b64encode(path.read_bytes()).decode()}
            except OSError:
                raise InputError(missing_part(path), key="path", value=str(path), expected="an ONNX file") from None

    def __init__(self, options: Options, model: ControlModel) -> None:
        try:
            network = _network(options, len(model.layout.positions) + model.n, model.n)
        except InputError as refusal:
            raise refusal.within("controller.law") from None
        key = f"{model.bed.fingerprint} {options.content}" if model.bed.fingerprint else None
        kernels = compile_once("policy", key, lambda: [_function(model, network, options.ticks)])
        memory = {"action": np.zeros(model.n), "waits": np.zeros(1)}
        super().__init__(model.bed, kernels["policy"], memory=memory)


def _network(options: Policy.Options, n_observed: int, n_acted: int) -> ca.Function:
    """The network from the observation to the action, both as columns."""
    fields = {"key": "path", "value": options.path}
    sizes = f"one input of {n_observed} numbers (deviations and rates) and one output of {n_acted} (accelerations)"
    try:
        content = base64.b64decode(options.content or "", validate=True)
    except (binascii.Error, ValueError):
        raise InputError("content that is no base 64", expected="an ONNX file", **fields) from None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policy.onnx"  # CasADi reads by name alone, and knows the format by the suffix
        file.write_bytes(content)
        try:
            graph = ca.GraphBuilder(str(file))
            for name in graph.dynamic_params():  # such as the size of a batch
                graph.bind_dim(name, 1)
            network = graph.create("network", {"symbolic": True})
        except (RuntimeError, NotImplementedError) as error:
            reason = str(error).strip().splitlines()[-1]
            raise InputError(f"no network that can be read ({reason})", expected="an ONNX file", **fields) from None
    shapes = (
        [network.numel_in(i) for i in range(network.n_in())],
        [network.numel_out(i) for i in range(network.n_out())],
    )
    if shapes != ([n_observed], [n_acted]):
        raise InputError(f"a network from {shapes[0]} to {shapes[1]} numbers", expected=sizes, **fields)
    observed = ca.SX.sym("o", n_observed)
    action = ca.vec(network(ca.reshape(observed, network.size_in(0))))
    flat = ca.Function("network", [observed], [ca.densify(action)])
    if (operations := flat.n_instructions()) > _MOST_OPERATIONS:
        raise InputError(f"a network of {operations} operations", expected=f"at most {_MOST_OPERATIONS}", **fields)
    if not all(map(math.isfinite, np.array(flat(np.zeros(n_observed))).ravel())):
        raise InputError("a network that is not finite at rest on its target", expected="finite weights", **fields)
    return flat


def _function(model: ControlModel, network: ca.Function, ticks: int) -> ca.Function:
    q_ref, disturbance = ca.SX.sym("q_ref", model.q.numel()), ca.SX.sym("d", model.n)
    ready, waits, kept = ca.SX.sym("ready"), ca.SX.sym("waits"), ca.SX.sym("kept", model.n)
    wanted = ca.fmax(-1.0, ca.fmin(1.0, network(ca.vertcat(model.q - q_ref, model.u))))
    action = ca.if_else(waits > 0, kept, wanted * ca.DM(largest_accelerations(model)))
    acceleration = model.complete(action, disturbance)
    force = model.inverse(acceleration) - disturbance
    inputs = {
        "state_ready": ready,
        "state_q": model.q,
        "state_u": model.u,
        "state_disturbance": disturbance,
        "reference_q": q_ref,
        "memory_action": kept,
        "memory_waits": waits,
    }
    outputs = {
        "demand_acceleration": acceleration,
        "demand_force": force,
        "demand_wrench": model.wrenches(force),
        # While the state is not ready, the actuators rest.
        "next_action": ca.if_else(ready, action, kept),
        "next_waits": ca.if_else(ready, ca.if_else(waits > 0, waits - 1, ticks - 1), waits),
    }
    return named_function("policy", inputs, outputs)
