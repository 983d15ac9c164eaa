"""TRANSPORTS: wires the portable engine can use, as "module:class", imported when used."""

TRANSPORTS: dict[str, tuple[str, str]] = {
    "inproc": ("collectives.transport.inproc:InprocWire", "ranks as threads of one process, for tests"),
    "zmq": ("collectives.transport.zmq:ZmqWire", "ZeroMQ sockets: abstract Unix sockets on a host, TCP between hosts"),
}
