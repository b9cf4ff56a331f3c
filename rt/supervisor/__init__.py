"""The supervisor: modes, their controllers, and gains during a run."""
