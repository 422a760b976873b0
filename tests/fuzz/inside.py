# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""Changes below a file's framing: the container still fits, its content is
odd. A changed byte in a zip, a length-prefixed header or a nested message is
mostly refused by the outermost check; these changes reach the checks below.
"""
import io
import json
import re
import struct
import subprocess
import warnings
import zipfile

INTS = (0, 1, 2, 17, 255, 65536, (1 << 31) - 1, 1 << 31, (1 << 40), (1 << 63)
        - 1, 1 << 63, (1 << 64) - 1)


# ---- JSON ------------------------------------------------------------------

def leaves(j, out):
    """Every (container, key) of a document."""
    items = j.items() if isinstance(j, dict) else enumerate(j)
    for key, value in list(items):
        out.append((j, key))
        if isinstance(value, (dict, list)):
            leaves(value, out)
    return out


def json_change(rng, data):
    j = json.loads(data)
    spots = leaves(j, [])
    if not spots:
        return b"[" + data + b"]"
    for _ in range(rng.choice((1, 1, 3))):
        holder, key = rng.choice(spots)
        other, other_key = rng.choice(spots)
        kind = rng.randrange(6)
        try:
            if kind == 0:
                del holder[key]
            elif kind == 1:
                holder[key] = rng.choice((None, True, -1, 1.5, "", "\0", [],
                                          {}, *INTS[:10]))
            elif kind == 2:
                holder[key] = other[other_key]
            elif kind == 3 and isinstance(holder, list):
                holder.insert(key, holder[key])
            elif kind == 4:
                holder[key] = [holder[key]]
            elif isinstance(holder[key], int):
                holder[key] = rng.choice((-1, -(1 << 63), *INTS[:10]))
            elif isinstance(holder[key], str):
                holder[key] = holder[key][:-1] + rng.choice(("", "x", "é"))
        except (KeyError, IndexError, TypeError):
            pass
    try:
        return json.dumps(j).encode()
    except (ValueError, RecursionError):  # it holds itself now
        return data[:-1]


# ---- zip -------------------------------------------------------------------

def zip_change(rng, data, bytes_change):
    """One member changes; the directory and the sums are made anew."""
    source = zipfile.ZipFile(io.BytesIO(data))
    names = source.namelist()
    members = [(n, source.read(n)) for n in names]
    weights = [20 if n.endswith((".json", ".pkl")) else 1 for n in names]
    at, = rng.choices(range(len(members)), weights)
    name, content = members[at]
    if rng.random() < 0.1:
        members[at] = (rng.choice((*names, "../x", "/x", "a/data.pkl")),
                       content)
    elif name.endswith(".json"):
        members[at] = (name, json_change(rng, content))
    elif content:
        members[at] = (name, bytes_change(rng, content))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as z, \
            warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, content in members:
            z.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()


# ---- safetensors -----------------------------------------------------------

def safetensors_change(rng, data):
    n, = struct.unpack_from("<Q", data)
    header = json_change(rng, data[8:8 + n])
    return struct.pack("<Q", len(header)) + header + data[8 + n:]


# ---- protobuf --------------------------------------------------------------

VALUE = {2: {1: {2: {1: {}}}}, 4: {}}
TENSOR = {13: {}}
ATTRIBUTE = {5: TENSOR}
NODE = {5: ATTRIBUTE, 9: {}}
GRAPH = {1: NODE, 5: TENSOR, 11: VALUE, 12: VALUE, 13: VALUE, 16: {}}
ATTRIBUTE[6] = GRAPH
MODEL = {7: GRAPH, 8: {}, 14: {}, 25: {7: NODE, 9: {}}}


def varint(v):
    out = bytearray()
    while v >= 128:
        out.append(v & 127 | 128)
        v >>= 7
    out.append(v)
    return bytes(out)


def take_varint(data, at):
    v = shift = 0
    while True:
        v |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return v, at


def decode(data, schema):
    """[[number, wire, value]]; a message's value is such a list."""
    fields, at = [], 0
    while at < len(data):
        tag, at = take_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = take_varint(data, at)
        elif wire == 2:
            n, at = take_varint(data, at)
            value, at = data[at:at + n], at + n
            if number in schema:
                value = decode(value, schema[number])
        else:
            n = 8 if wire == 1 else 4
            value, at = data[at:at + n], at + n
        fields.append([number, wire, value])
    return fields


def encode(fields):
    out = bytearray()
    for number, wire, value in fields:
        out += varint(number << 3 | wire)
        if wire == 0:
            out += varint(value)
        elif wire == 2:
            body = encode(value) if isinstance(value, list) else value
            out += varint(len(body)) + body
        else:
            out += value
    return bytes(out)


def walk(fields, out):
    """Every (list, index); a list of few fields is as likely as a long one."""
    for i, (_, _, value) in enumerate(fields):
        out.append((fields, i))
        if isinstance(value, list):
            walk(value, out)
    return out


def proto_change(rng, data):
    root = decode(data, MODEL)
    spots = walk(root, [])
    for _ in range(rng.choice((1, 1, 2, 4))):
        holder, i = rng.choice(spots)
        if i >= len(holder):
            continue
        number, wire, value = holder[i]
        kind = rng.randrange(5)
        if kind == 0:
            del holder[i]
        elif kind == 1:
            holder.insert(rng.randrange(len(holder) + 1), list(holder[i]))
        elif wire == 0:
            holder[i] = [number, 0, rng.choice(INTS)]
        elif isinstance(value, bytes):
            other = rng.choice(spots)
            other = other[0][other[1] % max(1, len(other[0]))] \
                if other[0] else holder[i]
            same = [v for n, w, v in (other,) if isinstance(v, bytes)]
            holder[i] = [number, wire, rng.choice(
                same if same and wire == 2 else [value[:len(value) // 2]
                                                 if wire == 2 else
                                                 b"\xff" * len(value)])]
    return encode(root)


# ---- text ------------------------------------------------------------------

TOKEN = re.compile(rb"[%@]?[A-Za-z_0-9.]+|[^\sA-Za-z_0-9]|\n")


def token_change(rng, data):
    """IR text: words swapped, numbers made extreme, lines repeated."""
    out = data
    for _ in range(rng.choice((1, 1, 2, 5))):
        words = list(TOKEN.finditer(out))
        if not words:
            return out
        a, b = rng.choice(words), rng.choice(words)
        new = rng.choice((b"", b[0], b[0] + b" " + a[0],
                          str(rng.choice(INTS)).encode(),
                          b"-" + str(rng.choice(INTS)).encode()))
        out = out[:a.start()] + new + out[a.end():]
    return out


# ---- module files ----------------------------------------------------------

HEADER, ENTRY, TAG = 64, 72, 24


def unpack_module(data):
    """The same sections, none compressed; fuzz_module.c mends the sums."""
    count, = struct.unpack_from("<I", data, 16)
    table = len(data) - 16 - count * ENTRY
    body, entries = bytearray(), bytearray()
    for i in range(count):
        at = table + i * ENTRY
        off, stored, _, codec = struct.unpack_from("<QQQI", data, at + TAG)
        payload = data[off:off + stored]
        if codec == 1:
            payload = subprocess.run(["zstd", "-d", "-c"], input=payload,
                                     stdout=subprocess.PIPE, check=True).stdout
        entries += data[at:at + TAG] + struct.pack(
            "<QQQII", HEADER + len(body), len(payload), len(payload), 0, 0)
        entries += bytes(16)
        body += payload + bytes(-len(payload) % 64)
    size = HEADER + len(body) + len(entries) + 16
    head = data[:24] + struct.pack("<QQ", HEADER + len(body), size)
    return head.ljust(HEADER, b"\0") + bytes(body + entries) + bytes(16)


def envelope(kind, content):
    """An entry that travels (src/cache/envelope.h), without a MAC; the zstd
    frame has raw blocks, fuzz_envelope.c knows the key."""
    frame = b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", len(content))
    for at in range(0, len(content), 1 << 17):
        piece = content[at:at + (1 << 17)]
        last = at + len(piece) == len(content)
        frame += struct.pack("<I", last | len(piece) << 3)[:3] + piece
    return (b"\x89HULE\r\n\x1a" + struct.pack("<II", 1, 0) +
            kind.ljust(16, b"\0") +
            struct.pack("<QQ", len(content), len(frame)) + bytes(64) + frame)


# ---- by content ------------------------------------------------------------

def change(rng, data, bytes_change):
    if data[:2] == b"PK":
        return zip_change(rng, data, bytes_change)
    if data[8:9] == b"{":
        return safetensors_change(rng, data)
    if data[:1] == b"\x08" and len(data) > 1:
        return proto_change(rng, data)
    if data[:1] not in (b"\x89", b"\x93", b"\x80"):
        return token_change(rng, data)
    return bytes_change(rng, data)
