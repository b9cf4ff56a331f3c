"""`granite new`: a first testbed from a few questions, options or a URDF."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from granite.cli.arguments import Overwrite
from granite.cli.lines import command
from granite.cli.screen import out
from granite.config.errors import InputError
from granite.config.whole_file import refuse_output

if TYPE_CHECKING:
    from granite.cli.new_testbed.answers import Question, RobotData


def _option(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text)


def new(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="the testbed to write")],
    urdf: Annotated[Path | None, _option("--urdf", "ROBOT", "bodies and joints from this URDF file")] = None,
    spatial: Annotated[bool, typer.Option("--spatial", help="of a fixed --urdf: in space, not in the plane")] = False,
    base: Annotated[str | None, _option("--base", "KIND", "floating (usual) or fixed")] = None,
    mass: Annotated[str | None, _option("--mass", "KG", "of the floating base without arm, usually 18")] = None,
    size: Annotated[str | None, _option("--size", "M", "side of the square base, usually 0.4")] = None,
    thrusters: Annotated[str | None, _option("--thrusters", "N", "8 (usual) or 12")] = None,
    thrust: Annotated[str | None, _option("--thrust", "N", "of each thruster, usually 1.5")] = None,
    links: Annotated[str | None, _option("--links", "N", "of the arm, usually 0, of a fixed one 2")] = None,
    link_length: Annotated[str | None, _option("--link-length", "M[,M..]", "of all links or each, usually 0.3")] = None,
    link_mass: Annotated[str | None, _option("--link-mass", "KG[,KG..]", "of all links or each, usually 1")] = None,
    torque: Annotated[str | None, _option("--torque", "NM[,NM..]", "limit of the motors, usually 1")] = None,
    table: Annotated[str | None, _option("--table", "X,Y", "size of the table in metres, usually 3,3")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a testbed that runs at once: asks on a terminal, or takes options, all of them optional."""
    refuse_output("testbed", file, (".toml",), overwrite)
    typed = {
        "--base": base, "--mass": mass, "--size": size, "--thrusters": thrusters, "--thrust": thrust, "--links": links,
        "--link-length": link_length, "--link-mass": link_mass, "--torque": torque, "--table": table,
    }  # fmt: skip
    given = {option: text for option, text in typed.items() if text is not None}
    if not given and sys.stdin.isatty():
        _write_from_terminal(file, urdf, spatial)
    else:
        _write_from_options(file, urdf, spatial, given)
    out.print(f"testbed: {file}", soft_wrap=True)
    out.print(f"run it: {command('sim', file)}", soft_wrap=True)


def _write_from_options(file: Path, urdf: Path | None, spatial: bool, given: dict[str, str]) -> None:
    from granite.cli.new_testbed.answers import collect

    asked: set[str] = set()

    def ask(question: Question) -> Any:
        asked.add(question.option)
        return question.answer(given.get(question.option, question.usual))

    answers = collect(ask, urdf is not None)
    for option, text in given.items():
        if option not in asked:
            raise InputError("not used here", key=option, value=text, expected="none, with this base and robot")
    _write(file, urdf, spatial, answers)


def _write_from_terminal(file: Path, urdf: Path | None, spatial: bool) -> None:
    """Ask, and ask again for an answer that contradicts the others."""
    from granite.cli.new_testbed.answers import collect

    known: dict[str, Any] = {}

    def ask(question: Question) -> Any:
        if question.option not in known:
            known[question.option] = _answer(question)
        return known[question.option]

    while True:
        answers = collect(ask, urdf is not None)
        try:
            return _write(file, urdf, spatial, answers)
        except InputError as refusal:
            if refusal.key not in known:
                raise
            out.print(f"  {refusal.problem}, expected {refusal.expected}")
            del known[refusal.key]


def _answer(question: Question) -> Any:
    """Ask on the terminal until the answer can be used; an empty one is the usual one."""
    while True:
        try:
            typed = input(f"{question.text} [{question.usual}]: ")
        except EOFError:
            raise typer.Abort from None
        try:
            return question.answer(typed if typed.strip() else question.usual)
        except InputError as refusal:
            out.print(f"  expected {refusal.expected}")


def _write(file: Path, urdf: Path | None, spatial: bool, answers: RobotData) -> None:
    """Plan, and write the file; whether one may be replaced was checked before the questions."""
    from granite.cli.new_testbed.move import plan
    from granite.cli.new_testbed.robot import built, from_urdf
    from granite.cli.new_testbed.text import bed_text
    from granite.rt.process.testbed_file import write_testbed

    if spatial and (urdf is None or answers.base == "floating"):
        raise InputError(
            "only for a fixed robot of a URDF", key="--spatial", expected="--urdf ROBOT --base fixed with it"
        )
    robot = built(answers) if urdf is None else from_urdf(urdf, answers, "spatial" if spatial else "planar")
    relative = None if urdf is None else os.path.relpath(urdf, file.parent)
    text = bed_text(file.stem, answers, robot, plan(answers, robot), relative, spatial)
    write_testbed(file, text, overwrite=True)
