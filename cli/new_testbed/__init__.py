"""`granite new`: a first testbed from a few answers."""
