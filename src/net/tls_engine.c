/* net/tls_engine.c: see tls_engine.h. */
#include "net/tls_engine.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <uv.h>

#include "s3lect/errno.h"
#include "util/assert.h"

/* SSL_get_error looks into the thread's error queue, in which others may have left something. To
 * look is much cheaper than to clear. */
static void clear_errors(void) {
  if (ERR_peek_error() != 0)
    ERR_clear_error();
}

static bool is_flooded(const s3l_tls_engine_t* e) {
  return e->quiet > S3L_TLS_QUIET_MAX + e->plain_bytes / S3L_TLS_QUIET_BYTES;
}

/* OpenSSL handles all records that it has before it returns, so a flood is stopped from within: the
 * ciphertext that has not been looked at is dropped, and OpenSSL then asks for more. */
static void on_message(int sent, int version, int type, const void* data, size_t n, SSL* ssl,
                       void* arg) {
  s3l_tls_engine_t* e = arg;
  (void)version;
  (void)data;
  (void)n;
  (void)ssl;
  if (sent || (type != SSL3_RT_HEADER && type != SSL3_RT_HANDSHAKE))
    return;
  e->quiet++;
  if (is_flooded(e))
    (void)BIO_reset(e->in);
}

/* What a certificate may be matched by (RFC 9525): not by its subject. */
#define HOST_FLAGS (X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)

static bool is_ip(const char* host) {
  struct in6_addr address; /* large enough for IPv4 too */
  return uv_inet_pton(AF_INET, host, &address) == 0 || uv_inet_pton(AF_INET6, host, &address) == 0;
}

static int set_host(s3l_tls_engine_t* e, const char* host) {
  if (is_ip(host))
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(e->ssl), host); /* and no SNI: RFC 6066 */
  SSL_set_hostflags(e->ssl, HOST_FLAGS);
  return X509_VERIFY_PARAM_set1_host(SSL_get0_param(e->ssl), host, 0) == 1 &&
         SSL_set_tlsext_host_name(e->ssl, host) == 1;
}

static int set_client(s3l_tls_engine_t* e, const char* host) {
  static const unsigned char http11[] = "\x08http/1.1";
  SSL_set_connect_state(e->ssl);
  if (set_host(e, host) != 1)
    return S3LECT_ETLS;
  if (SSL_set_alpn_protos(e->ssl, http11, sizeof(http11) - 1) != 0) /* 0 is success here */
    return UV_ENOMEM;
  if (SSL_set_app_data(e->ssl, (char*)e->context->generation) != 1)
    return UV_ENOMEM;
  if (e->context->session != NULL)
    (void)SSL_set_session(e->ssl, e->context->session); /* refused: a full handshake then */
  return 0;
}

int s3l_tls_engine_init(s3l_tls_engine_t* e, s3l_tls_context_t* context, const char* host) {
  S3L_ASSERT(context->server == (host == NULL));
  memset(e, 0, sizeof(*e));
  e->context = context;
  ERR_clear_error();
  e->ssl = SSL_new(context->ssl_ctx);
  e->in = BIO_new(BIO_s_mem());
  e->out = BIO_new(BIO_s_mem());
  if (e->ssl == NULL || e->in == NULL || e->out == NULL) {
    BIO_free(e->in);
    BIO_free(e->out);
    SSL_free(e->ssl);
    return UV_ENOMEM;
  }
  (void)s3l_tls_context_ref(context);
  BIO_set_mem_eof_return(e->in, -1);  /* empty is "later", not "end" */
  SSL_set_bio(e->ssl, e->in, e->out); /* they are the SSL's now */
  SSL_set_msg_callback(e->ssl, on_message);
  (void)SSL_set_msg_callback_arg(e->ssl, e); /* sets a pointer, and cannot fail */
  int rc = 0;
  if (context->server)
    SSL_set_accept_state(e->ssl);
  else
    rc = set_client(e, host);
  if (rc != 0)
    s3l_tls_engine_free(e);
  ERR_clear_error();
  return rc;
}

void s3l_tls_engine_free(s3l_tls_engine_t* e) {
  SSL_free(e->ssl);
  e->ssl = NULL;
  s3l_tls_context_free(e->context);
  e->context = NULL;
}

int s3l_tls_feed(s3l_tls_engine_t* e, const char* data, size_t n) {
  S3L_ASSERT(n <= INT_MAX);
  return BIO_write(e->in, data, (int)n) == (int)n ? 0 : UV_ENOMEM;
}

static int code_of_verify(long v) {
  switch (v) {
  case X509_V_ERR_HOSTNAME_MISMATCH:
  case X509_V_ERR_IP_ADDRESS_MISMATCH:
    return S3LECT_ETLSNAME;
  case X509_V_ERR_CERT_HAS_EXPIRED:
  case X509_V_ERR_CERT_NOT_YET_VALID:
    return S3LECT_ETLSEXPIRED;
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
  case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
  case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
  case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
  case X509_V_ERR_CERT_UNTRUSTED:
  case X509_V_ERR_CERT_CHAIN_TOO_LONG:
  case X509_V_ERR_CERT_SIGNATURE_FAILURE:
  case X509_V_ERR_INVALID_CA:
    return S3LECT_ETLSCA;
  default:
    return S3LECT_ETLS;
  }
}

/* Reads OpenSSL's error state into `why` and a code. */
static int fail(s3l_tls_engine_t* e) {
  unsigned long err = ERR_peek_last_error();
  const char* reason = ERR_reason_error_string(err);
  long verify = SSL_get_verify_result(e->ssl);
  int rc = S3LECT_ETLS;
  e->failed = true;
  if (is_flooded(e)) {
    snprintf(e->why, sizeof(e->why), "the peer sends too many records without application data");
  } else if (!e->ready && verify != X509_V_OK && e->context->server) {
    snprintf(e->why, sizeof(e->why), "the client's certificate is refused (%s)",
             X509_verify_cert_error_string(verify));
  } else if (!e->ready && verify != X509_V_OK) {
    const char* text = X509_verify_cert_error_string(verify);
    rc = code_of_verify(verify);
    if (rc == S3LECT_ETLSNAME)
      snprintf(e->why, sizeof(e->why),
               "the certificate is for another name "
               "(of its alternative names; the common name does not count)");
    else if (verify == X509_V_ERR_CERT_HAS_EXPIRED)
      snprintf(e->why, sizeof(e->why), "the certificate has expired");
    else if (verify == X509_V_ERR_CERT_NOT_YET_VALID)
      snprintf(e->why, sizeof(e->why), "the certificate is not yet valid");
    else if (rc == S3LECT_ETLSCA)
      snprintf(e->why, sizeof(e->why), "the certificate is not signed by a trusted authority (%s)",
               text);
    else
      snprintf(e->why, sizeof(e->why), "the certificate is refused (%s)", text);
  } else if (ERR_GET_LIB(err) == ERR_LIB_SSL && ERR_GET_REASON(err) == SSL_R_WRONG_VERSION_NUMBER) {
    snprintf(e->why, sizeof(e->why), "the peer does not speak TLS (%s)", reason);
  } else {
    snprintf(e->why, sizeof(e->why), "%s", reason != NULL ? reason : "protocol error");
  }
  ERR_clear_error();
  if (!e->context->server && !e->ready)
    s3l_tls_context_forget(e->context); /* in case the session was what the server disliked */
  return rc;
}

int s3l_tls_handshake(s3l_tls_engine_t* e) {
  clear_errors();
  int rc = SSL_do_handshake(e->ssl);
  if (is_flooded(e))
    return fail(e);
  if (rc == 1) {
    e->ready = true;
    e->resumed = SSL_session_reused(e->ssl) == 1;
    return S3L_TLS_READY;
  }
  switch (SSL_get_error(e->ssl, rc)) {
  case SSL_ERROR_WANT_READ:
  case SSL_ERROR_WANT_WRITE:
    return S3L_TLS_MORE;
  default:
    return fail(e);
  }
}

ssize_t s3l_tls_read(s3l_tls_engine_t* e, char* buf, size_t cap) {
  size_t n = 0;
  clear_errors();
  int rc = SSL_read_ex(e->ssl, buf, cap, &n);
  if (rc == 1) {
    e->plain_bytes += n;
    if (e->quiet > 0)
      e->quiet--; /* this record brought some */
    return (ssize_t)n;
  }
  if (is_flooded(e))
    return fail(e);
  switch (SSL_get_error(e->ssl, rc)) {
  case SSL_ERROR_WANT_READ:
  case SSL_ERROR_WANT_WRITE:
    return 0;
  case SSL_ERROR_ZERO_RETURN:
    e->ended = true;
    return UV_EOF;
  default:
    return fail(e);
  }
}

int s3l_tls_write(s3l_tls_engine_t* e, const char* data, size_t n) {
  size_t did = 0;
  clear_errors();
  /* Output goes to memory and renegotiation is off: OpenSSL takes all at once. */
  return SSL_write_ex(e->ssl, data, n, &did) == 1 && did == n ? 0 : fail(e);
}

size_t s3l_tls_take(s3l_tls_engine_t* e, char* buf, size_t cap) {
  int n = BIO_read(e->out, buf, cap > INT_MAX ? INT_MAX : (int)cap);
  return n > 0 ? (size_t)n : 0;
}

bool s3l_tls_has_output(const s3l_tls_engine_t* e) {
  return BIO_ctrl_pending(e->out) > 0;
}

/* Also keeps the session good: OpenSSL does not resume one whose connection ended without. */
void s3l_tls_shutdown(s3l_tls_engine_t* e) {
  if (!e->ready || e->failed)
    return;
  ERR_clear_error();
  (void)SSL_shutdown(e->ssl);
  ERR_clear_error();
}

bool s3l_tls_peer_verified(const s3l_tls_engine_t* e) {
  return e->ready && SSL_get0_peer_certificate(e->ssl) != NULL &&
         SSL_get_verify_result(e->ssl) == X509_V_OK;
}

bool s3l_tls_peer_is(const s3l_tls_engine_t* e, const char* host) {
  if (!s3l_tls_peer_verified(e))
    return false;
  X509* cert = SSL_get0_peer_certificate(e->ssl);
  bool is = is_ip(host) ? X509_check_ip_asc(cert, host, 0) == 1
                        : X509_check_host(cert, host, 0, HOST_FLAGS, NULL) == 1;
  ERR_clear_error();
  return is;
}
