/* SPDX-License-Identifier: Apache-2.0 */
#include "src/tools/token_file.h"

#include <stdlib.h>
#include <string.h>

#define FILE_MAX (256u << 20)

static bool is_separator(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',';
}

/* One number from *at on; false where there is none that fits. */
static bool take_id(const struct buffer *text, size_t *at, uint32_t *ret_id)
{
    uint64_t id = 0;
    size_t begin = *at;

    for (; *at < text->size && text->data[*at] >= '0' && text->data[*at] <= '9'; (*at)++) {
        id = id * 10 + (uint64_t)(text->data[*at] - '0');
        if (id > UINT32_MAX)
            return false;
    }
    *ret_id = (uint32_t)id;
    return *at > begin && (*at == text->size || is_separator(text->data[*at]));
}

static int parse(const char *path, const struct buffer *text, struct token_list *list, struct error *error)
{
    for (size_t at = 0; at < text->size;) {
        if (is_separator(text->data[at])) {
            at++;
            continue;
        }
        if (!take_id(text, &at, &list->ids[list->count]))
            return error_set(error, -EINVAL,
                             "%s: no token id at byte %zu; write decimal ids with blanks or commas between", path, at);
        list->count++;
    }
    return list->count ? 0 : error_set(error, -EINVAL, "%s holds no token ids", path);
}

int token_list_read(const char *path, struct token_list *ret_list, struct error *error)
{
    struct buffer text = BUFFER_NULL;
    struct token_list list = TOKEN_LIST_NULL;
    int r = tool_read_file(path, FILE_MAX, &text, error);

    if (r < 0)
        return r;
    list.ids = calloc(text.size / 2 + 1, sizeof(*list.ids));    /* an id and a separator take two bytes */
    r = list.ids ? parse(path, &text, &list, error) : error_set(error, -ENOMEM, "no memory for the token ids");
    buffer_deinit(&text);
    if (r < 0)
        token_list_deinit(&list);
    else
        *ret_list = list;
    return r;
}

void token_list_deinit(struct token_list *list)
{
    free(list->ids);
    *list = (struct token_list)TOKEN_LIST_NULL;
}
