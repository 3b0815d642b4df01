/* SPDX-License-Identifier: Apache-2.0 */
/* tenon raw: frames from standard input to a daemon, what comes back as JSON lines. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "src/tools/remote.h"
#include "src/wire/frame.h"
#include "src/wire/show.h"

#define INPUT_MAX (64u << 20)
#define FRAME_BYTES_MAX (1u << 20)      /* client frames (PROTOCOL.md); what a server sends is smaller */

static int help(void)
{
    printf(
        "usage: tenon raw [--socket PATH] [--show] < FRAMES\n\n"
        "Sends the frames of standard input (binary; python3 -m tenon.raw makes them from lines of JSON) and prints\n"
        "what comes back, one JSON object a line, until every request has had its last frame or nothing comes for 5 "
        "s.\n"
        "      --show          only print the frames of standard input, send nothing\n");
    return EXIT_OK;
}

static int print_frame(const void *bytes, size_t size)
{
    struct buffer out = BUFFER_NULL;
    struct json j = json_to(&out);
    struct frame_header header;
    struct span whole = { .data = bytes, .size = size };
    int code;

    if (frame_header_decode(whole.data, FRAME_BYTES_MAX, &header, NULL) != 0)
        return EXIT_RUN_TIME;
    wire_to_json(&header, (struct span){ .data = whole.data + FRAME_HEADER_BYTES, .size = header.length }, &j);
    buffer_put_u8(&out, '\n');
    code = tool_put(&out);
    buffer_deinit(&out);
    return code;
}

/* The next whole frame of the input; 0 = end, -1 = what is left is none. */
static int next_frame(const struct buffer *in, size_t *at, struct span *ret_frame)
{
    struct frame_header header;

    if (*at == in->size)
        return 0;
    if (in->size - *at < FRAME_HEADER_BYTES ||
        frame_header_decode(in->data + *at, FRAME_BYTES_MAX, &header, NULL) != 0 ||
        in->size - *at - FRAME_HEADER_BYTES < header.length)
        return -1;
    *ret_frame = (struct span){ .data = in->data + *at, .size = FRAME_HEADER_BYTES + header.length };
    *at += ret_frame->size;
    return 1;
}

/* Prints replies until @left requests have ended. */
static int print_replies(struct tenon *tenon, uint32_t left)
{
    struct tenon_error error;
    const void *frame;
    size_t size;

    while (left) {
        struct frame_header header;
        int r = tenon_raw_next(tenon, 5000, &frame, &size, &error), code;

        if (r == TENON_E_TIMEOUT)
            return EXIT_OK;
        if (r != TENON_OK)
            return remote_fail(&error);
        code = print_frame(frame, size);
        if (code != EXIT_OK)
            return code;
        if (frame_header_decode(frame, FRAME_BYTES_MAX, &header, NULL) == 0 && header.flags & FRAME_END)
            left--;
    }
    return EXIT_OK;
}

static int talk(const char *socket, const struct buffer *in)
{
    struct tenon_error error;
    struct tenon *tenon;
    struct span frame = { .data = NULL };
    size_t at = 0;
    uint32_t sent = 0;
    int r, code = remote_open(socket, "raw", &tenon);

    if (code != EXIT_OK)
        return code;
    while (code == EXIT_OK && (r = next_frame(in, &at, &frame)) != 0) {
        if (r < 0)
            code = tool_usage("raw", "byte %zu of the input begins no whole frame", at);
        else if (tenon_raw_send(tenon, frame.data, frame.size, &error) != TENON_OK)
            code = remote_fail(&error);
        else
            sent++;
    }
    if (code == EXIT_OK)
        code = print_replies(tenon, sent);
    tenon_close(tenon);
    return code;
}

static int show(const struct buffer *in)
{
    struct span frame = { .data = NULL };
    size_t at = 0;
    int r, code = EXIT_OK;

    while (code == EXIT_OK && (r = next_frame(in, &at, &frame)) != 0)
        code = r < 0 ? tool_usage("raw", "byte %zu of the input begins no whole frame", at)
                     : print_frame(frame.data, frame.size);
    return code;
}

int verb_raw(int argc, char **argv)
{
    static const struct option longs[] = {{"socket", required_argument, NULL, 's'},
                                          {"show", no_argument, NULL, 'w'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    const char *socket = NULL;
    struct buffer in = BUFFER_NULL;
    struct error error = ERROR_NULL;
    bool only_show = false;
    int c, code;

    while ((c = getopt_long(argc, argv, "h", longs, NULL)) >= 0)
        switch (c) {
        case 's': socket = optarg; break;
        case 'w': only_show = true; break;
        case 'h': return help();
        default: return tool_usage("raw", "an option was not understood");
        }
    if (optind < argc)
        return tool_usage("raw", "\"%.32s\" is one word too many", argv[optind]);
    if (tool_read_file("-", INPUT_MAX, &in, &error) < 0)
        return tool_fail(&error);
    code = only_show ? show(&in) : talk(socket, &in);
    buffer_deinit(&in);
    return code;
}
