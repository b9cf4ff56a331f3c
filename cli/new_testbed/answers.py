"""Questions about a new robot, how an answer is read, and all answers as one record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from granite.config.errors import InputError

#: largest number of links, so that the file stays short
MOST_LINKS = {"floating": 3, "fixed": 6}
LAYOUTS = (8, 12)


@dataclass(frozen=True)
class LinkData:
    """A rod with a motor at its inner end."""

    length_m: float
    mass_kg: float
    torque_n_m: float


@dataclass(frozen=True)
class RobotData:
    """Data of a new robot; of one from a URDF only those that the URDF lacks."""

    base: Literal["floating", "fixed"]
    mass_kg: float = 1.0
    size_m: float = 0.0
    thrusters: int = 0
    thrust_n: float = 0.0
    links: tuple[LinkData, ...] = ()
    #: of joints whose URDF has no effort
    torque_n_m: float = 1.0
    table_m: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Question:
    """A question: the option that answers it beforehand, the usual answer, and how an answer is read."""

    option: str
    text: str
    usual: str
    read: Callable[[str], Any]

    def answer(self, typed: str) -> Any:
        """The value of the typed text; `InputError` with the option and the expected form."""
        try:
            return self.read(typed.strip())
        except InputError as refusal:
            raise InputError(refusal.problem, key=self.option, value=typed, expected=refusal.expected) from None


Ask = Callable[[Question], Any]


def collect(ask: Ask, from_urdf: bool = False) -> RobotData:
    """Ask for everything that matters to this robot."""
    base = cast(
        Literal["floating", "fixed"], ask(Question("--base", "Base, floating or fixed", "floating", _word(MOST_LINKS)))
    )
    floating = base == "floating"
    answers: dict[str, Any] = {}
    if floating and not from_urdf:
        answers["mass_kg"] = ask(Question("--mass", "Mass of the base without arm [kg]", "18", _number(0.1, 1e4)))
    if floating:
        answers["size_m"] = ask(Question("--size", "Side of the square base [m]", "0.4", _number(0.02, 10.0)))
        answers["thrusters"] = ask(Question("--thrusters", "Thrusters, 8 or 12", "8", _whole(LAYOUTS)))
        answers["thrust_n"] = ask(Question("--thrust", "Thrust of each [N]", "1.5", _number(1e-4, 1e3)))
    if from_urdf:
        text = "Torque limit of motors without an effort in the URDF [N m]"
        answers["torque_n_m"] = ask(Question("--torque", text, "1", _number(1e-4, 1e4)))
    else:
        answers["links"] = _links(ask, 0 if floating else 1, MOST_LINKS[base])
    if floating:
        answers["table_m"] = ask(Question("--table", "Table, x and y [m]", "3, 3", _numbers(2, 0.1, 100.0)))
    return RobotData(base, **answers)


def _links(ask: Ask, least: int, most: int) -> tuple[LinkData, ...]:
    choices = range(least, most + 1)
    n = ask(Question("--links", f"Links of the arm, {least} to {most}", "0" if least == 0 else "2", _whole(choices)))
    if n == 0:
        return ()
    each = "one number for all or one each"
    lengths = ask(Question("--link-length", f"Length of the links [m], {each}", "0.3", _numbers(n, 0.01, 10.0)))
    masses = ask(Question("--link-mass", f"Mass of the links [kg], {each}", "1", _numbers(n, 1e-3, 1e3)))
    torques = ask(Question("--torque", f"Torque limit of their motors [N m], {each}", "1", _numbers(n, 1e-4, 1e4)))
    return tuple(LinkData(*values) for values in zip(lengths, masses, torques, strict=True))


def _word(choices: Mapping[str, Any]) -> Callable[[str], str]:
    def read(typed: str) -> str:
        if typed not in choices:
            raise InputError(expected=" or ".join(choices))
        return typed

    return read


def _whole(choices: tuple[int, ...] | range) -> Callable[[str], int]:
    def read(typed: str) -> int:
        if typed not in map(str, choices):
            span = isinstance(choices, range)
            raise InputError(expected=f"{choices[0]} to {choices[-1]}" if span else " or ".join(map(str, choices)))
        return int(typed)

    return read


def _number(least: float, greatest: float) -> Callable[[str], float]:
    def read(typed: str) -> float:
        return float(_numbers(1, least, greatest)(typed)[0])

    return read


def _numbers(n: int, least: float, greatest: float) -> Callable[[str], tuple[float, ...]]:
    """n numbers with commas between them, or one for all."""

    def read(typed: str) -> tuple[float, ...]:
        several = "a number" if n == 1 else f"one number or {n} with commas between them, each"
        try:
            values = tuple(float(part) for part in typed.split(","))
        except ValueError:
            values = ()
        values = values * n if len(values) == 1 else values
        if len(values) != n or not all(least <= value <= greatest for value in values):
            raise InputError(expected=f"{several} from {least:g} to {greatest:g}")
        return values

    return read
