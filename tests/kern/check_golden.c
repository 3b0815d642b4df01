/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Hashes of what ref computes from seeded input.  They change when, and only when, a formula changes: then
 * KERNEL_NUMERIC_VERSION is raised and the program's own output tells the new table.
 */

#include <stdio.h>
#include <string.h>

#include "tests/kern/inputs.h"

_Static_assert(KERNEL_NUMERIC_VERSION == 1, "the hashes below are those of numeric version 1");

#define FNV_START 0xcbf29ce484222325ull

static uint64_t fnv1a(uint64_t hash, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ p[i]) * 0x100000001b3ull;
    return hash;
}

/* K = 1280 for K-quants: two segments; 1056 otherwise: two, and a half record at the end. */
static uint64_t hash_matmul(struct harness *h, enum tensor_type type, uint32_t columns)
{
    uint32_t k = tensor_types[type].act == ACT_256 ? 1280 : 1056, tokens = 3;
    size_t row_bytes = row_bytes_of(type, k);
    uint8_t *rows = guarded(h, 16 * row_bytes), *packed = guarded(h, kernel_group_bytes(type, k));
    float *v = guarded(h, tokens * k * sizeof *v), y[3 * 16];
    struct kernel_act x = new_act(h, tensor_types[type].act, k, columns, tokens);
    fill_weights(h, type, WEIGHTS_ORDINARY, rows, 16 * row_bytes);
    expect(h, kernel_pack_group(type, rows, row_bytes, 16, k, packed) == 0, "refused");
    fill_vector(h, VECTOR_OUTLIERS, v, tokens * k);
    fill_act(h, &h->ref, &x, v, tokens);
    h->ref.matmul[type](packed, 1, &x, 0, tokens, y, 16);
    guards_check(h);
    return fnv1a(FNV_START, y, sizeof y);
}

static uint64_t hash_quantise(struct harness *h, enum act_format format, uint32_t columns)
{
    enum { K = 512 };
    float v[K];
    struct kernel_act x = new_act(h, format, K, columns, 1);
    fill_vector(h, VECTOR_OUTLIERS, v, K);
    fill_act(h, &h->ref, &x, v, 1);
    uint64_t hash = fnv1a(FNV_START, x.q, columns * K);
    hash = fnv1a(hash, x.d, K / (format == ACT_32 ? 32 : 256) * sizeof *x.d);
    guards_check(h);
    return hash;
}

static uint64_t hash_vector(struct harness *h)
{
    enum { N = 576 };
    float a[N], b[N], x[N], sum;
    uint64_t hash = FNV_START;
    fill_vector(h, VECTOR_OUTLIERS, a, N);
    fill_vector(h, VECTOR_ORDINARY, b, N);
    memcpy(x, b, sizeof x);
    h->ref.epilogue(x, N, 1, 0.7f, a);
    h->ref.add(x, b, N);
    h->ref.norm(x, a, 1.3f, N);
    h->ref.norm_add(x, a, b, 0.9f, N);
    h->ref.scale(x, 1.1f, N);
    hash = fnv1a(hash, x, sizeof x);
    h->ref.gated_silu(a, b, x, N);
    hash = fnv1a(hash, x, sizeof x);
    h->ref.gated_gelu(a, b, x, N);
    hash = fnv1a(hash, x, sizeof x);
    h->ref.exp(b, x, N);
    hash = fnv1a(hash, x, sizeof x);
    for (uint32_t k = 0; k < N; k += 256) {
        sum = h->ref.sumsq(b + k, N - k < 256 ? N - k : 256);
        hash = fnv1a(hash, &sum, sizeof sum);
    }
    return hash;
}

static uint64_t hash_rope(struct harness *h)
{
    float x[64], cs[64];
    double inv_freq[32];
    kernel_rope_freqs(1e6f, 64, 1.0, NULL, inv_freq);
    kernel_rope_table(inv_freq, 64, 31337, cs);
    fill_vector(h, VECTOR_ORDINARY, x, 64);
    h->ref.rope_adjacent(x, cs, 64);
    h->ref.rope_halves(x, cs, 64);
    return fnv1a(fnv1a(FNV_START, cs, sizeof cs), x, sizeof x);
}

static uint64_t hash_attend(struct harness *h, float softcap)
{
    enum { HD = 64, P = 150 };
    float q[HD], kv[HD], m[2], l[2], o[2][HD];
    const uint16_t *blocks[8] = { NULL };
    uint16_t *block[3];
    fill_vector(h, VECTOR_ORDINARY, q, HD);
    for (uint32_t b = 0; b < 3; b++)
        blocks[b] = block[b] = memset(guarded(h, kernel_kv_bytes(KV_F16, HD)), 0, kernel_kv_bytes(KV_F16, HD));
    for (uint32_t p = 0; p <= P; p++) {
        fill_vector(h, VECTOR_ORDINARY, kv, HD);
        expect(h, h->ref.kv_store(block[p / 64], HD, p % 64, kv, kv) == 0, "kv_store refuses");
    }
    struct kernel_query queries[2] = { { .q = q, .o = o[0], .lo = 10, .hi = P }, { .q = q, .o = o[1], .hi = 70 } };
    h->ref.attend(queries, 2, blocks, HD, softcap);
    for (unsigned i = 0; i < 2; i++) {
        m[i] = queries[i].m;
        l[i] = queries[i].l;
    }
    h->ref.attend_merge(&m[0], &l[0], o[0], m[1], l[1], o[1], HD);
    h->ref.attend_finish(o[0], l[0], HD);
    guards_check(h);
    return fnv1a(fnv1a(FNV_START, o, sizeof o), m, sizeof m);
}

static uint64_t hash_attend_q8(struct harness *h, uint32_t columns, float softcap)
{
    enum { HD = 64, P = 150 };
    float q[HD], k[HD], v[HD], o[2][HD], m[4];
    const uint8_t *blocks[8] = { NULL };
    uint8_t *block[3];
    uint64_t hash = FNV_START;
    const size_t bytes = kernel_kv_bytes(KV_Q8, HD);
    fill_vector(h, VECTOR_ORDINARY, q, HD);
    for (uint32_t b = 0; b < 3; b++)
        blocks[b] = block[b] = memset(guarded(h, bytes), 0, bytes);
    for (uint32_t p = 0; p <= P; p++) {
        fill_vector(h, VECTOR_ORDINARY, k, HD);
        fill_vector(h, VECTOR_ORDINARY, v, HD);
        expect(h, h->ref.kv_store_q8(block[p / 64], HD, p % 64, k, v) == 0, "kv_store_q8 refuses");
    }
    for (uint32_t b = 0; b < 3; b++)
        hash = fnv1a(hash, block[b], bytes);
    struct kernel_query queries[2] = { { .q = q, .o = o[0], .lo = 10, .hi = P },
                                       { .q = q, .o = o[1], .lo = 3, .hi = 70 } };
    h->ref.attend_q8(queries, 2, blocks, HD, softcap, columns);
    for (unsigned i = 0; i < 2; i++) {
        m[2 * i] = queries[i].m;
        m[2 * i + 1] = queries[i].l;
    }
    guards_check(h);
    return fnv1a(fnv1a(hash, o, sizeof o), m, sizeof m);
}

static uint64_t hash_scalar(void)
{
    uint64_t hash = FNV_START;
    for (int i = 1; i < 1000; i++) {
        double s, c, d[4] = { kernel_log64(i * 0.37), kernel_exp64(i * 0.01 - 5) };
        kernel_sincos64(i * 97.3, &s, &c);
        d[2] = s;
        d[3] = c;
        hash = fnv1a(hash, d, sizeof d);
        float f[3] = { kernel_exp(-(float)i * 0.0871f), kernel_softcap((float)(i - 500), 50.0f),
                       kernel_inv_rms((float)i * 3.1f, 576, 1e-5f) };
        hash = fnv1a(hash, f, sizeof f);
    }
    return hash;
}

static void check_hash(struct harness *h, const char *name, unsigned columns, uint64_t want, uint64_t got)
{
    expect(h, want == got, "%s, columns %u: 0x%016llxull instead of 0x%016llxull", name, columns,
           (unsigned long long)got, (unsigned long long)want);
}

static const uint64_t matmul_hashes[TENSOR_TYPE_COUNT][2] = {
    [TENSOR_F32]  = { 0xdf4dbfcb9d8371deull },
    [TENSOR_F16]  = { 0xb54743b6255a3793ull },
    [TENSOR_BF16] = { 0x50b61e560e210766ull },
    [TENSOR_Q4_0] = { 0x092f5f8a6fc0cbdbull, 0x29544e08876d52e7ull },
    [TENSOR_Q4_1] = { 0x4f70fbdf2f67ef5cull, 0x12f89db483f933c9ull },
    [TENSOR_Q5_0] = { 0xb1328ac39495a1a0ull, 0x87b361da2ad0ad8bull },
    [TENSOR_Q5_1] = { 0x8b5471744f546dd8ull, 0xc48e4e6fd45cfef0ull },
    [TENSOR_Q8_0] = { 0x9bebc3a33b0fbd83ull, 0x307e5c204be35466ull },
    [TENSOR_Q2_K] = { 0x2583875e70397cdeull, 0x29c3b2355fffcbe6ull },
    [TENSOR_Q3_K] = { 0x50164bcb2a7e5f54ull, 0x943b8f620b884440ull },
    [TENSOR_Q4_K] = { 0x71d6b5c4878f4c67ull, 0x822992855a6080b5ull },
    [TENSOR_Q5_K] = { 0xb3753ed02e219f7bull, 0x17bab8e1e666cdc5ull },
    [TENSOR_Q6_K] = { 0xb6a6495ec0ec1f95ull, 0x3fa063eca1793004ull },
};

static const uint64_t quantise_hashes[2][2] = {
    { 0x56ca5200a1e5e84aull, 0x6777c2facacd63ceull },
    { 0x0af9381eb06e0b24ull, 0x2cfc38f1039c2596ull },
};
static const uint64_t vector_hash = 0x88d593303d6d3684ull, rope_hash = 0x6ddc5ae74338484dull;
static const uint64_t attend_hashes[2] = { 0x2bed9964ad8c9706ull, 0x08674819018d5ce5ull };
static const uint64_t attend_q8_hashes[2] = { 0xf9e9535062f05a29ull, 0x3d0b6da190a419adull };
static const uint64_t scalar_hash = 0x0396fe4736b7f3a6ull;

void check_golden(struct harness *h)
{
    for (unsigned t = 0; t < TENSOR_TYPE_COUNT; t++) {
        for (uint32_t columns = 1; columns <= (tensor_types[t].act == ACT_F32 ? 1u : 2u); columns++) {
            seed(h, 1000 + t);
            check_hash(h, tensor_types[t].name, columns, matmul_hashes[t][columns - 1],
                       hash_matmul(h, (enum tensor_type)t, columns));
        }
    }
    for (uint32_t columns = 1; columns <= 2; columns++) {
        seed(h, 2000);
        check_hash(h, "quantise, 32", columns, quantise_hashes[0][columns - 1], hash_quantise(h, ACT_32, columns));
        check_hash(h, "quantise, 256", columns, quantise_hashes[1][columns - 1], hash_quantise(h, ACT_256, columns));
    }
    seed(h, 3000);
    check_hash(h, "vector", 0, vector_hash, hash_vector(h));
    check_hash(h, "rope", 0, rope_hash, hash_rope(h));
    check_hash(h, "attend", 0, attend_hashes[0], hash_attend(h, 0.0f));
    check_hash(h, "attend, softcap", 0, attend_hashes[1], hash_attend(h, 20.0f));
    for (uint32_t columns = 1; columns <= 2; columns++) {
        seed(h, 4000);
        check_hash(h, "attend_q8", columns, attend_q8_hashes[columns - 1],
                   hash_attend_q8(h, columns, columns == 2 ? 20.0f : 0.0f));
    }
    check_hash(h, "scalar", 0, scalar_hash, hash_scalar());
}
