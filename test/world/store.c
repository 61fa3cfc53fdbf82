/* world/store.c: see store.h. */
#include "world/store.h"

#include <stdio.h>
#include <string.h>

#include "world/bucket.h"
#include "world/secrets.h"

#define NO_IF_MATCH "{\"no_if_match\":true}"

static int open_s3(world_life_t* l, const char* endpoint, s3lect_error_t* error) {
  s3lect_store_s3_options_t o;
  s3lect_store_s3_options_init(&o, sizeof(o));
  o.bucket = world_store->bucket;
  o.addressing = S3LECT_ADDRESSING_PATH;
  o.endpoint = endpoint;
  o.region = "us-east-1";
  o.ca_file = l->config.tls ? world_secrets()->ca : NULL;
  if (l->has_credentials) {
    o.credentials = &l->credentials;
  } else {
    o.access_key_id = world_store->key.access_key;
    o.secret_access_key = world_store->key.secret_key;
  }
  o.max_connections = l->config.max_connections;
  o.idle_timeout_ms = l->config.idle_timeout_ms;
  return s3lect_store_s3_init(&l->host->loop, &l->store, &o, error);
}

/* The endpoint's path names the account: the host is a name in some runs. */
static int open_azure(world_life_t* l, const char* endpoint, s3lect_error_t* error) {
  char whole[96];
  s3lect_store_azure_options_t o;
  s3lect_store_azure_options_init(&o, sizeof(o));
  snprintf(whole, sizeof(whole), "%s/%s", endpoint, world_store->key.access_key);
  o.account = world_store->key.access_key;
  o.account_key = world_store->key.secret_key;
  o.container = world_store->bucket;
  o.endpoint = whole;
  o.ca_file = l->config.tls ? world_secrets()->ca : NULL;
  o.max_connections = l->config.max_connections;
  o.idle_timeout_ms = l->config.idle_timeout_ms;
  return s3lect_store_azure_init(&l->host->loop, &l->store, &o, error);
}

static int open_gcs(world_life_t* l, const char* endpoint, s3lect_error_t* error) {
  s3lect_store_gcs_options_t o;
  s3lect_store_gcs_options_init(&o, sizeof(o));
  o.bucket = world_store->bucket;
  o.endpoint = endpoint;
  o.access_key_id = world_store->key.access_key;
  o.secret_access_key = world_store->key.secret_key;
  o.ca_file = l->config.tls ? world_secrets()->ca : NULL;
  o.max_connections = l->config.max_connections;
  o.idle_timeout_ms = l->config.idle_timeout_ms;
  return s3lect_store_gcs_init(&l->host->loop, &l->store, &o, error);
}

static const char* const s3_dialects[] = {"{\"weak_etag\":true}",
                                          "{\"long_etag\":true}",
                                          "{\"bare_only\":true}",
                                          "{\"chunked\":true}",
                                          "{\"plain_404\":true}",
                                          NO_IF_MATCH,
                                          NULL};

static const char* const azure_dialects[] = {"{\"long_etag\":true}", "{\"chunked\":true}",
                                             "{\"create_412\":true}", NO_IF_MATCH, NULL};

static const char* const gcs_dialects[] = {"{\"write_interval_ms\":1000}", "{\"chunked\":true}",
                                           NO_IF_MATCH, NULL};

static const world_store_kind_t kinds[] = {
    {.name = "s3",
     .protocol = "s3",
     .bucket = "bucket",
     .key = {FAKES3_ACCESS_KEY, FAKES3_SECRET_KEY, NULL},
     .services = true,
     .dialects = s3_dialects,
     .open = open_s3},
    {.name = "express", /* a directory bucket */
     .protocol = "s3",
     .bucket = "bucket--world-az1--x-s3",
     .key = {FAKES3_ACCESS_KEY, FAKES3_SECRET_KEY, NULL},
     .tls = true,
     .lockfiles = true,
     .services = true,
     .dialects = s3_dialects,
     .open = open_s3},
    {.name = "azure",
     .protocol = "azure",
     .bucket = "bucket",
     .key = {FAKES3_ACCOUNT, FAKES3_ACCOUNT_KEY, NULL},
     .dialects = azure_dialects,
     .open = open_azure},
    {.name = "gcs",
     .protocol = "gcs",
     .bucket = "bucket",
     .key = {FAKES3_ACCESS_KEY, FAKES3_SECRET_KEY, NULL},
     .dialects = gcs_dialects,
     .open = open_gcs},
};

const world_store_kind_t* world_store = &kinds[0];

bool world_store_choose(const char* name) {
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
    if (strcmp(name, kinds[i].name) != 0)
      continue;
    world_store = &kinds[i];
    return true;
  }
  return false;
}

int world_store_open(world_life_t* l, s3lect_error_t* error) {
  char endpoint[64];
  snprintf(endpoint, sizeof(endpoint), "%s://%s:%d", l->config.tls ? "https" : "http",
           l->config.by_name ? "s3.world" : "10.0.0.200", WORLD_PORT);
  return world_store->open(l, endpoint, error);
}
