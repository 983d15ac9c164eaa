"""Rules about network interfaces, one file a subject. May import: nothing."""
