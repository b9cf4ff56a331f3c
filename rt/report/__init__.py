"""What Granite tells people: testbeds, runs, replays, modes and what the machine allows."""
