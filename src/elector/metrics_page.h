/* elector/metrics_page.h: the metrics of electors as one page, for a peer server and for programs
 * with a server of their own. */
#ifndef S3L_METRICS_PAGE_H
#define S3L_METRICS_PAGE_H

#include "elector/executor.h"

/** Begins to count what an elector does, if that is not counted yet. Most electors of a process
 * with thousands are never asked, so the room is not part of every elector. Errors: UV_ENOMEM. */
int s3l_metrics_begin(s3l_executor_t* d);

/** The elector's row of the page; s3l_metrics_begin has succeeded. */
s3l_metrics_row_t s3l_metrics_row(const s3l_executor_t* d);

/** The page, to be freed with s3l_free, and its length; NULL if there is no memory. */
char* s3l_metrics_page(const s3l_metrics_row_t* rows, size_t n, size_t* len);

#endif
