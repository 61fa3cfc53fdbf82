/* world/service.h: the service of credentials that a container's processes ask, on a host of its
 * own; its keys are good for some minutes. */
#ifndef WORLD_SERVICE_H
#define WORLD_SERVICE_H

#include "lib/test_server.h"
#include "world/world.h"

#define WORLD_SERVICE_URL     "http://169.254.170.23:80/keys"
#define WORLD_SERVICE_ADDRESS UINT32_C(0xa9feaa17)
#define WORLD_SERVICE_MACHINE 13
#define WORLD_ROLE_KEY        "role"
#define WORLD_ROLE_SECRET     "rolesecret"
#define WORLD_ROLE_TOKEN      "roletoken"

extern struct world_service_s {
  world_host_t* host;
  s3l_test_server_t server;
  uint64_t answers;
} world_service;

void world_service_begin(uint64_t seed);
void world_service_end(void);

#endif
