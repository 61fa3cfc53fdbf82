/* elector/callbacks.h: what the application is told, by the callbacks of its options. */
#ifndef S3L_ELECTOR_CALLBACKS_H
#define S3L_ELECTOR_CALLBACKS_H

#include "elector/executor_state.h"

/** Keeps the callbacks. False if there is no memory. */
bool s3l_callbacks_init(s3l_executor_t* d, const s3lect_elector_options_t* options);

/** Tells an event of the core's. An error that repeats is told at growing intervals (repeats.h). */
void s3l_callbacks_notify(s3l_executor_t* d, const s3l_effect_t* effect);

/** Tells an error that is not the core's. `message` NULL: what the code says. */
void s3l_callbacks_report(s3l_executor_t* d, int error, const char* message);

bool s3l_callbacks_want_trace(const s3l_executor_t* d);
void s3l_callbacks_trace(s3l_executor_t* d, const char* line);

#endif
