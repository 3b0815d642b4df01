#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh as a test: a minute for each target, found inputs thrown away with the build folder.

set -euo pipefail

if [ "${TENON_TEST_LONG:-0}" = 0 ]; then
    echo "SKIP search: takes minutes; ./quickstart test --long runs it, or TENON_TEST_LONG=1"
    exit 77
fi
if ! command -v "${CC:-clang}" >/dev/null; then
    echo "SKIP search: needs clang"
    exit 77
fi
exec "$(dirname "${BASH_SOURCE[0]}")"/run.sh 60
