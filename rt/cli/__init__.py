"""The command line: `granite list | show | sim | replay | plot | modes | doctor`.

What a person typed wrongly is answered with one sentence, never with a traceback, and leaves no file.
"""

from granite.rt.cli.app import main as main
