#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Makes everything that follows from wire.json: the C codec's tables and structs, the Python codec's tables, the tables
of PROTOCOL.md, the Wireshark dissector, test vectors and the fuzz dictionary.  Its output is committed.

    generate.py             writes what changed
    generate.py --check     exit 1 and a list when something committed is not what it would write
"""

import pathlib
import sys

from gen import c, doc, lua, model, python, vectors

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def outputs(wire):
    """Path -> text or bytes."""
    seeds = {f'tests/fuzz/corpus/wire/{name}': data for name, data in vectors.corpus(wire).items()}
    return seeds | {
        'src/wire/wire_gen.h': c.header(wire),
        'src/wire/wire_gen.c': c.source(wire),
        'src/client/python/tenon/wire_gen.py': python.render(wire),
        'src/wire/PROTOCOL.md': doc.render(wire, (HERE / 'protocol.in.md').read_text(encoding='utf-8')),
        'src/wire/tenon.lua': lua.render(wire),
        'tests/wire/vectors.json': vectors.as_json(wire),
        'tests/fuzz/wire.dict': vectors.dictionary(wire),
    }


def main(arguments):
    if arguments not in ([], ['--check']):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        made = outputs(model.Wire(HERE / 'wire.json'))
    except model.WireError as e:
        print(f'wire.json: {e}', file=sys.stderr)
        return 1
    stale = []
    for path in (ROOT / 'tests/fuzz/corpus/wire').glob('*.frame'):     # what fuzzing found has other names
        name = str(path.relative_to(ROOT))
        if name not in made:
            stale.append(name)
            if not arguments:
                path.unlink()
    for name, text in made.items():
        path, data = ROOT / name, text if isinstance(text, bytes) else text.encode()
        if path.exists() and path.read_bytes() == data:
            continue
        stale.append(name)
        if not arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            print(f'wrote {name}')
    if arguments and stale:
        print('not fresh, run src/wire/generate.py: ' + ', '.join(stale), file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
