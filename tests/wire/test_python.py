#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python codec against vectors.json, and JSON forms there and back."""

import json
import pathlib
import random
import struct
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / 'src/client/python'))

from tenon import codec, raw, wire_gen  # noqa: E402  (the path comes first)

VECTORS = json.loads((ROOT / 'tests/wire/vectors.json').read_text(encoding='utf-8'))['vectors']


def read(frame):
    header = codec.decode_header(frame[:16], wire_gen.LIMITS['frame_client'])
    payload = frame[16:]
    message = codec.find(header, payload)
    if message is None:
        raise codec.WireError(wire_gen.E_INVALID, 8, 'a kind of reply that does not exist')
    return header, message, codec.decode(message, payload)


class Vectors(unittest.TestCase):
    def test_vectors(self):
        for v in VECTORS:
            with self.subTest(v['name']):
                frame = bytes.fromhex(v['frame'])
                if v.get('error'):
                    with self.assertRaises(codec.WireError) as caught:
                        read(frame)
                    self.assertEqual((caught.exception.code, caught.exception.detail), (v['error'], v['detail']))
                    continue
                header, message, fields = read(frame)
                if 'json' in v:
                    self.assertEqual(raw.to_json(header, frame[16:]), json.loads(v['json']))
                if v['canonical']:
                    again = codec.encode(message, fields, header.request, header.flags, header.nfds)
                    self.assertEqual(again, frame)

    def test_json_back(self):
        """What `tenon raw` shows can be sent again, byte by byte."""
        for v in VECTORS:
            if v['canonical']:
                with self.subTest(v['name']):
                    self.assertEqual(raw.from_json(json.loads(v['json'])).hex(), v['frame'])

    def test_json_of_the_unreadable(self):
        """Frames that cannot be decoded survive the way through JSON too."""
        for v in VECTORS:
            if v.get('error') in (None, wire_gen.E_PROTOCOL):
                continue
            with self.subTest(v['name']):
                frame = bytes.fromhex(v['frame'])
                header = codec.decode_header(frame[:16], 1 << 20)
                shown = raw.to_json(header, frame[16:])
                self.assertIn('payload_hex', shown)
                self.assertEqual(raw.from_json(shown), frame)

    def test_unknown_type(self):
        frame = struct.pack('<IHBBQ', 8, 0x0666, codec.SKIP, 0, 5) + b'\1' * 8
        shown = raw.to_json(codec.decode_header(frame[:16], 64), frame[16:])
        self.assertEqual(shown, {'type': '0x0666', 'request': 5, 'flags': ['SKIP'], 'fds': 0,
                                 'payload_hex': '01' * 8})
        self.assertEqual(raw.from_json(shown), frame)


class Limits(unittest.TestCase):
    """The encoder refuses what the decoder would."""

    def refused(self, code, message, **fields):
        with self.assertRaises(codec.WireError) as caught:
            codec.encode(message, fields)
        self.assertEqual(caught.exception.code, code)

    def test_encoder(self):
        text = [{'kind': 2, 'data': 'x'}]
        self.refused(wire_gen.E_INVALID, 'GENERATE', segments=[])
        self.refused(wire_gen.E_INVALID, 'GENERATE', segments=text, top_p=1.5)
        self.refused(wire_gen.E_INVALID, 'GENERATE', segments=text, temperature=1e-9)
        self.refused(wire_gen.E_INVALID, 'GENERATE', segments=text, max_tokens=-1)
        self.refused(wire_gen.E_INVALID, 'GENERATE', segments=text, max_tokens=1 << 32)
        self.refused(wire_gen.E_INVALID, 'GENERATE', segments=text, colour='red')
        self.refused(wire_gen.E_INVALID, 'GENERATE', segments=[{'kind': 9}])
        self.refused(wire_gen.E_LIMIT, 'GENERATE', segments=text, n_logprobs=21)
        self.refused(wire_gen.E_LIMIT, 'GENERATE', segments=text, stop_strings=['x'] * 17)
        self.refused(wire_gen.E_LIMIT, 'GENERATE', segments=text, stop_strings=['x' * 257])
        self.refused(wire_gen.E_LIMIT, 'GENERATE', segments=text, grammar='x' * 65537)
        self.refused(wire_gen.E_LIMIT, 'GENERATE', segments=[{'kind': 2, 'data': bytes(983041)}])
        self.refused(wire_gen.E_LIMIT, 'GENERATE', segments=text * 4097)
        self.refused(wire_gen.E_UNSUPPORTED, 'GENERATE', segments=text, flags=1 << 31)


class Damage(unittest.TestCase):
    def test_damaged_frames(self):
        """Random damage gives WireError or a dict, nothing else."""
        rng = random.Random(1)
        good = [bytes.fromhex(v['frame']) for v in VECTORS if not v.get('error')]
        for _ in range(3000):
            frame = bytearray(rng.choice(good))
            for _ in range(rng.randint(1, 4)):
                if len(frame) > 16:
                    frame[rng.randrange(16, len(frame))] = rng.choice((0, 1, 8, 0x7f, 0x80, 0xff))
            if rng.random() < 0.3:
                del frame[16 + rng.randrange(len(frame) - 15):]
            try:
                read(bytes(frame))
            except codec.WireError as e:
                self.assertIn(e.code, wire_gen.ERRORS)


if __name__ == '__main__':
    unittest.main()
