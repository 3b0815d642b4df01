/* SPDX-License-Identifier: Apache-2.0 */
#include "src/tools/spread.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct spread spread_of(double *values, uint32_t n)
{
    if (n == 0)
        return (struct spread){ 0, 0, 0 };
    qsort(values, n, sizeof(*values), compare);
    return (struct spread){ values[0], (values[(n - 1) / 2] + values[n / 2]) / 2, values[n - 1] };
}

void spread_put(struct json *j, const char *key, const struct spread *s)
{
    json_key(j, key);
    json_array(j);
    json_f64(j, s->min);
    json_f64(j, s->median);
    json_f64(j, s->max);
    json_end(j, ']');
}
