/* cli/audit.h (L8): the picture of an audit. */
#ifndef S3L_CLI_AUDIT_H
#define S3L_CLI_AUDIT_H

#include <s3lect.h>

/** Writes the picture of what was judged. Returns 0 or CLI_EXIT_FAILED after a line on stderr. */
int cli_audit_draw(const s3lect_audit_t* audit, const s3lect_audit_report_t* report,
                   const char* path);

#endif
