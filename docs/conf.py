"""The documentation site (`make docs`): README and docs/ as they are, and an API reference from the docstrings.

The source folder of the build is the repository, so that a link leads to the same place on the site and in the
repository.
"""

import re
import sys
from importlib.metadata import version as version_of
from os.path import normpath
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.nodes import document
from docutils.utils.math.latex2mathml import tex2mathml
from pydantic import BaseModel
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, NumpyDocstring
from sphinx.util.docutils import SphinxTranslator

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))
project = html_title = "Granite"
author = "The Granite developers"
release = version = version_of("granite-robotics")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]

root_doc = "README"
include_patterns = ["*.md", "docs/**", "examples/README.md", "examples/notebooks/*"]
source_suffix = {".md": "markdown", ".ipynb": "markdown"}
exclude_patterns = [path.name for path in ROOT.iterdir() if path.is_dir() and path.name not in ("docs", "examples")]
myst_heading_anchors = 3
#: formulas, which forges know by the same word
myst_fence_as_directive = {"math"}
html_math_renderer = "mathml"

#: `name` in a docstring is code, and a link where the reference has that name
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_use_type_comments = False
autodoc_preserve_defaults = True
autodoc_type_aliases = {"Array": "Array"}
autodoc_default_options = {"members": True, "undoc-members": True, "exclude-members": "model_config"}

#: a field in a section `Attributes` is described there alone
_FIELDS_ONCE = Config(napoleon_use_ivar=True)

html_theme = "furo"
html_show_copyright = False
html_static_path = ["site"]
html_css_files = ["wide.css"]


def _contents() -> dict[str, list[str]]:
    """The sidebar: the pages that docs/README.md lists under each heading; one that it lacks fails the build."""
    groups = {}
    for group in (ROOT / "docs" / "README.md").read_text().split("\n## ")[1:]:
        pages = [normpath(f"docs/{page}") for page in re.findall(r"^- \[.+?\]\((.+?)\.md\)", group, re.MULTILINE)]
        groups[group.partition("\n")[0]] = pages if groups else ["docs/README", *pages]
    return groups


def _add_contents(app: Sphinx, docname: str, source: list[str]) -> None:
    """Append the sidebar's contents to the start page: elsewhere Markdown would show them as text."""
    if docname == root_doc:
        for caption, pages in _contents().items():
            source[0] += "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def _add_keys(app: Sphinx, docname: str, source: list[str]) -> None:
    """Append the key reference to its page: it follows from the schema of a testbed."""
    if docname == "docs/keys":
        from keys import Reference

        source[0] += Reference().page()


def _show_notebook(app: Sphinx, docname: str, source: list[str]) -> None:
    """A notebook is a page: without an extension, which would need Jupyter."""
    if docname.startswith("examples/notebooks/"):
        from notebooks import as_markdown

        source[0] = as_markdown(source[0])


def _as_restructured_text(app: Sphinx, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """Docstrings have NumPy sections, and indented blocks of formulas or code as in Markdown.

    Napoleon is called here instead of loaded as an extension, because it reads "this: that" of an attribute as a type.
    """
    for i in range(len(lines) - 1, 1, -1):
        before, gap, line = lines[i - 2 : i + 1]
        if line.startswith("    ") and not gap.strip() and before[:1].strip(" .:"):
            lines[i - 1 : i] = ["", "::", ""]
    if what not in ("attribute", "data", "property"):
        lines[:] = NumpyDocstring(lines, _FIELDS_ONCE, what=what, name=name, obj=obj, options=options).lines()
    elif lines and lines[0].startswith("Alias for field number"):  # what Python says of a NamedTuple's field
        lines.clear()
    elif lines and lines[0].startswith("("):  # a size, not the number of a list item
        lines[0] = "\\" + lines[0]


def _hide_signature(app: Sphinx, what: str, name: str, obj: Any, *rest: Any) -> tuple[str, str] | None:
    """No signature for a configuration table, whose fields follow one by one, and for a protocol, which has none."""
    is_hidden = what == "class" and (issubclass(obj, BaseModel) or getattr(obj, "_is_protocol", False))
    return ("", "") if is_hidden else None


def _unlink_ambiguous_types(app: Sphinx, doctree: document) -> None:
    """Link a type by its full name only: for a short one Sphinx takes any object whose name ends like it."""
    for reference in list(doctree.findall(pending_xref)):
        if reference["reftype"] == "class" and "." not in reference["reftarget"]:
            reference.replace_self(reference.children)


def _typeset(translator: SphinxTranslator, node: nodes.Element) -> None:
    """A formula as MathML, which browsers typeset without a script of another host."""
    is_block = isinstance(node, nodes.math_block)
    translator.body.append(tex2mathml(node.astext(), as_block=is_block))
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Connect the above; called by Sphinx."""
    app.add_html_math_renderer("mathml", (_typeset, None), (_typeset, None))
    app.connect("source-read", _add_contents)
    app.connect("source-read", _add_keys)
    app.connect("source-read", _show_notebook)
    app.connect("autodoc-process-docstring", _as_restructured_text)
    app.connect("autodoc-process-signature", _hide_signature)
    app.connect("doctree-read", _unlink_ambiguous_types)
