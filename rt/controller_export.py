"""The controller of a testbed as C code that stands alone: from estimate to guard, with a replay of recorded samples.

    controller.h           inputs, outputs, `granite_controller_step`
    controller.c           the steps: the C of the compiled tick, with parameters and memory as static arrays
    controller_kernels.c   the functions that CasADi generates
    elementary.c, .h       sin, cos and exp with the same bits on every machine (-DGRANITE_LIBM: those of the library)
    replay.c, samples.h    an example main: recorded samples through the controller, commands compared bit by bit

No allocation, no clock, no file: C99 with `math.h` and `string.h`. Nothing is compiled to write it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from granite.config.errors import InputError
from granite.config.reasons import Reason
from granite.config.records import Array
from granite.config.run_modes import RunMode
from granite.config.testbed import Testbed
from granite.config.whole_file import whole_folder
from granite.controllers.behaviours.state_machine import StateMachine
from granite.controllers.stack import build_stack
from granite.kernels.compilation import c_source, kept_symbolic
from granite.kernels.compiled_form import CompiledForm, source_of
from granite.kernels.kernel import Kernel
from granite.kernels.library import ELEMENTARY
from granite.logs.channels import Channels
from granite.logs.log import Log
from granite.rt.guard.guard import Guard
from granite.rt.steps.compiled_steps import StepForms, parts_without_form

_HEADER = "controller.h"
#: ticks of the example's replay: at 60 numbers a tick they take 96 kB
TICKS = 200
#: of all static memory [bytes]; more is no microcontroller's
_LARGEST = 2**20


def export_controller(bed: Testbed, folder: Path, log: Log | None = None, overwrite: bool = False) -> int:
    """Write the controller of a testbed into a folder; the bytes of its static memory.

    Parameters
    ----------
    bed
        The testbed; its controllers are written in their initial state.
    folder
        A new folder.
    log
        A run of the testbed: its first samples are those of the example, which has none without it.
    overwrite
        Replace an exported controller of that name.

    Raises
    ------
    InputError
        Where a part has no compiled form, the memory is too large, the log is of another testbed, or the folder
        can't be written.
    """
    if bed.controller is None:
        raise InputError("a testbed without a controller", file=bed.name, key="controller", expected="one to export")
    channels = Channels.of(bed)
    replayed = _replayed(log, channels)
    with kept_symbolic():
        stack, guard = build_stack(bed), Guard(bed)
    if names := parts_without_form(stack):
        raise InputError(f"{' and '.join(names)} in Python", file=bed.name, expected="parts with a compiled form")
    if isinstance(stack.behaviour, StateMachine):
        kind = bed.behaviour.kind
        raise InputError(
            "it changes its state in Python", file=bed.name, key="behaviour", value=kind, expected="another"
        )
    forms = StepForms(bed, channels, stack, guard)
    source, size = _source(bed, channels, forms.parts, forms.entries)
    if size > _LARGEST:
        raise InputError(f"{size} bytes of memory", file=bed.name, expected=f"at most {_LARGEST}")
    functions = {str(i): f for i, f in enumerate(_functions(_distinct(forms.parts)).values())}
    with whole_folder("controller", folder, _HEADER, overwrite) as unfinished:
        unfinished.mkdir(parents=True)
        for name, text in {
            _HEADER: _header(bed, channels),
            "controller.c": source,
            "controller_kernels.c": '#include "elementary.h"\n' + c_source("function", functions),
            ELEMENTARY.name: ELEMENTARY.read_text("utf-8"),
            ELEMENTARY.with_suffix(".h").name: ELEMENTARY.with_suffix(".h").read_text("utf-8"),
            "replay.c": _REPLAY,
            "samples.h": _samples(channels, bed, replayed),
        }.items():
            (unfinished / name).write_text(text, "utf-8")
    return size


def _replayed(log: Log | None, channels: Channels) -> Array:
    """The first rows of a log, up to what an operator did or a row that was lost."""
    if log is None:
        return np.zeros((0, channels.width))
    if log.channels.layout() != channels.layout():
        raise InputError(f"a log of {log.bed.name} with other signals", key="LOG", expected="a run of the testbed")
    mode, lost = log.channels.column("/operation", "mode"), log.channels.column("/timing", "lost")
    rows: list[Array] = []
    for block in log.blocks():
        for row in block:
            if len(rows) == TICKS or row[lost] > 0 or row[mode] != RunMode.RUNNING:
                return np.array(rows).reshape(-1, channels.width)
            rows.append(row.copy())
    return np.array(rows).reshape(-1, channels.width)


def _distinct(forms: Iterable[CompiledForm]) -> list[Kernel]:
    several = [kernel for form in forms for kernels in form.kernels.values() for kernel in kernels]
    return list({id(kernel): kernel for kernel in several if kernel is not None}.values())


def _functions(kernels: Iterable[Kernel]) -> dict[int, Any]:
    """By identity: several kernels may have one function, and several functions one name."""
    return {id(kernel.function): kernel.function for kernel in kernels}


def _source(bed: Testbed, channels: Channels, forms: Sequence[CompiledForm], entries: Sequence[str]) -> tuple[str, int]:
    """The C of all steps, and the bytes of its static memory."""
    kernels = _distinct(forms)
    number = {id(kernel): i for i, kernel in enumerate(kernels)}
    functions = [kernel.function for kernel in kernels]
    function_number = {key: i for i, key in enumerate(_functions(kernels))}
    n_w, n_iw = (max([1, *sizes]) for sizes in ([f.sz_w() for f in functions], [f.sz_iw() for f in functions]))
    lines = [
        f'#include "{_HEADER}"',
        '#include "elementary.h"',
        source_of(forms),
        "/* Parameters, memory, and work space that all functions share. */",
    ]
    lines += [f"static double work[{n_w}];", f"static long long integer_work[{n_iw}];"]
    head = "(const double **, double **, long long *, double *, int);"
    lines += [f"int function_{i}{head}" for i in function_number.values()]
    for i, f in enumerate(functions):
        lines.append(f"static const double *arguments_{i}[{max(f.sz_arg(), 1)}];")
        lines.append(f"static double *results_{i}[{max(f.sz_res(), 1)}];")
    declared, blocks, n_memory, starts = _blocks(forms)
    lines += [*declared, *(_struct(name, members) for name, members in blocks.items())]

    def kernel_of(kernel: Kernel | None) -> str:
        if kernel is None:  # a member that is never used
            return "{0}"
        i = number[id(kernel)]
        return f"{{function_{function_number[id(kernel.function)]}, arguments_{i}, results_{i}, integer_work, work}}"

    members = {
        key: "{" + ", ".join(kernel_of(kernel) for kernel in several or [None]) + "}"
        for form in forms
        for key, several in form.kernels.items()
    }
    lines.append(_struct("const struct kernels KERNELS", members))
    calls = [
        f"    if (!{entry}(&PARAMETERS, &MEMORY, &KERNELS, row))\n        return GRANITE_NO_COMMAND;"
        for entry in entries
    ]
    n_sample, n_command = channels.topic("/sample").stop, _command_size(bed)
    lines.append(
        f"""static double row[{channels.width}];

void granite_controller_start(void)
{{
    memset(row, 0, sizeof row);
{chr(10).join(starts)}
}}

int granite_controller_step(const double *sample, double *command)
{{
    copy(row, sample, {n_sample});
{chr(10).join(calls)}
    copy(command, row + ROW_COMMAND_SETPOINTS, {n_command});
    return guard(&MEMORY, &KERNELS, row) ? GRANITE_PASSES : GRANITE_REFUSED;
}}
"""
    )
    pointers = sum(f.sz_arg() + f.sz_res() for f in functions)
    size = 8 * (n_w + n_iw + channels.width + n_memory) + 4 * pointers
    return "\n".join(lines), size


def _blocks(forms: Sequence[CompiledForm]) -> tuple[list[str], dict[str, dict[str, str]], int, list[str]]:
    """Parameters and memory: their arrays, the structs that lead there, the numbers of memory, and how they start.

    What is memory to one part may be a parameter of another one: arrays that overlap are one block.
    """
    kinds = "parameters", "memory"
    arrays = [(kind, key, value) for form in forms for kind in kinds for key, value in getattr(form, kind).items()]
    members: dict[str, dict[str, str]] = {kind: {} for kind in kinds}
    lines, starts, n_memory, end = ["static double nothing[1];"], [], 0, 0
    joined: list[list[tuple[str, str, Array]]] = []
    for kind, key, value in sorted(arrays, key=lambda array: (array[2].ctypes.data, -array[2].size)):
        if not value.size:
            members[kind][key] = "nothing"
        elif value.ctypes.data < end:
            joined[-1].append((kind, key, value))
        else:
            joined.append([(kind, key, value)])
        end = max(end, value.ctypes.data + value.nbytes)
    for block in joined:
        first = block[0][2].ctypes.data
        content = np.zeros(max(value.ctypes.data + value.nbytes - first for _, _, value in block) // 8)
        changes = any(kind == "memory" for kind, _, _ in block)
        name = f"{'memory' if changes else 'parameter'}_{block[0][1]}"
        for kind, key, value in block:
            offset = (value.ctypes.data - first) // 8
            content[offset : offset + value.size] = value.ravel()
            members[kind][key] = f"{'' if changes else '(double *)'}{name}{f' + {offset}' if offset else ''}"
        if not changes:
            lines.append(f"static const double {name}[] = {_numbers(content)};")
            continue
        n_memory += len(content)
        lines.append(f"static double {name}[{len(content)}];")
        if content.tobytes().strip(b"\0"):
            lines.append(f"static const double start_of_{name}[] = {_numbers(content)};")
            starts.append(f"    memcpy({name}, start_of_{name}, sizeof {name});")
        else:
            starts.append(f"    memset({name}, 0, sizeof {name});")
    structs = {"const struct parameters PARAMETERS": members["parameters"], "struct memory MEMORY": members["memory"]}
    return lines, structs, n_memory, starts


def _struct(declaration: str, members: Mapping[str, str]) -> str:
    return f"static {declaration} = {{{', '.join(f'.{key} = {value}' for key, value in members.items()) or '0'}}};"


def _numbers(values: Array) -> str:
    return "{" + (", ".join(map(_number, values.tolist())) or "0") + "}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "NAN"
    return value.hex() if math.isfinite(value) else f"{'-' if value < 0 else ''}INFINITY"


def _command_size(bed: Testbed) -> int:
    return sum(len(device.signals(bed)) for device in bed.actuators.values())


def _header(bed: Testbed, channels: Channels) -> str:
    topic = channels.topic("/sample")
    sample = [f" *   sample[{i}]  {value.key} [{value.unit}]" for i, (_, value) in enumerate(topic.values)]
    units = [
        (f"{name}.{signal.name}", signal.unit) for name, one in bed.actuators.items() for signal in one.signals(bed)
    ]
    command = [f" *   command[{i}]  {name} [{unit}]" for i, (name, unit) in enumerate(units)]
    signals = "\n".join([*sample, " *", *command])
    return f"""/* The controller of the testbed {bed.name}, generated by Granite: call it every {bed.loop.period_s:g} s.
 *
{signals}
 *
 * Status of a frame: 0 is a good one; times count from the start of the run.
 * Compile with -ffp-contract=off: then every machine gives the same bits. With -DGRANITE_LIBM sin, cos and exp are
 * those of its library, as in Granite itself.
 */
#ifndef GRANITE_CONTROLLER_H
#define GRANITE_CONTROLLER_H
#define GRANITE_PERIOD_S {_number(bed.loop.period_s)}
#define GRANITE_SAMPLE_SIZE {topic.stop}
#define GRANITE_COMMAND_SIZE {len(units)}
#ifdef __cplusplus
extern "C" {{
#endif
/* Only a command that passes the guard may go out; otherwise stop the actuators until the host has decided. */
enum {{
    GRANITE_PASSES,
    GRANITE_REFUSED,   /* sensors that have not reported, a fault, or a limit: the command is what was computed */
    GRANITE_NO_COMMAND /* a part leaves this tick to its form in Python: the controller must start again */
}};
/* Begin a run: the memory has its initial values. */
void granite_controller_start(void);
/* One tick. */
int granite_controller_step(const double *sample, double *command);
#ifdef __cplusplus
}}
#endif
#endif
"""


def _samples(channels: Channels, bed: Testbed, rows: Array) -> str:
    """Samples and expected commands as the bits of their numbers: a NaN stays the same."""
    sample, first = slice(0, channels.topic("/sample").stop), channels.topic("/command").start + 1
    tables = {"SAMPLES": rows[:, sample], "COMMANDS": rows[:, first : first + _command_size(bed)]}
    passed = rows[:, channels.column("/verdict", "reason")] == Reason.PASSED
    lines = [f"/* {len(rows)} ticks of a run of {bed.name}. */", f"#define TICKS {len(rows)}"]
    for name, table in tables.items():
        size = f"GRANITE_{name[:-1]}_SIZE"
        bits = np.ascontiguousarray(table).view(np.uint64).tolist()
        entries = ",\n".join("    {" + ", ".join(f"0x{one:x}" for one in row) + "}" for row in bits)
        lines.append(f"static const uint64_t {name}[][{size}] = {{\n{entries or '    {0}'}\n}};")
    lines.append(f"static const char PASSES[] = {{{', '.join(str(int(one)) for one in passed) or '0'}}};")
    return "\n".join(lines) + "\n"


_REPLAY = """/* Recorded samples through the controller: the bits of its commands, and how many ticks are as in the log.
 *   cc -O1 -ffp-contract=off -DGRANITE_LIBM *.c -lm && ./a.out
 * With GRANITE_LIBM on the log's machine all ticks are equal; without it the bits are those of every other machine.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "controller.h"
#include "samples.h"

#ifndef COUNTER /* a free-running counter of the machine, for the longest tick */
#define COUNTER() 0u
#endif

int main(void)
{
    static double sample[GRANITE_SAMPLE_SIZE], command[GRANITE_COMMAND_SIZE];
    static uint64_t bits[GRANITE_COMMAND_SIZE];
    unsigned long longest = 0, total = 0;
    double difference = 0.0;
    int equal = 0;
    granite_controller_start();
    for (int i = 0; i < TICKS; i++) {
        memcpy(sample, SAMPLES[i], sizeof sample);
        uint32_t since = COUNTER();
        int status = granite_controller_step(sample, command);
        unsigned long took = (uint32_t)(COUNTER() - since);
        longest = took > longest ? took : longest;
        total += took;
        memcpy(bits, command, sizeof bits);
        equal += !memcmp(bits, COMMANDS[i], sizeof bits) && (status == GRANITE_PASSES) == PASSES[i];
        printf("%d %d", i, status);
        for (int j = 0; j < GRANITE_COMMAND_SIZE; j++) {
            double logged;
            memcpy(&logged, &COMMANDS[i][j], sizeof logged);
            difference = fmax(difference, fabs(command[j] - logged));
            printf(" %08lx%08lx", (unsigned long)(bits[j] >> 32), (unsigned long)(bits[j] & 0xffffffffu));
        }
        printf("\\n");
    }
    printf("%d of %d ticks equal, largest difference %.1e; counted %lu in the mean, at most %lu\\n", equal, TICKS,
           difference, TICKS ? total / TICKS : 0, longest);
    return equal != TICKS;
}
"""
