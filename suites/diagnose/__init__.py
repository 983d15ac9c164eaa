"""From evidence of a job that hangs, or is dead, to a verdict: which rank, in which collective, and why.

evidence/ reads what tools wrote and says it as facts (facts.py); everything behind that knows no format.
"""
