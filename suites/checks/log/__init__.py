"""Rules about what the kernel and the fabric manager have written, one file a subject. May import: nothing."""
