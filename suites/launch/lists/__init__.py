"""Lists of hosts: every tool's format, in and out. Text to entries and back; nothing is looked up."""
