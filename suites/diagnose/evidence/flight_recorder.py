"""Dumps of PyTorch's flight recorder.

May import: facts, source.
"""
