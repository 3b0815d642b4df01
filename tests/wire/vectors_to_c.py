#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vectors.json as the array of vectors.h: vectors_to_c.py VECTORS.json OUT.c"""

import json
import sys


def c_string(text):
    """Literals of bounded length; bytes above 0x7f stay as they are, the sources are UTF-8."""
    text = text.replace('\\', '\\\\').replace('"', '\\"')
    parts, at = [], 0
    while at < len(text) or not parts:
        end = at + 96
        while text[at:end].endswith('\\'):
            end += 1
        parts.append(f'"{text[at:end]}"')
        at = end
    return '\n      '.join(parts)


def main(source, target):
    with open(source, encoding='utf-8') as f:
        entries = json.load(f)['vectors']
    with open(target, 'w', encoding='utf-8') as f:
        f.write('#include "tests/wire/vectors.h"\n\nconst struct vector vectors[] = {\n')
        for e in entries:
            text = c_string(e['json']) if 'json' in e else 'NULL'
            f.write(f'    {{ "{e["name"]}",\n      {c_string(e["frame"])},\n      {text},\n'
                    f'      {e.get("error", 0)}u, {e.get("detail", 0)}u, {str(e["canonical"]).lower()} }},\n')
        f.write(f'}};\n\nconst size_t vector_count = {len(entries)};\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
