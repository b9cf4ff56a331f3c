"""Runs the notebooks of examples/notebooks and keeps what their cells show; the site has them as pages.

    python -m docs.notebooks             # or their names

Plain Python runs the cells one after the other, as Jupyter would: a cell shows what it prints, its figures and its last
expression.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
#: width of a picture [pixels]
WIDTH = 800


def execute(cells: list[dict[str, Any]]) -> None:
    """Run the cells in the current folder and put what they show into them."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    names: dict[str, Any] = {"__name__": "__main__"}
    for count, cell in enumerate((cell for cell in cells if cell["cell_type"] == "code"), 1):
        source = "".join(cell["source"])
        body = ast.parse(source).body
        is_shown = isinstance(body[-1], ast.Expr) and not source.rstrip().endswith(";")
        printed, value = io.StringIO(), None
        with contextlib.redirect_stdout(printed):
            exec(compile(ast.Module(body[: len(body) - is_shown], []), "cell", "exec"), names)
            if is_shown:
                value = eval(compile(ast.Expression(body[-1].value), "cell", "eval"), names)  # type: ignore[attr-defined]
        cell["execution_count"], cell["outputs"] = count, []
        if printed.getvalue():
            text = printed.getvalue().splitlines(keepends=True)
            cell["outputs"].append({"output_type": "stream", "name": "stdout", "text": text})
        for number in plt.get_fignums():
            content = io.BytesIO()
            plt.figure(number).savefig(content, format="png", dpi=130)
            data = {"image/png": _small(content.getvalue())}
            cell["outputs"].append({"output_type": "display_data", "metadata": {}, "data": data})
        plt.close("all")
        if value is not None:
            data = {"text/plain": [repr(value)]}
            if hasattr(value, "_repr_html_"):
                data["text/html"] = [value._repr_html_()]
            if hasattr(value, "_repr_png_"):
                data = {"text/plain": ["a plot"], "image/png": _small(value._repr_png_())}
            cell["outputs"].append(
                {"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data}
            )


def as_markdown(notebook: str) -> str:
    """A notebook as a page: text, code, and what it shows."""
    parts = ["---\norphan: true\n---\n"]
    for cell in json.loads(notebook)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "text" in output:
                parts.append(f"```text\n{''.join(output['text'])}```")
            elif "image/png" in data:
                parts.append(f"![what the cell draws](data:image/png;base64,{data['image/png']})")
            else:
                parts.append("".join(data.get("text/html", ["```text\n", *data["text/plain"], "\n```"])))
    return "\n\n".join(parts)


def _small(picture: bytes) -> str:
    from PIL import Image

    from docs.small_png import small_png

    return base64.b64encode(small_png(Image.open(io.BytesIO(picture)), WIDTH)).decode()


def main() -> None:
    """Run the named notebooks, or all."""
    for name in sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.ipynb")):
        path = FOLDER / f"{name}.ipynb"
        notebook = json.loads(path.read_text())
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            execute(notebook["cells"])
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
        print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
