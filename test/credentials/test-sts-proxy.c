/* creds/sts through an HTTP proxy, which sees a host's name and no more; the machine's own services
 * are never asked through one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/certs.h"
#include "lib/creds_rig.h"
#include "lib/proxy_server.h"
#include "lib/test.h"
#include "lib/tls_files.h"

#define XML                                                                                        \
  "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"              \
  "<SessionToken>T</SessionToken><SecretAccessKey>SK</SecretAccessKey>"                            \
  "<Expiration>" S3L_CREDS_RIG_END "</Expiration><AccessKeyId>ASIA</AccessKeyId></Credentials>"    \
  "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"

static const s3l_step_t* const silent = (const s3l_step_t[]){S3L_SCRIPT_END};
static s3l_certs_t certs;
static s3l_creds_rig_t rig;
static s3l_proxy_server_t proxy;
static char proxy_url[128];

static void clear_proxies(void) {
  static const char* const names[] = {"HTTPS_PROXY", "https_proxy", "http_proxy", "NO_PROXY",
                                      "no_proxy"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    unsetenv(names[i]);
}

/* A proxy before the rig's server, which is STS. */
static void begin(const s3l_step_t* const* scripts) {
  s3l_creds_rig_init(&rig, scripts, 1);
  clear_proxies();
  setenv("AWS_CA_BUNDLE", certs.ca, 1);
  setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/r", 1);
  s3l_creds_rig_set_file(&rig, "AWS_WEB_IDENTITY_TOKEN_FILE", "token", "eyJ");
  assert_int_equal(s3l_tls_context_server(certs.aws, certs.key, &rig.server.tls, NULL), 0);
  proxy = (s3l_proxy_server_t){.target = rig.server.port};
  s3l_proxy_server_start(&proxy, &rig.loop);
  snprintf(proxy_url, sizeof(proxy_url), "http://127.0.0.1:%u", proxy.port);
}

static void end(void) {
  s3l_tls_context_t* tls = rig.server.tls;
  s3l_proxy_server_close(&proxy);
  s3l_creds_rig_end(&rig);
  s3l_tls_context_free(tls);
}

static void asks_sts_through_a_tunnel(void** state) {
  begin(
      S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("POST / HTTP/1.1\r\nhost: sts.eu-west-1.amazonaws.com\r\n"),
                             S3L_EXPECT("&WebIdentityToken=eyJ"), S3L_SEND(S3L_OK(XML)))));
  setenv("HTTPS_PROXY", proxy_url, 1);
  setenv("AWS_REGION", "eu-west-1", 1);
  s3l_creds_rig_start(&rig, NULL, S3LECT_CREDENTIALS_WEB_IDENTITY);
  s3l_creds_rig_gets(&rig, "ASIA");
  assert_int_equal(proxy.tunnels, 1);
  assert_string_equal(proxy.head, "CONNECT sts.eu-west-1.amazonaws.com:443 HTTP/1.1\r\n"
                                  "host: sts.eu-west-1.amazonaws.com:443\r\n\r\n");
  end();
}

static void tells_of_the_proxy(void** state) {
  begin(&silent);
  proxy.authorization = "Basic dTpw";
  setenv("HTTPS_PROXY", proxy_url, 1);
  s3l_creds_rig_start(&rig, NULL, S3LECT_CREDENTIALS_WEB_IDENTITY);
  s3l_creds_rig_fails(&rig, "..."
                            "wants a user and a password (407)"
                            "...");
  assert_int_equal(rig.server.accepted, 0);
  end();
  begin(&silent);
  setenv("HTTPS_PROXY", "socks5://u:secret@x", 1);
  s3l_creds_rig_start(&rig, NULL, S3LECT_CREDENTIALS_WEB_IDENTITY);
  s3l_creds_rig_fails(&rig, "web identity: AssumeRoleWithWebIdentity of arn:aws:iam::1:role/r: "
                            "HTTPS_PROXY must begin with http://: no other kind of proxy is "
                            "supported");
  end();
}

/* STS must show a certificate of an authority that is trusted, behind a proxy, too. */
static void verifies_sts_behind_the_tunnel(void** state) {
  begin(&silent);
  setenv("HTTPS_PROXY", proxy_url, 1);
  setenv("AWS_REGION", "eu-west-1", 1);
  setenv("AWS_CA_BUNDLE", certs.other_ca, 1);
  s3l_creds_rig_start(&rig, NULL, S3LECT_CREDENTIALS_WEB_IDENTITY);
  s3l_creds_rig_fails(&rig, "...TLS handshake with sts.eu-west-1.amazonaws.com:443: ...");
  assert_int_equal(rig.server.strays, 0); /* the token has not been sent */
  end();
}

/* Even with a proxy for all, and for hosts that are not loopback's: they are reached from this
 * machine only. */
static void asks_directly(uint32_t source) {
  const s3l_proxy_rules_t nowhere = s3l_proxy_rules("http://127.0.0.1:1");
  s3l_creds_rig_configure(&rig, NULL, source);
  s3l_proxy_rules_free(&rig.settings.proxies);
  assert_int_equal(s3l_proxy_rules_copy(&nowhere, &rig.settings.proxies), 0);
  s3l_creds_rig_open(&rig);
  s3l_creds_rig_got(&rig, "AK");
}

static void asks_the_machine_directly(void** state) {
  char url[128];
  s3l_creds_rig_init(&rig, S3L_CREDS_RIG_SCRIPT(S3L_EXPECT("GET /creds HTTP/1.1\r\n"),
                                                S3L_EXPECT("\r\n\r\n"),
                                                S3L_SEND(S3L_OK(S3L_CREDS_RIG_JSON))));
  snprintf(url, sizeof(url), "%s/creds", rig.base);
  setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, 1);
  asks_directly(S3LECT_CREDENTIALS_CONTAINER);
  s3l_creds_rig_init(&rig, S3L_CREDS_RIG_SCRIPT(S3L_EXPECT("PUT /latest/api/token"),
                                                S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_OK("TOKEN")),
                                                S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_OK("role")),
                                                S3L_EXPECT("\r\n\r\n"),
                                                S3L_SEND(S3L_OK(S3L_CREDS_RIG_JSON))));
  setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", rig.base, 1);
  asks_directly(S3LECT_CREDENTIALS_INSTANCE);
}

static int make_certs(void** state) {
  return s3l_certs_make(&certs);
}

static int remove_certs(void** state) {
  s3l_certs_remove(&certs);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(asks_sts_through_a_tunnel),
      cmocka_unit_test(tells_of_the_proxy),
      cmocka_unit_test(verifies_sts_behind_the_tunnel),
      cmocka_unit_test(asks_the_machine_directly),
  };
  return cmocka_run_group_tests(tests, make_certs, remove_certs);
}
