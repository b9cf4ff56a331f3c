"""The steps of the tick from a sample to the verdict, in Python and compiled."""
