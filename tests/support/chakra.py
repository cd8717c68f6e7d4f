"""Traces of Chakra, encoded by hand."""


def varint(number):
    number &= (1 << 64) - 1
    data = b""
    while number >= 128:
        data += bytes([number & 127 | 128])
        number >>= 7
    return data + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    kind = 27 if isinstance(value, bool) else 29 if isinstance(value, str) else 9
    return field(10, field(1, name) + field(kind, int(value) if kind == 27 else value))


def node(number, kind, depends_on=(), duration=0, begin=0, packed=False, **attributes):
    data = field(1, number) + field(2, f"node {number}") + field(3, kind)
    data += field(5, b"".join(map(varint, depends_on))) if packed else b"".join(field(5, on) for on in depends_on)
    data += field(6, begin) + field(7, duration) + field(8, field(1, "[]"))
    return data + b"".join(attribute(*item) for item in attributes.items())


METADATA = field(1, "0.0.4") + field(2, field(1, "schema") + field(29, "1.0.2-chakra.0.0.4"))


def encoded(*nodes, metadata=METADATA):
    return b"".join(varint(len(message)) + message for message in (metadata, *nodes))
