"""`python -m granite.cli` is `granite`."""

from granite.cli import main

main()
