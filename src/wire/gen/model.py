# SPDX-License-Identifier: Apache-2.0
"""wire.json as objects: names resolved, layouts computed, mistakes refused."""

import json

SCALARS = {'u8': 1, 'u16': 2, 'u32': 4, 'u64': 8, 'f32': 4, 'f64': 8}
FIXED_MAX = 256
FIELD_KEYS = {'name', 'type', 'since', 'minimum', 'maximum', 'limit', 'total_limit', 'item_limit', 'item_minimum',
              'zero_ok', 'const', 'const_error', 'ids_when', 'same_count', 'doc', 'tag'}
MESSAGE_KEYS = {'type', 'name', 'from', 'doc', 'fields', 'tlvs', 'reply_to', 'kind', 'admin', 'reserved', 'fds',
                'since'}


class WireError(Exception):
    pass


def require(condition, text):
    if not condition:
        raise WireError(text)


class Names:
    """An enum (values) or a set of flags (bits)."""

    def __init__(self, d, bits):
        self.name, self.open, self.doc, self.bits = d['name'], d['open'], d['doc'], bits
        self.items = [(v['bit' if bits else 'value'], v['name'], v['doc']) for v in d['values']]
        require(all(0 <= v < 32 for v, _, _ in self.items), f'{self.name}: values lie in 0..31')
        self.mask = sum(1 << v for v, _, _ in self.items)


class Field:
    def __init__(self, d, where, wire):
        self.where = f'{where}.{d["name"]}'
        require(set(d) <= FIELD_KEYS, f'{self.where}: unknown keys {set(d) - FIELD_KEYS}')
        self.name, self.doc, self.tag = d['name'], d['doc'], d.get('tag')
        self.since = d.get('since', 1)
        self.names = self.record = None
        self.kind = self.resolve(d['type'], wire)
        self.float = self.kind in ('f32', 'f64')
        self.zero_ok, self.const = d.get('zero_ok', False), d.get('const')
        if self.const is not None:
            self.const = int(self.const, 0)
        self.limit = d.get('limit')
        self.minimum = d.get('minimum')
        self.maximum = wire.limits[self.limit]['default'] if self.limit else d.get('maximum')
        self.total_limit = d.get('total_limit')
        self.item_limit, self.item_minimum = d.get('item_limit'), d.get('item_minimum', 0)
        self.ids_when, self.same_count = d.get('ids_when'), d.get('same_count')
        self.offset = None

    def resolve(self, text, wire):
        if text in SCALARS or text in ('text', 'bytes'):
            return text
        if text.startswith('enum:'):
            self.names = wire.enums[text[5:]]
            return 'u32'
        if text.startswith('flags:'):
            self.names = wire.flag_sets[text[6:]]
            return 'u32'
        require(text.endswith('[]'), f'{self.where}: unknown type {text}')
        if text == 'u32[]':
            return 'list'
        if text == 'text[]':
            require(self.tag is not None, f'{self.where}: text[] is for TLVs')
            return 'strings'
        self.record = wire.records[text[:-2]]
        require(self.tag is None or not self.record.references, f'{self.where}: a TLV has no heap')
        return 'list'

    @property
    def is_reference(self):
        return self.kind in ('text', 'bytes', 'list', 'strings')

    @property
    def size(self):
        return 8 if self.is_reference else SCALARS[self.kind]

    @property
    def align(self):
        return 4 if self.is_reference else SCALARS[self.kind]

    @property
    def type_text(self):
        if self.names:
            return ('flags ' if self.names.bits else 'enum ') + self.names.name
        if self.kind == 'strings':
            return 'text[]'
        return f'{self.record.name}[]' if self.record else 'u32[]' if self.kind == 'list' else self.kind

    @property
    def range_text(self):
        parts = []
        if self.const is not None:
            return f'{self.const:#x}'
        if self.minimum is not None or self.maximum is not None:
            low = 0 if self.minimum is None else self.minimum
            parts.append(f'{low:g} .. {self.maximum}' if self.maximum is not None else f'{low:g} ..')
            if self.is_reference:
                parts[-1] += ' bytes' if self.kind in ('text', 'bytes') else ' items'
        if self.zero_ok:
            parts.append('or 0')
        if self.item_limit:
            parts.append(f'each of {self.item_minimum} .. limit {self.item_limit} bytes')
        return ' '.join(parts)


def layout(fields, start):
    """Natural alignment, in order; returns the end."""
    at = start
    for f in fields:
        at = (at + f.align - 1) // f.align * f.align
        f.offset = at
        at += f.size
    return at


class Record:
    def __init__(self, d, wire):
        self.name, self.doc = d['name'], d['doc']
        self.references = False
        self.fields = [Field(f, self.name, wire) for f in d['fields']]
        require(all(f.kind in SCALARS or f.kind in ('text', 'bytes') for f in self.fields),
                f'{self.name}: records hold scalars and texts only')
        self.references = any(f.is_reference for f in self.fields)
        end = layout(self.fields, 0)
        align = max(f.align for f in self.fields)
        self.size = (end + align - 1) // align * align


class Message:
    def __init__(self, d, wire):
        self.name, self.doc = d['name'], d['doc']
        require(set(d) <= MESSAGE_KEYS, f'{self.name}: unknown keys {set(d) - MESSAGE_KEYS}')
        self.type, self.kind, self.sender = int(d['type'], 0), d.get('kind', 0), d['from']
        self.reply_to, self.since = d.get('reply_to'), d.get('since', 1)
        self.admin, self.reserved, self.fds = d.get('admin', False), d.get('reserved', False), d.get('fds', 0)
        self.fields = [Field(f, self.name, wire) for f in d['fields']]
        self.tlvs = [Field(f, self.name, wire) for f in d.get('tlvs', [])]
        self.fixed = (layout(self.fields, 8) + 7) // 8 * 8
        require(self.fixed <= FIXED_MAX, f'{self.name}: fixed part of {self.fixed} bytes')
        for f in self.tlvs:
            require(f.tag and 0 < f.tag < 0x7000, f'{f.where}: tag')
            require(f.kind not in ('u8', 'u16'), f'{f.where}: scalars of TLVs have 4 or 8 bytes')
        require(len({f.tag for f in self.tlvs}) == len(self.tlvs) <= 64, f'{self.name}: tags')
        names = [f.name for f in self.fields + self.tlvs]
        require(len(set(names)) == len(names), f'{self.name}: a name twice')
        if self.kind:
            require(self.fields[0].name == 'kind', f'{self.name}: kind comes first')

    def field(self, name):
        return next(f for f in self.fields if f.name == name)


class Wire:
    def __init__(self, path):
        with open(path, encoding='utf-8') as f:
            d = json.load(f)
        self.protocol = d['protocol']
        self.limits = {v['name']: v for v in d['limits']}
        self.errors = d['errors']
        self.capabilities = d['capabilities']
        self.enums = {v['name']: Names(v, False) for v in d['enums']}
        self.flag_sets = {v['name']: Names(v, True) for v in d['flag_sets']}
        self.records = {}
        for v in d['records']:
            self.records[v['name']] = Record(v, self)
        self.messages = [Message(v, self) for v in d['messages']]
        self.by_name = {m.name: m for m in self.messages}
        require(len(self.by_name) == len(self.messages), 'a message name twice')
        require(len({(m.type, m.kind) for m in self.messages}) == len(self.messages), 'a message type twice')
        structs = [m.name.lower() for m in self.messages] + list(self.records) + list(self.enums)
        require(len(set(structs)) == len(structs), 'one name for two of messages, records, enums')
        for m in self.messages:
            require((m.reply_to is not None or m.name == 'ERROR') == bool(m.type & 0x8000), f'{m.name}: reply bit')
            if m.reply_to:
                require(self.by_name[m.reply_to].type | 0x8000 == m.type, f'{m.name}: type of its request')

    def code(self, name):
        return next(e['code'] for e in self.errors if e['name'] == name)
