import os
import stat

import pytest

from granite.config.errors import InputError
from granite.config.whole_file import write_whole

SUFFIXES = (".txt",)


def test_a_link_stays_a_link_and_its_file_keeps_its_mode(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    with write_whole("text", link, SUFFIXES, overwrite=True) as unfinished:
        unfinished.write_text("new")
        assert target.read_text() == "old"
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["link.txt", "target.txt"]


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt(), InputError("no")])
def test_nothing_is_left_of_a_file_that_fails(fault, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("precious")

    def fail():
        with write_whole("text", path, SUFFIXES, overwrite=True) as unfinished:
            unfinished.write_text("half")
            raise fault

    with pytest.raises((InputError, KeyboardInterrupt)):
        fail()
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("has_links", [True, False])
def test_a_file_that_appears_meanwhile_is_not_replaced(has_links, tmp_path, monkeypatch):
    def refuse(*names):
        raise PermissionError(1, "Operation not permitted")

    if not has_links:
        monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "a.txt"
    with (
        pytest.raises(InputError, match=r"text '.*a\.txt' can't be written: File exists"),
        write_whole("text", path, SUFFIXES, overwrite=False),
    ):
        path.write_text("precious")
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_file_system_without_hard_links_gets_the_file_too(tmp_path, monkeypatch):
    def refuse(*names):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with write_whole("text", tmp_path / "a.txt", SUFFIXES, overwrite=False) as unfinished:
        unfinished.write_text("new")
    assert (tmp_path / "a.txt").read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_link_to_no_file_is_refused_without_overwrite(tmp_path):
    (tmp_path / "a.txt").symlink_to(tmp_path / "nowhere.txt")
    with (
        pytest.raises(InputError, match=r"a\.txt' exists: expected a new name, or --overwrite"),
        write_whole("text", tmp_path / "a.txt", SUFFIXES, overwrite=False),
    ):
        pass
