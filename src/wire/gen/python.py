# SPDX-License-Identifier: Apache-2.0
"""wire_gen.py of the Python client: the same tables as the C codec has."""

TOPS = {'u8': 0xff, 'u16': 0xffff, 'u32': 0xffffffff, 'u64': (1 << 64) - 1}


def bounds(f):
    if f.float:
        return (None if f.minimum is None else float(f.minimum)), (None if f.maximum is None else float(f.maximum))
    if f.const is not None:
        return f.const, f.const
    return f.minimum or 0, TOPS.get(f.kind, 0xffffffff) if f.maximum is None else f.maximum


def field(f, wire):
    low, high = bounds(f)
    extra = []
    if f.limit:
        extra.append('limit=True')
    if f.zero_ok:
        extra.append('zero_ok=True')
    if f.const is not None:
        extra.append('const=True')
    if f.names:
        extra.append(f'names={"FLAGS" if f.names.bits else "ENUMS"}[{f.names.name!r}]')
    if f.record:
        extra.append(f'record=RECORDS[{f.record.name!r}]')
    if f.total_limit:
        extra.append(f'total={wire.limits[f.total_limit]["default"]}')
    if f.item_limit:
        extra.append(f'item_low={f.item_minimum}, item_high={wire.limits[f.item_limit]["default"]}')
    if f.ids_when:
        extra.append(f'ids_when={f.ids_when["value"]}')
    if f.same_count:
        extra.append(f'same_count={f.same_count!r}')
    start = f'Field({f.name!r}, {f.kind!r}, {f.tag or f.offset}, {low!r}, {high!r}'
    line = ', '.join([start] + extra) + ')'
    if len(line) + 9 > 120:
        return start + ',\n              ' + ', '.join(extra) + ')'
    return line


def fields(items, wire, indent):
    if not items:
        return '[]'
    pad = '\n' + ' ' * indent
    return '[' + pad + (',' + pad).join(field(f, wire) for f in items) + ']'


def constants(wire, out):
    out.append('')
    out += [f'E_{e["name"]} = {e["code"]}' for e in wire.errors]
    out.append('ERRORS = {')
    out += [f'    {e["code"]}: ({e["name"]!r}, {e["http"]}, {e["grpc"]!r}),' for e in wire.errors]
    out += ['}', '', 'LIMITS = {']
    out += [f'    {v["name"]!r}: {v["default"]},' for v in wire.limits.values()]
    out += ['}', '']
    out += [f'CAP_{c["name"]} = {1 << c["bit"]}' for c in wire.capabilities]
    for e in wire.enums.values():
        out.append('')
        out += [f'{e.name.upper()}_{n} = {v}' for v, n, _ in e.items]
    for e in wire.flag_sets.values():
        out.append('')
        out += [f'FLAG_{e.name.upper()}_{n} = {1 << v}' for v, n, _ in e.items]
    out.append('')
    for m in wire.messages:
        out.append(f'TYPE_{m.name} = {m.type:#06x}')
    out.append('')
    for title, table in (('ENUMS', wire.enums), ('FLAGS', wire.flag_sets)):
        out.append(f'{title} = {{')
        for e in table.values():
            values = ', '.join(f'{v}: {n!r}' for v, n, _ in e.items)
            line = f'    {e.name!r}: Names({e.name!r}, {e.bits}, {e.open}, {{{values}}}),'
            if len(line) > 120:
                line = line.replace(', {', ',\n        {', 1)
            out.append(line)
        out += ['}', '']


def render(wire):
    out = ['# SPDX-License-Identifier: Apache-2.0',
           '"""Tables of the wire protocol.  Made by src/wire/generate.py from wire.json; do not edit."""', '',
           'from ._tables import Field, Message, Names, Record', '',
           f'VERSION = {wire.protocol["version"]}',
           'MAGIC = %#x' % int.from_bytes(wire.protocol['magic'].encode(), 'little')]
    constants(wire, out)
    out.append('RECORDS = {}')
    for r in wire.records.values():
        out.append(f'RECORDS[{r.name!r}] = Record({r.name!r}, {r.size}, {fields(r.fields, wire, 4)})')
    out += ['', 'MESSAGES = {}']
    for m in (m for m in wire.messages if not m.reserved):
        out.append(f'MESSAGES[{m.name!r}] = Message({m.name!r}, {m.type:#06x}, {m.kind}, {m.fixed},')
        out.append(f'    {fields(m.fields, wire, 8)},')
        out.append(f'    {fields(m.tlvs, wire, 8)})')
    out += ['', '# Types without a payload that anyone may send: known, answered UNSUPPORTED.', 'RESERVED = {']
    out += [f'    {m.type:#06x}: {m.name!r},' for m in wire.messages if m.reserved]
    out += ['}']
    return '\n'.join(out) + '\n'
