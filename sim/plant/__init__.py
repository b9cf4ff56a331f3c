"""The plant: modules, contacts and forces of the lab, in fixed physics steps."""
