"""Rehearsals: emulated boards, cameras and the plant behind real ports."""
