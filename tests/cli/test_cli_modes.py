"""`granite modes` as a person and a script meet it, on a testbed with vibrations."""

import json
import sys

import pytest

from granite import cli


@pytest.fixture
def granite(capsys, monkeypatch, tmp_path):
    """What the command prints; it ends well."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")

    def call(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["granite", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert end.value.code == 0
        return capsys.readouterr().out

    return call


def test_modes_of_a_flexible_link_are_a_table_without_minus_zero(granite):
    lines = granite("modes", "mrds-6a").splitlines()
    assert lines[0].startswith("Modes of mrds-6a about its start")
    assert "4.59171" in "\n".join(lines)
    assert not any(cell == "-0" for line in lines for cell in line.split())
    assert "equilibrium" not in "\n".join(lines)


def test_modes_for_scripts_carry_their_units(granite):
    said = json.loads(granite("modes", "mrds-1", "--json"))
    rigid, *swings = said["modes"]
    assert (rigid["rigid"], rigid["frequency_hz"]) == (True, 0.0)
    assert len(swings) > 0
    for mode in swings:
        assert (mode["rigid"], mode["unstable"]) == (False, False)
        assert abs(complex(*mode["eigenvalue_1_s"])) == pytest.approx(2 * 3.141592653589793 * mode["frequency_hz"])
        assert max(abs(complex(*part)) for part in mode["shape"].values()) == pytest.approx(1.0)
    assert said["acceleration"] == {}


def test_a_start_that_is_no_equilibrium_is_said_to_be_none(granite):
    still = ("--set", "simulation.initial={joint_rad=0.4}")
    said = json.loads(granite("modes", "flx-pendulum", *still, "--json"))["acceleration"]
    assert set(said) == {"joint_rad_s2", "link_y1_m_s2"}
    (line,) = [line for line in granite("modes", "flx-pendulum", *still).splitlines() if "no equilibrium" in line]
    assert "frozen state" in line
    assert f"joint by {said['joint_rad_s2']:.3g} rad/s^2" in line


def test_frequencies_that_finer_shapes_change_are_named(granite):
    said = json.loads(granite("modes", "flexible-arm", "--json"))
    assert len(said["finer_frequency_hz"]) == len(said["modes"]) == 3
    lines = granite("modes", "flexible-arm").splitlines()
    assert lines[-1].startswith("mode 3 changes by more than 1 % with one more polynomial shape")
    assert "finer [Hz]" in lines[1]
    rigid = granite("modes", "free-flyer", "--closed", "none")
    assert "finer" not in rigid
