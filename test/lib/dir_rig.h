/* A store in a directory of its own, one request, and the directory's files. There is one such rig
 * in a process; the store's loop runs in it. */
#ifndef S3L_TEST_DIR_RIG_H
#define S3L_TEST_DIR_RIG_H

#include "lib/store_suite.h"

typedef struct s3l_dir_rig_s {
  uv_loop_t loop;
  s3lect_store_t store;
  s3l_store_suite_t suite; /* without a prefix */
  s3l_suite_req_t r;
  char path[64];   /* of the directory */
  unsigned closed; /* how often the store's close callback has run */
} s3l_dir_rig_t;

extern s3l_dir_rig_t s3l_dir;

/** Makes and removes the directory: set-up and teardown of a test. */
int s3l_dir_make(void** state);
int s3l_dir_remove(void** state);

/** Opens the store in `path`; closes it and ends the loop. */
void s3l_dir_open(void);
void s3l_dir_close(void);
void s3l_dir_on_close(s3lect_store_t* store);

const s3lect_store_result_t* s3l_dir_get(const char* key, const char* unless_etag);
const s3lect_store_result_t* s3l_dir_put(const char* key, uint32_t condition, const char* etag,
                                         const char* body);
/** Lists all keys. */
const s3lect_store_result_t* s3l_dir_list(void);

/** The path of a file in the directory. Static memory. */
char* s3l_dir_file(const char* name);
void s3l_dir_write(const char* name, const char* text);
/** The file's text; "" if there is no such file. Static memory. */
const char* s3l_dir_read(const char* name);

#endif
