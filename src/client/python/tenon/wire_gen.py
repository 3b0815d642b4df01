# SPDX-License-Identifier: Apache-2.0
"""Tables of the wire protocol.  Made by src/wire/generate.py from wire.json; do not edit."""

from ._tables import Field, Message, Names, Record

VERSION = 1
MAGIC = 0x31574e54

E_PROTOCOL = 1
E_VERSION = 2
E_UNSUPPORTED = 3
E_INVALID = 4
E_NOT_FOUND = 5
E_PERMISSION = 6
E_BUSY = 7
E_CONTEXT_TOO_LONG = 8
E_CANCELLED = 9
E_DEADLINE = 10
E_DRAINING = 11
E_NO_MEMORY = 12
E_IO = 13
E_MODEL_CORRUPT = 14
E_GRAMMAR = 15
E_LIMIT = 16
E_LOADING = 17
E_INTERNAL = 18
ERRORS = {
    1: ('PROTOCOL', 400, 'INVALID_ARGUMENT'),
    2: ('VERSION', 400, 'FAILED_PRECONDITION'),
    3: ('UNSUPPORTED', 501, 'UNIMPLEMENTED'),
    4: ('INVALID', 400, 'INVALID_ARGUMENT'),
    5: ('NOT_FOUND', 404, 'NOT_FOUND'),
    6: ('PERMISSION', 403, 'PERMISSION_DENIED'),
    7: ('BUSY', 429, 'RESOURCE_EXHAUSTED'),
    8: ('CONTEXT_TOO_LONG', 413, 'OUT_OF_RANGE'),
    9: ('CANCELLED', 499, 'CANCELLED'),
    10: ('DEADLINE', 504, 'DEADLINE_EXCEEDED'),
    11: ('DRAINING', 503, 'UNAVAILABLE'),
    12: ('NO_MEMORY', 503, 'RESOURCE_EXHAUSTED'),
    13: ('IO', 500, 'INTERNAL'),
    14: ('MODEL_CORRUPT', 500, 'DATA_LOSS'),
    15: ('GRAMMAR', 400, 'INVALID_ARGUMENT'),
    16: ('LIMIT', 413, 'OUT_OF_RANGE'),
    17: ('LOADING', 503, 'UNAVAILABLE'),
    18: ('INTERNAL', 500, 'INTERNAL'),
}

LIMITS = {
    'frame_before_hello': 65536,
    'frame_server': 65536,
    'frame_client': 1048576,
    'prompt_inline': 983040,
    'prompt_memfd': 67108864,
    'fds': 4,
    'tlvs': 64,
    'segments': 4096,
    'grammar': 65536,
    'stop_strings': 16,
    'stop_string': 256,
    'stop_ids': 64,
    'logit_bias': 1024,
    'logprobs': 20,
    'in_flight': 64,
    'in_flight_uid': 256,
    'connections': 1024,
    'connections_uid': 64,
    'output_queue': 262144,
    'handshake_ms': 2000,
    'frame_ms': 10000,
    'stall_ms': 30000,
}

CAP_PROMPT_MEMFD = 1
CAP_CREDITS = 2
CAP_GRAMMAR = 4
CAP_LOGIT_BIAS = 8
CAP_SUBSCRIBE = 16
CAP_ADMIN = 32

SEGMENT_KIND_TRUSTED_TEXT = 1
SEGMENT_KIND_UNTRUSTED_TEXT = 2
SEGMENT_KIND_TOKEN_IDS = 3
SEGMENT_KIND_TEXT_MEMFD = 4

REASON_STOP = 1
REASON_LENGTH = 2
REASON_EOS = 3
REASON_CANCELLED = 4
REASON_DEADLINE = 5

MODEL_STATE_LOADING = 1
MODEL_STATE_READY = 2
MODEL_STATE_DRAINING = 3
MODEL_STATE_GONE = 4
MODEL_STATE_FAILED = 5

GOAWAY_REASON_DRAIN = 1
GOAWAY_REASON_RELOAD = 2
GOAWAY_REASON_SHUTDOWN = 3

STATS_FORMAT_COUNTERS = 0
STATS_FORMAT_PROMETHEUS = 1

EVENT_KIND_LOAD = 1
EVENT_KIND_STATE = 2
EVENT_KIND_RELOAD = 3

LOG_PRIORITY_ERROR = 3
LOG_PRIORITY_WARNING = 4
LOG_PRIORITY_NOTICE = 5
LOG_PRIORITY_INFO = 6
LOG_PRIORITY_DEBUG = 7

STARTED_KIND_STARTED = 1

TOKENS_KIND_TOKENS = 2

DONE_KIND_DONE = 3

FLAG_GENERATE_SEED = 1
FLAG_GENERATE_IGNORE_EOS = 2
FLAG_GENERATE_LOGPROB = 4
FLAG_GENERATE_NO_BOS = 8

FLAG_PROMPT_NO_BOS = 1

FLAG_DETOKENIZE_CONTROL = 1

FLAG_EVENT_LOAD = 1
FLAG_EVENT_STATE = 2
FLAG_EVENT_RELOAD = 4

FLAG_MODEL_ADD_BOS = 1
FLAG_MODEL_ADD_EOS = 2
FLAG_MODEL_PINNED = 4
FLAG_MODEL_OVERSUBSCRIBED = 8
FLAG_MODEL_NO_TEMPLATE = 16

TYPE_ERROR = 0x8000
TYPE_HELLO = 0x0001
TYPE_HELLO_OK = 0x8001
TYPE_PING = 0x0002
TYPE_PONG = 0x8002
TYPE_GOAWAY = 0x0003
TYPE_CANCEL = 0x0004
TYPE_GRANT = 0x0005
TYPE_MODEL_LIST = 0x0101
TYPE_MODEL_LIST_REPLY = 0x8101
TYPE_MODEL_INFO = 0x0102
TYPE_MODEL_INFO_REPLY = 0x8102
TYPE_TOKENIZE = 0x0201
TYPE_TOKENIZE_REPLY = 0x8201
TYPE_DETOKENIZE = 0x0202
TYPE_DETOKENIZE_REPLY = 0x8202
TYPE_GENERATE = 0x0301
TYPE_STARTED = 0x8301
TYPE_TOKENS = 0x8301
TYPE_DONE = 0x8301
TYPE_EMBED = 0x0311
TYPE_RERANK = 0x0312
TYPE_PREFIX = 0x0313
TYPE_SCORE = 0x0321
TYPE_SCORE_REPLY = 0x8321
TYPE_STATS = 0x0401
TYPE_STATS_REPLY = 0x8401
TYPE_SUBSCRIBE = 0x0402
TYPE_EVENT = 0x8402
TYPE_LOAD = 0x0501
TYPE_LOAD_REPLY = 0x8501
TYPE_UNLOAD = 0x0502
TYPE_UNLOAD_REPLY = 0x8502
TYPE_RELOAD = 0x0503
TYPE_RELOAD_REPLY = 0x8503
TYPE_DRAIN = 0x0504
TYPE_DRAIN_REPLY = 0x8504
TYPE_LOG_LEVEL = 0x0505
TYPE_LOG_LEVEL_REPLY = 0x8505
TYPE_SWAP = 0x0506
TYPE_SWAP_REPLY = 0x8506
TYPE_ADAPTER = 0x0507

ENUMS = {
    'segment_kind': Names('segment_kind', False, False,
        {1: 'TRUSTED_TEXT', 2: 'UNTRUSTED_TEXT', 3: 'TOKEN_IDS', 4: 'TEXT_MEMFD'}),
    'reason': Names('reason', False, True, {1: 'STOP', 2: 'LENGTH', 3: 'EOS', 4: 'CANCELLED', 5: 'DEADLINE'}),
    'model_state': Names('model_state', False, True, {1: 'LOADING', 2: 'READY', 3: 'DRAINING', 4: 'GONE', 5: 'FAILED'}),
    'goaway_reason': Names('goaway_reason', False, True, {1: 'DRAIN', 2: 'RELOAD', 3: 'SHUTDOWN'}),
    'stats_format': Names('stats_format', False, False, {0: 'COUNTERS', 1: 'PROMETHEUS'}),
    'event_kind': Names('event_kind', False, True, {1: 'LOAD', 2: 'STATE', 3: 'RELOAD'}),
    'log_priority': Names('log_priority', False, False, {3: 'ERROR', 4: 'WARNING', 5: 'NOTICE', 6: 'INFO', 7: 'DEBUG'}),
    'started_kind': Names('started_kind', False, False, {1: 'STARTED'}),
    'tokens_kind': Names('tokens_kind', False, False, {2: 'TOKENS'}),
    'done_kind': Names('done_kind', False, False, {3: 'DONE'}),
}

FLAGS = {
    'generate': Names('generate', True, False, {0: 'SEED', 1: 'IGNORE_EOS', 2: 'LOGPROB', 3: 'NO_BOS'}),
    'prompt': Names('prompt', True, False, {0: 'NO_BOS'}),
    'detokenize': Names('detokenize', True, False, {0: 'CONTROL'}),
    'event': Names('event', True, False, {0: 'LOAD', 1: 'STATE', 2: 'RELOAD'}),
    'model': Names('model', True, True,
        {0: 'ADD_BOS', 1: 'ADD_EOS', 2: 'PINNED', 3: 'OVERSUBSCRIBED', 4: 'NO_TEMPLATE'}),
}

RECORDS = {}
RECORDS['segment'] = Record('segment', 16, [
    Field('kind', 'u32', 0, 0, 4294967295, names=ENUMS['segment_kind']),
    Field('fd', 'u32', 4, 0, 3),
    Field('data', 'bytes', 8, 0, 4294967295, ids_when=3)])
RECORDS['token'] = Record('token', 20, [
    Field('id', 'u32', 0, 0, 4294967295),
    Field('logprob', 'f32', 4, None, None),
    Field('text_offset', 'u32', 8, 0, 4294967295),
    Field('text_length', 'u32', 12, 0, 4294967295),
    Field('alternatives', 'u32', 16, 0, 4294967295)])
RECORDS['logprob'] = Record('logprob', 8, [
    Field('id', 'u32', 0, 0, 4294967295),
    Field('logprob', 'f32', 4, None, None)])
RECORDS['bias'] = Record('bias', 8, [
    Field('id', 'u32', 0, 0, 4294967295),
    Field('bias', 'f32', 4, -100.0, 100.0)])
RECORDS['model_entry'] = Record('model_entry', 24, [
    Field('id', 'text', 0, 0, 4294967295),
    Field('state', 'u32', 8, 0, 4294967295, names=ENUMS['model_state']),
    Field('context', 'u32', 12, 0, 4294967295),
    Field('bytes', 'u64', 16, 0, 18446744073709551615)])
RECORDS['page_bytes'] = Record('page_bytes', 16, [
    Field('page_size', 'u64', 0, 0, 18446744073709551615),
    Field('bytes', 'u64', 8, 0, 18446744073709551615)])

MESSAGES = {}
MESSAGES['ERROR'] = Message('ERROR', 0x8000, 0, 32,
    [
        Field('code', 'u32', 8, 0, 4294967295),
        Field('detail', 'u32', 12, 0, 4294967295),
        Field('retry_after_ms', 'u32', 16, 0, 4294967295),
        Field('message', 'text', 20, 0, 1024)],
    [])
MESSAGES['HELLO'] = Message('HELLO', 0x0001, 0, 40,
    [
        Field('magic', 'u32', 8, 827805268, 827805268, const=True),
        Field('version_min', 'u16', 12, 1, 65535),
        Field('version_max', 'u16', 14, 1, 65535),
        Field('capabilities', 'u64', 16, 0, 18446744073709551615),
        Field('max_frame', 'u32', 24, 4096, 4294967295, zero_ok=True),
        Field('client', 'text', 28, 0, 256)],
    [])
MESSAGES['HELLO_OK'] = Message('HELLO_OK', 0x8001, 0, 56,
    [
        Field('version', 'u16', 8, 1, 65535),
        Field('max_fds', 'u8', 10, 0, 255),
        Field('capabilities', 'u64', 16, 0, 18446744073709551615),
        Field('max_frame', 'u32', 24, 0, 4294967295),
        Field('max_in_flight', 'u32', 28, 0, 4294967295),
        Field('max_prompt_bytes', 'u32', 32, 0, 4294967295),
        Field('credit_default', 'u32', 36, 0, 4294967295),
        Field('boot_id', 'u64', 40, 0, 18446744073709551615),
        Field('server', 'text', 48, 0, 256)],
    [
        Field('limit_prompt_memfd', 'u64', 1, 0, 18446744073709551615),
        Field('limit_tlvs', 'u64', 2, 0, 18446744073709551615),
        Field('limit_segments', 'u64', 3, 0, 18446744073709551615),
        Field('limit_grammar', 'u64', 4, 0, 18446744073709551615),
        Field('limit_stop_strings', 'u64', 5, 0, 18446744073709551615),
        Field('limit_stop_string', 'u64', 6, 0, 18446744073709551615),
        Field('limit_stop_ids', 'u64', 7, 0, 18446744073709551615),
        Field('limit_logit_bias', 'u64', 8, 0, 18446744073709551615),
        Field('limit_logprobs', 'u64', 9, 0, 18446744073709551615),
        Field('limit_in_flight_uid', 'u64', 10, 0, 18446744073709551615),
        Field('limit_connections', 'u64', 11, 0, 18446744073709551615),
        Field('limit_connections_uid', 'u64', 12, 0, 18446744073709551615),
        Field('limit_output_queue', 'u64', 13, 0, 18446744073709551615),
        Field('limit_handshake_ms', 'u64', 14, 0, 18446744073709551615),
        Field('limit_frame_ms', 'u64', 15, 0, 18446744073709551615),
        Field('limit_stall_ms', 'u64', 16, 0, 18446744073709551615)])
MESSAGES['PING'] = Message('PING', 0x0002, 0, 16,
    [
        Field('opaque', 'u64', 8, 0, 18446744073709551615)],
    [])
MESSAGES['PONG'] = Message('PONG', 0x8002, 0, 24,
    [
        Field('opaque', 'u64', 8, 0, 18446744073709551615),
        Field('server_ns', 'u64', 16, 0, 18446744073709551615)],
    [])
MESSAGES['GOAWAY'] = Message('GOAWAY', 0x0003, 0, 16,
    [
        Field('reason', 'u32', 8, 0, 4294967295, names=ENUMS['goaway_reason']),
        Field('deadline_ms', 'u32', 12, 0, 4294967295)],
    [])
MESSAGES['CANCEL'] = Message('CANCEL', 0x0004, 0, 8,
    [],
    [])
MESSAGES['GRANT'] = Message('GRANT', 0x0005, 0, 16,
    [
        Field('credits', 'u32', 8, 1, 4294967295)],
    [])
MESSAGES['MODEL_LIST'] = Message('MODEL_LIST', 0x0101, 0, 8,
    [],
    [])
MESSAGES['MODEL_LIST_REPLY'] = Message('MODEL_LIST_REPLY', 0x8101, 0, 16,
    [
        Field('models', 'list', 8, 0, 4294967295, record=RECORDS['model_entry'])],
    [])
MESSAGES['MODEL_INFO'] = Message('MODEL_INFO', 0x0102, 0, 16,
    [
        Field('model', 'text', 8, 0, 256)],
    [])
MESSAGES['MODEL_INFO_REPLY'] = Message('MODEL_INFO_REPLY', 0x8102, 0, 192,
    [
        Field('id', 'text', 8, 0, 256),
        Field('state', 'u32', 16, 0, 4294967295, names=ENUMS['model_state']),
        Field('flags', 'u32', 20, 0, 4294967295, names=FLAGS['model']),
        Field('architecture', 'text', 24, 0, 256),
        Field('name', 'text', 32, 0, 1024),
        Field('file_types', 'text', 40, 0, 1024),
        Field('level', 'text', 48, 0, 64),
        Field('activations', 'text', 56, 0, 256),
        Field('tokenizer', 'text', 64, 0, 64),
        Field('pre_tokenizer', 'text', 72, 0, 64),
        Field('vocab_size', 'u32', 80, 0, 4294967295),
        Field('context', 'u32', 84, 0, 4294967295),
        Field('context_trained', 'u32', 88, 0, 4294967295),
        Field('sequences', 'u32', 92, 0, 4294967295),
        Field('nodes', 'u32', 96, 0, 4294967295),
        Field('threads', 'u32', 100, 0, 4294967295),
        Field('bos', 'u32', 104, 0, 4294967295),
        Field('eos', 'u32', 108, 0, 4294967295),
        Field('end_ids', 'list', 112, 0, 1024),
        Field('pages', 'list', 120, 0, 16, record=RECORDS['page_bytes']),
        Field('file_bytes', 'u64', 128, 0, 18446744073709551615),
        Field('weight_bytes', 'u64', 136, 0, 18446744073709551615),
        Field('kv_bytes', 'u64', 144, 0, 18446744073709551615),
        Field('scratch_bytes', 'u64', 152, 0, 18446744073709551615),
        Field('checksum', 'u64', 160, 0, 18446744073709551615),
        Field('load_bytes_done', 'u64', 168, 0, 18446744073709551615),
        Field('load_bytes_total', 'u64', 176, 0, 18446744073709551615),
        Field('load_ns', 'u64', 184, 0, 18446744073709551615)],
    [
        Field('template', 'text', 1, 0, 49152),
        Field('sha256', 'bytes', 2, 32, 32),
        Field('note', 'text', 3, 0, 2048),
        Field('kernels', 'text', 4, 0, 2048)])
MESSAGES['TOKENIZE'] = Message('TOKENIZE', 0x0201, 0, 32,
    [
        Field('model', 'text', 8, 0, 256),
        Field('segments', 'list', 16, 0, 4096, limit=True, record=RECORDS['segment'], total=983040),
        Field('flags', 'u32', 24, 0, 4294967295, names=FLAGS['prompt'])],
    [])
MESSAGES['TOKENIZE_REPLY'] = Message('TOKENIZE_REPLY', 0x8201, 0, 32,
    [
        Field('first', 'u32', 8, 0, 4294967295),
        Field('total', 'u32', 12, 0, 4294967295),
        Field('ids', 'list', 16, 0, 4294967295),
        Field('offsets', 'list', 24, 0, 4294967295, same_count='ids')],
    [])
MESSAGES['DETOKENIZE'] = Message('DETOKENIZE', 0x0202, 0, 32,
    [
        Field('model', 'text', 8, 0, 256),
        Field('ids', 'list', 16, 0, 4294967295),
        Field('flags', 'u32', 24, 0, 4294967295, names=FLAGS['detokenize'])],
    [])
MESSAGES['DETOKENIZE_REPLY'] = Message('DETOKENIZE_REPLY', 0x8202, 0, 16,
    [
        Field('text', 'bytes', 8, 0, 4294967295)],
    [])
MESSAGES['GENERATE'] = Message('GENERATE', 0x0301, 0, 88,
    [
        Field('model', 'text', 8, 0, 256),
        Field('segments', 'list', 16, 1, 4096, limit=True, record=RECORDS['segment'], total=983040),
        Field('max_tokens', 'u32', 24, 0, 4294967295),
        Field('temperature', 'f32', 28, 0.0009765625, 1024.0, zero_ok=True),
        Field('top_p', 'f32', 32, 0.0, 1.0),
        Field('min_p', 'f32', 36, 0.0, 1.0),
        Field('typical_p', 'f32', 40, 0.0, 1.0),
        Field('repeat_penalty', 'f32', 44, 0.0, 1000.0),
        Field('presence_penalty', 'f32', 48, -100.0, 100.0),
        Field('frequency_penalty', 'f32', 52, -100.0, 100.0),
        Field('repeat_last_n', 'u32', 56, 0, 4294967295),
        Field('top_k', 'u32', 60, 0, 4294967295),
        Field('seed', 'u64', 64, 0, 18446744073709551615),
        Field('n_logprobs', 'u32', 72, 0, 20, limit=True),
        Field('credits', 'u32', 76, 0, 4294967295),
        Field('deadline_ms', 'u32', 80, 0, 4294967295),
        Field('flags', 'u32', 84, 0, 4294967295, names=FLAGS['generate'])],
    [
        Field('stop_strings', 'strings', 1, 0, 16, limit=True, item_low=1, item_high=256),
        Field('stop_ids', 'list', 2, 0, 64, limit=True),
        Field('logit_bias', 'list', 3, 0, 1024, limit=True, record=RECORDS['bias']),
        Field('grammar', 'text', 4, 0, 65536, limit=True),
        Field('cache_key', 'bytes', 5, 0, 64),
        Field('priority', 'u32', 6, 0, 255),
        Field('traceparent', 'text', 7, 0, 128)])
MESSAGES['STARTED'] = Message('STARTED', 0x8301, 1, 40,
    [
        Field('kind', 'u32', 8, 0, 4294967295, names=ENUMS['started_kind']),
        Field('prompt_tokens', 'u32', 12, 0, 4294967295),
        Field('cached_tokens', 'u32', 16, 0, 4294967295),
        Field('queue_ns', 'u64', 24, 0, 18446744073709551615),
        Field('seed', 'u64', 32, 0, 18446744073709551615)],
    [])
MESSAGES['TOKENS'] = Message('TOKENS', 0x8301, 2, 40,
    [
        Field('kind', 'u32', 8, 0, 4294967295, names=ENUMS['tokens_kind']),
        Field('tokens', 'list', 12, 0, 4294967295, record=RECORDS['token']),
        Field('alternatives', 'list', 20, 0, 4294967295, record=RECORDS['logprob']),
        Field('text', 'bytes', 28, 0, 4294967295)],
    [])
MESSAGES['DONE'] = Message('DONE', 0x8301, 3, 64,
    [
        Field('kind', 'u32', 8, 0, 4294967295, names=ENUMS['done_kind']),
        Field('reason', 'u32', 12, 0, 4294967295, names=ENUMS['reason']),
        Field('prompt_tokens', 'u32', 16, 0, 4294967295),
        Field('cached_tokens', 'u32', 20, 0, 4294967295),
        Field('generated_tokens', 'u32', 24, 0, 4294967295),
        Field('text_offset', 'u32', 28, 0, 4294967295),
        Field('text', 'bytes', 32, 0, 4294967295),
        Field('queue_ns', 'u64', 40, 0, 18446744073709551615),
        Field('prefill_ns', 'u64', 48, 0, 18446744073709551615),
        Field('decode_ns', 'u64', 56, 0, 18446744073709551615)],
    [])
MESSAGES['SCORE'] = Message('SCORE', 0x0321, 0, 40,
    [
        Field('model', 'text', 8, 0, 256),
        Field('segments', 'list', 16, 1, 4096, limit=True, record=RECORDS['segment'], total=983040),
        Field('from', 'u32', 24, 1, 4294967295, zero_ok=True),
        Field('flags', 'u32', 28, 0, 4294967295, names=FLAGS['prompt']),
        Field('deadline_ms', 'u32', 32, 0, 4294967295)],
    [])
MESSAGES['SCORE_REPLY'] = Message('SCORE_REPLY', 0x8321, 0, 32,
    [
        Field('first', 'u32', 8, 0, 4294967295),
        Field('total', 'u32', 12, 0, 4294967295),
        Field('scores', 'list', 16, 0, 4294967295, record=RECORDS['logprob']),
        Field('sum', 'f64', 24, None, None)],
    [])
MESSAGES['STATS'] = Message('STATS', 0x0401, 0, 16,
    [
        Field('format', 'u32', 8, 0, 4294967295, names=ENUMS['stats_format'])],
    [])
MESSAGES['STATS_REPLY'] = Message('STATS_REPLY', 0x8401, 0, 24,
    [
        Field('format', 'u32', 8, 0, 4294967295, names=ENUMS['stats_format']),
        Field('text', 'text', 12, 0, 4294967295)],
    [
        Field('uptime_ns', 'u64', 1, 0, 18446744073709551615),
        Field('connections', 'u64', 2, 0, 18446744073709551615),
        Field('connections_total', 'u64', 3, 0, 18446744073709551615),
        Field('requests_total', 'u64', 4, 0, 18446744073709551615),
        Field('requests_running', 'u64', 5, 0, 18446744073709551615),
        Field('requests_waiting', 'u64', 6, 0, 18446744073709551615),
        Field('requests_parked', 'u64', 7, 0, 18446744073709551615),
        Field('prompt_tokens_total', 'u64', 8, 0, 18446744073709551615),
        Field('cached_tokens_total', 'u64', 9, 0, 18446744073709551615),
        Field('generated_tokens_total', 'u64', 10, 0, 18446744073709551615),
        Field('done_stop_total', 'u64', 11, 0, 18446744073709551615),
        Field('done_length_total', 'u64', 12, 0, 18446744073709551615),
        Field('done_eos_total', 'u64', 13, 0, 18446744073709551615),
        Field('done_cancelled_total', 'u64', 14, 0, 18446744073709551615),
        Field('done_deadline_total', 'u64', 15, 0, 18446744073709551615),
        Field('done_failed_total', 'u64', 16, 0, 18446744073709551615),
        Field('errors_total', 'u64', 17, 0, 18446744073709551615),
        Field('busy_total', 'u64', 18, 0, 18446744073709551615),
        Field('framing_errors_total', 'u64', 19, 0, 18446744073709551615),
        Field('steps_total', 'u64', 20, 0, 18446744073709551615),
        Field('step_ns_total', 'u64', 21, 0, 18446744073709551615),
        Field('kv_blocks_used', 'u64', 22, 0, 18446744073709551615),
        Field('kv_blocks', 'u64', 23, 0, 18446744073709551615),
        Field('received_bytes_total', 'u64', 24, 0, 18446744073709551615),
        Field('sent_bytes_total', 'u64', 25, 0, 18446744073709551615)])
MESSAGES['SUBSCRIBE'] = Message('SUBSCRIBE', 0x0402, 0, 16,
    [
        Field('mask', 'u32', 8, 0, 4294967295, names=FLAGS['event'])],
    [])
MESSAGES['EVENT'] = Message('EVENT', 0x8402, 0, 56,
    [
        Field('event', 'u32', 8, 0, 4294967295, names=ENUMS['event_kind']),
        Field('state', 'u32', 12, 0, 4294967295, names=ENUMS['model_state']),
        Field('model', 'text', 16, 0, 256),
        Field('bytes_done', 'u64', 24, 0, 18446744073709551615),
        Field('bytes_total', 'u64', 32, 0, 18446744073709551615),
        Field('time_ns', 'u64', 40, 0, 18446744073709551615),
        Field('note', 'text', 48, 0, 2048)],
    [])
MESSAGES['LOAD'] = Message('LOAD', 0x0501, 0, 16,
    [
        Field('model', 'text', 8, 1, 256)],
    [])
MESSAGES['LOAD_REPLY'] = Message('LOAD_REPLY', 0x8501, 0, 40,
    [
        Field('state', 'u32', 8, 0, 4294967295, names=ENUMS['model_state']),
        Field('bytes_done', 'u64', 16, 0, 18446744073709551615),
        Field('bytes_total', 'u64', 24, 0, 18446744073709551615),
        Field('note', 'text', 32, 0, 2048)],
    [])
MESSAGES['UNLOAD'] = Message('UNLOAD', 0x0502, 0, 24,
    [
        Field('model', 'text', 8, 1, 256),
        Field('drain_ms', 'u32', 16, 0, 4294967295)],
    [])
MESSAGES['UNLOAD_REPLY'] = Message('UNLOAD_REPLY', 0x8502, 0, 8,
    [],
    [])
MESSAGES['RELOAD'] = Message('RELOAD', 0x0503, 0, 8,
    [],
    [])
MESSAGES['RELOAD_REPLY'] = Message('RELOAD_REPLY', 0x8503, 0, 16,
    [
        Field('difference', 'text', 8, 0, 32768)],
    [])
MESSAGES['DRAIN'] = Message('DRAIN', 0x0504, 0, 16,
    [
        Field('deadline_ms', 'u32', 8, 0, 4294967295)],
    [])
MESSAGES['DRAIN_REPLY'] = Message('DRAIN_REPLY', 0x8504, 0, 8,
    [],
    [])
MESSAGES['LOG_LEVEL'] = Message('LOG_LEVEL', 0x0505, 0, 16,
    [
        Field('level', 'u32', 8, 0, 4294967295, names=ENUMS['log_priority'])],
    [])
MESSAGES['LOG_LEVEL_REPLY'] = Message('LOG_LEVEL_REPLY', 0x8505, 0, 16,
    [
        Field('previous', 'u32', 8, 0, 4294967295)],
    [])
MESSAGES['SWAP'] = Message('SWAP', 0x0506, 0, 32,
    [
        Field('model', 'text', 8, 1, 256),
        Field('replacement', 'text', 16, 0, 256),
        Field('drain_ms', 'u32', 24, 0, 4294967295)],
    [])
MESSAGES['SWAP_REPLY'] = Message('SWAP_REPLY', 0x8506, 0, 40,
    [
        Field('state', 'u32', 8, 0, 4294967295, names=ENUMS['model_state']),
        Field('bytes_done', 'u64', 16, 0, 18446744073709551615),
        Field('bytes_total', 'u64', 24, 0, 18446744073709551615),
        Field('note', 'text', 32, 0, 2048)],
    [])

# Types without a payload that anyone may send: known, answered UNSUPPORTED.
RESERVED = {
    0x0311: 'EMBED',
    0x0312: 'RERANK',
    0x0313: 'PREFIX',
    0x0507: 'ADAPTER',
}
