"""Rules about NVIDIA GPUs, one file a subject. May import: nothing."""
