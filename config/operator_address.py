"""Where the operator channel listens by default; the operator's command needs nothing else of a testbed."""

ADDRESS = "tcp://127.0.0.1:5790"
#: a longer message is not even refused: the operator channel closes the connection [bytes]
LONGEST_ANSWERED = 1_048_576
