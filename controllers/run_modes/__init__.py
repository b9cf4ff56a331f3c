"""Controllers of other modes than the run itself: floating, resting, open loop."""
