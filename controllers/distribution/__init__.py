"""From demanded motion to motors, valves and grasp wrenches: allocation, and force distribution among several arms."""
