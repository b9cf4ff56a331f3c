"""From a demanded generalised force to motors and valves."""
