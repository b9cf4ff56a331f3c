"""Every link within the repository leads to a file, and to a heading of it where it names one."""

from pathlib import Path

import pytest

from tests.support.pages import NAMES, ROOT, anchors, links


def dead(page: Path, target: str) -> str | None:
    """What is wrong with a link, if anything is."""
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.is_relative_to(ROOT) or not file.exists():
        return "no such file"
    if anchor and (file.suffix != ".md" or anchor not in anchors(file)):
        return "no such heading"
    return None


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name: str):
    targets = [(link, dead(ROOT / name, link.content)) for link in links(ROOT / name) if "://" not in link.content]
    assert [f"{name}:{link.line}: {link.content}: {wrong}" for link, wrong in targets if wrong] == []
