/* wire/sigv4: published vectors, stage by stage. V1..V5 stand in AWS's S3 documentation, the
 * general ones in AWS's signing test suite, O1 and O2 were computed by an independent script.
 *
 * Google publishes vectors of its flavour for signed URLs, with RSA: their canonical requests are
 * those of any V4 signature, and are G1 to G3 here, under their published hashes. It publishes none
 * for HMAC keys: the signatures of G1 to G4 were computed by an independent script, and G4's stands
 * in the tests of another implementation (ClickHouse), too. */
#include <string.h>

#include "lib/test.h"
#include "util/hex.h"
#include "util/mem.h"
#include "wire/sigv4.h"

#define UNSIGNED "UNSIGNED-PAYLOAD"
#define H(n, v)                                                                                    \
  {                                                                                                \
    {(n), sizeof(n) - 1}, {                                                                        \
      (v), sizeof(v) - 1                                                                           \
    }                                                                                              \
  }

typedef struct vector_s {
  const char* name;
  const char* method;
  const char* path;
  s3l_sigv4_pair_t params[8]; /* an absent name ends the list */
  s3l_sigv4_pair_t headers[8];
  const char* body;    /* NULL: empty */
  const char* payload; /* NULL: the body's hash */
  const char* canonical_hash;
  const char* signature;
} vector_t;

#define LIST(...)                                                                                  \
  { __VA_ARGS__ }
#define NONE                                                                                       \
  {                                                                                                \
    {                                                                                              \
      {NULL, 0}, {                                                                                 \
        NULL, 0                                                                                    \
      }                                                                                            \
    }                                                                                              \
  }
#define VECTOR(...)                                                                                \
  { __VA_ARGS__ }

static size_t length_of(const s3l_sigv4_pair_t* list) {
  size_t n = 0;
  while (list[n].name.p != NULL)
    n++;
  return n;
}

static const s3l_span_t s3_secret = {"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", 40};
static const char s3_access[] = "AKIAIOSFODNN7EXAMPLE";

#define S3_HOST H("Host", "examplebucket.s3.amazonaws.com")
#define S3_DATE H("x-amz-date", "20130524T000000Z")
#define S3_NONE                                                                                    \
  H("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")

static const vector_t s3_vectors[] = {
    VECTOR("V1", "GET", "/test.txt", NONE, LIST(S3_HOST, H("Range", "bytes=0-9"), S3_NONE, S3_DATE),
           NULL, NULL, "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972",
           "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
    VECTOR("V2", "PUT", "/test%24file.text", NONE,
           LIST(H("Date", "Fri, 24 May 2013 00:00:00 GMT"), S3_HOST, S3_DATE,
                H("x-amz-storage-class", "REDUCED_REDUNDANCY"),
                H("x-amz-content-sha256",
                  "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")),
           "Welcome to Amazon S3.", NULL,
           "9e0e90d9c76de8fa5b200d8c849cd5b8dc7a3be3951ddb7f6a76b4158342019d",
           "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
    VECTOR("V3", "GET", "/", LIST(H("lifecycle", "")), LIST(S3_HOST, S3_DATE, S3_NONE), NULL, NULL,
           "9766c798316ff2757b517bc739a67f6213b4ab36dd5da2f94eaebf79c77395ca",
           "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
    VECTOR("V4", "GET", "/", LIST(H("prefix", "J"), H("max-keys", "2")),
           LIST(S3_HOST, S3_DATE, S3_NONE), NULL, NULL,
           "df57d21db20da04d7fa30298dd4488ba3a2b47ca3a489c74750e0f1e7df1b9b7",
           "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    VECTOR("V5", "GET", "/test.txt",
           LIST(H("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
                H("X-Amz-Credential", "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"),
                H("X-Amz-Date", "20130524T000000Z"), H("X-Amz-Expires", "86400"),
                H("X-Amz-SignedHeaders", "host")),
           LIST(S3_HOST), NULL, UNSIGNED,
           "3bfa292879f6447bbcda7001decf97f4a54dc650c8942174ae0a9121cf58ad04",
           "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"),
    VECTOR("O1", "PUT", "/leases/a%20b%2Bc~d%3D1/%C3%A9", NONE,
           LIST(S3_HOST, H("If-None-Match", "*"), S3_DATE,
                H("x-amz-content-sha256",
                  "8d388f7872e05501ba67cfdb11ca1eabaa649af6b813bd7e9b314f5bc0e3a5ef")),
           "{\"epoch\":1}", NULL,
           "af601a6a0e567d88e353d296b037b7a9a4aa51ff8b329a7ab53308a5f9e62473",
           "8ac3038c769da2f9ca6a44e748a6b95adc58013fa6d5342f3c56018c9f2108df"),
    VECTOR("O2", "PUT", "/examplebucket/leases/k", NONE,
           LIST(H("host", "127.0.0.1:9000"), H("if-match", "\"d41d8cd98f00b204e9800998ecf8427e\""),
                H("x-amz-content-sha256", UNSIGNED), S3_DATE,
                H("x-amz-security-token", "IQoJEXAMPLETOKEN/+==")),
           NULL, UNSIGNED, "bde116f2bf0286103a55aff6d7f5e22fe7f787343e0a45bd05a90ef437528d84",
           "ef9d548f1b766ea544576d9533cd43c4f4e0639325a84f2dac852aa4ece740f8"),
};

#define GOOGLE_HOST H("Host", "storage.googleapis.com")
#define GOOGLE_QUERY(names)                                                                        \
  LIST(H("X-Goog-SignedHeaders", names), H("X-Goog-Expires", "10"),                                \
       H("X-Goog-Algorithm", "GOOG4-RSA-SHA256"),                                                  \
       H("X-Goog-Credential",                                                                      \
         "test-iam-credentials@dummy-project-id.iam.gserviceaccount.com/20190201/auto/storage/"    \
         "goog4_request"),                                                                         \
       H("X-Goog-Date", "20190201T090000Z"))

static const s3l_span_t google_secret = {"testsecretkey", 13};
static const char google_access[] = "GOOGTESTACCESSKEY";

static const vector_t google_vectors[] = {
    VECTOR("G1", "GET", "/test-bucket/test-object", GOOGLE_QUERY("host"), LIST(GOOGLE_HOST), NULL,
           UNSIGNED, "00e2fb794ea93d7adb703edaebdd509821fcc7d4f1a79ac5c8d2b394df109320",
           "036bed96ad066d7fa989b845001f8e05567a665abbc25c1a606ff4db156680f1"),
    VECTOR("G2", "GET", "/test-bucket//path/with/slashes/under_score/amper%26sand/file.ext",
           GOOGLE_QUERY("host"), LIST(GOOGLE_HOST), NULL, UNSIGNED,
           "63c601ecd6ccfec84f1113fc906609cbdf7651395f4300cecd96ddd2c35164f8",
           "ee944dca239b6d7b88000e2dc81aa5f32bc67c60e28e52695b04cba3c73c763b"),
    VECTOR("G3", "GET", "/test-bucket/test-object", GOOGLE_QUERY("bar;foo;host"),
           LIST(GOOGLE_HOST, H("foo", "foo-value"), H("BAR", "BAR-value")), NULL, UNSIGNED,
           "59c1ac1a6ee7d773d5c4487ecc861d60b71c4871dd18fc7d8485fac09df1d296",
           "5308886f2831da8b249ed29dcae6e0e7f0e3d9fcbe5466693d959262dcfafa54"),
};

static const vector_t google_put =
    VECTOR("G4", "PUT", "/test-bucket/dir/obj.txt", NONE,
           LIST(GOOGLE_HOST, H("x-goog-if-generation-match", "0"),
                H("x-goog-content-sha256", UNSIGNED), H("x-goog-date", "20260703T000000Z")),
           NULL, UNSIGNED, "5ab40d8e687698881b3f2eaa2c02790ef004e013074446b7921f78eb8e2a75bd",
           "4f82e49c69753329afd4768ccf1db6b472dbbd86d082a08b5b9f9fe368fb6ef6");

static const s3l_span_t general_secret = {"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", 40};
static const char general_access[] = "AKIDEXAMPLE";

#define G_HOST H("Host", "example.amazonaws.com")
#define G_DATE H("X-Amz-Date", "20150830T123600Z")

static const vector_t general_vectors[] = {
    VECTOR("get-vanilla", "GET", "/", NONE, LIST(G_HOST, G_DATE), NULL, NULL,
           "bb579772317eb040ac9ed261061d46c1f17a8133879d6129b6e1c25292927e63",
           "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    VECTOR("get-vanilla-with-session-token", "GET", "/", NONE,
           LIST(G_HOST, G_DATE,
                H("X-Amz-Security-Token",
                  "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267")),
           NULL, NULL, NULL, "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"),
    VECTOR("get-header-value-trim", "GET", "/", NONE,
           LIST(G_HOST, H("My-Header1", " value1"), H("My-Header2", " \"a   b   c\""), G_DATE),
           NULL, NULL, NULL, "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"),
    VECTOR("get-header-key-duplicate", "GET", "/", NONE,
           LIST(G_HOST, H("My-Header1", "value2"), H("My-Header1", "value2"),
                H("My-Header1", "value1"), G_DATE),
           NULL, NULL, NULL, "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"),
    VECTOR("get-vanilla-query-order-key-case", "GET", "/",
           LIST(H("Param2", "value2"), H("Param1", "value1")), LIST(G_HOST, G_DATE), NULL, NULL,
           NULL, "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
    VECTOR("get-vanilla-empty-query-key", "GET", "/", LIST(H("Param1", "value1")),
           LIST(G_HOST, G_DATE), NULL, NULL, NULL,
           "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"),
    VECTOR("get-unreserved", "GET",
           "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", NONE,
           LIST(G_HOST, G_DATE), NULL, NULL, NULL,
           "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"),
    VECTOR("get-vanilla-utf8-query", "GET", "/", LIST(H("\xE1\x88\xB4", "bar")),
           LIST(G_HOST, G_DATE), NULL, NULL, NULL,
           "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"),
    VECTOR("post-vanilla", "POST", "/", NONE, LIST(G_HOST, G_DATE), NULL, NULL, NULL,
           "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    VECTOR(
        "post-sts-header-before", "POST", "/", NONE,
        LIST(G_HOST, G_DATE,
             H("X-Amz-Security-Token",
               "AQoDYXdzEPT//////////"
               "wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPf"
               "IeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/"
               "kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7W"
               "Z0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+"
               "scqKmlzm8F"
               "DrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==")),
        NULL, NULL, NULL, "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"),
};

/* Goes through the stages one by one, then asks the signer for the same. */
static void check(const vector_t* v, s3l_signer_t* signer, const char* access, s3l_span_t secret,
                  s3l_sigv4_scope_t scope) {
  char query[1024], canonical[4096], hash[65], to_sign[512], signature[65], payload[65], auth[1024];
  char tail[128];
  uint8_t key[S3L_SHA256_SIZE];
  s3l_hmac_key_t hmac;
  s3l_buf_t b;
  s3l_sha256_t* e = &signer->engine;

  s3l_buf_init(&b, query, sizeof(query));
  s3l_sigv4_query(&b, v->params, length_of(v->params));
  assert_true(s3l_sha256_hex(e, s3l_span_cstr(v->body), payload));
  s3l_sigv4_request_t r = {
      .method = s3l_span_cstr(v->method),
      .path = s3l_span_cstr(v->path),
      .query = s3l_buf_span(&b),
      .headers = v->headers,
      .headers_len = length_of(v->headers),
      .payload_hash = s3l_span_cstr(v->payload != NULL ? v->payload : payload),
  };

  s3l_buf_init(&b, canonical, sizeof(canonical));
  s3l_sigv4_canonical_request(&b, &r);
  assert_non_null(s3l_buf_cstr(&b));
  assert_true(s3l_sha256_hex(e, s3l_buf_span(&b), hash));
  if (v->canonical_hash != NULL && strcmp(hash, v->canonical_hash) != 0)
    fail_msg("%s: canonical request is\n%s", v->name, canonical);

  s3l_buf_init(&b, to_sign, sizeof(to_sign));
  s3l_sigv4_string_to_sign(&b, &scope, s3l_span_cstr(hash));
  assert_non_null(s3l_buf_cstr(&b));
  assert_true(s3l_sigv4_signing_key(e, secret, &scope, key));
  assert_true(s3l_hmac_prepare(e, (s3l_span_t){(const char*)key, sizeof(key)}, &hmac));
  assert_true(s3l_sigv4_signature(e, &hmac, s3l_span_cstr(to_sign), signature));
  if (strcmp(signature, v->signature) != 0)
    fail_msg("%s: canonical request is\n%s\nand string to sign is\n%s", v->name, canonical,
             to_sign);

  for (int round = 0; round < 2; round++) { /* the second one with the kept key */
    s3l_buf_init(&b, auth, sizeof(auth));
    assert_true(s3l_signer_authorization(signer, &r, &scope, s3l_span_cstr(access), secret, &b));
    assert_non_null(s3l_buf_cstr(&b));
    s3l_buf_init(&b, tail, sizeof(tail));
    s3l_buf_puts(&b, ", Signature=");
    s3l_buf_puts(&b, v->signature);
    assert_non_null(s3l_buf_cstr(&b));
    assert_string_equal(auth + strlen(auth) - strlen(tail), tail);
  }
}

static s3l_sigv4_scope_t scope_of(int64_t time_ms, const char* service) {
  s3l_sigv4_scope_t scope;
  assert_true(s3l_sigv4_scope(&scope, time_ms, S3L_SPAN("us-east-1"), s3l_span_cstr(service)));
  return scope;
}

static s3l_sigv4_scope_t google_scope_of(int64_t time_ms) {
  s3l_sigv4_scope_t scope;
  assert_true(s3l_sigv4_scope_google(&scope, time_ms));
  return scope;
}

static void s3_documentation_vectors(void** state) {
  s3l_signer_t signer;
  assert_true(s3l_signer_open(&signer));
  for (size_t i = 0; i < sizeof(s3_vectors) / sizeof(s3_vectors[0]); i++)
    check(&s3_vectors[i], &signer, s3_access, s3_secret, scope_of(1369353600000, "s3"));
  s3l_signer_close(&signer);
}

static void general_suite_vectors(void** state) {
  s3l_signer_t signer;
  assert_true(s3l_signer_open(&signer));
  for (size_t i = 0; i < sizeof(general_vectors) / sizeof(general_vectors[0]); i++)
    check(&general_vectors[i], &signer, general_access, general_secret,
          scope_of(1440938160000, "service"));
  s3l_signer_close(&signer);
}

static void google_suite_vectors(void** state) {
  s3l_signer_t signer;
  assert_true(s3l_signer_open(&signer));
  for (size_t i = 0; i < sizeof(google_vectors) / sizeof(google_vectors[0]); i++)
    check(&google_vectors[i], &signer, google_access, google_secret,
          google_scope_of(1549011600000));
  check(&google_put, &signer, google_access, google_secret, google_scope_of(1783036800000));
  s3l_signer_close(&signer);
}

/* What each stage must give; the key in hexadecimal. */
typedef struct stages_s {
  const char *canonical, *to_sign, *key, *authorization;
} stages_t;

static void check_stages(const vector_t* v, s3l_span_t payload, const char* access,
                         s3l_span_t secret, s3l_sigv4_scope_t scope, const stages_t* want) {
  s3l_signer_t signer;
  uint8_t key[S3L_SHA256_SIZE];
  char text[1024], hex[65] = {0};
  s3l_buf_t b;
  assert_true(s3l_signer_open(&signer));
  s3l_sigv4_request_t r = {s3l_span_cstr(v->method),
                           s3l_span_cstr(v->path),
                           S3L_SPAN(""),
                           v->headers,
                           length_of(v->headers),
                           payload};
  s3l_buf_init(&b, text, sizeof(text));
  s3l_sigv4_canonical_request(&b, &r);
  assert_string_equal(s3l_buf_cstr(&b), want->canonical);
  s3l_buf_init(&b, text, sizeof(text));
  s3l_sigv4_string_to_sign(&b, &scope, s3l_span_cstr(v->canonical_hash));
  assert_string_equal(s3l_buf_cstr(&b), want->to_sign);
  assert_true(s3l_sigv4_signing_key(&signer.engine, secret, &scope, key));
  s3l_hex_encode(key, sizeof(key), hex);
  assert_string_equal(hex, want->key);
  s3l_buf_init(&b, text, sizeof(text));
  assert_true(s3l_signer_authorization(&signer, &r, &scope, s3l_span_cstr(access), secret, &b));
  assert_string_equal(s3l_buf_cstr(&b), want->authorization);
  s3l_signer_close(&signer);
}

/* The one vector of which every stage's text is written out in AWS's documentation. */
static void each_stage_of_v1(void** state) {
  static const stages_t want = {
      "GET\n/test.txt\n\nhost:examplebucket.s3.amazonaws.com\nrange:bytes=0-9\n"
      "x-amz-content-sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"
      "x-amz-date:20130524T000000Z\n\nhost;range;x-amz-content-sha256;x-amz-date\n"
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      "AWS4-HMAC-SHA256\n20130524T000000Z\n20130524/us-east-1/s3/aws4_request\n"
      "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972",
      "dbb893acc010964918f1fd433add87c70e8b0db6be30c1fbeafefa5ec6ba8378",
      "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
      "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
      "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"};
  check_stages(&s3_vectors[0], s3l_span_cstr(s3l_sha256_empty_hex), s3_access, s3_secret,
               scope_of(1369353600000, "s3"), &want);
}

static void each_stage_of_g4(void** state) {
  static const stages_t want = {
      "PUT\n/test-bucket/dir/obj.txt\n\nhost:storage.googleapis.com\n"
      "x-goog-content-sha256:UNSIGNED-PAYLOAD\nx-goog-date:20260703T000000Z\n"
      "x-goog-if-generation-match:0\n\n"
      "host;x-goog-content-sha256;x-goog-date;x-goog-if-generation-match\nUNSIGNED-PAYLOAD",
      "GOOG4-HMAC-SHA256\n20260703T000000Z\n20260703/auto/storage/goog4_request\n"
      "5ab40d8e687698881b3f2eaa2c02790ef004e013074446b7921f78eb8e2a75bd",
      "ea01b945dae4eeb0ca90cfbdff6e803261e272315cf843decabcb13ca7a2fadb",
      "GOOG4-HMAC-SHA256 Credential=GOOGTESTACCESSKEY/20260703/auto/storage/goog4_request, "
      "SignedHeaders=host;x-goog-content-sha256;x-goog-date;x-goog-if-generation-match, "
      "Signature=4f82e49c69753329afd4768ccf1db6b472dbbd86d082a08b5b9f9fe368fb6ef6"};
  check_stages(&google_put, S3L_SPAN(UNSIGNED), google_access, google_secret,
               google_scope_of(1783036800000), &want);
}

/* A kept key must not outlive what it was made of. */
static void key_follows_its_inputs(void** state) {
  static const struct {
    int64_t time_ms;
    const char *region, *secret;
  } steps[] = {
      {1369353600000, "us-east-1", "one"}, {1369353600000, "us-east-1", "two"},
      {1369353600000, "eu-west-1", "two"}, {1369440000000, "eu-west-1", "two"},
      {1369353600000, "us-east-1", "one"},
  };
  s3l_signer_t kept;
  assert_true(s3l_signer_open(&kept));
  s3l_sigv4_request_t r = {S3L_SPAN("GET"),
                           S3L_SPAN("/"),
                           S3L_SPAN(""),
                           s3_vectors[2].headers,
                           3,
                           s3l_span_cstr(s3l_sha256_empty_hex)};
  char previous[512] = "";
  for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
    char a[512], c[512];
    s3l_sigv4_scope_t scope;
    s3l_signer_t fresh;
    s3l_buf_t b;
    assert_true(
        s3l_sigv4_scope(&scope, steps[i].time_ms, s3l_span_cstr(steps[i].region), S3L_SPAN("s3")));
    s3l_buf_init(&b, a, sizeof(a));
    assert_true(s3l_signer_authorization(&kept, &r, &scope, S3L_SPAN("AK"),
                                         s3l_span_cstr(steps[i].secret), &b));
    assert_non_null(s3l_buf_cstr(&b));
    assert_true(s3l_signer_open(&fresh));
    s3l_buf_init(&b, c, sizeof(c));
    assert_true(s3l_signer_authorization(&fresh, &r, &scope, S3L_SPAN("AK"),
                                         s3l_span_cstr(steps[i].secret), &b));
    assert_non_null(s3l_buf_cstr(&b));
    s3l_signer_close(&fresh);
    assert_string_equal(a, c);
    assert_string_not_equal(a, previous);
    memcpy(previous, a, sizeof(a));
  }
  s3l_signer_close(&kept);
}

/* Nor the flavour that it was made for. */
static void key_follows_the_flavour(void** state) {
  const s3l_sigv4_scope_t scopes[] = {google_scope_of(1783036800000),
                                      scope_of(1783036800000, "storage")};
  s3l_sigv4_request_t r = {
      S3L_SPAN("GET"),   S3L_SPAN("/"), S3L_SPAN(""), google_vectors[0].headers, 1,
      S3L_SPAN(UNSIGNED)};
  s3l_signer_t kept;
  char text[2][512];
  s3l_buf_t b;
  assert_true(s3l_signer_open(&kept));
  for (int i = 0; i < 2; i++) {
    s3l_sigv4_scope_t scope = scopes[i];
    scope.region = S3L_SPAN("auto");
    s3l_buf_init(&b, text[i], sizeof(text[i]));
    assert_true(s3l_signer_authorization(&kept, &r, &scope, S3L_SPAN("AK"), google_secret, &b));
    s3l_signer_t fresh;
    char want[512];
    assert_true(s3l_signer_open(&fresh));
    assert_non_null(s3l_buf_cstr(&b));
    s3l_buf_init(&b, want, sizeof(want));
    assert_true(s3l_signer_authorization(&fresh, &r, &scope, S3L_SPAN("AK"), google_secret, &b));
    assert_string_equal(text[i], s3l_buf_cstr(&b));
    s3l_signer_close(&fresh);
  }
  s3l_signer_close(&kept);
}

static void queries_are_sorted(void** state) {
  const s3l_sigv4_pair_t params[] = {H("b", "1"), H("a", "z y"), H("a", "&"),
                                     H("A", ""),  H("a-b", "/"), H("", "x")};
  char out[128];
  s3l_buf_t b;
  s3l_buf_init(&b, out, sizeof(out));
  s3l_sigv4_query(&b, params, 6);
  assert_string_equal(s3l_buf_cstr(&b), "=x&A=&a=%26&a=z%20y&a-b=%2F&b=1");
}

static void limits_are_errors(void** state) {
  s3l_sigv4_pair_t many[S3L_SIGV4_HEADERS_MAX + 1];
  static char long_secret[S3L_SIGV4_SECRET_MAX + 1];
  char out[4096];
  s3l_buf_t b;
  s3l_signer_t signer;
  s3l_sigv4_scope_t scope;
  for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++)
    many[i] = (s3l_sigv4_pair_t){S3L_SPAN("x-a"), S3L_SPAN("v")};
  s3l_sigv4_request_t r = {S3L_SPAN("GET"),           S3L_SPAN("/"),     S3L_SPAN(""), many,
                           S3L_SIGV4_HEADERS_MAX + 1, S3L_SPAN(UNSIGNED)};
  s3l_buf_init(&b, out, sizeof(out));
  s3l_sigv4_canonical_request(&b, &r);
  assert_true(b.overflow);
  s3l_buf_init(&b, out, sizeof(out));
  s3l_sigv4_query(&b, many, S3L_SIGV4_QUERY_MAX + 1);
  assert_true(b.overflow);
  assert_false(s3l_sigv4_scope(&scope, INT64_MAX, S3L_SPAN("r"), S3L_SPAN("s3")));

  r.headers_len = 1;
  memset(long_secret, 'x', sizeof(long_secret));
  assert_true(s3l_signer_open(&signer));
  assert_true(s3l_sigv4_scope(&scope, 0, S3L_SPAN("r"), S3L_SPAN("s3")));
  s3l_buf_init(&b, out, sizeof(out));
  assert_false(s3l_signer_authorization(&signer, &r, &scope, S3L_SPAN("AK"),
                                        (s3l_span_t){long_secret, sizeof(long_secret)}, &b));
  /* and the signer is still good */
  assert_true(s3l_signer_authorization(&signer, &r, &scope, S3L_SPAN("AK"), S3L_SPAN("s"), &b));
  s3l_buf_init(&b, out, 20);
  assert_false(s3l_signer_authorization(&signer, &r, &scope, S3L_SPAN("AK"), S3L_SPAN("s"), &b));
  s3l_signer_close(&signer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(s3_documentation_vectors), cmocka_unit_test(general_suite_vectors),
      cmocka_unit_test(google_suite_vectors),     cmocka_unit_test(each_stage_of_v1),
      cmocka_unit_test(each_stage_of_g4),         cmocka_unit_test(key_follows_its_inputs),
      cmocka_unit_test(key_follows_the_flavour),  cmocka_unit_test(queries_are_sorted),
      cmocka_unit_test(limits_are_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
