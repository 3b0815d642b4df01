# SPDX-License-Identifier: Apache-2.0
"""
Frames as JSON objects, in the form that `tenon raw` prints (src/wire/show.h), and back.

    python3 -m tenon.raw < lines-of-json > frames       the objects of the lines, as frames
    python3 -m tenon.raw --show < frames                the other way
"""

import json
import sys

from . import codec, wire_gen


def show_bytes(data):
    try:
        return data.decode('utf-8')
    except UnicodeDecodeError:
        return {'hex': data.hex()}


def show(f, v):
    if isinstance(v, str):
        return show_bytes(v.encode('utf-8', 'surrogateescape'))
    if isinstance(v, (bytes, bytearray)):
        return show_bytes(bytes(v))
    if f.names and f.names.bits:
        return [f.names.values.get(b, 1 << b) for b in range(32) if v >> b & 1]
    if f.names:
        return f.names.values.get(v, v)
    if isinstance(v, list) and f.record:
        return [{g.name: show(g, one[g.name]) for g in f.record.fields} for one in v]
    if isinstance(v, list):
        return [show(f, one) if isinstance(one, (str, bytes)) else one for one in v]
    if f.kind in ('f32', 'f64'):
        return float(f'{v:.9g}')
    return v


def to_json(header, payload):
    """A frame as a dict of JSON values."""
    message = codec.find(header, payload)
    known = message.name if message else wire_gen.RESERVED.get(header.type) or next(
        (m.name for m in wire_gen.MESSAGES.values() if m.type == header.type and not m.type & codec.REPLY), None)
    out = {'type': known or f'{header.type:#06x}'}
    if header.flags & codec.ERROR:
        out['of'] = f'{header.type:#06x}'
    out['request'] = header.request
    out['flags'] = [name for bit, name in codec.FLAG_NAMES.items() if header.flags & bit]
    out['fds'] = header.nfds
    if message:
        try:
            fields = codec.decode(message, payload)
            out['payload'] = {f.name: show(f, fields[f.name]) for f in message.fields + message.tlvs
                              if f.name in fields}
            return out
        except codec.WireError as e:
            out['fault'] = str(e)
    out['payload_hex'] = payload.hex()
    return out


def read_bytes(v):
    return bytes.fromhex(v['hex']) if isinstance(v, dict) else v.encode('utf-8', 'surrogateescape')


def read_names(f, v):
    numbers = {name: n for n, name in f.names.values.items()}
    if not f.names.bits:
        return v if isinstance(v, int) else numbers[v]
    if isinstance(v, int):
        return v
    return sum(one if isinstance(one, int) else 1 << numbers[one] for one in v)


def read(f, v):
    if f.names:
        return read_names(f, v)
    if f.kind in ('text', 'bytes'):
        return v if isinstance(v, list) else read_bytes(v)
    if f.kind == 'strings':
        return [read_bytes(one) for one in v]
    if f.record:
        return [read_fields(f.record.fields, one) for one in v]
    return v


def read_fields(fields, values):
    by_name = {f.name: f for f in fields}
    unknown = set(values) - set(by_name)
    if unknown:
        raise ValueError('no field ' + ', '.join(sorted(unknown)))
    return {name: read(by_name[name], v) for name, v in values.items()}


def type_number(text):
    if text.startswith('0x'):
        return int(text, 16)
    if text in wire_gen.MESSAGES:
        return wire_gen.MESSAGES[text].type
    for number, name in wire_gen.RESERVED.items():
        if name == text:
            return number
    raise ValueError(f'no message {text}')


def from_json(value):
    """The frame of such a dict.  Fields that are missing are 0 or empty."""
    numbers = {name: bit for bit, name in codec.FLAG_NAMES.items()}
    flags = sum(numbers[name] for name in value.get('flags', []))
    number = int(value['of'], 16) if 'of' in value else type_number(value['type'])
    if 'payload_hex' in value:
        payload = bytes.fromhex(value['payload_hex'])
    else:
        message = wire_gen.MESSAGES[value['type']]
        payload = codec.encode_payload(message, read_fields(message.fields + message.tlvs, value.get('payload', {})))
    header = codec.Header(len(payload), number, flags, value.get('fds', 0), value.get('request', 0))
    return codec.encode_header(header) + payload


def show_stream(source, target):
    while True:
        head = source.read(codec.HEADER_BYTES)
        if not head:
            return
        header = codec.decode_header(head, wire_gen.LIMITS['frame_client'])
        print(json.dumps(to_json(header, source.read(header.length)), ensure_ascii=False), file=target, flush=True)


def main(arguments):
    try:
        if arguments == ['--show']:
            show_stream(sys.stdin.buffer, sys.stdout)
        elif not arguments:
            for line in sys.stdin:
                if line.strip():
                    sys.stdout.buffer.write(from_json(json.loads(line)))
                    sys.stdout.buffer.flush()
        else:
            print(__doc__.strip(), file=sys.stderr)
            return 2
    except (ValueError, KeyError, TypeError, codec.WireError) as e:
        print(f'tenon.raw: {e}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
