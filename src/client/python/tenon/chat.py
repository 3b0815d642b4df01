# SPDX-License-Identifier: Apache-2.0
"""
Chat messages into segments by the marker family of a model's template (ChatML, Llama 3, Gemma); the rules are those
of src/client/chat.c.  The template is never run; markers are trusted, contents are not.
"""

import collections

Family = collections.namedtuple(
    'Family', 'name mark bos before_role after_role after_content system user assistant trims alternates')

FAMILIES = (
    Family('Llama 3', '<|start_header_id|>', '<|begin_of_text|>', '<|start_header_id|>', '<|end_header_id|>\n\n',
           '<|eot_id|>', 'system', 'user', 'assistant', True, False),
    Family('Gemma', '<start_of_turn>', '<bos>', '<start_of_turn>', '\n', '<end_of_turn>\n', None, 'user', 'model', True,
           True),
    Family('ChatML', '<|im_start|>', None, '<|im_start|>', '\n', '<|im_end|>\n', 'system', 'user', 'assistant', False,
           False),
)
BLANKS = ' \t\n\v\f\r\x1c\x1d\x1e\x1f'
MESSAGES_MAX = 1024


class ChatError(ValueError):
    """No chat with this model, or not with these messages."""


def chat_family(template):
    """The Family of a template's text, or None."""
    return next((f for f in FAMILIES if f.mark in template), None)


def default_system(family, template):
    """A system message that the template puts where the caller has none."""
    if not family.system:
        return ''
    parts = template.split(family.before_role + family.system)
    for i in range(1, len(parts)):
        rest = (family.before_role + family.system).join(parts[i:])
        if rest.startswith('\\n'):
            rest = rest[2:]
        elif rest.startswith('\n'):
            rest = rest[1:]
        else:
            continue
        text, end, _ = rest.partition('<|im_end|>')
        if not end:
            break
        if not set(text) & set('\'"\\{'):
            return text
    return ''


def role_name(family, role):
    return {'user': family.user, 'assistant': family.assistant, 'system': family.system or ''}.get(role)


def check_roles(family, template, messages):
    if not messages:
        raise ChatError('chat: no messages')
    if len(messages) > MESSAGES_MAX:
        raise ChatError(f'chat: {len(messages)} messages, at most {MESSAGES_MAX}')
    merged = not family.system and messages[0]['role'] == 'system'
    if merged and 'System role not supported' in template:
        raise ChatError("chat: this model's template has no system messages")
    for i, message in enumerate(messages):
        name = role_name(family, message['role'])
        if name is None:
            raise ChatError(f'chat: message {i}: role "{message["role"][:32]}"; known are system, user, assistant')
        if family.alternates and not (merged and i == 0):
            if not name or (name == family.user) != ((i - merged) % 2 == 0):
                raise ChatError(f'chat: message {i}: with {family.name} user and assistant take turns, user first')
    if merged and len(messages) == 1:
        raise ChatError(f'chat: with {family.name} a system message needs one of the user')
    return merged


def without_thoughts(template, content):
    if '</think>' not in template or '</think>' not in content:
        return content.lstrip('\n') if '</think>' in template else content
    return content.rsplit('</think>', 1)[1].lstrip('\n')


class Writer:
    def __init__(self):
        self.segments = []

    def trusted(self, text):
        if self.segments and self.segments[-1]['kind'] == 1:
            self.segments[-1]['data'] += text
        elif text:
            self.segments.append({'kind': 1, 'data': text})

    def untrusted(self, text):
        if text:
            self.segments.append({'kind': 2, 'data': text})


def chat_segments(template, messages, adds_bos):
    """
    Segments that ask for the assistant's next message.  @messages: [{'role': …, 'content': …}].  @adds_bos: the server
    puts BOS in front itself (model_info()['flags']), so none is written here.
    """
    family = chat_family(template)
    if not template:
        raise ChatError('chat: this model has no chat template; completion works')
    if not family:
        raise ChatError("chat: this model's template is of no family known here (ChatML, Llama 3, Gemma); completion "
                        'works')
    merged = check_roles(family, template, messages)
    thoughts_end = max((i for i, m in enumerate(messages) if m['role'] == 'user'), default=-1)
    w = Writer()
    if family.bos and not adds_bos:
        w.trusted(family.bos)
    default = default_system(family, template)
    if messages[0]['role'] != 'system' and default:
        w.trusted(family.before_role + family.system + family.after_role + default + family.after_content)
    for i, message in enumerate(messages):
        if merged and i == 0:
            continue
        content = message['content'].strip(BLANKS) if family.trims else message['content']
        if message['role'] == 'assistant' and i < thoughts_end:
            content = without_thoughts(template, content)
        w.trusted(family.before_role + role_name(family, message['role']) + family.after_role)
        if merged and i == 1:
            w.untrusted(messages[0]['content'])
            w.trusted('\n\n')
        w.untrusted(content)
        w.trusted(family.after_content)
    w.trusted(family.before_role + family.assistant + family.after_role)
    return w.segments
