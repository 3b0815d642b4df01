/* SPDX-License-Identifier: Apache-2.0 */
#include "src/wire/range.h"

#include <math.h>

#include "src/wire/wire_gen.h"

static int outside(const struct wire_field *field, uint32_t code, uint32_t detail, const char *problem,
                   struct wire_fault *fault)
{
    wire_fault_set(fault, code, detail, problem);
    fault->field = field;
    return (int)code;
}

int range_integer(const struct wire_field *field, uint64_t v, uint32_t at, struct wire_fault *fault)
{
    const struct wire_names *names = field->names;

    if (names && !names->open) {
        if (names->bits && (v & ~(uint64_t)names->mask))
            return outside(field, WIRE_E_UNSUPPORTED, (uint32_t)(v & ~(uint64_t)names->mask), "unknown flags", fault);
        if (!names->bits && (v >= 32 || !(names->mask >> v & 1)))
            return outside(field, WIRE_E_INVALID, at, "not one of the values", fault);
    }
    if ((field->flags & WIRE_FIELD_CONST) && v != field->minimum)
        return outside(field, WIRE_E_PROTOCOL, at, "not the protocol's magic number", fault);
    if (v == 0 && (field->flags & WIRE_FIELD_ZERO))
        return 0;
    if (v < field->minimum)
        return outside(field, WIRE_E_INVALID, at, "below its minimum", fault);
    if (v > field->maximum && (field->flags & WIRE_FIELD_LIMIT))
        return outside(field, WIRE_E_LIMIT, (uint32_t)field->maximum, "above the limit", fault);
    if (v > field->maximum)
        return outside(field, WIRE_E_INVALID, at, "above its maximum", fault);
    return 0;
}

int range_float(const struct wire_field *field, double v, uint32_t at, struct wire_fault *fault)
{
    if (!isfinite(v))
        return outside(field, WIRE_E_INVALID, at, "not a finite number", fault);
    if (v == 0 && (field->flags & WIRE_FIELD_ZERO))
        return 0;
    if (v < field->float_minimum)
        return outside(field, WIRE_E_INVALID, at, "below its minimum", fault);
    if (v > field->float_maximum)
        return outside(field, WIRE_E_INVALID, at, "above its maximum", fault);
    return 0;
}
