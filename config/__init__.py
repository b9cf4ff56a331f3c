"""The configuration of a testbed: typed schema, loader, presets, and the records that pass between steps of a tick."""
