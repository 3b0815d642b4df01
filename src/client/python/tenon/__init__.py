# SPDX-License-Identifier: Apache-2.0
"""
Client of tenond, the LLM inference daemon, over its Unix socket.  Standard library only.

    import tenon

    with tenon.Client() as client:
        for event in client.generate('Once upon a time', max_tokens=32):
            print(event.text, end='', flush=True)
        print(client.chat([{'role': 'user', 'content': 'Hello!'}], max_tokens=64).text)

A str as a prompt is untrusted: special tokens in it are only text.  tenon.trusted() marks what may hold them.
"""

from .chat import ChatError, chat_family, chat_segments
from .client import (Client, Done, Failure, Request, Started, Token, Tokens, ids, trusted, untrusted)

__all__ = ['ChatError', 'Client', 'Done', 'Failure', 'Request', 'Started', 'Token', 'Tokens', 'chat_family',
           'chat_segments', 'ids', 'trusted', 'untrusted']
__version__ = '0.1.0'
