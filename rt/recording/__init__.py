"""Recording: from the loop to a log, and what is watched outside the tick."""
