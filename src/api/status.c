// SPDX-License-Identifier: Apache-2.0
// status.c: TF_Status: an fy_error and its payloads.

#include <errno.h>
#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "xla/tsl/c/tsl_status.h"

static void drop_payloads(TF_Status *s) {
  for (size_t i = 0; i < s->num_payloads; i++) {
    fy_free(s->payloads[i].key);
    fy_free(s->payloads[i].value);
  }
  s->num_payloads = 0;
}

fy_error *fy_api_begin(TF_Status *status) {
  if (!status) return NULL;
  if (FY_UNLIKELY(status->num_payloads)) drop_payloads(status);
  if (FY_UNLIKELY(status->error.code != FY_OK)) fy_error_clear(&status->error);
  return &status->error;
}

void fy_api_fail_no_attr(const char *name, const char *node, fy_error *err) {
  if (name[0] == '_')  // TensorFlow spares itself the rest for names of its own
    fy_fail(err, FY_NOT_FOUND, "No attr named '%s' in NodeDef:", name);
  else
    fy_fail(err, FY_NOT_FOUND, "No attr named '%s' in NodeDef:\n\t [[{{node %s}}]]", name, node);
}

void fy_api_end(TF_Status *status, fy_code code) {
  if (!status || status->error.code == code) return;
  if (code == FY_OK)
    fy_error_clear(&status->error);
  else
    fy_fail(&status->error, code, "%s", fy_code_name(code));
}

void fy_api_status(TF_Status *status, fy_code code, fy_error *err) {
  if (!fy_api_begin(status)) return;
  if (code && err) fy_error_move(&status->error, err);
  fy_api_end(status, code);
}

TF_Status *TF_NewStatus(void) {
  TF_Status *s = fy_malloc(sizeof *s);
  if (!s) return NULL;
  fy_error_init(&s->error);
  s->payloads = NULL;
  s->num_payloads = s->cap_payloads = 0;
  return s;
}

void TF_DeleteStatus(TF_Status *status) {
  if (!status) return;
  fy_api_begin(status);
  fy_free(status->payloads);
  fy_free(status);
}

void TF_SetStatus(TF_Status *s, TF_Code code, const char *msg) {
  fy_error *err = fy_api_begin(s);
  if (err && code != TF_OK) fy_fail(err, (fy_code)code, "%s", msg ? msg : "");
}

void TF_SetPayload(TF_Status *s, const char *key, const char *value) {
  if (s->error.code == FY_OK) return;
  char *copy = fy_strdup(value);
  if (!copy) return;
  for (size_t i = 0; i < s->num_payloads; i++) {
    if (strcmp(s->payloads[i].key, key) != 0) continue;
    fy_free(s->payloads[i].value);
    s->payloads[i].value = copy;
    return;
  }
  char *name = fy_strdup(key);
  if (name && fy_grow(&s->payloads, &s->cap_payloads, s->num_payloads + 1, sizeof *s->payloads)) {
    s->payloads[s->num_payloads++] = (fy_payload){name, copy};
    return;
  }
  fy_free(name);
  fy_free(copy);
}

void TF_ForEachPayload(const TF_Status *s, TF_PayloadVisitor visitor, void *capture) {
  for (size_t i = 0; i < s->num_payloads; i++)
    visitor(s->payloads[i].key, s->payloads[i].value, capture);
}

TF_Code TF_GetCode(const TF_Status *s) {
  return (TF_Code)s->error.code;
}

const char *TF_Message(const TF_Status *s) {
  return fy_error_text(&s->error);
}

static fy_code code_of_errno(int e) {
  switch (e) {
    case 0: return FY_OK;
    case EINVAL:
    case ENAMETOOLONG:
    case E2BIG:
    case EDESTADDRREQ:
    case EDOM:
    case EFAULT:
    case EILSEQ:
    case ENOPROTOOPT:
    case ENOSTR:
    case ENOTSOCK:
    case ENOTTY:
    case EPROTOTYPE:
    case ESPIPE: return FY_INVALID_ARGUMENT;
    case ETIMEDOUT:
    case ETIME: return FY_DEADLINE_EXCEEDED;
    case ENODEV:
    case ENOENT:
    case ENXIO:
    case ESRCH: return FY_NOT_FOUND;
    case EEXIST:
    case EADDRNOTAVAIL:
    case EALREADY: return FY_ALREADY_EXISTS;
    case EPERM:
    case EACCES:
    case EROFS: return FY_PERMISSION_DENIED;
    case ENOTEMPTY:
    case EISDIR:
    case ENOTDIR:
    case EADDRINUSE:
    case EBADF:
    case EBUSY:
    case ECHILD:
    case EISCONN:
    case ENOTBLK:
    case ENOTCONN:
    case EPIPE:
    case ETXTBSY: return FY_FAILED_PRECONDITION;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case EMLINK:
    case ENFILE:
    case ENOBUFS:
    case ENODATA:
    case ENOMEM:
    case ENOSR:
    case EUSERS: return FY_RESOURCE_EXHAUSTED;
    case EFBIG:
    case EOVERFLOW:
    case ERANGE: return FY_OUT_OF_RANGE;
    case ENOSYS:
    case ENOTSUP:
    case EAFNOSUPPORT:
    case EPFNOSUPPORT:
    case EPROTONOSUPPORT:
    case ESOCKTNOSUPPORT:
    case EXDEV: return FY_UNIMPLEMENTED;
    case EAGAIN:
    case ECONNREFUSED:
    case ECONNABORTED:
    case ECONNRESET:
    case EINTR:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETDOWN:
    case ENETRESET:
    case ENETUNREACH:
    case ENOLCK:
    case ENOLINK: return FY_UNAVAILABLE;
    case EDEADLK:
    case ESTALE: return FY_ABORTED;
    case ECANCELED: return FY_CANCELLED;
    default: return FY_UNKNOWN;
  }
}

void TF_SetStatusFromIOError(TF_Status *s, int error_code, const char *context) {
  fy_error *err = fy_api_begin(s);
  fy_code code = code_of_errno(error_code);
  char text[256];
  if (code) fy_fail(err, code, "%s; %s", context, strerror_r(error_code, text, sizeof text));
}

// ---------------------------------------------------------------- the same by TSL's names
#define SAME(type, name, params) type TSL_##name params __attribute__((alias("TF_" #name)))

SAME(TSL_Status *, NewStatus, (void));
SAME(void, DeleteStatus, (TSL_Status * s));
SAME(void, SetStatus, (TSL_Status * s, TSL_Code code, const char *msg));
SAME(void, SetPayload, (TSL_Status * s, const char *key, const char *value));
SAME(void, ForEachPayload, (const TSL_Status *s, TSL_PayloadVisitor visitor, void *capture));
SAME(void, SetStatusFromIOError, (TSL_Status * s, int error_code, const char *context));
SAME(TSL_Code, GetCode, (const TSL_Status *s));
SAME(const char *, Message, (const TSL_Status *s));
