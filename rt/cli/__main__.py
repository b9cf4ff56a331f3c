"""`python -m granite.rt.cli` is `granite`."""

from granite.rt.cli import main

main()
