#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_exports.py HEADER LIBRARY...: each library defines the header's functions and nothing else for others to see."""

import re
import subprocess
import sys


def declared(header):
    with open(header, encoding='utf-8') as f:
        text = re.sub(r'/\*.*?\*/', '', f.read(), flags=re.S)
    text = re.sub(r'^typedef.*$', '', text, flags=re.M)
    return set(re.findall(r'^[a-z][\w \*]*?(tenon_\w+)\(', text, flags=re.M))


def defined(library):
    options = ['-D'] if '.so' in library else ['-g']
    out = subprocess.run(['nm', *options, '--defined-only', library], check=True, capture_output=True, text=True).stdout
    found = set()
    for line in out.splitlines():
        words = line.split()
        if len(words) == 3 and words[1].isupper() and words[1] != 'A':
            found.add(words[2].split('@')[0])
    return found


def main(header, *libraries):
    wanted = declared(header)
    status = 0 if len(wanted) > 20 else 1
    for library in libraries:
        found = defined(library)
        for name in sorted(wanted ^ found):
            print(f'{library}: {name} is {"missing" if name in wanted else "not for others"}')
            status = 1
    print(f'{len(wanted)} functions, {len(libraries)} libraries')
    return status


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
