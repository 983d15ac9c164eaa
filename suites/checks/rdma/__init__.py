"""Rules about RDMA devices and their ports, one file a subject. May import: nothing."""
