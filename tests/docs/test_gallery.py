"""The gallery has a picture of every testbed that comes with Granite."""

from granite.config.catalogue import catalogue
from tests.support.pages import ROOT, links


def test_every_testbed_has_its_picture():
    pictures = {link.content for link in links(ROOT / "docs" / "gallery.md")}
    names = [bed.name for group in catalogue().values() for bed in group]
    assert {f"gallery/{name}.png" for name in names} <= pictures
