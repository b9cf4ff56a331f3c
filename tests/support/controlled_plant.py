"""The presets and variants that have a controller."""

from granite.config.loader import stored_presets

CONTROLLED = [
    name
    for preset, content, variants, _, plain in stored_presets()
    for name, table in [(preset, content), *((f"{preset}/{variant}", changes) for variant, changes in variants.items())]
    if "controller" in content or "controller" in (plain if table is content else table)
]
