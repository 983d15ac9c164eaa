"""Rules about Ascend NPUs, one file a subject. May import: nothing."""
