"""`python -m rt.cli` is `granite`."""

from rt.cli import main

main()
