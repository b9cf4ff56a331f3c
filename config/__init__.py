"""What a testbed is: typed schema, loader, presets, and the records that cross the steps of the tick."""
