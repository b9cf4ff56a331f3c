"""A first testbed from a few answers: what `granite new` asks, plans and writes."""
