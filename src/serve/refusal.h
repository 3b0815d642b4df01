/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Why a request is not granted, in the words of the protocol: what becomes its error frame. */

#include "src/base/error.h"
#include "src/serve/peer_limits.h"

struct refusal {
    uint32_t code;                      /* enum wire_code */
    uint32_t detail, retry_after_ms;
    char text[LIMIT_ERROR_TEXT];
};

#define REFUSAL_NULL { .code = 0 }

/* Fills it and returns @code (positive: the caller sends the error frame). */
int refuse(struct refusal *refusal, uint32_t code, uint32_t detail, const char *format, ...) printf_like(4, 5);
int refuse_fault(struct refusal *refusal, const struct wire_fault *fault);
/* -ENOMEM and the like of this side. */
int refuse_error(struct refusal *refusal, int error, const char *what);
