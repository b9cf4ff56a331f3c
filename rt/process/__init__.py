"""What a run asks of the operating system: signals, terminals, processes, memory, priority."""
