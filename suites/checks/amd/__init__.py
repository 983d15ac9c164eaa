"""Rules about AMD GPUs, one file a subject. May import: nothing."""
