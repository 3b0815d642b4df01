#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Coverage-guided fuzzing with clang's libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer.
#
#   tests/fuzz/run.sh SECONDS [TARGET…]     every target (or the named ones) for SECONDS each
#
# Builds in build-fuzz/, which git ignores.  What is found stays there: inputs that reached new code in
# build-fuzz/found/TARGET/ (the next run goes on from them), inputs that broke something in build-fuzz/broken/TARGET/.
# A broken input, once understood, becomes a case of make_corpus.py or a file of tests/fuzz/corpus/TARGET/.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [ $# -lt 1 ] || ! [[ $1 =~ ^[0-9]+$ ]]; then
    sed -n '5,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
seconds=$1
shift
build=build-fuzz

if ! command -v "${CC:=clang}" >/dev/null; then
    echo "$0: needs clang (apt-get install clang), or CC=clang-N" >&2
    exit 77
fi
if [ ! -f $build/build.ninja ]; then
    # fuzzer-no-link puts the coverage counters into all code, the targets themselves bring the fuzzer's main().
    CC=$CC meson setup $build --buildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false \
        -Dc_args=-fsanitize=fuzzer-no-link >/dev/null
fi
if [ $# -eq 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        name=${source##*/fuzz_}
        set -- "$@" "${name%.c}"
    done
fi
ninja -C $build "${@/#/tests/fuzz/libfuzzer_}" | tail -n 1

status=0
for name in "$@"; do
    echo "== $name, $seconds s"
    mkdir -p $build/found/"$name" $build/broken/"$name"
    dictionary=()
    if [ -f tests/fuzz/"$name".dict ]; then dictionary=(-dict=tests/fuzz/"$name".dict); fi
    log=$build/"$name".log
    if ! $build/tests/fuzz/libfuzzer_"$name" -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=2048 \
        -malloc_limit_mb=256 -artifact_prefix=$build/broken/"$name"/ -print_final_stats=1 "${dictionary[@]}" \
        $build/found/"$name" tests/fuzz/corpus/"$name" >"$log" 2>&1; then
        status=1
        echo "$name: BROKEN; see $log and $build/broken/$name/"
        grep -E -m 5 'ERROR|runtime error|check failed|SUMMARY' "$log" || true
    fi
    grep -E 'number_of_executed_units|DONE' "$log" || true
done
exit $status
