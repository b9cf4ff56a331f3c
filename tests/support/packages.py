"""The folders of the product."""

PACKAGES = (
    "calibration", "cli", "config", "console", "controllers", "drivers", "granite", "kernels", "logs", "mrds", "rt",
    "sim", "tuning", "views",
)  # fmt: skip
