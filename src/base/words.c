/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/words.h"

#include <stdio.h>
#include <string.h>

int words_parse(const struct words *words, const char *text, uint32_t *ret_value, struct error *error)
{
    char known[128] = "";
    size_t n = 0;

    for (size_t i = 0; i < words->count; i++) {
        const char *name = words->names[i];

        if (!name)
            continue;
        if (strcmp(name, text) == 0) {
            *ret_value = (uint32_t)i;
            return 0;
        }
        if (n < sizeof(known))
            n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", n ? ", " : "", name);
    }
    return error_set(error, -EINVAL, "\"%.64s\" is not known; known are %s", text, known);
}
