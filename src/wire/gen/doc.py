# SPDX-License-Identifier: Apache-2.0
"""PROTOCOL.md: the prose of protocol.in.md with the tables of wire.json at its @@marks@@."""

import re


def row(*cells):
    return '| ' + ' | '.join(str(c).replace('|', '\\|') for c in cells) + ' |'


def table(head, rows):
    return '\n'.join([row(*head), row(*('---' for _ in head))] + [row(*r) for r in rows])


def limits(wire):
    return table(('limit', 'default', 'of what'),
                 [(v['name'], f'{v["default"]} {v["unit"]}'.strip(), v['doc']) for v in wire.limits.values()])


def errors(wire):
    return table(('code', 'name', 'HTTP', 'gRPC', 'meaning'),
                 [(e['code'], e['name'], e['http'], e['grpc'], e['doc']) for e in wire.errors])


def capabilities(wire):
    return table(('bit', 'name', 'meaning'), [(c['bit'], c['name'], c['doc']) for c in wire.capabilities])


def names(wire):
    out = []
    for e in list(wire.enums.values()) + list(wire.flag_sets.values()):
        if e.name.endswith('_kind') and len(e.items) == 1:
            continue
        unknown = 'unknown ones are let through' if e.open else \
            'unknown ones are UNSUPPORTED' if e.bits else 'others are INVALID'
        head = 'bit' if e.bits else 'value'
        out.append(f'**{"flags" if e.bits else "enum"} {e.name}** (u32): {e.doc}; {unknown}.\n\n'
                   + table((head, 'name', 'meaning'), e.items))
    return '\n\n'.join(out)


def field_rows(fields):
    return [(f.offset, f.type_text, f.name, f.range_text, f.doc) for f in fields]


def records(wire):
    return '\n\n'.join(f'**{r.name}** ({r.size} bytes): {r.doc}\n\n'
                       + table(('offset', 'type', 'name', 'range', 'meaning'), field_rows(r.fields))
                       for r in wire.records.values())


def direction(m):
    return {'client': 'C', 'server': 'S', 'both': 'C, S'}[m.sender]


def overview(wire):
    rows = []
    for m in wire.messages:
        if m.reply_to or m.name == 'ERROR':
            continue
        replies = ', '.join(r.name for r in wire.messages if r.reply_to == m.name) or ('-' if not m.reserved else '')
        notes = '; '.join(filter(None, ['admin socket only' if m.admin else '', 'reserved' if m.reserved else '',
                                        f'up to {m.fds} descriptors' if m.fds else '', m.doc]))
        rows.append((f'{m.type:#06x}', m.name, direction(m), replies, notes))
    return table(('type', 'name', 'from', 'replies', 'notes'), rows)


def messages(wire):
    out = []
    for m in (m for m in wire.messages if not m.reserved):
        head = f'### {m.type:#06x} {m.name}'
        about = []
        if m.reply_to:
            about.append(f'Reply to {m.reply_to}' + (f', kind {m.kind}' if m.kind else '') + '.')
        if m.doc:
            about.append(m.doc[0].upper() + m.doc[1:] + '.')
        about.append(f'Fixed part: {m.fixed} bytes.')
        part = [head, ' '.join(about)]
        if m.fields:
            part.append(table(('offset', 'type', 'name', 'range', 'meaning'), field_rows(m.fields)))
        if m.tlvs:
            part.append(table(('tag', 'type', 'name', 'range', 'meaning'),
                              [(f.tag, f.type_text, f.name, f.range_text, f.doc) for f in m.tlvs]))
        out.append('\n\n'.join(part))
    return '\n\n'.join(out)


MARKS = {'limits': limits, 'errors': errors, 'capabilities': capabilities, 'names': names, 'records': records,
         'overview': overview, 'messages': messages}


def render(wire, prose):
    head = '<!-- Made by generate.py from wire.json and protocol.in.md; do not edit. -->\n'
    return head + re.sub(r'^@@(\w+)@@$', lambda m: MARKS[m.group(1)](wire), prose, flags=re.M)
