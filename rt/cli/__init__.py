"""The command line: `granite list | show | new | sim | replay | plot | runs | compare | modes | schema | doctor`.

Bad input ends with one sentence, never with a traceback, and leaves no file.
"""

from granite.rt.cli.app import main as main
