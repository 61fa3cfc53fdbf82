/* world/secrets.h: OpenSSL without chance: its random numbers and its time are the world's, so that
 * a run with TLS repeats byte for byte, too; and the certificates of the store and of the nodes. */
#ifndef WORLD_SECRETS_H
#define WORLD_SECRETS_H

typedef struct world_secrets_s {
  char dir[128];
  char ca[160], key[160], store[160], node[160]; /* files in PEM; one key for all */
} world_secrets_t;

/** Made when first used; the same in every process. */
const world_secrets_t* world_secrets(void);
void world_secrets_remove(void);

#endif
