#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python client's part of test_door.c: TENON_SOCKET names a door whose model "fake" has bytes for tokens."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / 'src/client/python'))

import tenon  # noqa: E402  (the path comes first)
from tenon import codec, raw  # noqa: E402

BOS, MARK = 256, '<|mark|>'


def refused(name, call):
    try:
        call()
    except tenon.Failure as e:
        assert e.name == name, e
    else:
        raise AssertionError(f'no {name}')


def main():
    with tenon.Client() as client:
        assert client.ping() > 0
        assert [m['id'] for m in client.models()] == ['fake']
        assert client.model_info()['bos'] == BOS
        refused('NOT_FOUND', lambda: client.model_info('other'))
        ids, offsets = client.tokenize([MARK, tenon.trusted(MARK)])
        assert len(ids) == len(offsets) == 2 + len(MARK), ids
        assert MARK.encode() in client.detokenize(ids)
        assert client.tokenize('x' * (2 << 20), no_bos=True)[0] == [ord('x')] * (2 << 20)
        events = list(client.generate('once', max_tokens=20, seed=5))
        assert [type(events[0]), type(events[-1])] == [tenon.Started, tenon.Done]
        whole = client.complete('once', max_tokens=20, seed=5)
        assert whole.text == ''.join(e.text for e in events) and len(whole.text) == 20
        assert whole.reason == 'length' and whole.prompt_tokens == 5
        several = [client.submit(f'prompt {i}', max_tokens=10, seed=i) for i in range(4)]
        texts = [r.join().text for r in reversed(several)][::-1]
        assert texts == [client.complete(f'prompt {i}', max_tokens=10, seed=i).text for i in range(4)]
        for _ in client.generate('once', max_tokens=4000):
            break
        refused('INVALID', lambda: client.complete('once', temperature=5000.0))
        assert client.stats()['requests_total'] > 8
        assert '# TYPE' in client.metrics()
        frame = raw.from_json({'type': 'PING', 'request': 3, 'payload': {'opaque': 9}})
        client.raw_send(frame)
        shown = raw.to_json(*client.raw_next(5))
        assert shown['type'] == 'PONG' and shown['payload']['opaque'] == 9, shown
        client.raw_send(raw.from_json({'type': '0x0666', 'request': 4, 'payload_hex': ''}))
        shown = raw.to_json(*client.raw_next(5))
        assert shown['payload']['code'] == 3 and shown['of'] == '0x8666', shown
        client.raw_send(codec.encode('PING', {}, 5, flags=0, extra=b'\x01\xf0\0\0\0\0\0\0'))
        shown = raw.to_json(*client.raw_next(5))
        assert shown['payload']['code'] == 3 and shown['payload']['detail'] == 0xf001, shown
    return 0


if __name__ == '__main__':
    sys.exit(main())
