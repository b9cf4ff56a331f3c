"""A calibrated view as a file: the table `view` of a camera in TOML, and the map of its residuals."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from granite.config.errors import InputError
from granite.drivers.camera.calibration import Calibration


def view_toml(calibration: Calibration, date: str) -> str:
    """The table for `devices.NAME.view` of a testbed."""
    lines = [f"# camera calibration: {len(calibration.pixels)} points, {calibration.view.residual:.3g} pixel rms"]
    for key, value in calibration.table(date).model_dump().items():
        lines.append(f"{key} = {list(value)}" if isinstance(value, tuple) else f"{key} = {value!r}".replace("'", '"'))
    return "\n".join(lines) + "\n"


def write_view(calibration: Calibration, path: Path, date: str) -> None:
    """Write the table.

    Raises
    ------
    InputError
        Where there is such a file already.
    """
    _refuse_existing(path)
    path.write_text(view_toml(calibration, date))


def draw_residuals(calibration: Calibration, path: Path) -> None:
    """The residual of each point as an arrow, over the image.

    Raises
    ------
    InputError
        Where there is such a file already.
    """
    from matplotlib.figure import Figure  # takes long to import

    _refuse_existing(path)
    width, height = calibration.view.size
    size = np.hypot(*calibration.residual.T)
    figure = Figure(figsize=(8.0, 8.0 * height / width), layout="constrained")
    axes = figure.subplots()
    longest = max(float(size.max()), 1e-9)
    arrows = axes.quiver(
        *calibration.pixels.T, calibration.residual[:, 0], -calibration.residual[:, 1], size,
        scale=longest / 0.08, scale_units="width", cmap="viridis",
    )  # fmt: skip
    figure.colorbar(arrows, label="residual [pixel]")
    axes.set(xlim=(0, width), ylim=(height, 0), aspect="equal", xlabel="column [pixel]", ylabel="row [pixel]")
    axes.set_title(f"{len(size)} points, rms {calibration.view.residual:.3g} pixel, largest {size.max():.3g} pixel")
    figure.savefig(path, dpi=100)


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise InputError("the file exists, and is not overwritten", file=str(path), expected="another name")
