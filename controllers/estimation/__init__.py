"""From what was measured to q and u of the model."""
