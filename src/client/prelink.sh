#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# prelink.sh MAP OUT.a CLIENT.a OTHER.a...: one archive whose only global symbols are those of the version script, so
# that a program linked with it keeps its own `hash64` or `check_failed`.
set -eu

map=$1 out=$2 client=$3
shift 3
object=${out%.a}.o

ld -r -o "$object" --whole-archive "$client" --no-whole-archive "$@"
grep -o 'tenon_[a-z_]*' "$map" > "$object.symbols"
# Nor may a program be bound to the compiler that wrote the link-time half of the objects.
objcopy --keep-global-symbols="$object.symbols" --remove-section='.gnu.lto_*' --remove-section='.gnu.debuglto_*' "$object"
rm -f "$out"
ar rcs "$out" "$object"
