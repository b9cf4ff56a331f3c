"""What a session found: tables, figures, and a report in one file."""
