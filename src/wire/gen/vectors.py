# SPDX-License-Identifier: Apache-2.0
"""
Test vectors: frames in hex with what they mean, or with the error they must give.  The encoder here is a third one,
written apart from those of C and Python on purpose.
"""

import json
import struct

from .model import SCALARS

FORMATS = {'u8': '<B', 'u16': '<H', 'u32': '<I', 'u64': '<Q', 'f32': '<f', 'f64': '<d'}
END, ERROR, SKIP = 1, 2, 4
TEXTS = ['model-a', 'grüße, 世界', 'x', 'a line\nand another', '{"quoted": "\\\\"}']


def pad(data, to=8):
    return data + bytes(-len(data) % to)


def tlv(tag, data, reserved=0, length=None):
    return struct.pack('<HHI', tag, reserved, len(data) if length is None else length) + pad(data)


def frame(kind, payload, request=7, flags=0, nfds=0, length=None):
    return struct.pack('<IHBBQ', len(payload) if length is None else length, kind, flags, nfds, request) + payload


class Sample:
    """Values for the fields of a message: least = as small as is legal, else something in every field."""

    def __init__(self, message, least):
        self.message, self.least, self.step = message, least, 0

    def number(self, f):
        self.step += 1
        if f.const is not None:
            return f.const
        if f.names and f.names.bits:
            return 0 if self.least else f.names.mask
        if f.names:
            first, last = f.names.items[0][0], f.names.items[-1][0]
            return first if self.least or f.name == 'kind' else last
        if self.least:
            return 0 if f.zero_ok else f.minimum or 0
        if f.float:
            return min(0.5 if f.minimum is None or f.minimum <= 0.5 else f.minimum, f.maximum or 0.5)
        low, high = f.minimum or 0, f.maximum if f.maximum is not None else (1 << 8 * SCALARS[f.kind]) - 1
        return min(high, max(low, (0x0123456789abcdef * self.step) & ((1 << 8 * SCALARS[f.kind] - 1) - 1)))

    def text(self, f):
        self.step += 1
        low, high = f.minimum or 0, f.maximum if f.maximum is not None else 1 << 20
        if self.least:
            return b'm' * low
        if f.kind == 'bytes':
            return (bytes([0xff, 0, self.step & 0xff]) * (low // 3 + 1))[:max(low, 3)]
        return TEXTS[self.step % len(TEXTS)].encode()[:high]

    def record(self, record, ids):
        out = {}
        for f in record.fields:
            if f.is_reference:
                out[f.name] = [1, 0xffffffff] if ids and f.ids_when else self.text(f)
            else:
                out[f.name] = self.number(f)
                if f.names and not f.names.bits and ids:
                    out[f.name] = 3
        return out

    def value(self, f):
        if f.kind in ('text', 'bytes'):
            return self.text(f)
        if f.kind == 'strings':
            return [] if self.least else [b'stop', 'ö'.encode()]
        if f.kind == 'list':
            count = f.minimum or 0 if self.least else 2
            if f.record:
                return [self.record(f.record, not self.least and i and f.record.references
                                    and f.record.name == 'segment') for i in range(count)]
            return [0x01020304 + i for i in range(count)]
        return self.number(f)

    def all(self):
        out = {f.name: self.value(f) for f in self.message.fields}
        if not self.least:
            out.update({f.name: self.value(f) for f in self.message.tlvs})
        return out


class Build:
    """A payload of values, canonical: heap in the order of the fields, TLVs in the order of the description."""

    def __init__(self, message, values):
        self.message, self.values = message, values
        self.fixed, self.heap, self.tlvs = bytearray(message.fixed), b'', b''
        for f in message.fields:
            self.put(f, values[f.name], self.fixed, f.offset)
        for f in message.tlvs:
            if f.name in values:
                self.tlvs += tlv(f.tag, self.tlv_data(f, values[f.name]))

    def append(self, data, count, into, at):
        self.heap = pad(self.heap)
        struct.pack_into('<II', into, at, len(self.heap) if count else 0, count)
        start = len(self.heap)
        self.heap += data
        return start

    def put(self, f, v, into, at):
        if not f.is_reference:
            struct.pack_into(FORMATS[f.kind], into, at, v)
        elif f.kind in ('text', 'bytes'):
            self.append(ids_of(v) if isinstance(v, list) else v, len(v), into, at)
        elif not f.record:
            self.append(ids_of(v), len(v), into, at)
        else:
            items = bytearray(len(v) * f.record.size)
            start = self.append(bytes(items), len(v), into, at)
            for i, one in enumerate(v):
                for g in f.record.fields:
                    self.put(g, one[g.name], items, i * f.record.size + g.offset)
            self.heap = self.heap[:start] + bytes(items) + self.heap[start + len(items):]

    @staticmethod
    def tlv_data(f, v):
        if f.kind == 'strings':
            return b''.join(struct.pack('<I', len(s)) + pad(s, 4) for s in v)
        if f.kind in ('text', 'bytes'):
            return v
        if f.kind == 'list' and f.record:
            return b''.join(struct.pack('<' + ''.join(FORMATS[g.kind][1] for g in f.record.fields),
                                        *(one[g.name] for g in f.record.fields)) for one in v)
        return ids_of(v) if f.kind == 'list' else struct.pack(FORMATS[f.kind], v)

    def payload(self, extra=b''):
        heap = pad(self.heap)
        struct.pack_into('<II', self.fixed, 0, len(self.fixed), len(heap))
        return bytes(self.fixed) + heap + self.tlvs + extra


def ids_of(v):
    return struct.pack(f'<{len(v)}I', *v)


def show(f, v):
    """A value as `tenon raw` shows it."""
    if isinstance(v, bytes):
        try:
            return v.decode()
        except UnicodeDecodeError:
            return {'hex': v.hex()}
    if f.names and f.names.bits:
        known = {b: n for b, n, _ in f.names.items}
        return [known.get(b, 1 << b) for b in range(32) if v >> b & 1]
    if f.names:
        return {n: name for n, name, _ in f.names.items}.get(v, v)
    if isinstance(v, list) and f.record:
        return [{g.name: show(g, one[g.name]) for g in f.record.fields} for one in v]
    if isinstance(v, list):
        return [show(f, one) if isinstance(one, bytes) else one for one in v]
    if f.float:
        return int(v) if v == int(v) else float('%.9g' % v)
    return v


def shown(message, values, flags=0, kind=None):
    out = {'type': message.name}
    if flags & ERROR:
        out['of'] = f'{kind:#06x}'
    out.update(request=7, flags=[n for b, n in ((END, 'END'), (ERROR, 'ERROR'), (SKIP, 'SKIP')) if flags & b], fds=0)
    out['payload'] = {f.name: show(f, values[f.name]) for f in message.fields + message.tlvs if f.name in values}
    return json.dumps(out, separators=(',', ':'), ensure_ascii=False)


class Vectors:
    def __init__(self, wire):
        self.wire, self.list = wire, []
        for m in wire.messages:
            if m.reserved:
                continue
            self.message = m
            self.good()
            self.parts()
            self.growth()
            for f in m.fields:
                self.bad_field(f)
            for f in m.tlvs:
                self.bad_tlv(f)
        self.message = None
        self.headers()

    def add(self, name, data, code=0, detail=0, text=None, canonical=False):
        entry = {'name': f'{self.message.name}: {name}' if self.message else name, 'frame': data.hex()}
        if code:
            entry.update(error=code, detail=detail)
        if text:
            entry['json'] = text
        entry['canonical'] = canonical
        self.list.append(entry)

    def make(self, values=None, extra=b''):
        values = values or Sample(self.message, True).all()
        return frame(self.message.type, Build(self.message, values).payload(extra), flags=self.flags())

    def flags(self):
        return END | ERROR if self.message.name == 'ERROR' else 0

    def good(self):
        m = self.message
        for name, least in (('least', True), ('full', False)):
            values = Sample(m, least).all()
            self.add(name, self.make(values), text=shown(m, values, self.flags(), m.type), canonical=True)

    def least(self):
        values = Sample(self.message, True).all()
        return Build(self.message, values), values

    def growth(self):
        """Longer and shorter fixed parts, TLVs nobody knows."""
        m, (b, values) = self.message, self.least()
        text = shown(m, values, self.flags(), m.type)
        heap = pad(b.heap)
        longer = struct.pack('<II', m.fixed + 16, len(heap)) + b.payload()[8:m.fixed] + b'\xff' * 16 + heap
        self.add('longer fixed part', frame(m.type, longer, flags=self.flags()), text=text)
        self.add('unknown TLV', self.make(extra=tlv(0x7abc, b'grease')), text=text)
        self.add('unknown TLV that must be understood', self.make(extra=tlv(0xfabc, b'grease')),
                 self.wire.code('UNSUPPORTED'), 0xfabc)
        if not any(f.const or f.minimum and not f.zero_ok or (f.names and not f.names.open and not f.names.bits
                   and 0 not in [n for n, _, _ in f.names.items]) for f in m.fields):
            zero = {f.name: [] if f.kind == 'list' else b'' if f.is_reference else 0 for f in m.fields}
            zero_text = shown(m, zero, self.flags(), m.type)
            self.add('shorter fixed part', frame(m.type, struct.pack('<II', 8, 0), flags=self.flags()), text=zero_text)
            self.add('empty payload', frame(m.type, b'', flags=self.flags()), text=zero_text)

    def parts(self):
        m, invalid = self.message, self.wire.code('INVALID')
        b, _ = self.least()
        whole = b.payload()
        if m.name not in ('GENERATE', 'PING', 'ERROR'):     # the same code for all: three are enough
            return

        def sizes(fixed, heap):
            return frame(m.type, struct.pack('<II', fixed, heap) + whole[8:], flags=self.flags())
        self.add('fixed_size 0', sizes(0, 0), invalid, 0)
        self.add('fixed_size not of eights', sizes(12, 0), invalid, 0)
        self.add('fixed_size beyond the payload', sizes(len(whole) + 8, 0), invalid, 0)
        self.add('fixed_size wraps', sizes(0xfffffff8, 8), invalid, 0)
        self.add('heap_size not of eights', sizes(8, 4), invalid, 4)
        self.add('heap_size beyond the payload', sizes(m.fixed, len(whole) - m.fixed + 8), invalid, 4)
        self.add('heap_size wraps', sizes(m.fixed, 0xfffffff8), invalid, 4)
        end = len(whole)
        self.add('TLV twice', self.make(extra=tlv(0x7001, b'') * 2), invalid, end + 8)
        self.add('TLV twice but for the bit', self.make(extra=tlv(0x7001, b'') + tlv(0xf001, b'')), invalid, end + 8)
        self.add('TLV with reserved bytes', self.make(extra=tlv(0x7001, b'', reserved=1)), invalid, end + 2)
        self.add('TLV beyond the payload', self.make(extra=tlv(0x7001, b'12345678', length=9)), invalid, end + 4)
        self.add('TLV of 4 GiB', self.make(extra=tlv(0x7001, b'', length=0xffffffff)), invalid, end + 4)
        many = b''.join(tlv(0x7000 + i, b'') for i in range(65))
        self.add('65 TLVs', self.make(extra=many), self.wire.code('LIMIT'), 64)

    def poked(self, offset, data):
        """The least payload with other bytes at an offset."""
        b, _ = self.least()
        p = b.payload()
        return frame(self.message.type, p[:offset] + data + p[offset + len(data):], flags=self.flags())

    def bad_field(self, f):
        if f.is_reference:
            self.bad_reference(f)
            return
        at, invalid = f.offset, self.wire.code('INVALID')
        one = FORMATS[f.kind]
        if f.const is not None:
            other = self.poked(at, struct.pack(one, f.const ^ 1))
            self.add(f'{f.name} is another', other, self.wire.code('PROTOCOL'), at)
            return
        for name, v, code, detail in self.bad_scalars(f, at, invalid):
            self.add(f'{f.name} {name}', self.poked(at, struct.pack(one, v)), code, detail)

    def bad_scalars(self, f, at, invalid):
        if f.float:
            yield from ((n, float(n), invalid, at) for n in ('nan', 'inf', '-inf'))
            if f.minimum is not None and f.minimum <= 0:
                yield 'below', f.minimum - 0.25, invalid, at
            elif f.minimum is not None:
                yield 'below', f.minimum / 2, invalid, at
            if f.maximum is not None:
                yield 'above', f.maximum + 0.25, invalid, at
        elif f.names and not f.names.open:
            if f.names.bits:
                yield 'with an unknown flag', 1 << 31, self.wire.code('UNSUPPORTED'), 1 << 31
            else:
                yield from ((f'is {v}', v, invalid, at) for v in (31, 32, 0xffffffff))
        else:
            if f.minimum:
                yield 'below', f.minimum - 1 if not f.zero_ok or f.minimum > 1 else 0, *(
                    (invalid, at) if not f.zero_ok or f.minimum > 1 else (0, 0))
            if f.maximum is not None:
                yield 'above', f.maximum + 1, *((self.wire.code('LIMIT'), f.maximum) if f.limit else (invalid, at))

    def reference_payload(self, f, offset, count, heap):
        """Only this reference, into a heap of our making."""
        b, _ = self.least()
        fixed = bytearray(b.payload()[:self.message.fixed])
        for g in self.message.fields:
            if g.is_reference:
                struct.pack_into('<II', fixed, g.offset, 0, g.minimum or 0)
        struct.pack_into('<II', fixed, f.offset, offset, count)
        struct.pack_into('<II', fixed, 0, self.message.fixed, len(heap))
        return frame(self.message.type, bytes(fixed) + heap, flags=self.flags())

    def bad_reference(self, f):
        m, invalid, at = self.message, self.wire.code('INVALID'), f.offset
        if any(g.is_reference and g.minimum and g is not f for g in m.fields) and m.name not in ('SWAP',):
            return
        low, unit = max(1, f.minimum or 0), 1 if f.kind in ('text', 'bytes') else f.record.size if f.record else 4
        heap = bytes(256)
        self.add(f'{f.name} not aligned', self.reference_payload(f, 4, low, heap), invalid, at)
        self.add(f'{f.name} begins behind the heap', self.reference_payload(f, 264, low, heap), invalid, at)
        self.add(f'{f.name} ends behind the heap', self.reference_payload(f, 248, 8 // unit + 1, heap), invalid, at)
        self.add(f'{f.name} far away', self.reference_payload(f, 0xfffffff8, low, heap), invalid, at)
        if f.maximum is None:
            self.add(f'{f.name} of 2^32 - 1', self.reference_payload(f, 8, 0xffffffff, heap), invalid, at)
        elif not f.limit:
            room = pad(bytes(f.maximum * unit + 8)) if f.maximum * unit <= 2048 else heap
            self.add(f'{f.name} too long', self.reference_payload(f, 0, f.maximum + 1, room), invalid, at + 4)
        else:
            self.add(f'{f.name} above the limit', self.reference_payload(f, 0, f.maximum + 1, heap),
                     self.wire.code('LIMIT'), f.maximum)
        if f.minimum:
            self.add(f'{f.name} empty', self.reference_payload(f, 0, f.minimum - 1, heap), invalid, at + 4)
        if f.record and f.record.references:
            self.bad_records(f)

    def bad_records(self, f):
        """The same text twice: more bytes than the heap has; a record whose text lies outside."""
        size, invalid = f.record.size, self.wire.code('INVALID')
        text = next(g for g in f.record.fields if g.is_reference)
        start = size * 2
        for name, offset, count, code in (('share their texts', start, 256 - start, invalid),
                                          ('point behind the heap', 256, 1, invalid),
                                          ('point to odd places', start + 1, 1, invalid)):
            records = bytearray(start)
            for i in range(2):
                for g in f.record.fields:
                    if g.names:
                        struct.pack_into('<I', records, i * size + g.offset, g.names.items[0][0])
                struct.pack_into('<II', records, i * size + text.offset, offset, count)
            bad = 1 if name == 'share their texts' else 0
            self.add(f'{f.name} {name}', self.reference_payload(f, 0, 2, bytes(records) + bytes(256 - start)), code,
                     f.offset + bad * size + text.offset)

    def bad_tlv(self, f):
        m, invalid = self.message, self.wire.code('INVALID')
        end = len(self.least()[0].payload())

        def one(name, data, code, detail):
            self.add(f'{f.name} {name}', self.make(extra=tlv(f.tag, data)), code, detail)
        if f.kind in SCALARS:
            one('of a wrong length', bytes(SCALARS[f.kind] - 1), invalid, end + 4)
            one('empty', b'', invalid, end + 4)
            if f.maximum is not None:
                one('above', struct.pack(FORMATS[f.kind], f.maximum + 1), invalid, end + 8)
        elif f.kind == 'strings':
            one('cut short', struct.pack('<I', 9) + b'12345678', invalid, end + 8)
            one('of 4 GiB', struct.pack('<I', 0xffffffff) + b'12345678', invalid, end + 8)
            one('with an empty one', struct.pack('<I', 0), invalid, end + 8)
            one('too many', (struct.pack('<I', 1) + b'x\0\0\0') * (f.maximum + 1), self.wire.code('LIMIT'), f.maximum)
            top = self.wire.limits[f.item_limit]['default']
            one('with a long one', struct.pack('<I', top + 1) + bytes(top + 4), self.wire.code('LIMIT'), top)
        else:
            unit = 1 if f.kind in ('text', 'bytes') else f.record.size if f.record else 4
            if unit > 1:
                one('of a wrong length', bytes(unit + 1), invalid, end + 4)
            if f.maximum * unit <= 512:
                one('too long', bytes((f.maximum + 1) * unit), *((self.wire.code('LIMIT'), f.maximum) if f.limit
                                                                 else (invalid, end + 4)))
            if f.minimum:
                one('too short', bytes(f.minimum - 1), invalid, end + 4)
            if f.record:
                one('out of range', struct.pack('<If', 1, 1e9), invalid, end + 8 + 4)

    def headers(self):
        protocol = self.wire.code('PROTOCOL')
        for bit in range(3, 8):
            self.add(f'header with flag {1 << bit:#x}', frame(2, b'', flags=1 << bit), protocol, 1 << bit)
        self.add('header with ERROR without END', frame(0x8002, b'', flags=ERROR), protocol, ERROR)
        self.add('header with an odd length', frame(2, bytes(12)), protocol, 12)
        self.add('header with a long length', frame(2, b'', length=0xfffffff8), protocol, 0xfffffff8)
        self.add('header with a length just above', frame(2, b'', length=(1 << 20) + 8), protocol, (1 << 20) + 8)
        self.add('header with five descriptors', frame(2, b'', nfds=5), protocol, 5)


def as_json(wire):
    entries = Vectors(wire).list
    about = ('Frames in hex. error, detail: what a reader must refuse it with, where a payload may have 1048576 bytes. '
             'json: what it says. canonical: an encoder gives these very bytes. Made by src/wire/generate.py.')
    lines = [json.dumps(e, ensure_ascii=False) for e in entries]
    return '{"about": ' + json.dumps(about) + ',\n"vectors": [\n' + ',\n'.join(lines) + '\n]}\n'


def corpus(wire):
    """Seeds for the fuzzer: name -> bytes.  A full and a hostile frame of each kind."""
    out = {}
    for e in Vectors(wire).list:
        name = e['name'].lower().replace(': ', '-').replace(' ', '-').replace('^', '')
        if e['name'].endswith(': full') or e.get('error') and e['name'].startswith(('GENERATE', 'TOKENIZE_REPLY')):
            if len(e['frame']) < 2048:
                out[f'{name}.frame'] = bytes.fromhex(e['frame'])
    return out


def dictionary(wire):
    """Pieces that a mutating fuzzer would find late: headers, tags, magic."""
    out = ['# Made by src/wire/generate.py; do not edit.']

    def entry(name, data):
        out.append(f'{name}="' + ''.join(f'\\x{b:02x}' for b in data) + '"')
    entry('magic', wire.protocol['magic'].encode())
    for m in wire.messages:
        entry(f'type_{m.name.lower()}', struct.pack('<H', m.type))
        if not m.reserved:
            entry(f'least_{m.name.lower()}', Build(m, Sample(m, True).all()).payload()[:64])
        for f in m.tlvs:
            entry(f'tlv_{m.name.lower()}_{f.name}', struct.pack('<HHI', f.tag, 0, 8))
    entry('tlv_grease', tlv(0x7abc, b'grease'))
    entry('tlv_critical', tlv(0xfabc, b''))
    return '\n'.join(out) + '\n'
