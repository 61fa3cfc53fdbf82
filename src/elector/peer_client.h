/* elector/peer_client.h: what the public handle of a peer client stands for. */
#ifndef S3L_ELECTOR_PEER_CLIENT_H
#define S3L_ELECTOR_PEER_CLIENT_H

#include "peer/client.h"
#include "s3lect/peer.h"

/** NULL: it is closing, or closed. */
s3l_peer_client_t* s3l_peer_client_of(const s3lect_peer_client_t* client);

#endif
