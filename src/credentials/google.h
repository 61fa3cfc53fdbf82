/* credentials/google.h: Google's application default credentials, in their order: the file that
 * GOOGLE_APPLICATION_CREDENTIALS names, gcloud's own file, the metadata server.
 *
 * The credentials are an OAuth token alone, for reading and writing objects. The files are read for
 * each question, so that a file that was replaced counts from the next token on. A subject token is
 * read likewise. */
#ifndef S3L_CREDS_GOOGLE_H
#define S3L_CREDS_GOOGLE_H

#include "credentials/chain.h"

extern const s3l_chain_kind_t s3l_chain_google;

#endif
