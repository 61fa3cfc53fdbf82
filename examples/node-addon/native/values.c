#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "addon.h"

#define TEXT_SIZE_MAX 65536

/* ---- Errors ---- */

void code_of(int err, char* code, size_t size) {
  (void)snprintf(code, size, "S3LECT_%s", s3lect_err_name(err));
}

napi_value error_make(napi_env env, int err, const char* message) {
  char name[64];
  napi_value code, text, number, error;
  code_of(err, name, sizeof name);
  if (message == NULL || *message == '\0')
    message = s3lect_strerror(err);
  if (napi_create_string_utf8(env, name, NAPI_AUTO_LENGTH, &code) != napi_ok ||
      napi_create_string_utf8(env, message, NAPI_AUTO_LENGTH, &text) != napi_ok ||
      napi_create_int32(env, err, &number) != napi_ok ||
      napi_create_error(env, code, text, &error) != napi_ok ||
      napi_set_named_property(env, error, "errno", number) != napi_ok)
    return value_undefined(env);
  return error;
}

void* error_throw(napi_env env, int err, const char* message) {
  (void)napi_throw(env, error_make(env, err, message));
  return NULL;
}

void* error_throw_option(napi_env env, const s3lect_error_t* error) {
  napi_value thrown = error_make(env, error->code, error->text);
  (void)napi_set_named_property(env, thrown, "option", value_text(env, error->option));
  (void)napi_throw(env, thrown);
  return NULL;
}

void* error_throw_last(napi_env env) {
  const napi_extended_error_info* last;
  bool pending = false;
  (void)napi_get_last_error_info(env, &last);
  const char* text = last->error_message; /* static; the next call changes `last` */
  if (napi_is_exception_pending(env, &pending) == napi_ok && !pending)
    (void)napi_throw_error(env, "S3LECT_EINVAL", text != NULL ? text : "the call has failed");
  return NULL;
}

/* ---- From JavaScript ---- */

void texts_free(texts_t* texts) {
  for (size_t i = 0; i < texts->n; i++) {
    memory_wipe(texts->text[i], texts->size[i]);
    memory_free(texts->text[i]);
  }
  texts->n = 0;
}

static const char* refuse(napi_env env, const char* name, const char* what) {
  char message[192];
  (void)snprintf(message, sizeof message, "%s %s", name, what);
  (void)napi_throw_type_error(env, "S3LECT_EOPTION", message);
  return NULL;
}

/* Says what kind of value it is, and never the value, which may be a secret. */
static const char* refuse_kind(napi_env env, napi_value value, const char* name, const char* want) {
  static const char* const kinds[] = {"undefined", "null",     "a boolean", "a number",
                                      "a string",  "a symbol", "an object", "a function",
                                      "an object", "a bigint"};
  char what[96];
  napi_valuetype type = napi_undefined;
  (void)napi_typeof(env, value, &type);
  (void)snprintf(what, sizeof what, "must be %s, not %s", want, kinds[type]);
  return refuse(env, name, what);
}

const char* texts_add(texts_t* texts, napi_env env, napi_value value, const char* name) {
  size_t n;
  if (napi_get_value_string_utf8(env, value, NULL, 0, &n) != napi_ok)
    return refuse_kind(env, value, name, "a string");
  if (n >= TEXT_SIZE_MAX || texts->n == TEXTS_MAX)
    return refuse(env, name, "is too long");
  char* text = memory_zeroed(n + 1);
  if (text == NULL) {
    error_throw(env, UV_ENOMEM, NULL);
    return NULL;
  }
  texts->size[texts->n] = n;
  texts->text[texts->n++] = text;
  if (napi_get_value_string_utf8(env, value, text, n + 1, &n) != napi_ok || strlen(text) != n)
    return refuse(env, name, "must not contain U+0000");
  return text;
}

static bool read_number(napi_env env, napi_value value, const field_t* field, void* at) {
  double number;
  bool is_signed = field->kind == FIELD_INT32;
  uint32_t max = is_signed ? INT32_MAX : UINT32_MAX;
  if (napi_get_value_double(env, value, &number) != napi_ok) {
    refuse_kind(env, value, field->name, "a number");
    return false;
  }
  if (!(number >= 0 && number <= max) || number != (double)(uint32_t)number) {
    char what[96], given[32] = "";
    napi_value text; /* as JavaScript spells it: NaN, Infinity */
    if (napi_coerce_to_string(env, value, &text) == napi_ok)
      (void)napi_get_value_string_utf8(env, text, given, sizeof given, NULL);
    (void)snprintf(what, sizeof what, "must be a whole number from 0 to %" PRIu32 ", not %s", max,
                   given);
    refuse(env, field->name, what);
    return false;
  }
  if (is_signed)
    *(int32_t*)at = (int32_t)number;
  else
    *(uint32_t*)at = (uint32_t)number;
  return true;
}

static bool read_bool(napi_env env, napi_value value, const field_t* field, void* at) {
  bool yes;
  if (napi_get_value_bool(env, value, &yes) != napi_ok) {
    refuse_kind(env, value, field->name, "true or false");
    return false;
  }
  *(int32_t*)at = yes ? 1 : field->kind == FIELD_YES_NO ? -1 : 0;
  return true;
}

static bool read_text(napi_env env, napi_value value, const field_t* field, void* at,
                      texts_t* texts) {
  const char* text = texts_add(texts, env, value, field->name);
  memcpy(at, &text, sizeof text);
  return text != NULL;
}

static bool field_read(napi_env env, napi_value value, const field_t* field, void* to,
                       texts_t* texts) {
  void* at = (char*)to + field->offset;
  switch (field->kind) {
  case FIELD_TEXT:
    return read_text(env, value, field, at, texts);
  case FIELD_BOOL:
  case FIELD_YES_NO:
    return read_bool(env, value, field, at);
  default:
    return read_number(env, value, field, at);
  }
}

bool value_is_given(napi_env env, napi_value value) {
  napi_valuetype type;
  return napi_typeof(env, value, &type) == napi_ok && type != napi_undefined && type != napi_null;
}

bool fields_read(napi_env env, napi_value from, const field_t* fields, size_t n, void* to,
                 texts_t* texts) {
  for (size_t i = 0; i < n; i++) {
    napi_value value;
    if (napi_get_named_property(env, from, fields[i].name, &value) != napi_ok) {
      error_throw_last(env);
      return false;
    }
    if (value_is_given(env, value) && !field_read(env, value, &fields[i], to, texts))
      return false;
  }
  return true;
}

/* ---- To JavaScript ---- */

napi_value value_undefined(napi_env env) {
  napi_value value = NULL;
  (void)napi_get_undefined(env, &value);
  return value;
}

napi_value value_text(napi_env env, const char* text) {
  napi_value value;
  if (text == NULL || napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value) != napi_ok)
    return value_undefined(env);
  return value;
}

napi_value value_bool(napi_env env, bool yes) {
  napi_value value;
  return napi_get_boolean(env, yes, &value) == napi_ok ? value : value_undefined(env);
}

napi_value value_number(napi_env env, double number) {
  napi_value value;
  return napi_create_double(env, number, &value) == napi_ok ? value : value_undefined(env);
}

napi_value value_bigint(napi_env env, uint64_t number) {
  napi_value value;
  return napi_create_bigint_uint64(env, number, &value) == napi_ok ? value : value_undefined(env);
}

void value_put(napi_env env, napi_value object, const char* name, napi_value value) {
  (void)napi_set_named_property(env, object, name, value);
}
