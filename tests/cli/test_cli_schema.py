"""`granite schema`: on the screen or in a file, which appears whole or not at all."""

import json

from granite.config.schema import bed_schema
from tests.support.command_line import granite, left_in, sentence_of

__all__ = ["granite"]


def test_the_schema_is_printed_for_scripts_or_written_for_editors(granite, tmp_path):
    assert granite("schema").json == bed_schema()
    said = granite("schema", "--out", "testbed.json")
    assert (said.code, said.err) == (0, "")
    assert f"#:schema {tmp_path / 'testbed.json'}" in said.out
    assert json.loads((tmp_path / "testbed.json").read_text()) == bed_schema()
    assert left_in(tmp_path) == ["testbed.json"]


def test_a_schema_is_replaced_only_on_request(granite, tmp_path):
    (tmp_path / "testbed.json").write_text("mine")
    assert "exists: expected a new name, or --overwrite" in sentence_of(granite("schema", "--out", "testbed.json"))
    assert granite("schema", "--out", "testbed.json", "--overwrite").code == 0
    assert ".json" in sentence_of(granite("schema", "--out", "testbed.toml"))
