/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "bench/kernels.h"
#include "src/base/json.h"

static const char *const place_names[PLACE_COUNT] = { "l1", "l2", "memory" };

static const struct bench_row *row_at(const struct bench *b, size_t i)
{
    return (const struct bench_row *)(const void *)(b->rows.data) + i;
}

static size_t row_count(const struct bench *b) { return b->rows.size / sizeof(struct bench_row); }

static const char *function_of(const struct bench *b, const struct bench_row *r)
{
    const struct kernel_ops *ops = &b->ops[r->level];
    const uint32_t columns = r->c.tokens * (strcmp(r->c.activations, "int16") == 0 ? 2 : 1);

    if (strcmp(r->c.kernel, "matmul") == 0)
        for (unsigned t = 0; t < TENSOR_TYPE_COUNT; t++)
            if (strcmp(tensor_types[t].name, r->c.type) == 0)
                return columns >= ops->many_columns[t] ? ops->many_name[t] : ops->matmul_name[t];
    return r->c.name;
}

static double rate(const struct bench_row *r, double amount)
{
    return r->seconds.min > 0 ? amount / r->seconds.min : 0;
}

/* Of the roof; of no level's kernels there is none. */
static double share(const struct bench *b, const struct bench_row *r)
{
    double roof = r->any_level || r->c.bytes <= 0 ? 0 : bench_roof(b, r);

    return roof > 0 ? rate(r, r->c.bound == BOUND_READ ? r->c.bytes : r->c.macs) / roof : 0;
}

static void put_limits_table(const struct bench *b, struct buffer *out)
{
    buffer_printf(out, "clock %.2f GHz\n\n%-8s %10s %10s %10s %9s %9s %9s\n", b->clock_hz * 1e-9, "level", "int8 GMAC",
                  "MAC/cycle", "f32 GMAC", "l1 GB/s", "l2 GB/s", "memory");
    for (unsigned l = 0; l < KERNEL_LEVEL_COUNT; l++)
        if (b->has[l]) {
            const struct limits *m = &b->limits[l];

            buffer_printf(out, "%-8s %10.1f %10.1f %10.1f %9.1f %9.1f %9.1f\n",
                          kernel_level_name((enum kernel_level)l), m->int8 * 1e-9, m->int8 / b->clock_hz,
                          m->f32 * 1e-9, m->read[PLACE_L1] * 1e-9, m->read[PLACE_L2] * 1e-9,
                          m->read[PLACE_MEMORY] * 1e-9);
        }
}

void bench_put_table(const struct bench *b, struct buffer *out)
{
    put_limits_table(b, out);
    buffer_printf(out, "\n%-15s %-5s %-5s %6s %4s %-6s %-8s %11s %9s %9s %5s\n", "kernel", "type", "x", "tokens", "hd",
                  "from", "level", "us", "GB/s", "GMAC/s", "roof");
    for (size_t i = 0; i < row_count(b); i++) {
        const struct bench_row *r = row_at(b, i);

        buffer_printf(out, "%-15s %-5s %-5s %6u %4u %-6s %-8s %11.3f %9.2f", r->c.kernel, r->c.type, r->c.activations,
                      r->c.tokens, r->c.head_dim, place_names[r->c.place],
                      r->any_level ? "" : kernel_level_name(r->level), r->seconds.min * 1e6,
                      rate(r, r->c.bytes) * 1e-9);
        if (r->c.macs > 0)
            buffer_printf(out, " %9.2f", rate(r, r->c.macs) * 1e-9);
        else
            buffer_printf(out, " %9s", "");
        if (share(b, r) > 0)
            buffer_printf(out, " %3.0f %%", 100 * share(b, r));
        buffer_printf(out, "\n");
    }
}

static void put_level(const struct bench *b, unsigned l, struct json *j)
{
    const struct limits *m = &b->limits[l];

    json_object(j);
    json_pair_text(j, "level", kernel_level_name((enum kernel_level)l));
    json_pair_f64(j, "int8_macs_per_s", m->int8);
    json_pair_f64(j, "int8_macs_per_cycle", m->int8 / b->clock_hz);
    json_pair_f64(j, "f32_macs_per_s", m->f32);
    json_key(j, "read_bytes_per_s");
    json_object(j);
    for (unsigned p = 0; p < PLACE_COUNT; p++)
        json_pair_f64(j, place_names[p], m->read[p]);
    json_end(j, '}');
    json_end(j, '}');
}

static void put_row(const struct bench *b, const struct bench_row *r, struct json *j)
{
    json_object(j);
    json_pair_text(j, "kernel", r->c.kernel);
    json_pair_text(j, "level", r->any_level ? "" : kernel_level_name(r->level));
    json_pair_text(j, "name", function_of(b, r));
    json_pair_text(j, "type", r->c.type);
    json_pair_text(j, "activations", r->c.activations);
    json_pair_u64(j, "tokens", r->c.tokens);
    json_pair_u64(j, "head_dim", r->c.head_dim);
    json_pair_text(j, "from", place_names[r->c.place]);
    json_pair_f64(j, "bytes", r->c.bytes);
    json_pair_f64(j, "macs", r->c.macs);
    spread_put(j, "seconds", &r->seconds);
    json_pair_f64(j, "bytes_per_s", rate(r, r->c.bytes));
    json_pair_f64(j, "macs_per_s", rate(r, r->c.macs));
    json_pair_f64(j, "of_roof", share(b, r));
    json_end(j, '}');
}

void bench_put_json(const struct bench *b, struct buffer *out)
{
    struct json j = json_to(out);

    json_object(&j);
    json_pair_f64(&j, "clock_hz", b->clock_hz);
    json_pair_f64(&j, "memory_bytes", (double)b->memory_bytes);
    json_key(&j, "levels");
    json_array(&j);
    for (unsigned l = 0; l < KERNEL_LEVEL_COUNT; l++)
        if (b->has[l])
            put_level(b, l, &j);
    json_end(&j, ']');
    json_key(&j, "kernels");
    json_array(&j);
    for (size_t i = 0; i < row_count(b); i++)
        put_row(b, row_at(b, i), &j);
    json_end(&j, ']');
    json_end(&j, '}');
    buffer_put_u8(out, '\n');
}
