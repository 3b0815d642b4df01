/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kern/vector_ops.h"

const struct vector_op vector_ops[VECTOR_OPS] = {
    { "epilogue", 0 }, { "epilogue r", 2 }, { "epilogue bias", 3 }, { "epilogue r bias", 3 }, { "add", 3 },
    { "norm", 3 }, { "norm_add", 4 }, { "scale", 2 }, { "gated_silu", 3 }, { "gated_gelu", 3 }, { "exp", 2 },
    { "sumsq", 1 }, { "attend_finish", 2 }, { "attend_merge", 3 },
};

void vector_op_call(const struct kernel_ops *ops, unsigned op, float *y, const float *a, const float *b, uint32_t n)
{
    float r = 0.37f + a[0], m = a[n / 2], l = b[n / 2];
    switch (op) {
    case 0: ops->epilogue(y, n, 0, r, NULL); break;
    case 1: ops->epilogue(y, n, 1, r, NULL); break;
    case 2: ops->epilogue(y, n, 0, r, a); break;
    case 3: ops->epilogue(y, n, 1, r, a); break;
    case 4: ops->add(y, a, n); break;
    case 5: ops->norm(y, a, r, n); break;
    case 6: ops->norm_add(y, a, b, r, n); break;
    case 7: ops->scale(y, r, n); break;
    case 8: ops->gated_silu(a, b, y, n); break;
    case 9: ops->gated_gelu(a, b, y, n); break;
    case 10: ops->exp(a, y, n); break;
    case 11: y[0] = ops->sumsq(a, n < 256 ? n : 256); break;
    case 12: ops->attend_finish(y, 1.5f + a[0], n); break;
    case 13:
        ops->attend_merge(&m, &l, y, a[0], b[0], b, n);
        y[0] += m;              /* what went out by the other pointers counts too */
        y[n - 1] += l;
        break;
    default: break;
    }
}
