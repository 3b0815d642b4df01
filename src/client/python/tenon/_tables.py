# SPDX-License-Identifier: Apache-2.0
"""What the tables of wire_gen.py are made of; the meaning is that of src/wire/codec.h."""

import collections

Names = collections.namedtuple('Names', 'name bits open values')
Record = collections.namedtuple('Record', 'name size fields')
Message = collections.namedtuple('Message', 'name type kind fixed fields tlvs')
Field = collections.namedtuple(
    'Field', 'name kind at low high limit zero_ok const names record total item_low item_high ids_when same_count',
    defaults=(False, False, False, None, None, None, 0, 0, None, None))
