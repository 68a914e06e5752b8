// SPDX-License-Identifier: Apache-2.0
// decode_csv.c: DecodeCSV: one record per string, one output per column (RFC 4180, with
// TensorFlow's idea of where a quoted field ends).

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/text.h"
#include "ops/values.h"

typedef struct plan {
  int num_fields;
  char delim;
  bool quotes;
  fy_view na;
  const int64_t *select;  // NULL: all columns
} plan;

static fy_code prepare(fy_site *site, fy_error *err) {
  const fy_view delim = fy_site_string(site, "field_delim");
  const fy_attr *select = fy_site_attr(site, "select_cols");
  if (site->num_outputs >= INT32_MAX)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Out type too large");
  const bool all = !select || select->n == 0;
  if (!all && select->n != (uint32_t)site->num_outputs) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "select_cols should match output size");
  }
  for (uint32_t i = 0; !all && i < select->n; i++) {
    const int64_t column = select->v.ints[i];
    if (i && column <= select->v.ints[i - 1]) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "select_cols should be strictly increasing indices");
    }
    if (column < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "select_cols should be non-negative indices");
    }
  }
  if (delim.n != 1) return fy_fail(err, FY_INVALID_ARGUMENT, "field_delim should be only 1 char");
  plan *p = fy_malloc(sizeof *p);
  if (!p) return fy_fail_oom(err, sizeof *p);
  *p = (plan){.num_fields = site->num_outputs,
              .delim = delim.p[0],
              .quotes = fy_site_bool(site, "use_quote_delim"),
              .na = fy_site_string(site, "na_value"),
              .select = all ? NULL : select->v.ints};
  site->state = p;
  return FY_OK;
}

// ---------------------------------------------------------------- fields
typedef struct field {  // a part of the record, or (quotes inside) of |unquoted|
  fy_view text;
  bool copied;
  size_t at;  // in |unquoted|
} field;

typedef struct record {
  fy_view in;
  size_t at;
  fy_str unquoted;
} record;

static fy_code plain_field(const plan *p, record *r, field *out, fy_error *err) {
  const size_t start = r->at;
  for (; r->at < r->in.n && r->in.p[r->at] != p->delim; r->at++) {
    const char c = r->in.p[r->at];
    if ((p->quotes && c == '"') || c == '\n' || c == '\r') {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Unquoted fields cannot have quotes/CRLFs inside");
    }
  }
  *out = (field){.text = {r->in.p + start, r->at - start}};
  r->at++;
  return FY_OK;
}

static fy_code quoted_field(const plan *p, record *r, field *out, fy_error *err) {
  const fy_view in = r->in;
  *out = (field){.copied = true, .at = r->unquoted.len};
  r->at++;
  while (r->at + 1 < in.n && (in.p[r->at] != '"' || in.p[r->at + 1] != p->delim)) {
    if (in.p[r->at] != '"') {
      fy_str_addc(&r->unquoted, in.p[r->at++]);
      continue;
    }
    if (in.p[r->at + 1] != '"') {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Quote inside a string has to be escaped by another quote");
    }
    fy_str_addc(&r->unquoted, '"');
    r->at += 2;
  }
  if (r->at >= in.n || in.p[r->at] != '"' || (r->at != in.n - 1 && in.p[r->at + 1] != p->delim)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Quoted field has to end with quote followed by delim or end");
  }
  out->text.n = r->unquoted.len - out->at;
  r->at += 2;
  return FY_OK;
}

// Splits |r|; at most num_fields are kept in |fields|, |*count| says how many there are.
static fy_code split(const plan *p, record *r, field *fields, int64_t *count, fy_error *err) {
  int64_t parsed = 0, kept = 0;
  r->at = 0;
  r->unquoted.len = 0;
  *count = 0;
  if (r->in.n == 0) return FY_OK;
  while (r->at < r->in.n) {
    if (r->in.p[r->at] == '\n' || r->in.p[r->at] == '\r') {
      r->at++;
      continue;
    }
    field f;
    if (p->quotes && r->in.p[r->at] == '"')
      FY_TRY(quoted_field(p, r, &f, err));
    else
      FY_TRY(plain_field(p, r, &f, err));
    const bool wanted = !p->select || p->select[kept] == parsed;
    parsed++;
    if (!wanted) continue;
    if (kept < p->num_fields) fields[kept] = f;
    *count = ++kept;
    if (p->select && kept == p->num_fields) return FY_OK;
  }
  const bool wanted = !p->select || p->select[kept] == parsed;
  if (wanted && r->in.p[r->in.n - 1] == p->delim) {  // the last field is empty
    if (kept < p->num_fields) fields[kept] = (field){.text = {"", 0}};
    *count = ++kept;
  }
  return r->unquoted.failed ? fy_fail_oom(err, r->unquoted.len) : FY_OK;
}

// ---------------------------------------------------------------- values
static fy_code put(const plan *p, fy_tensor *out, int64_t i, int f, fy_view text,
                   const fy_tensor *preset, fy_error *err) {
  if (text.n == 0 || fy_view_eq(text, p->na)) {
    if (preset->count != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Field %d is required but missing in record %lld!",
                     f, (long long)i);
    }
    return fy_copy_run(out->dtype, out->data, i, preset->data, 0, 1, err);
  }
  if (out->dtype == FY_STRING) return fy_text_put(out, i, text.p, text.n, err);
  char *to = (char *)out->data + (size_t)i * fy_dtype_storage(out->dtype);
  if (fy_text_to_number(text, out->dtype, to)) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Field %d in record %lld is not a valid %s: %.*s", f,
                 (long long)i, fy_dtype_name(out->dtype), (int)text.n, text.p);
}

static fy_code decode(fy_kernel_ctx *ctx, fy_error *err) {
  const plan *p = ctx->site->state;
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  void *memory;
  for (int f = 0; f < p->num_fields; f++) {
    const fy_tensor *preset = ctx->in[1 + f];
    if (preset->rank > 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Each record default should be at most rank 1");
    }
    if (preset->count > 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "There should only be 1 default per field but field %d has %lld", f,
                     (long long)preset->count);
    }
  }
  for (int f = 0; f < p->num_fields; f++) FY_TRY(fy_out_like(ctx, f, in, &out, err));
  FY_TRY(fy_scratch(ctx, (size_t)p->num_fields * sizeof(field), &memory, err));
  field *fields = memory;
  record r = {0};
  fy_code code = FY_OK;
  fy_str_init(&r.unquoted);
  for (int64_t i = 0; i < in->count && !code; i++) {
    int64_t count;
    r.in = fy_tensor_string(in, i);
    code = split(p, &r, fields, &count, err);
    if (!code && count != p->num_fields) {
      code = fy_fail(err, FY_INVALID_ARGUMENT, "Expect %d fields but have %lld in record %lld",
                     p->num_fields, (long long)count, (long long)i);
    }
    for (int f = 0; f < p->num_fields && !code; f++) {
      fy_view text = fields[f].text;
      if (fields[f].copied) text.p = fy_str_text(&r.unquoted) + fields[f].at;
      code = put(p, ctx->out[f], i, f, text, ctx->in[1 + f], err);
    }
  }
  fy_str_free(&r.unquoted);
  return code;
}

static fy_code csv_shape(fy_shape_ctx *ctx, fy_error *err) {
  for (int i = 1; i < ctx->num_inputs; i++) {
    FY_TRY(fy_shape_rank_at_most(ctx->in[i], 1, err));
    if (ctx->in[i].rank == 1 && ctx->in[i].dims[0] > 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Shape of a default must be a length-0 or length-1 vector, or a scalar.");
    }
  }
  for (int i = 0; i < ctx->num_outputs; i++) ctx->out[i] = ctx->in[0];
  return FY_OK;
}

static const fy_sample samples[] = {
    {"s[2]='1,a','2,b'; i32[1]=0; s[1]=''", NULL, FY_OK, "1,2"},
    {"s[1]='1,a,x'; i32[1]=0; s[1]=''", NULL, FY_INVALID_ARGUMENT,
     "Expect 2 fields but have 3 in record 0"},
};

FY_OP(DecodeCSV, .shape = csv_shape, .prepare = prepare, .compute = decode, .release = fy_free,
      .flags = FY_OP_HOST, FY_SAMPLES(samples));
