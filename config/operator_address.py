"""Where the operator channel listens by default; the operator's command needs nothing else of a testbed."""

ADDRESS = "tcp://127.0.0.1:5790"
