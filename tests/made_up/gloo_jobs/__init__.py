"""Real jobs of torch's gloo, drawn at random, each with one fault whose truth is known. Their ranks are processes that
really hang, and leave the dumps that torch's flight recorder really writes.
"""
