# SPDX-License-Identifier: Apache-2.0
"""
Frames and messages of the Tenon wire protocol: bytes to dictionaries and back.

A message is a dict of its fields.  Text is str (bytes that are not UTF-8 become lone surrogates, so nothing is lost),
`bytes` fields are bytes, lists are lists of int or dict.  TLV fields that are absent are absent from the dict.
Refusals are those of the C codec, in the same order, with the same code and detail.
"""

import collections
import math
import struct

from . import wire_gen as w

END, ERROR, SKIP = 1, 2, 4
FLAG_NAMES = {END: 'END', ERROR: 'ERROR', SKIP: 'SKIP'}
HEADER_BYTES = 16
CRITICAL = 0x8000
REPLY = 0x8000
GREASE = 0x7000
FORMATS = {'u8': '<B', 'u16': '<H', 'u32': '<I', 'u64': '<Q', 'f32': '<f', 'f64': '<d'}
SIZES = {k: struct.calcsize(v) for k, v in FORMATS.items()}

Header = collections.namedtuple('Header', 'length type flags nfds request')
Tlv = collections.namedtuple('Tlv', 'tag critical offset data')


class WireError(Exception):
    """A frame that breaks the protocol, or a value that cannot be sent."""

    def __init__(self, code, detail, problem, where=''):
        super().__init__(f'{where}: {problem}' if where else problem)
        self.code, self.detail, self.problem, self.where = code, detail, problem, where


def padding(size, to):
    return (to - size % to) % to


def decode_header(data, max_length):
    header = Header(*struct.unpack('<IHBBQ', data))
    if header.flags & ~(END | ERROR | SKIP):
        raise WireError(w.E_PROTOCOL, header.flags, 'frame with flags that do not exist')
    if header.flags & ERROR and not header.flags & END:
        raise WireError(w.E_PROTOCOL, header.flags, 'frame with ERROR but not END')
    if header.length % 8:
        raise WireError(w.E_PROTOCOL, header.length, 'frame whose length is not a multiple of 8')
    if header.length > max_length:
        raise WireError(w.E_PROTOCOL, header.length, 'frame longer than agreed')
    if header.nfds > w.LIMITS['fds']:
        raise WireError(w.E_PROTOCOL, header.nfds, 'frame with too many descriptors')
    return header


def encode_header(header):
    return struct.pack('<IHBBQ', *header)


def split(payload):
    """(fixed part, heap, offset of the TLVs)"""
    if not payload:
        return b'', b'', 0
    if len(payload) < 8:
        raise WireError(w.E_INVALID, 0, 'payload shorter than its two sizes')
    fixed, heap = struct.unpack_from('<II', payload)
    if fixed < 8 or fixed % 8 or fixed > len(payload):
        raise WireError(w.E_INVALID, 0, 'fixed_size is not a multiple of 8 inside the payload')
    if heap % 8 or heap > len(payload) - fixed:
        raise WireError(w.E_INVALID, 4, 'heap_size is not a multiple of 8 inside the payload')
    return payload[:fixed], payload[fixed:fixed + heap], fixed + heap


def tlvs(payload, start):
    """Yields every Tlv, after the checks that do not depend on the message."""
    at, seen = start, set()
    while at < len(payload):
        if len(payload) - at < 8:
            raise WireError(w.E_INVALID, at, 'TLV cut short')
        tag, reserved, length = struct.unpack_from('<HHI', payload, at)
        if reserved:
            raise WireError(w.E_INVALID, at + 2, 'TLV whose reserved bytes are not 0')
        if length + padding(length, 8) > len(payload) - at - 8:
            raise WireError(w.E_INVALID, at + 4, 'TLV longer than the payload')
        if len(seen) == w.LIMITS['tlvs']:
            raise WireError(w.E_LIMIT, w.LIMITS['tlvs'], 'too many TLVs')
        name = tag & ~CRITICAL
        if name in seen:
            raise WireError(w.E_INVALID, at, 'the same TLV twice')
        seen.add(name)
        yield Tlv(name, bool(tag & CRITICAL), at, payload[at + 8:at + 8 + length])
        at += 8 + length + padding(length, 8)


def check_range(f, v, at, where):
    """Ranges of scalars, and of the counts of bytes and lists."""
    if f.kind in ('f32', 'f64'):
        if not math.isfinite(v):
            raise WireError(w.E_INVALID, at, 'not a finite number', where)
        if v == 0 and f.zero_ok:
            return
        if f.low is not None and v < f.low:
            raise WireError(w.E_INVALID, at, 'below its minimum', where)
        if f.high is not None and v > f.high:
            raise WireError(w.E_INVALID, at, 'above its maximum', where)
        return
    if f.names and not f.names.open:
        known = sum(1 << n for n in f.names.values)
        if f.names.bits and v & ~known:
            raise WireError(w.E_UNSUPPORTED, v & ~known, 'unknown flags', where)
        if not f.names.bits and v not in f.names.values:
            raise WireError(w.E_INVALID, at, 'not one of the values', where)
    if f.const and v != f.low:
        raise WireError(w.E_PROTOCOL, at, "not the protocol's magic number", where)
    if v == 0 and f.zero_ok:
        return
    if v < f.low:
        raise WireError(w.E_INVALID, at, 'below its minimum', where)
    if v > f.high and f.limit:
        raise WireError(w.E_LIMIT, f.high, 'above the limit', where)
    if v > f.high:
        raise WireError(w.E_INVALID, at, 'above its maximum', where)


def value_of(f, data):
    return data.decode('utf-8', 'surrogateescape') if f.kind == 'text' else data


def bytes_of(value):
    return value.encode('utf-8', 'surrogateescape') if isinstance(value, str) else bytes(value)


class Decoder:
    def __init__(self, message, payload):
        self.message, self.payload, self.charged = message, payload, 0

    def where(self, f):
        return f'{self.message.name}.{f.name}'

    def scalar(self, f, data, offset, at):
        v, = struct.unpack_from(FORMATS[f.kind], data, offset)
        check_range(f, v, at, f'{self.message.name}.{f.name}')
        return v

    def reference(self, f, data, offset, unit, at):
        start, count = struct.unpack_from('<II', data, offset)
        check_range(f, count, at + 4, self.where(f))
        if start % 8:
            raise WireError(w.E_INVALID, at, 'reference that is not 8-aligned', self.where(f))
        if start > len(self.heap) or count * unit > len(self.heap) - start:
            raise WireError(w.E_INVALID, at, 'reference outside the heap', self.where(f))
        self.charged += count * unit
        if self.charged > len(self.heap):
            raise WireError(w.E_INVALID, at, 'references to more bytes than the heap has', self.where(f))
        return self.heap[start:start + count * unit], count

    def record(self, record, data, offset, at):
        out = {}
        for f in record.fields:
            if f.kind in ('text', 'bytes'):
                ids = f.ids_when is not None and out[record.fields[0].name] == f.ids_when
                data_bytes, count = self.reference(f, data, offset + f.at, 4 if ids else 1, at + f.at)
                out[f.name] = list(struct.unpack(f'<{count}I', data_bytes)) if ids else value_of(f, data_bytes)
            else:
                out[f.name] = self.scalar(f, data, offset + f.at, at + f.at)
        return out

    def items(self, f, data, count, at):
        if not f.record:
            return list(struct.unpack(f'<{count}I', data))
        before, size = self.charged, f.record.size
        out = [self.record(f.record, data, i * size, at + i * size) for i in range(count)]
        if f.total and self.charged - before > f.total:
            raise WireError(w.E_LIMIT, f.total, 'more bytes together than the limit', self.where(f))
        return out

    def field(self, f, fixed, out):
        if f.kind in FORMATS:
            return self.scalar(f, fixed, f.at, f.at)
        unit = 1 if f.kind in ('text', 'bytes') else f.record.size if f.record else 4
        data, count = self.reference(f, fixed, f.at, unit, f.at)
        if f.kind in ('text', 'bytes'):
            return value_of(f, data)
        if f.same_count and len(out[f.same_count]) != count:
            raise WireError(w.E_INVALID, f.at, 'not as many as its sister list has', self.where(f))
        return self.items(f, data, count, f.at)

    def strings(self, f, tlv):
        out, at, data = [], 0, tlv.data
        while at < len(data):
            size = struct.unpack_from('<I', data, at)[0] if len(data) - at >= 4 else None
            where = tlv.offset + 8 + at
            if size is None or size + padding(size, 4) > len(data) - at - 4:
                raise WireError(w.E_INVALID, where, 'string cut short', self.where(f))
            if size < f.item_low:
                raise WireError(w.E_INVALID, where, 'string shorter than allowed', self.where(f))
            if size > f.item_high:
                raise WireError(w.E_LIMIT, f.item_high, 'string longer than the limit', self.where(f))
            out.append(data[at + 4:at + 4 + size].decode('utf-8', 'surrogateescape'))
            at += 4 + size + padding(size, 4)
        check_range(f, len(out), tlv.offset, self.where(f))
        return out

    def tlv(self, f, tlv):
        wrong = WireError(w.E_INVALID, tlv.offset + 4, 'TLV of a wrong length', self.where(f))
        if f.kind == 'strings':
            return self.strings(f, tlv)
        if f.kind in FORMATS:
            if len(tlv.data) != SIZES[f.kind]:
                raise wrong
            return self.scalar(f, tlv.data, 0, tlv.offset + 8)
        unit = 1 if f.kind in ('text', 'bytes') else f.record.size if f.record else 4
        if len(tlv.data) % unit:
            raise wrong
        check_range(f, len(tlv.data) // unit, tlv.offset + 4, self.where(f))
        if f.kind in ('text', 'bytes'):
            return value_of(f, tlv.data)
        return self.items(f, tlv.data, len(tlv.data) // unit, tlv.offset + 8)

    def all(self):
        m, out = self.message, {}
        fixed, self.heap, start = split(self.payload)
        fixed = fixed[:m.fixed] + bytes(max(0, m.fixed - len(fixed)))
        for f in m.fields:
            out[f.name] = self.field(f, fixed, out)
        by_tag = {f.at: f for f in m.tlvs}
        for tlv in tlvs(self.payload, start):
            if tlv.tag in by_tag:
                out[by_tag[tlv.tag].name] = self.tlv(by_tag[tlv.tag], tlv)
            elif tlv.critical:
                raise WireError(w.E_UNSUPPORTED, tlv.tag | CRITICAL, 'unknown TLV that must be understood', m.name)
        return out


def decode(message, payload):
    """Payload of a message (a Message of wire_gen.MESSAGES, or its name) as a dict."""
    return Decoder(w.MESSAGES[message] if isinstance(message, str) else message, payload).all()


class Encoder:
    def __init__(self, message):
        self.message = message
        self.fixed, self.heap, self.charged = bytearray(message.fixed), bytearray(), 0

    def where(self, f):
        return f'{self.message.name}.{f.name}'

    def scalar(self, f, v, into, at):
        try:
            struct.pack_into(FORMATS[f.kind], into, at, v)
            v, = struct.unpack_from(FORMATS[f.kind], into, at)
        except (struct.error, OverflowError) as e:
            raise WireError(w.E_INVALID, at, str(e), self.where(f)) from None
        check_range(f, v, at, self.where(f))

    def reference(self, f, count, data, into, at):
        check_range(f, count, at + 4, self.where(f))
        self.heap += bytes(padding(len(self.heap), 8))
        struct.pack_into('<II', into, at, len(self.heap) if count else 0, count)
        start = len(self.heap)
        self.heap += data
        self.charged += len(data)
        return start

    def record(self, record, v, into, at):
        unknown = set(v) - {f.name for f in record.fields}
        if unknown:
            raise WireError(w.E_INVALID, 0, f'{record.name} has no {", ".join(sorted(unknown))}', self.message.name)
        for f in record.fields:
            if f.kind not in ('text', 'bytes'):
                self.scalar(f, v.get(f.name, 0), into, at + f.at)
            elif f.ids_when is not None and v.get(record.fields[0].name) == f.ids_when:
                ids = v.get(f.name, [])
                self.reference(f, len(ids), struct.pack(f'<{len(ids)}I', *ids), into, at + f.at)
            else:
                data = bytes_of(v.get(f.name, b''))
                self.reference(f, len(data), data, into, at + f.at)

    def plain_items(self, f, items):
        """Items that refer to nothing."""
        if not f.record:
            return struct.pack(f'<{len(items)}I', *items)
        out = bytearray(len(items) * f.record.size)
        for i, v in enumerate(items):
            self.record(f.record, v, out, i * f.record.size)
        return bytes(out)

    def field(self, f, v):
        if f.kind in FORMATS:
            return self.scalar(f, v, self.fixed, f.at)
        if f.kind in ('text', 'bytes'):
            data = bytes_of(v)
            return self.reference(f, len(data), data, self.fixed, f.at)
        if not f.record:
            return self.reference(f, len(v), self.plain_items(f, v), self.fixed, f.at)
        # Texts of records lie behind the whole list, so the list is filled in afterwards.
        start = self.reference(f, len(v), bytes(len(v) * f.record.size), self.fixed, f.at)
        items, before = bytearray(len(v) * f.record.size), self.charged
        for i, one in enumerate(v):
            self.record(f.record, one, items, i * f.record.size)
        self.heap[start:start + len(items)] = items
        if f.total and self.charged - before > f.total:
            raise WireError(w.E_LIMIT, f.total, 'more bytes together than the limit', self.where(f))
        return None

    def tlv(self, f, v):
        if f.kind == 'strings':
            data = b''
            for one in map(bytes_of, v):
                if not f.item_low <= len(one) <= f.item_high:
                    raise WireError(w.E_LIMIT if len(one) > f.item_high else w.E_INVALID, f.item_high,
                                    'string of a wrong length', self.where(f))
                data += struct.pack('<I', len(one)) + one + bytes(padding(len(one), 4))
            check_range(f, len(v), 0, self.where(f))
        elif f.kind in ('text', 'bytes'):
            data = bytes_of(v)
            check_range(f, len(data), 0, self.where(f))
        elif f.kind == 'list':
            check_range(f, len(v), 0, self.where(f))
            data = self.plain_items(f, v)
        else:
            data = bytearray(SIZES[f.kind])
            self.scalar(f, v, data, 0)
        return struct.pack('<HHI', f.at, 0, len(data)) + bytes(data) + bytes(padding(len(data), 8))

    def all(self, fields):
        m = self.message
        unknown = set(fields) - {f.name for f in m.fields + m.tlvs}
        if unknown:
            raise WireError(w.E_INVALID, 0, f'no field {", ".join(sorted(unknown))}', m.name)
        for f in m.fields:
            default = f.low if f.const else m.kind if m.kind and f.name == 'kind' else 0 if f.kind in FORMATS else b''
            self.field(f, fields.get(f.name, default if f.kind != 'list' else []))
        self.heap += bytes(padding(len(self.heap), 8))
        struct.pack_into('<II', self.fixed, 0, m.fixed, len(self.heap))
        return bytes(self.fixed + self.heap) + b''.join(self.tlv(f, fields[f.name]) for f in m.tlvs if f.name in fields)


def encode_payload(message, fields):
    return Encoder(w.MESSAGES[message] if isinstance(message, str) else message).all(fields)


def encode(message, fields, request=0, flags=0, nfds=0, extra=b''):
    """One frame.  @extra: ready-made TLVs that are put behind the message's own."""
    m = w.MESSAGES[message] if isinstance(message, str) else message
    payload = encode_payload(m, fields) + extra
    return encode_header(Header(len(payload), m.type, flags, nfds, request)) + payload


def find(header, payload):
    """The Message that a frame is, or None."""
    if header.flags & ERROR:
        return w.MESSAGES['ERROR']
    kind = struct.unpack_from('<I', payload, 8)[0] if len(payload) >= 12 else 0
    for m in w.MESSAGES.values():
        if m.type == header.type and (not m.kind or m.kind == kind):
            return m
    return None
