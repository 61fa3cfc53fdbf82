/* elector/registration.h: an elector's place at a peer server, which answers for the elector, and
 * what the server's /metrics and /readyz show of it.
 *
 * A registration is made by s3lect_peer_server_add and ends with remove, the server's close or the
 * elector's (s3l_executor_unregister), whichever comes first. */
#ifndef S3L_REGISTRATION_H
#define S3L_REGISTRATION_H

#include "elector/executor.h"

/** Takes a place. Errors as of s3lect_peer_server_add. */
int s3l_registration_open(s3l_peer_server_t* server, s3l_executor_t* d, const char* path);

/** Whether the elector stands, and the store has told what it holds. */
bool s3l_registration_is_ready(const s3l_registration_t* registration);

#endif
