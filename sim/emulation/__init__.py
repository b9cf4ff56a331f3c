"""Emulated boards and cameras behind real ports: the plant in a process of its own, for rehearsals."""
