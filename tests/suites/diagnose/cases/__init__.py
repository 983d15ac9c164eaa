"""Verdicts on what jobs of many kinds printed when they hung: logs, dumps, stacks, in the shapes that people report."""
