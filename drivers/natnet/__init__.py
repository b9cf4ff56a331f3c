"""Motion capture by OptiTrack: rigid bodies over NatNet, versions 3 and 4 (`docs/devices.md`)."""
