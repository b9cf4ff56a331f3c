"""The host's side of the wire format in `docs/wire.md`: frames, a board's description, its clock, and the link."""
