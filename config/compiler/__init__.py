"""C code to machine code: the compiler of this machine, and a cache of what it made."""
