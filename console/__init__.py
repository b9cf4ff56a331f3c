"""The console: one page in the browser to see, operate and replay runs, from a process of its own."""
