/* SPDX-License-Identifier: Apache-2.0 */
#include "src/serve/job.h"

#include <stdlib.h>

struct job *job_new(void)
{
    return calloc(1, sizeof(struct job));
}

struct job *job_free(struct job *job)
{
    if (!job)
        return NULL;
    tokens_deinit(&job->prompt);
    free(job);
    return NULL;
}
