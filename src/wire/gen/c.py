# SPDX-License-Identifier: Apache-2.0
"""wire_gen.h and wire_gen.c."""

C_TYPES = {'u8': 'uint8_t', 'u16': 'uint16_t', 'u32': 'uint32_t', 'u64': 'uint64_t', 'f32': 'float', 'f64': 'double',
           'text': 'struct span', 'bytes': 'struct span', 'list': 'struct wire_list', 'strings': 'struct wire_list'}
HEAD = '/* SPDX-License-Identifier: Apache-2.0 */\n/* Made by generate.py from wire.json; do not edit. */\n'


def comment(text, indent=0):
    """A block comment of at most 120 columns."""
    pad = ' ' * indent
    if len(text) + indent + 6 <= 120:
        return f'{pad}/* {text} */'
    lines, line = [], f'{pad} *'
    for word in text.split():
        if len(line) + 1 + len(word) > 120:
            lines.append(line)
            line = f'{pad} *'
        line += ' ' + word
    return '\n'.join([f'{pad}/*'] + lines + [line, f'{pad} */'])


def declare(text, doc):
    """One declaration with its comment beside or above it."""
    line = f'    {text}'
    if not doc:
        return line
    beside = f'{line:<40}/* {doc} */' if len(line) < 40 else f'{line} /* {doc} */'
    return beside if len(beside) <= 120 else comment(doc, 4) + '\n' + line


def field_doc(f):
    about = []
    if f.names:
        about.append(('WIRE_FLAG_' if f.names.bits else 'WIRE_') + f.names.name.upper() + '_…')
    elif f.kind == 'strings':
        about.append('of texts')
    elif f.kind == 'list':
        about.append(f'of wire_{f.record.name}' if f.record else 'of u32')
    if f.range_text and f.const is None:
        about.append(f.range_text)
    return '; '.join(([f.doc] if f.doc else []) + about)


def constants(wire, out):
    out.append('enum wire_code {')
    out.append(declare('WIRE_OK = 0,', ''))
    out += [declare(f'WIRE_E_{e["name"]} = {e["code"]},', e['doc']) for e in wire.errors]
    out += ['};', '', 'enum wire_limit {']
    out += [declare(f'WIRE_LIMIT_{v["name"].upper()} = {v["default"]},', v['doc']) for v in wire.limits.values()]
    out += ['};', '', 'enum wire_capability {']
    out += [declare(f'WIRE_CAP_{c["name"]} = 1 << {c["bit"]},', c['doc']) for c in wire.capabilities]
    out += ['};', '']
    for e in wire.enums.values():
        out += [comment(e.doc), f'enum wire_{e.name} {{']
        out += [declare(f'WIRE_{e.name.upper()}_{n} = {v},', doc) for v, n, doc in e.items]
        out += ['};', '']
    for e in wire.flag_sets.values():
        out += [comment(e.doc), f'enum wire_flag_{e.name} {{']
        out += [declare(f'WIRE_FLAG_{e.name.upper()}_{n} = 1 << {v},', doc) for v, n, doc in e.items]
        out += ['};', '']
    out.append('enum wire_type_number {')
    out += [declare(f'WIRE_TYPE_{m.name} = {m.type:#06x},', '') for m in wire.messages]
    out += ['};', '']


def struct_record(r, out):
    out += [comment(r.doc), f'struct wire_{r.name} {{']
    out += [declare(f'{C_TYPES[f.kind]} {f.name};', field_doc(f)) for f in r.fields]
    out += ['};', f'WIRE_RECORD({r.name})', '']


def title(m):
    text = f'{m.type:#06x} {m.name}'
    if m.reply_to:
        text += f', reply to {m.reply_to}' + (f', kind {m.kind}' if m.kind else '')
    return comment(text + (f': {m.doc}' if m.doc else '') + ('; admin' if m.admin else ''))


def struct_message(m, out):
    low = m.name.lower()
    out.append(title(m))
    if m.tlvs:
        out.append('enum {')
        out += [f'    WIRE_{m.name}_HAS_{f.name.upper()} = 1 << {i},' for i, f in enumerate(m.tlvs)]
        out.append('};')
    out.append(f'struct wire_{low} {{')
    out += [declare(f'{C_TYPES[f.kind]} {f.name};', field_doc(f)) for f in m.fields]
    if m.tlvs:
        out.append(declare('uint64_t present;', f'WIRE_{m.name}_HAS_… of these, each a TLV:'))
        out += [declare(f'{C_TYPES[f.kind]} {f.name};', field_doc(f)) for f in m.tlvs]
    if not m.fields and not m.tlvs:
        out.append(declare('uint8_t nothing;', ''))
    out += ['};', f'WIRE_MESSAGE({low})', '']


def header(wire):
    out = [HEAD + '#pragma once', '', '/*',
           ' * Codes, limits, types and messages of the wire protocol, version %d.  How to decode and encode: codec.h.'
           % wire.protocol['version'],
           ' */', '', '#include "src/wire/codec.h"', '',
           f'#define WIRE_VERSION {wire.protocol["version"]}',
           '#define WIRE_MAGIC %#xu' % int.from_bytes(wire.protocol['magic'].encode(), 'little'), '']
    constants(wire, out)
    for r in wire.records.values():
        struct_record(r, out)
    for m in wire.messages:
        if not m.reserved:
            struct_message(m, out)
    count = len([m for m in wire.messages if not m.reserved])
    types = len([m for m in wire.messages if not m.reply_to and m.name != 'ERROR'])
    out += ['/* All of them, for tools and tests. */', f'#define WIRE_MESSAGE_COUNT {count}',
            'extern const struct wire_message *const wire_messages[WIRE_MESSAGE_COUNT];',
            f'#define WIRE_TYPE_COUNT {types}',
            'extern const struct wire_type wire_types[WIRE_TYPE_COUNT];      /* ascending */',
            f'#define WIRE_CODE_MAX {max(e["code"] for e in wire.errors)}',
            'struct wire_code_info { const char *name, *grpc; uint32_t http; };',
            'extern const struct wire_code_info wire_codes[WIRE_CODE_MAX + 1];']
    return '\n'.join(out) + '\n'


def bounds(f):
    """(integer minimum, maximum), (float minimum, maximum)"""
    top = {'u8': 0xff, 'u16': 0xffff, 'u32': 0xffffffff, 'u64': (1 << 64) - 1}.get(f.kind, 0xffffffff)
    if f.float:
        big = '1.7976931348623157e308'      # infinities are refused before
        return 0, 0, repr(float(f.minimum)) if f.minimum is not None else '-' + big, \
            repr(float(f.maximum)) if f.maximum is not None else big
    if f.const is not None:
        return f.const, f.const, '0', '0'
    return f.minimum or 0, top if f.maximum is None else f.maximum, '0', '0'


def wrap(parts):
    """One initialiser over as many lines of 120 columns as it takes."""
    lines, line = [], '    {'
    for part in parts:
        if len(line) + len(part) + 2 > 116:
            lines.append(line)
            line = '     '
        line += f' {part},'
    return '\n'.join(lines + [line[:-1] + ' },'])


def field_table(owner, fields, struct, wire, out, array):
    if not fields:
        return
    out.append(f'static const struct wire_field {array}[] = {{')
    for f in fields:
        low, high, flow, fhigh = bounds(f)
        flags = [n for on, n in ((f.limit, 'WIRE_FIELD_LIMIT'), (f.zero_ok, 'WIRE_FIELD_ZERO'),
                                 (f.const is not None, 'WIRE_FIELD_CONST'), (f.ids_when, 'WIRE_FIELD_IDS')) if on]
        kind = {'text': 'BYTES', 'bytes': 'BYTES', 'list': 'LIST', 'strings': 'STRINGS'}.get(f.kind, f.kind.upper())
        parts = [f'.name = "{f.name}"', f'.type = WIRE_{kind}', f'.offset = {f.tag or f.offset}',
                 f'.member = offsetof(struct {struct}, {f.name})']
        parts += [f'.float_minimum = {flow}', f'.float_maximum = {fhigh}'] if f.float else \
                 [f'.minimum = {low}u', f'.maximum = {high:#x}u']
        if flags:
            parts.append('.flags = ' + ' | '.join(flags))
        if f.names:
            parts.append(f'.names = &names_{"flag_" if f.names.bits else ""}{f.names.name}')
        if f.record:
            parts.append(f'.record = &wire_{f.record.name}_record')
        if f.total_limit:
            parts.append(f'.total_maximum = WIRE_LIMIT_{f.total_limit.upper()}')
        if f.item_limit:
            parts += [f'.item_minimum = {f.item_minimum}', f'.item_maximum = WIRE_LIMIT_{f.item_limit.upper()}']
        if f.ids_when:
            parts.append(f'.ids_when = {f.ids_when["value"]}')
        if f.same_count:
            at = next(i for i, g in enumerate(owner.fields) if g.name == f.same_count)
            parts.append(f'.same_count = &{array}[{at}]')
        out.append(wrap(parts))
    out += ['};', '']


def name_tables(wire, out):
    for e in list(wire.enums.values()) + list(wire.flag_sets.values()):
        symbol = ('flag_' if e.bits else '') + e.name
        out.append(f'static const struct wire_name items_{symbol}[] = {{')
        out += [f'    {{ {v}, "{n}" }},' for v, n, _ in e.items]
        out += ['};', f'static const struct wire_names names_{symbol} = {{',
                f'    "{e.name}", {str(e.bits).lower()}, {str(e.open).lower()}, {e.mask:#x}, {len(e.items)}, '
                f'items_{symbol},', '};', '']


def type_table(wire, out):
    out.append('const struct wire_type wire_types[WIRE_TYPE_COUNT] = {')
    for m in sorted((m for m in wire.messages if not m.reply_to and m.name != 'ERROR'), key=lambda m: m.type):
        flags = [n for on, n in ((m.sender in ('client', 'both'), '.from_client = true'),
                                 (m.sender in ('server', 'both'), '.from_server = true'),
                                 (m.admin, '.admin = true'), (m.reserved, '.reserved = true')) if on]
        out.append(f'    {{ {m.type:#06x}, "{m.name}", {", ".join(flags)},\n'
                   f'      .fds = {m.fds}, .since = {m.since} }},')
    out += ['};', '', 'const struct wire_code_info wire_codes[WIRE_CODE_MAX + 1] = {']
    out += [f'    [{e["code"]}] = {{ "{e["name"]}", "{e["grpc"]}", {e["http"]} }},' for e in wire.errors]
    out += ['};']


def source(wire):
    out = [HEAD + '#include "src/wire/wire_gen.h"', '']
    name_tables(wire, out)
    for r in wire.records.values():
        field_table(r, r.fields, f'wire_{r.name}', wire, out, f'fields_{r.name}')
        out += [f'const struct wire_record wire_{r.name}_record = {{',
                f'    .name = "{r.name}", .wire_bytes = {r.size}, .struct_bytes = sizeof(struct wire_{r.name}),',
                f'    .field_count = {len(r.fields)}, .references = {str(r.references).lower()}, '
                f'.fields = fields_{r.name},', '};', '']
    for m in (m for m in wire.messages if not m.reserved):
        low = m.name.lower()
        field_table(m, m.fields, f'wire_{low}', wire, out, f'fields_{low}')
        field_table(m, m.tlvs, f'wire_{low}', wire, out, f'tlvs_{low}')
        out += [f'const struct wire_message wire_{low}_message = {{',
                f'    .name = "{m.name}", .type = {m.type:#06x}, .kind = {m.kind},',
                f'    .fixed_bytes = {m.fixed}, .struct_bytes = sizeof(struct wire_{low}),',
                f'    .field_count = {len(m.fields)}, .tlv_count = {len(m.tlvs)},']
        if m.tlvs:
            out.append(f'    .present_member = offsetof(struct wire_{low}, present),')
        out += [f'    .fields = {"fields_" + low if m.fields else "NULL"},',
                f'    .tlvs = {"tlvs_" + low if m.tlvs else "NULL"},', '};',
                f'_Static_assert(sizeof(struct wire_{low}) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");', '']
    out.append('const struct wire_message *const wire_messages[WIRE_MESSAGE_COUNT] = {')
    out += [f'    &wire_{m.name.lower()}_message,' for m in wire.messages if not m.reserved]
    out += ['};', '']
    type_table(wire, out)
    return '\n'.join(out) + '\n'
