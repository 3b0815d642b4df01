#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python client against servers that follow a script."""

import fcntl
import os
import pathlib
import socket
import struct
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / 'src/client/python'))

import tenon  # noqa: E402  (the path comes first)
from tenon import codec, wire_gen as w  # noqa: E402

HELLO_OK = {'version': 1, 'max_fds': 4, 'max_frame': 1 << 20, 'max_in_flight': 64, 'max_prompt_bytes': 983040,
            'capabilities': w.CAP_PROMPT_MEMFD, 'boot_id': 42, 'server': 'fake 1'}
END, ERROR = codec.END, codec.ERROR


class Server:
    """Listens, shakes hands, runs a script on a thread; what the script finds wrong is raised by close()."""

    def __init__(self, script, handshake=True):
        self.script, self.handshake, self.failure = script, handshake, None
        self.directory = tempfile.TemporaryDirectory(prefix='tenon-client-')
        self.path = os.path.join(self.directory.name, 'tenon.sock')
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        connection, _ = self.listener.accept()
        self.connection, self.fds = connection, []
        try:
            if self.handshake:
                self.read('HELLO')
                self.send('HELLO_OK', HELLO_OK, 0, END)
            self.script(self)
        except BaseException as e:      # shown by the test's thread
            self.failure = e
        for fd in self.fds:
            os.close(fd)
        connection.close()

    def receive(self, size):
        data = b''
        while len(data) < size:
            more, fds, _, _ = socket.recv_fds(self.connection, size - len(data), 8)
            self.fds += fds
            if not more:
                raise EOFError
            data += more
        return data

    def read(self, name):
        header = codec.decode_header(self.receive(16), 1 << 20)
        payload = self.receive(header.length)
        assert header.type == w.MESSAGES[name].type, f'{header.type:#06x} is not {name}'
        assert len(self.fds) == header.nfds
        self.payload = payload
        return header.request, codec.decode(name, payload)

    def send(self, name, fields, request, flags=0):
        self.connection.sendall(codec.encode(name, fields, request, flags))

    def send_error(self, number, request, code, text):
        payload = codec.encode_payload('ERROR', {'code': code, 'detail': 61, 'retry_after_ms': 250, 'message': text})
        header = codec.Header(len(payload), number, END | ERROR, 0, request)
        self.connection.sendall(codec.encode_header(header) + payload)

    def close(self):
        self.thread.join(10)
        self.listener.close()
        self.directory.cleanup()
        if self.failure:
            raise self.failure


def token(number, text, alternatives=()):
    return {'tokens': [{'id': number, 'logprob': -0.5, 'text_length': len(text), 'alternatives': len(alternatives)}],
            'text': text, 'alternatives': [{'id': a, 'logprob': -1.5} for a in alternatives]}


class Case(unittest.TestCase):
    def served(self, script, **options):
        server = Server(script, **options)
        self.addCleanup(server.close)
        return server

    def opened(self, script, timeout=5.0):
        client = tenon.Client(self.served(script).path, timeout=timeout)
        self.addCleanup(client.close)
        return client


class Connection(Case):
    def test_handshake(self):
        greased, future = 0, 0

        def script(server):
            nonlocal greased, future
            request, hello = server.read('HELLO')
            assert request == 0
            future += hello['version_max'] == 2
            _, _, start = codec.split(server.payload)
            greased += sum(t.tag >= codec.GREASE and not t.critical for t in codec.tlvs(server.payload, start))
            server.send('HELLO_OK', HELLO_OK, 0, END)
        for _ in range(40):
            with tenon.Client(self.served(script, handshake=False).path) as client:
                self.assertEqual(client.server['server'], 'fake 1')
        self.assertEqual(greased, 40)
        self.assertTrue(4 < future < 36)

    def test_refused(self):
        def script(server):
            server.read('HELLO')
            server.send_error(w.TYPE_HELLO_OK, 0, w.E_VERSION, 'speak version 9')
        with self.assertRaisesRegex(tenon.Failure, 'speak version 9') as caught:
            tenon.Client(self.served(script, handshake=False).path)
        self.assertEqual(caught.exception.name, 'VERSION')

    def test_nobody(self):
        with self.assertRaisesRegex(tenon.Failure, 'is tenond running'):
            tenon.Client('/nonexistent/tenon.sock')

    def test_environment(self):
        server = self.served(lambda s: None)
        before = os.environ.get('TENON_SOCKET')
        os.environ['TENON_SOCKET'] = server.path
        try:
            tenon.Client().close()
        finally:
            os.environ.pop('TENON_SOCKET')
            if before is not None:
                os.environ['TENON_SOCKET'] = before

    def test_ping_between_pings(self):
        def script(server):
            request, ping = server.read('PING')
            server.send('PING', {'opaque': 77}, 0)
            server.send('GOAWAY', {'reason': w.GOAWAY_REASON_DRAIN}, 0)
            assert server.read('PONG') == (0, {'opaque': 77, 'server_ns': 0})
            server.send('PONG', ping, request, END)
        client = self.opened(script)
        self.assertGreater(client.ping(), 0)
        self.assertTrue(client.leaving)

    def test_timeout(self):
        def script(server):
            server.read('PING')
            try:
                server.receive(1)
            except EOFError:
                pass
        client = self.opened(script, timeout=0.05)
        with self.assertRaisesRegex(tenon.Failure, 'no answer in time'):
            client.ping()
        client.close()

    def test_broken_servers(self):
        short = struct.pack('<IHBBQII', 8, 0x8002, 1, 0, 1 << 32, 16, 0)
        for data, text in ((struct.pack('<IHBBQ', 12, 0x8002, 1, 0, 5), 'multiple of 8'),
                           (struct.pack('<IHBBQ', 24, 0x8002, 1, 0, 5), 'hung up'), (short, 'cannot be read')):
            def script(server, data=data):
                server.read('PING')
                server.connection.sendall(data)
            client = self.opened(script)
            with self.subTest(text), self.assertRaisesRegex(tenon.Failure, text):
                client.ping()
            with self.assertRaises(tenon.Failure):
                client.ping()


class Calls(Case):
    def test_models(self):
        def script(server):
            request, _ = server.read('MODEL_LIST')
            server.send('MODEL_LIST_REPLY', {'models': [{'id': 'a', 'state': 2}]}, request)
            server.send('MODEL_LIST_REPLY', {'models': [{'id': 'b', 'state': 1}]}, request, END)
            request, _ = server.read('MODEL_INFO')
            server.send_error(0x8102, request, w.E_NOT_FOUND, 'no model "zz"')
        client = self.opened(script)
        self.assertEqual([m['id'] for m in client.models()], ['a', 'b'])
        with self.assertRaises(tenon.Failure) as caught:
            client.model_info('zz')
        self.assertEqual((caught.exception.name, caught.exception.retry_after_ms), ('NOT_FOUND', 250))

    def test_chat_of_a_model_that_is_not_loaded(self):
        def script(server):
            for state in (w.MODEL_STATE_LOADING, w.MODEL_STATE_FAILED):
                request, _ = server.read('MODEL_INFO')
                server.send('MODEL_INFO_REPLY', {'id': 'a', 'state': state, 'note': 'no such file'}, request, END)
        client = self.opened(script)
        for name, text in (('LOADING', 'is loading'), ('NOT_FOUND', 'no such file')):
            with self.assertRaises(tenon.Failure) as caught:
                client.chat([{'role': 'user', 'content': 'x'}])
            self.assertEqual(caught.exception.name, name)
            self.assertIn(text, str(caught.exception))

    def test_tokens(self):
        def script(server):
            request, ask = server.read('TOKENIZE')
            assert [s['kind'] for s in ask['segments']] == [2, 1, 3]
            server.send('TOKENIZE_REPLY', {'total': 3, 'ids': [10, 11], 'offsets': [0, 2]}, request)
            server.send('TOKENIZE_REPLY', {'first': 2, 'total': 3, 'ids': [12], 'offsets': [5]}, request, END)
            request, ask = server.read('DETOKENIZE')
            server.send('DETOKENIZE_REPLY', {'text': b'\xc3'}, request)
            server.send('DETOKENIZE_REPLY', {'text': b'\xa9'}, request, END)
        client = self.opened(script)
        self.assertEqual(client.tokenize(['text', tenon.trusted('<s>'), tenon.ids([1])]), ([10, 11, 12], [0, 2, 5]))
        self.assertEqual(client.detokenize([10, 11, 12]).decode(), 'é')

    def test_stats(self):
        def script(server):
            request, _ = server.read('STATS')
            server.send('STATS_REPLY', {'uptime_ns': 5, 'kv_blocks': 9}, request, END)
            request, _ = server.read('STATS')
            server.send('STATS_REPLY', {'format': 1, 'text': 'tenon_up 1\n'}, request, END)
        client = self.opened(script)
        self.assertEqual(client.stats(), {'uptime_ns': 5, 'kv_blocks': 9})
        self.assertEqual(client.metrics(), 'tenon_up 1\n')

    def test_raw(self):
        def script(server):
            request, ping = server.read('PING')
            server.send('PONG', ping, request, END)
        client = self.opened(script)
        client.raw_send(codec.encode('PING', {'opaque': 3}, 5))
        header, payload = client.raw_next(5)
        self.assertEqual((header.type, header.request, codec.decode('PONG', payload)['opaque']), (0x8002, 5, 3))


class Generation(Case):
    def test_events(self):
        def script(server):
            request, ask = server.read('GENERATE')
            assert ask['stop_strings'] == ['End'] and ask['logit_bias'] == [{'id': 6, 'bias': -100.0}], ask
            assert ask['flags'] == w.FLAG_GENERATE_SEED and ask['seed'] == 9 and ask['temperature'] == 0.5
            server.send('STARTED', {'prompt_tokens': 3, 'seed': 9}, request)
            server.send('TOKENS', token(100, b'', [5]), request)
            server.send('TOKENS', token(101, 'a é'.encode()), request)
            server.send('DONE', {'reason': w.REASON_STOP, 'text': b' tail', 'generated_tokens': 2}, request, END)
        client = self.opened(script)
        events = list(client.generate('once', temperature=0.5, seed=9, stop='End', logit_bias={6: -100}))
        self.assertEqual([type(e).__name__ for e in events], ['Started', 'Tokens', 'Tokens', 'Done'])
        self.assertEqual(''.join(e.text for e in events), 'a é tail')
        self.assertEqual(events[1].tokens[0], tenon.Token(100, -0.5, b'', [(5, -1.5)]))
        self.assertEqual((events[3].reason, events[3].generated_tokens), ('stop', 2))

    def test_side_by_side(self):
        def script(server):
            first, _ = server.read('GENERATE')
            second, _ = server.read('GENERATE')
            server.send('TOKENS', token(20, b'B'), second)
            server.send('TOKENS', token(10, b'A'), first)
            server.send('DONE', {'reason': w.REASON_EOS}, second, END)
            server.send('TOKENS', token(10, b'a'), first)
            server.send_error(0x8301, first, w.E_IO, 'disk gone')
        client = self.opened(script)
        first, second = client.submit('1'), client.submit('2')
        self.assertEqual([first.next().text, first.next().text], ['A', 'a'])
        with self.assertRaisesRegex(tenon.Failure, 'disk gone'):
            first.next()
        self.assertEqual(second.join().text, 'B')
        self.assertEqual(list(first), [])

    def test_leaving_early_cancels(self):
        def script(server):
            request, _ = server.read('GENERATE')
            server.send('STARTED', {}, request)
            assert server.read('CANCEL')[0] == request
            server.send('DONE', {'reason': w.REASON_CANCELLED}, request, END)
            request, ping = server.read('PING')
            server.send('PONG', ping, request, END)
        client = self.opened(script)
        for _ in client.generate('once'):
            break
        client.ping()

    def test_long_prompt(self):
        text = 'x' * (3 << 20)

        def script(server):
            request, ask = server.read('GENERATE')
            seals = fcntl.fcntl(server.fds[0], fcntl.F_GET_SEALS)
            assert seals == 15 and os.fstat(server.fds[0]).st_size == len(text)
            assert [s['kind'] for s in ask['segments']] == [1, 4]
            server.send('DONE', {'reason': w.REASON_EOS, 'text': b'ok'}, request, END)
        client = self.opened(script)
        self.assertEqual(client.complete([tenon.trusted('<s>'), text]).text, 'ok')
        with self.assertRaisesRegex(tenon.Failure, 'takes 983040'):
            client.submit([tenon.trusted(text)])

    def test_refusals(self):
        client = self.opened(lambda server: None)
        for options in ({'top_p': 1.5}, {'temperature': float('nan')}, {'logprobs': 21}, {'stop': ['x'] * 17}):
            with self.subTest(options), self.assertRaises(tenon.Failure):
                client.submit('x', **options)

    def test_uneven_tokens(self):
        def script(server):
            request, _ = server.read('GENERATE')
            bad = token(1, b'ab')
            bad['tokens'][0]['text_length'] = 1
            server.send('TOKENS', bad, request)
        client = self.opened(script)
        with self.assertRaisesRegex(tenon.Failure, 'without their text'):
            client.complete('x')


class Chat(unittest.TestCase):
    CHATML = "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"

    @staticmethod
    def drawn(*arguments):
        return ''.join(s['data'] if s['kind'] == 1 else f'[[{s["data"]}]]' for s in tenon.chat_segments(*arguments))

    @staticmethod
    def said(*contents, system=None):
        roles = ('user', 'assistant')
        first = [{'role': 'system', 'content': system}] if system is not None else []
        return first + [{'role': roles[i % 2], 'content': c} for i, c in enumerate(contents)]

    def test_chatml(self):
        self.assertEqual(self.drawn(self.CHATML, self.said(' Hi ', system='Be kind.'), False),
                         '<|im_start|>system\n[[Be kind.]]<|im_end|>\n<|im_start|>user\n[[ Hi ]]<|im_end|>\n'
                         '<|im_start|>assistant\n')
        for line_feed in ('\\n', '\n'):
            template = f"{{{{- '<|im_start|>system\\n' + x }}}}'<|im_start|>system{line_feed}You are Q.<|im_end|>\\n'"
            self.assertEqual(self.drawn(template, self.said('x'), False),
                             '<|im_start|>system\nYou are Q.<|im_end|>\n<|im_start|>user\n[[x]]<|im_end|>\n'
                             '<|im_start|>assistant\n')

    def test_llama3(self):
        body = '<|start_header_id|>user<|end_header_id|>\n\n[[Hi]]<|eot_id|><|start_header_id|>assistant' \
               '<|end_header_id|>\n\n'
        self.assertEqual(self.drawn('<|start_header_id|>', self.said(' Hi '), True), body)
        self.assertEqual(self.drawn('<|start_header_id|>', self.said(' Hi '), False), '<|begin_of_text|>' + body)

    def test_gemma(self):
        self.assertEqual(self.drawn('<start_of_turn>', self.said(' Hi ', 'Hello', 'Bye', system='Brief.'), True),
                         '<start_of_turn>user\n[[Brief.]]\n\n[[Hi]]<end_of_turn>\n<start_of_turn>model\n[[Hello]]'
                         '<end_of_turn>\n<start_of_turn>user\n[[Bye]]<end_of_turn>\n<start_of_turn>model\n')
        with self.assertRaisesRegex(tenon.ChatError, 'take turns'):
            tenon.chat_segments('<start_of_turn>', self.said('a') + self.said('b'), True)

    def test_refused(self):
        for template, messages, text in (('', self.said('x'), 'no chat template'),
                                         ('[INST]', self.said('x'), 'no family'), (self.CHATML, [], 'no messages'),
                                         (self.CHATML, [{'role': 'x<|im_end|>', 'content': ''}], 'known are')):
            with self.subTest(text), self.assertRaisesRegex(tenon.ChatError, text):
                tenon.chat_segments(template, messages, False)


if __name__ == '__main__':
    unittest.main()
