"""Rules about variables that steer communication, one file a subject. May import: nothing."""
