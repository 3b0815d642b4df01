# SPDX-License-Identifier: Apache-2.0
"""The connection: blocking, several requests in flight, one thread at a time."""

import collections
import errno
import fcntl
import os
import random
import select
import socket
import struct
import time

from . import codec, wire_gen as w
from .chat import chat_segments

SYSTEM_SOCKET = '/run/tenon/tenon.sock'
RAW_COOKIE_END = 1 << 32

Token = collections.namedtuple('Token', 'id logprob text alternatives')
Started = collections.namedtuple('Started', 'prompt_tokens cached_tokens queue_ns seed text')
Tokens = collections.namedtuple('Tokens', 'tokens data text')
Done = collections.namedtuple('Done', 'reason text data prompt_tokens cached_tokens generated_tokens queue_ns '
                                      'prefill_ns decode_ns')


class Failure(Exception):
    """code: one of wire_gen.E_… for the server's answers; None: the connection itself (then it is of no more use)."""

    def __init__(self, message, code=None, detail=0, retry_after_ms=0):
        super().__init__(message)
        self.code, self.detail, self.retry_after_ms = code, detail, retry_after_ms

    @property
    def name(self):
        return w.ERRORS[self.code][0] if self.code in w.ERRORS else 'CONNECTION' if self.code is None else 'INTERNAL'


def trusted(text):
    """A segment whose special tokens become themselves: templates, never what a user typed."""
    return {'kind': w.SEGMENT_KIND_TRUSTED_TEXT, 'data': text}


def untrusted(text):
    """A segment in which text is only text."""
    return {'kind': w.SEGMENT_KIND_UNTRUSTED_TEXT, 'data': text}


def ids(values):
    """A segment of token ids."""
    return {'kind': w.SEGMENT_KIND_TOKEN_IDS, 'data': list(values)}


def segments_of(prompt):
    if isinstance(prompt, (str, bytes)):
        return [untrusted(prompt)]
    return [untrusted(p) if isinstance(p, (str, bytes)) else dict(p) for p in prompt]


def memfd_of(data):
    fd = os.memfd_create('tenon-prompt', os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with os.fdopen(os.dup(fd), 'wb') as f:
        f.write(data)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL)
    return fd


def grease():
    """A TLV that no server knows, so that servers which choke on unknown ones are found early."""
    data = random.randbytes(random.randint(0, 16))
    return struct.pack('<HHI', codec.GREASE + random.randrange(0x1000), 0, len(data)) + data + \
        bytes(codec.padding(len(data), 8))


def connect(path, timeout):
    """A connected socket; @path None: $TENON_SOCKET, /run/tenon/tenon.sock, $XDG_RUNTIME_DIR/tenon.sock."""
    named = path or os.environ.get('TENON_SOCKET')
    runtime = os.environ.get('XDG_RUNTIME_DIR')
    places = [named] if named else [SYSTEM_SOCKET] + ([os.path.join(runtime, 'tenon.sock')] if runtime else [])
    for place in places:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.settimeout(timeout)
        try:
            s.connect(place)
            return s
        except OSError as e:
            s.close()
            if e.errno in (errno.ENOENT, errno.ECONNREFUSED) and place != places[-1]:
                continue
            advice = '; join the group tenon-clients' if e.errno == errno.EACCES else \
                '; is tenond running? TENON_SOCKET names another socket'
            raise Failure(f'{" or ".join(places)}: {e.strerror or e}{advice}') from None
    raise AssertionError('there is always a place to look')


class Request:
    """A GENERATE in flight.  Iterating gives Started, Tokens…, Done; an error of the server is raised as Failure."""

    def __init__(self, client, cookie):
        self.client, self.cookie, self.ended = client, cookie, False

    def __iter__(self):
        return self

    def __next__(self):
        if self.ended:
            raise StopIteration
        return self.next()

    def next(self, timeout=None):
        """The next event; @timeout in seconds, TimeoutError leaves all whole."""
        header, payload = self.client._next(self.cookie, timeout)
        self.ended = bool(header.flags & codec.END)
        if self.ended:
            self.client._flight.pop(self.cookie, None)
        if header.flags & codec.ERROR:
            raise self.client._failure(payload)
        message = codec.find(header, payload)
        fields = self.client._decode(message, payload)
        if message is w.MESSAGES['STARTED'] and not self.ended:
            return Started(fields['prompt_tokens'], fields['cached_tokens'], fields['queue_ns'], fields['seed'], '')
        if message is w.MESSAGES['TOKENS'] and not self.ended:
            return self.tokens(fields)
        if message is w.MESSAGES['DONE'] and self.ended:
            return self.done(fields)
        raise self.client._broken(f'the server answered GENERATE with type {header.type:#06x}')

    def tokens(self, fields):
        at = alternative = 0
        out = []
        for t in fields['tokens']:
            end, last = at + t['text_length'], alternative + t['alternatives']
            best = [(a['id'], a['logprob']) for a in fields['alternatives'][alternative:last]]
            out.append(Token(t['id'], t['logprob'], fields['text'][at:end], best))
            at, alternative = end, last
        if (out and at != len(fields['text'])) or alternative != len(fields['alternatives']):
            raise self.client._broken('the server sent tokens without their text')
        return Tokens(out, fields['text'], fields['text'].decode('utf-8', 'replace'))

    @staticmethod
    def done(fields):
        reason = w.ENUMS['reason'].values.get(fields['reason'], str(fields['reason'])).lower()
        return Done(reason, fields['text'].decode('utf-8', 'replace'), fields['text'],
                    *(fields[n] for n in ('prompt_tokens', 'cached_tokens', 'generated_tokens', 'queue_ns', 'prefill_ns',
                                          'decode_ns')))

    def cancel(self):
        """The request still ends with its Done, soon."""
        if not self.ended:
            self.client._send(codec.encode('CANCEL', {}, self.cookie))

    def grant(self, credits):
        if not self.ended:
            self.client._send(codec.encode('GRANT', {'credits': credits}, self.cookie))

    def join(self):
        """Waits for the end; a Done whose text and data are the whole answer."""
        data = b''
        for event in self:
            data += getattr(event, 'data', b'')
        return event._replace(text=data.decode('utf-8', 'replace'), data=data)


class Client:
    def __init__(self, path=None, name='tenon.py', timeout=30.0):
        """@timeout: seconds that any answer but tokens may take."""
        self.timeout, self.leaving = timeout, False
        self._flight = {}               # cookie -> frames that came while another was waited for
        self._in, self._raw, self._broken_by = bytearray(), None, None
        self._cookie = RAW_COOKIE_END
        self._socket = connect(path, timeout)
        try:
            self.server = self._handshake(name)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Cancels what is in flight."""
        self._socket.close()
        self._broken_by = 'the connection is closed'

    def fileno(self):
        return self._socket.fileno()

    # ---- bytes and frames ----

    def _broken(self, text):
        self._broken_by = text
        return Failure(text)

    def _send(self, data, fds=()):
        if self._broken_by:
            raise Failure(self._broken_by)
        try:
            sent = socket.send_fds(self._socket, [data], list(fds)) if fds else 0
            if sent < len(data):
                self._socket.sendall(data[sent:])
        except socket.timeout:
            raise self._broken('the server takes no bytes') from None
        except OSError as e:
            raise Failure(f'the server hung up: {e.strerror}') from None

    def _take(self):
        """A whole frame out of what was read, or None."""
        if len(self._in) < codec.HEADER_BYTES:
            return None
        try:
            header = codec.decode_header(bytes(self._in[:16]), w.LIMITS['frame_server'])
        except codec.WireError as e:
            raise self._broken(f'the server sent a {e.problem}') from None
        size = codec.HEADER_BYTES + header.length
        if len(self._in) < size:
            return None
        payload = bytes(self._in[16:size])
        del self._in[:size]
        return header, payload

    def _read(self, deadline):
        """Waits for bytes; TimeoutError at @deadline (None: never)."""
        if self._broken_by:
            raise Failure(self._broken_by)
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        if not poll.poll(None if left is None else left * 1000):
            raise TimeoutError('no answer in time')
        try:
            data = self._socket.recv(1 << 16)
        except OSError as e:
            raise self._broken(f'the server hung up: {e.strerror}') from None
        if not data:
            raise self._broken('the server hung up')
        self._in += data

    def _control(self, header, payload):
        """A frame with request 0: PING, GOAWAY, a framing error of ours."""
        if header.flags & codec.ERROR:
            failure = self._failure(payload)
            self._broken_by = str(failure)
            raise failure
        if header.type == w.TYPE_PING:
            self._send(codec.encode('PONG', {'opaque': self._decode('PING', payload)['opaque']}, 0))
        elif header.type == w.TYPE_GOAWAY:
            self.leaving = True

    def _next(self, cookie, timeout):
        """The next frame of a request (RAW: one below RAW_COOKIE_END)."""
        deadline = None if timeout is None else time.monotonic() + timeout
        queue = self._raw if cookie is None else self._flight[cookie]
        while not queue:
            frame = self._take()
            if frame is None:
                self._read(deadline)
                continue
            header, payload = frame
            if self._raw is not None and header.request < RAW_COOKIE_END and header.type != w.TYPE_PING:
                self._raw.append(frame)
            if header.request == 0:
                self._control(header, payload)
            elif header.request in self._flight:
                self._flight[header.request].append(frame)
        return queue.popleft()

    def _decode(self, message, payload):
        try:
            return codec.decode(message, payload) if message else {}
        except codec.WireError as e:
            raise self._broken(f'the server sent what cannot be read: {e}') from None

    def _failure(self, payload):
        e = self._decode('ERROR', payload)
        return Failure(e['message'], e['code'] if e['code'] in w.ERRORS else w.E_INTERNAL, e['detail'],
                       e['retry_after_ms'])

    def _handshake(self, name):
        hello = {'version_min': 1, 'version_max': w.VERSION + random.randrange(2), 'client': name,
                 'max_frame': w.LIMITS['frame_server'],
                 'capabilities': w.CAP_PROMPT_MEMFD | w.CAP_CREDITS | w.CAP_GRAMMAR | w.CAP_LOGIT_BIAS}
        try:
            self._send(codec.encode('HELLO', hello, 0, extra=grease()))
        except Failure:
            pass                        # one that hangs up may have said why
        deadline = time.monotonic() + self.timeout
        while (frame := self._take()) is None:
            self._read(deadline)
        header, payload = frame
        if header.flags & codec.ERROR:
            raise self._failure(payload)
        if header.type != w.TYPE_HELLO_OK:
            raise self._broken(f'the server answered HELLO with type {header.type:#06x}: is this tenond?')
        server = self._decode('HELLO_OK', payload)
        if server['version'] != w.VERSION:
            raise self._broken(f'the server chose version {server["version"]}, this client speaks {w.VERSION}')
        return server

    def _start(self, message, fields, fds=()):
        cookie = self._cookie
        try:
            data = codec.encode(message, fields, cookie, nfds=len(fds))
        except codec.WireError as e:
            raise Failure(str(e), e.code, e.detail) from None
        if len(data) - codec.HEADER_BYTES > self.server['max_frame']:
            raise Failure(f'{message} of {len(data)} bytes; the server takes {self.server["max_frame"]}', w.E_LIMIT)
        self._send(data, fds)
        self._cookie += 1
        self._flight[cookie] = collections.deque()
        return cookie

    def call(self, message, fields=None, fds=()):
        """Any request of the protocol: a list of its replies as dicts."""
        cookie = self._start(message, fields or {}, fds)
        replies, end = [], False
        try:
            while not end:
                header, payload = self._next(cookie, self.timeout)
                end = header.flags & codec.END
                if header.flags & codec.ERROR:
                    raise self._failure(payload)
                reply = codec.find(header, payload)
                if reply is None or header.type != w.MESSAGES[message].type | codec.REPLY:
                    raise self._broken(f'the server answered {message} with type {header.type:#06x}')
                replies.append(self._decode(reply, payload))
        except TimeoutError:
            raise self._broken('no answer in time') from None
        finally:
            self._flight.pop(cookie, None)
        return replies

    def _prompt(self, prompt):
        """(segments, descriptors): the longest untrusted texts go by memfd until the rest fits."""
        segments, fds = segments_of(prompt), []
        sizes = [4 * len(s['data']) if s['kind'] == w.SEGMENT_KIND_TOKEN_IDS else len(codec.bytes_of(s['data']))
                 for s in segments]
        try:
            while sum(sizes) > self.server['max_prompt_bytes']:
                texts = [i for i, s in enumerate(segments) if s['kind'] == w.SEGMENT_KIND_UNTRUSTED_TEXT]
                longest = max(texts, key=lambda i: sizes[i], default=None)
                if longest is None or len(fds) == self.server['max_fds'] or sizes[longest] > w.LIMITS['prompt_memfd'] \
                        or not self.server['capabilities'] & w.CAP_PROMPT_MEMFD:
                    raise Failure(f'prompt of {sum(sizes)} bytes; the server takes {self.server["max_prompt_bytes"]} in '
                                  'one request', w.E_LIMIT)
                fds.append(memfd_of(codec.bytes_of(segments[longest]['data'])))
                segments[longest] = {'kind': w.SEGMENT_KIND_TEXT_MEMFD, 'fd': len(fds) - 1}
                sizes[longest] = 0
        except BaseException:
            self._close_all(fds)
            raise
        return segments, fds

    @staticmethod
    def _close_all(fds):
        for fd in fds:
            os.close(fd)

    # ---- requests ----

    def ping(self):
        """Seconds of a round trip."""
        start = time.monotonic_ns()
        if self.call('PING', {'opaque': start})[0]['opaque'] != start:
            raise self._broken('the server answered another PING')
        return (time.monotonic_ns() - start) / 1e9

    def models(self):
        """[{'id', 'state', 'context', 'bytes'}], states as wire_gen.MODEL_STATE_…"""
        return [m for reply in self.call('MODEL_LIST') for m in reply['models']]

    def model_info(self, model=''):
        return self.call('MODEL_INFO', {'model': model})[0]

    def tokenize(self, prompt, model='', no_bos=False):
        """(ids, offsets)"""
        segments, fds = self._prompt(prompt)
        flags = w.FLAG_PROMPT_NO_BOS if no_bos else 0
        try:
            replies = self.call('TOKENIZE', {'model': model, 'segments': segments, 'flags': flags}, fds)
        finally:
            self._close_all(fds)
        out, offsets = [], []
        for reply in replies:
            if reply['first'] != len(out):
                raise self._broken('the server left tokens out')
            out += reply['ids']
            offsets += reply['offsets']
        return out, offsets

    def detokenize(self, token_ids, model='', control=False):
        """bytes"""
        fields = {'model': model, 'ids': list(token_ids), 'flags': w.FLAG_DETOKENIZE_CONTROL if control else 0}
        return b''.join(reply['text'] for reply in self.call('DETOKENIZE', fields))

    def score(self, prompt, model='', first=1, no_bos=False):
        """([(id, log-probability)], their sum)"""
        segments, fds = self._prompt(prompt)
        fields = {'model': model, 'segments': segments, 'from': first, 'flags': w.FLAG_PROMPT_NO_BOS if no_bos else 0}
        try:
            replies = self.call('SCORE', fields, fds)
        finally:
            self._close_all(fds)
        return [(s['id'], s['logprob']) for reply in replies for s in reply['scores']], replies[-1]['sum']

    def stats(self):
        """Counters by name."""
        names = [f.name for f in w.MESSAGES['STATS_REPLY'].tlvs]
        return {n: reply[n] for reply in self.call('STATS') for n in names if n in reply}

    def metrics(self):
        """Text as Prometheus reads it."""
        return ''.join(r['text'] for r in self.call('STATS', {'format': w.STATS_FORMAT_PROMETHEUS}))

    def submit(self, prompt, model='', *, max_tokens=0, temperature=0.0, top_p=1.0, min_p=0.0, typical_p=1.0,
               repeat_penalty=1.0, presence_penalty=0.0, frequency_penalty=0.0, repeat_last_n=64, top_k=0, seed=None,
               logprob=False, logprobs=0, ignore_eos=False, no_bos=False, stop=(), stop_ids=(), logit_bias=None,
               grammar=None, cache_key=None, priority=None, traceparent=None, credits=0, deadline_ms=0):
        """Sends a GENERATE; the Request gives its events.  Units and ranges: src/wire/PROTOCOL.md."""
        flags = (w.FLAG_GENERATE_SEED if seed is not None else 0) | (w.FLAG_GENERATE_LOGPROB if logprob else 0) | \
            (w.FLAG_GENERATE_IGNORE_EOS if ignore_eos else 0) | (w.FLAG_GENERATE_NO_BOS if no_bos else 0)
        segments, fds = self._prompt(prompt)
        fields = {'model': model, 'segments': segments, 'max_tokens': max_tokens, 'temperature': temperature,
                  'top_p': top_p, 'min_p': min_p, 'typical_p': typical_p, 'repeat_penalty': repeat_penalty,
                  'presence_penalty': presence_penalty, 'frequency_penalty': frequency_penalty,
                  'repeat_last_n': repeat_last_n, 'top_k': top_k, 'seed': seed or 0, 'n_logprobs': logprobs,
                  'credits': credits, 'deadline_ms': deadline_ms, 'flags': flags}
        biases = [{'id': k, 'bias': v} for k, v in (logit_bias or {}).items()]
        for name, value in (('stop_strings', [stop] if isinstance(stop, str) else list(stop)),
                            ('stop_ids', list(stop_ids)), ('logit_bias', biases)):
            if value:
                fields[name] = value
        for name, value in (('grammar', grammar), ('cache_key', cache_key), ('priority', priority),
                            ('traceparent', traceparent)):
            if value is not None:
                fields[name] = value
        try:
            return Request(self, self._start('GENERATE', fields, fds))
        finally:
            self._close_all(fds)

    def generate(self, prompt, model='', **options):
        """Iterates over the events of one request; leaving the loop early cancels it."""
        request = self.submit(prompt, model, **options)
        try:
            yield from request
        finally:
            if not request.ended and not self._broken_by:
                request.cancel()
                self._drain(request)

    @staticmethod
    def _drain(request):
        try:
            for _ in request:
                pass
        except Failure:
            pass

    def complete(self, prompt, model='', **options):
        """The whole answer: a Done with all of its text."""
        return self.submit(prompt, model, **options).join()

    def chat(self, messages, model='', **options):
        """The assistant's answer to [{'role': …, 'content': …}]: a Done with all of its text."""
        return self.submit(self.chat_prompt(messages, model), model, **options).join()

    def chat_prompt(self, messages, model=''):
        """Segments for submit(), generate(), tokenize()."""
        info = self.model_info(model)
        if info['state'] == w.MODEL_STATE_LOADING:
            raise Failure(f"chat: model {info['id']} is loading: its template is not known yet", w.E_LOADING)
        if info['state'] == w.MODEL_STATE_FAILED:
            raise Failure(f"chat: model {info['id']} failed to load: {info.get('note', '')}", w.E_NOT_FOUND)
        return chat_segments(info.get('template', ''), messages, bool(info['flags'] & w.FLAG_MODEL_ADD_BOS))

    # ---- frames as they are ----

    def raw_send(self, frame):
        """A frame as bytes; its cookie must be below 2**32."""
        if self._raw is None:
            self._raw = collections.deque()
        if struct.unpack_from('<Q', frame, 8)[0] >= RAW_COOKIE_END:
            raise ValueError('the cookie of a raw frame must be below 2**32')
        self._send(frame)

    def raw_next(self, timeout=None):
        """(Header, payload) of the next frame that answers a raw one."""
        if self._raw is None:
            self._raw = collections.deque()
        return self._next(None, timeout)
