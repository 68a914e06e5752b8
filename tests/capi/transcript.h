/* Small helpers for conformance transcript programs: printing of statuses,
 * tensors and protobuf messages as stable text.  C11, TensorFlow public
 * headers only.  Every function is static inline so that a program may use
 * any subset without warnings. */
#ifndef FERRY_TESTS_CAPI_TRANSCRIPT_H_
#define FERRY_TESTS_CAPI_TRANSCRIPT_H_

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

/* ---- text ------------------------------------------------------------- */

static inline void tr_case(const char *name) {
  printf("== %s\n", name);
  fflush(stdout);
}

/* Prints n bytes with control characters and non-ASCII escaped. */
static inline void tr_escaped(const char *s, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    unsigned char c = (unsigned char)s[i];
    if (c == '\n')
      fputs("\\n", stdout);
    else if (c == '\\')
      fputs("\\\\", stdout);
    else if (c < 32 || c > 126)
      printf("\\x%02x", c);
    else
      putchar(c);
  }
}

static inline const char *tr_code_name(TF_Code c) {
  switch ((int)c) {
    case 0: return "OK";
    case 1: return "CANCELLED";
    case 2: return "UNKNOWN";
    case 3: return "INVALID_ARGUMENT";
    case 4: return "DEADLINE_EXCEEDED";
    case 5: return "NOT_FOUND";
    case 6: return "ALREADY_EXISTS";
    case 7: return "PERMISSION_DENIED";
    case 8: return "RESOURCE_EXHAUSTED";
    case 9: return "FAILED_PRECONDITION";
    case 10: return "ABORTED";
    case 11: return "OUT_OF_RANGE";
    case 12: return "UNIMPLEMENTED";
    case 13: return "INTERNAL";
    case 14: return "UNAVAILABLE";
    case 15: return "DATA_LOSS";
    case 16: return "UNAUTHENTICATED";
    default: return "?";
  }
}

/* Prints a message with host name and version numbers masked. */
static inline void tr_message(const char *m) {
  static const char *const after[] = {"in binary running on ",      "GraphDef version ",
                                      "current version ",           "TensorFlow ",
                                      "in function library: ",      "with these attrs: [",
                                      "Registered kernels:",        "given session options: {",
                                      "Registered factories are {", "goo.gle/debug"};
  while (*m) {
    size_t k = 0, n = 1;
    for (size_t i = 0; i < sizeof after / sizeof after[0]; ++i)
      if (strncmp(m, after[i], strlen(after[i])) == 0) k = i + 1;
    if (k) n = strlen(after[k - 1]);
    tr_escaped(m, n);
    m += n;
    if (k == 5) { /* a debug string of the whole library follows */
      fputs("LIBRARY", stdout);
      return;
    } else if (k == 10) { /* a random word and a random number of blanks */
      m += strcspn(m, " \n");
      m += strspn(m, " ");
    } else if (k > 5) { /* in hash order; every kernel linked in */
      static const char *const stop[] = {"]", "\n\n", "} Reg", "}"};
      const char *e = strstr(m, stop[k - 6]);
      fputs("...", stdout);
      m = e ? e : m + strlen(m);
    } else if (k == 1) {
      const char *e = strstr(m, ". ");
      fputs("HOST", stdout);
      m = e ? e : m + strlen(m);
    } else if (k && *m >= '0' && *m <= '9') {
      putchar('N');
      while ((*m >= '0' && *m <= '9') || (*m == '.' && m[1] >= '0' && m[1] <= '9')) ++m;
    }
  }
}

/* "what: CODE" or "what: CODE message"; returns true when OK. */
static inline bool tr_status(const char *what, const TF_Status *s) {
  TF_Code c = TF_GetCode(s);
  const char *m = TF_Message(s);
  printf("%s: %s", what, tr_code_name(c));
  if (m != NULL && m[0] != '\0') {
    putchar(' ');
    tr_message(m);
  }
  putchar('\n');
  fflush(stdout);
  return c == TF_OK;
}

static inline const char *tr_dtype_name(int t) {
  static const char *const names[] = {"invalid",
                                      "float",
                                      "double",
                                      "int32",
                                      "uint8",
                                      "int16",
                                      "int8",
                                      "string",
                                      "complex64",
                                      "int64",
                                      "bool",
                                      "qint8",
                                      "quint8",
                                      "qint32",
                                      "bfloat16",
                                      "qint16",
                                      "quint16",
                                      "uint16",
                                      "complex128",
                                      "half",
                                      "resource",
                                      "variant",
                                      "uint32",
                                      "uint64",
                                      "float8_e5m2",
                                      "float8_e4m3fn",
                                      "float8_e4m3fnuz",
                                      "float8_e4m3b11fnuz",
                                      "float8_e5m2fnuz",
                                      "int4",
                                      "uint4",
                                      "int2",
                                      "uint2"};
  static char buf[4][32];
  static int turn = 0;
  int n = (int)(sizeof names / sizeof names[0]);
  if (t >= 0 && t < n) return names[t];
  char *b = buf[turn = (turn + 1) & 3];
  if (t > 100 && t - 100 < n)
    snprintf(b, 32, "%s_ref", names[t - 100]);
  else
    snprintf(b, 32, "dtype%d", t);
  return b;
}

static inline void tr_dims(const int64_t *d, int n) {
  putchar('[');
  for (int i = 0; i < n; ++i) printf("%s%" PRId64, i ? "," : "", d[i]);
  putchar(']');
}

/* ---- tensors ---------------------------------------------------------- */

static inline void tr_free(void *data, size_t len, void *arg) {
  (void)len;
  (void)arg;
  free(data);
}

static inline int64_t tr_count(const int64_t *d, int n) {
  int64_t c = 1;
  for (int i = 0; i < n; ++i) c *= d[i];
  return c;
}

/* A tensor of a fixed-size type holding a copy of data (dims product items). */
static inline TF_Tensor *tr_tensor(TF_DataType t, const int64_t *dims, int nd, const void *data) {
  size_t len = (size_t)tr_count(dims, nd) * TF_DataTypeSize(t);
  TF_Tensor *r = TF_AllocateTensor(t, dims, nd, len);
  if (len > 0) memcpy(TF_TensorData(r), data, len);
  return r;
}

static inline TF_Tensor *tr_strings(const int64_t *dims, int nd, const char *const *s) {
  int64_t n = tr_count(dims, nd);
  TF_Tensor *r = TF_AllocateTensor(TF_STRING, dims, nd, (size_t)n * sizeof(TF_TString));
  TF_TString *p = (TF_TString *)TF_TensorData(r);
  for (int64_t i = 0; i < n; ++i) {
    TF_StringInit(&p[i]);
    TF_StringCopy(&p[i], s[i], strlen(s[i]));
  }
  return r;
}

/* Vector (or, with n < 0, scalar) shorthands. */
static inline TF_Tensor *tr_vec(TF_DataType t, int64_t n, const void *data) {
  return tr_tensor(t, &n, n < 0 ? 0 : 1, data);
}
static inline TF_Tensor *tr_f32(float v) {
  return tr_vec(TF_FLOAT, -1, &v);
}
static inline TF_Tensor *tr_i32(int32_t v) {
  return tr_vec(TF_INT32, -1, &v);
}
static inline TF_Tensor *tr_i64(int64_t v) {
  return tr_vec(TF_INT64, -1, &v);
}
static inline TF_Tensor *tr_bool(bool v) {
  unsigned char b = v ? 1 : 0;
  return tr_vec(TF_BOOL, -1, &b);
}
static inline TF_Tensor *tr_str(const char *v) {
  return tr_strings(NULL, 0, &v);
}

static inline void tr_num(double v) {
  if (v != v)
    fputs("nan", stdout);
  else
    printf("%.6g", v);
}

static inline void tr_element(TF_DataType t, const void *p, int64_t i) {
  switch (t) {
    case TF_FLOAT: tr_num((double)((const float *)p)[i]); break;
    case TF_DOUBLE: tr_num(((const double *)p)[i]); break;
    case TF_INT8: printf("%d", ((const int8_t *)p)[i]); break;
    case TF_UINT8: printf("%d", ((const uint8_t *)p)[i]); break;
    case TF_INT16: printf("%d", ((const int16_t *)p)[i]); break;
    case TF_UINT16: printf("%d", ((const uint16_t *)p)[i]); break;
    case TF_HALF:
    case TF_BFLOAT16: printf("0x%04x", ((const uint16_t *)p)[i]); break;
    case TF_INT32: printf("%" PRId32, ((const int32_t *)p)[i]); break;
    case TF_UINT32: printf("%" PRIu32, ((const uint32_t *)p)[i]); break;
    case TF_INT64: printf("%" PRId64, ((const int64_t *)p)[i]); break;
    case TF_UINT64: printf("%" PRIu64, ((const uint64_t *)p)[i]); break;
    case TF_BOOL: fputs(((const unsigned char *)p)[i] ? "true" : "false", stdout); break;
    case TF_COMPLEX64:
      putchar('(');
      tr_num((double)((const float *)p)[2 * i]);
      putchar(',');
      tr_num((double)((const float *)p)[2 * i + 1]);
      putchar(')');
      break;
    case TF_COMPLEX128:
      putchar('(');
      tr_num(((const double *)p)[2 * i]);
      putchar(',');
      tr_num(((const double *)p)[2 * i + 1]);
      putchar(')');
      break;
    case TF_STRING: {
      const TF_TString *s = &((const TF_TString *)p)[i];
      putchar('"');
      tr_escaped(TF_StringGetDataPointer(s), TF_StringGetSize(s));
      putchar('"');
      break;
    }
    default: putchar('?'); break;
  }
}

/* "what = dtype[dims] {a, b, ...}" (at most 64 elements). */
static inline void tr_show(const char *what, const TF_Tensor *t) {
  if (t == NULL) {
    printf("%s = null\n", what);
    return;
  }
  int nd = TF_NumDims(t);
  TF_DataType ty = TF_TensorType(t);
  int64_t n = 1;
  printf("%s = %s[", what, tr_dtype_name((int)ty));
  for (int i = 0; i < nd; ++i) {
    n *= TF_Dim(t, i);
    printf("%s%" PRId64, i ? "," : "", TF_Dim(t, i));
  }
  fputs("] {", stdout);
  const void *p = TF_TensorData(t);
  for (int64_t i = 0; i < n && i < 64; ++i) {
    if (i) fputs(", ", stdout);
    tr_element(ty, p, i);
  }
  puts(n > 64 ? ", ...}" : "}");
  fflush(stdout);
}

static inline void tr_show_free(const char *what, TF_Tensor *t) {
  tr_show(what, t);
  if (t != NULL) TF_DeleteTensor(t);
}

/* ---- tiny protobuf writer --------------------------------------------- */

typedef struct tr_pb {
  unsigned char *data;
  size_t len, cap;
} tr_pb;

static inline void tr_pb_raw(tr_pb *b, const void *p, size_t n) {
  if (b->len + n > b->cap) {
    b->cap = (b->len + n) * 2 + 64;
    b->data = (unsigned char *)realloc(b->data, b->cap);
    if (b->data == NULL) abort();
  }
  if (n > 0) memcpy(b->data + b->len, p, n);
  b->len += n;
}
static inline void tr_pb_varint(tr_pb *b, uint64_t v) {
  unsigned char c[10];
  size_t n = 0;
  do {
    c[n] = (unsigned char)(v & 127);
    v >>= 7;
    if (v) c[n] |= 128;
    ++n;
  } while (v);
  tr_pb_raw(b, c, n);
}
static inline void tr_pb_int(tr_pb *b, int field, int64_t v) {
  tr_pb_varint(b, (uint64_t)field << 3);
  tr_pb_varint(b, (uint64_t)v);
}
static inline void tr_pb_bytes(tr_pb *b, int field, const void *p, size_t n) {
  tr_pb_varint(b, (uint64_t)field << 3 | 2);
  tr_pb_varint(b, n);
  tr_pb_raw(b, p, n);
}
static inline void tr_pb_str(tr_pb *b, int field, const char *s) {
  tr_pb_bytes(b, field, s, strlen(s));
}
static inline void tr_pb_f32(tr_pb *b, int field, float v) {
  tr_pb_varint(b, (uint64_t)field << 3 | 5);
  tr_pb_raw(b, &v, 4);
}
static inline void tr_pb_f64(tr_pb *b, int field, double v) {
  tr_pb_varint(b, (uint64_t)field << 3 | 1);
  tr_pb_raw(b, &v, 8);
}
/* Appends sub as a nested message and frees sub's memory. */
static inline void tr_pb_msg(tr_pb *b, int field, tr_pb *sub) {
  tr_pb_bytes(b, field, sub->data, sub->len);
  free(sub->data);
  memset(sub, 0, sizeof *sub);
}
static inline void tr_pb_free(tr_pb *b) {
  free(b->data);
  memset(b, 0, sizeof *b);
}

/* ---- protobuf reader and dumper --------------------------------------- */

typedef struct tr_field {
  int num, wire, order;
  uint64_t v;             /* varint / fixed value */
  const unsigned char *p; /* length-delimited payload */
  size_t n;
} tr_field;

/* Reads one field; returns false at the end or on malformed input. */
static inline bool tr_next(const unsigned char **pp, const unsigned char *end, tr_field *f) {
  const unsigned char *p = *pp;
  uint64_t v[2] = {0, 0};
  f->num = f->wire = 0;
  if (p >= end) return false;
  for (int k = 0; k < 2; ++k) {
    int sh = 0;
    for (;;) {
      if (p >= end || sh > 63) return false;
      v[k] |= (uint64_t)(*p & 127) << sh;
      sh += 7;
      if (!(*p++ & 128)) break;
    }
    if (k == 0) {
      f->num = (int)(v[0] >> 3);
      f->wire = (int)(v[0] & 7);
      if (f->wire == 1 || f->wire == 5) {
        size_t w = f->wire == 1 ? 8 : 4;
        if ((size_t)(end - p) < w) return false;
        v[1] = 0;
        memcpy(&v[1], p, w);
        p += w;
        break;
      }
      if (f->wire != 0 && f->wire != 2) return false;
    }
  }
  f->v = v[1];
  f->p = NULL;
  f->n = 0;
  if (f->wire == 2) {
    if ((uint64_t)(end - p) < v[1]) return false;
    f->p = p;
    f->n = (size_t)v[1];
    p += v[1];
  }
  *pp = p;
  return true;
}

/* Schema: type is i (int), b (bool), t (DataType), s (text/bytes), f (float),
 * d (double), v (set, value hidden), - (ignored), m<Msg> (message),
 * M<Msg> (map string -> message), S (map string -> string),
 * U (map uint32 -> uint32), D (map uint32 -> ArgAttrs);
 * a leading + keeps zero values (oneof members). */
typedef struct tr_schema {
  const char *msg;
  int num;
  const char *name, *type;
} tr_schema;

static inline const tr_schema *tr_find(const char *msg, int num) {
  static const tr_schema s[] = {
      {"GraphDef", 1, "node", "mNodeDef"},
      {"GraphDef", 2, "library", "mLibrary"},
      {"GraphDef", 3, "version", "-"},
      {"GraphDef", 4, "versions", "mVersionDef"},
      {"GraphDef", 5, "debug_info", "-"},
      {"VersionDef", 1, "producer", "v"},
      {"VersionDef", 2, "min_consumer", "i"},
      {"VersionDef", 3, "bad_consumers", "i"},
      {"Library", 1, "function", "mFunctionDef"},
      {"Library", 2, "gradient", "mGradientDef"},
      {"GradientDef", 1, "function_name", "s"},
      {"GradientDef", 2, "gradient_func", "s"},
      {"FunctionDef", 1, "signature", "mOpDef"},
      {"FunctionDef", 3, "node_def", "mNodeDef"},
      {"FunctionDef", 4, "ret", "S"},
      {"FunctionDef", 5, "attr", "MAttrValue"},
      {"FunctionDef", 6, "control_ret", "S"},
      {"FunctionDef", 7, "arg_attr", "D"},
      {"FunctionDef", 8, "resource_arg_unique_id", "U"},
      {"ArgAttrs", 1, "attr", "MAttrValue"},
      {"NodeDef", 1, "name", "s"},
      {"NodeDef", 2, "op", "s"},
      {"NodeDef", 3, "input", "s"},
      {"NodeDef", 4, "device", "s"},
      {"NodeDef", 5, "attr", "MAttrValue"},
      {"NodeDef", 6, "debug", "mNodeDebug"},
      {"NodeDef", 7, "type", "mFullType"},
      {"NodeDebug", 1, "original_node_names", "s"},
      {"NodeDebug", 2, "original_func_names", "s"},
      {"FullType", 1, "type_id", "i"},
      {"FullType", 2, "args", "mFullType"},
      {"FullType", 3, "s", "s"},
      {"FullType", 4, "i", "i"},
      {"AttrValue", 1, "list", "+mList"},
      {"AttrValue", 2, "s", "+s"},
      {"AttrValue", 3, "i", "+i"},
      {"AttrValue", 4, "f", "+f"},
      {"AttrValue", 5, "b", "+b"},
      {"AttrValue", 6, "type", "+t"},
      {"AttrValue", 7, "shape", "mShape"},
      {"AttrValue", 8, "tensor", "mTensorProto"},
      {"AttrValue", 9, "placeholder", "+s"},
      {"AttrValue", 10, "func", "mFuncAttr"},
      {"List", 2, "s", "+s"},
      {"List", 3, "i", "+i"},
      {"List", 4, "f", "+f"},
      {"List", 5, "b", "+b"},
      {"List", 6, "type", "+t"},
      {"List", 7, "shape", "mShape"},
      {"List", 8, "tensor", "mTensorProto"},
      {"List", 9, "func", "mFuncAttr"},
      {"FuncAttr", 1, "name", "s"},
      {"FuncAttr", 2, "attr", "MAttrValue"},
      {"Shape", 2, "dim", "mDim"},
      {"Shape", 3, "unknown_rank", "b"},
      {"Dim", 1, "size", "+i"},
      {"Dim", 2, "name", "s"},
      {"TensorProto", 1, "dtype", "t"},
      {"TensorProto", 2, "shape", "mShape"},
      {"TensorProto", 3, "version_number", "i"},
      {"TensorProto", 4, "content", "s"},
      {"TensorProto", 5, "float_val", "+f"},
      {"TensorProto", 6, "double_val", "+d"},
      {"TensorProto", 7, "int_val", "+i"},
      {"TensorProto", 8, "string_val", "+s"},
      {"TensorProto", 9, "scomplex_val", "+f"},
      {"TensorProto", 10, "int64_val", "+i"},
      {"TensorProto", 11, "bool_val", "+b"},
      {"TensorProto", 12, "dcomplex_val", "+d"},
      {"TensorProto", 13, "half_val", "+i"},
      {"TensorProto", 16, "uint32_val", "+i"},
      {"TensorProto", 17, "uint64_val", "+i"},
      {"OpList", 1, "op", "mOpDef"},
      {"OpDef", 1, "name", "s"},
      {"OpDef", 2, "input_arg", "mArgDef"},
      {"OpDef", 3, "output_arg", "mArgDef"},
      {"OpDef", 4, "attr", "mAttrDef"},
      {"OpDef", 5, "summary", "s"},
      {"OpDef", 6, "description", "s"},
      {"OpDef", 8, "deprecation", "mDeprecation"},
      {"OpDef", 16, "is_aggregate", "b"},
      {"OpDef", 17, "is_stateful", "b"},
      {"OpDef", 18, "is_commutative", "b"},
      {"OpDef", 19, "allows_uninitialized_input", "b"},
      {"OpDef", 20, "control_output", "s"},
      {"OpDef", 21, "is_distributed_communication", "b"},
      {"Deprecation", 1, "version", "i"},
      {"Deprecation", 2, "explanation", "s"},
      {"ArgDef", 1, "name", "s"},
      {"ArgDef", 2, "description", "s"},
      {"ArgDef", 3, "type", "t"},
      {"ArgDef", 4, "type_attr", "s"},
      {"ArgDef", 5, "number_attr", "s"},
      {"ArgDef", 6, "type_list_attr", "s"},
      {"ArgDef", 7, "handle_data", "mHandleData"},
      {"ArgDef", 16, "is_ref", "b"},
      {"ArgDef", 17, "full_type", "mFullType"},
      {"HandleData", 1, "dtype", "t"},
      {"HandleData", 2, "shape", "mShape"},
      {"HandleShape", 1, "shape", "mShape"},
      {"HandleShape", 2, "dtype", "t"},
      {"HandleShape", 4, "type", "mFullType"},
      {"AttrDef", 1, "name", "s"},
      {"AttrDef", 2, "type", "s"},
      {"AttrDef", 3, "default", "mAttrValue"},
      {"AttrDef", 4, "description", "s"},
      {"AttrDef", 5, "has_minimum", "b"},
      {"AttrDef", 6, "minimum", "i"},
      {"AttrDef", 7, "allowed", "mAttrValue"},
      {"KernelList", 1, "kernel", "mKernelDef"},
      {"KernelDef", 1, "op", "s"},
      {"KernelDef", 2, "device", "s"},
      {"KernelDef", 3, "constraint", "mConstraint"},
      {"KernelDef", 4, "host_memory_arg", "s"},
      {"KernelDef", 5, "label", "s"},
      {"KernelDef", 6, "priority", "i"},
      {"Constraint", 1, "name", "s"},
      {"Constraint", 2, "allowed", "mAttrValue"},
  };
  for (size_t i = 0; i < sizeof s / sizeof s[0]; ++i)
    if (s[i].num == num && strcmp(s[i].msg, msg) == 0) return &s[i];
  return NULL;
}

static inline int tr_bytes_cmp(const unsigned char *a, size_t an, const unsigned char *b,
                               size_t bn) {
  int c = memcmp(a, b, an < bn ? an : bn);
  return c ? c : (an > bn) - (an < bn);
}

/* Field `num` of a message (the last one); .p NULL / .v 0 when absent. */
static inline tr_field tr_get(const unsigned char *p, size_t n, int num) {
  tr_field f, r;
  const unsigned char *end = p + n;
  memset(&r, 0, sizeof r);
  while (tr_next(&p, end, &f))
    if (f.num == num) r = f;
  return r;
}

static inline bool tr_is_map(const char *ty) {
  return ty[0] == 'M' || ty[0] == 'S' || ty[0] == 'U' || ty[0] == 'D';
}

static inline int tr_field_cmp(const void *a, const void *b) {
  const tr_field *x = (const tr_field *)a, *y = (const tr_field *)b;
  return x->num != y->num ? (x->num > y->num) - (x->num < y->num)
                          : (x->order > y->order) - (x->order < y->order);
}

static inline int tr_map_cmp(const void *a, const void *b) {
  const tr_field *x = (const tr_field *)a, *y = (const tr_field *)b;
  tr_field kx = tr_get(x->p, x->n, 1), ky = tr_get(y->p, y->n, 1);
  if (kx.p == NULL || ky.p == NULL) return (kx.v > ky.v) - (kx.v < ky.v);
  return tr_bytes_cmp(kx.p, kx.n, ky.p, ky.n);
}

static inline void tr_scalar(const char *name, char ty, uint64_t v, int wire, int indent) {
  printf("%*s%s: ", indent, "", name);
  if (ty == 'v')
    fputs("<set>", stdout);
  else if (ty == 't')
    fputs(tr_dtype_name((int)v), stdout);
  else if (ty == 'b')
    fputs(v ? "true" : "false", stdout);
  else if (wire == 5) {
    float f;
    uint32_t w = (uint32_t)v;
    memcpy(&f, &w, 4);
    tr_num((double)f);
  } else if (wire == 1) {
    double d;
    memcpy(&d, &v, 8);
    tr_num(d);
  } else
    printf("%" PRId64, (int64_t)v);
  putchar('\n');
}

/* Prints a message as indented text: fields by number, repeated fields in
 * order, map entries by key, zero scalars (proto3 defaults) left out. */
static inline void tr_dump(const char *msg, const void *data, size_t len, int indent) {
  const unsigned char *p = (const unsigned char *)data, *end = p + len;
  tr_field *all = NULL, f;
  size_t n = 0, cap = 0;
  while (tr_next(&p, end, &f)) {
    if (n == cap) {
      cap = cap ? cap * 2 : 16;
      all = (tr_field *)realloc(all, cap * sizeof *all);
      if (all == NULL) abort();
    }
    f.order = (int)n;
    all[n++] = f;
  }
  if (p != end) printf("%*s<malformed>\n", indent, "");
  if (n > 0) qsort(all, n, sizeof *all, tr_field_cmp);
  for (size_t i = 0; i < n;) {
    const tr_schema *s = tr_find(msg, all[i].num);
    size_t j = i + 1;
    while (j < n && all[j].num == all[i].num) ++j;
    const char *ty = s ? s->type : "?";
    bool keep = ty[0] == '+';
    if (keep) ++ty;
    if (tr_is_map(ty)) qsort(all + i, j - i, sizeof *all, tr_map_cmp);
    for (; i < j; ++i) {
      f = all[i];
      if (ty[0] == '-') continue;
      if (ty[0] == '?') {
        printf("%*sfield%d wire%d\n", indent, "", f.num, f.wire);
      } else if (tr_is_map(ty)) {
        tr_field k = tr_get(f.p, f.n, 1), v = tr_get(f.p, f.n, 2);
        printf("%*s%s[", indent, "", s->name);
        if (k.p)
          tr_escaped((const char *)k.p, k.n);
        else if (ty[0] == 'U' || ty[0] == 'D')
          printf("%d", (int)k.v);
        fputs("]:", stdout);
        if (ty[0] == 'S') {
          fputs(" \"", stdout);
          tr_escaped((const char *)v.p, v.n);
          puts("\"");
        } else if (ty[0] == 'U') {
          printf(" %d\n", (int)v.v);
        } else {
          putchar('\n');
          tr_dump(ty[0] == 'D' ? "ArgAttrs" : ty + 1, v.p, v.n, indent + 2);
        }
      } else if (ty[0] == 'm') {
        printf("%*s%s:\n", indent, "", s->name);
        tr_dump(ty + 1, f.p, f.n, indent + 2);
      } else if (ty[0] == 's') {
        if (f.n == 0 && !keep && j - i == 1 && f.num < 3) continue;
        printf("%*s%s: \"", indent, "", s->name);
        tr_escaped((const char *)f.p, f.n);
        puts("\"");
      } else if (f.wire == 2) { /* packed */
        const unsigned char *q = f.p, *qe = f.p + f.n;
        while (q < qe) {
          uint64_t v = 0;
          int w = ty[0] == 'f' ? 5 : ty[0] == 'd' ? 1 : 0;
          if (w) {
            size_t k = w == 5 ? 4 : 8;
            if ((size_t)(qe - q) < k) break;
            memcpy(&v, q, k);
            q += k;
          } else {
            int sh = 0;
            while (q < qe) {
              v |= (uint64_t)(*q & 127) << sh;
              sh += 7;
              if (!(*q++ & 128)) break;
            }
          }
          tr_scalar(s->name, ty[0], v, w, indent);
        }
      } else if (f.v != 0 || keep) {
        tr_scalar(s->name, ty[0], f.v, f.wire, indent);
      }
    }
  }
  free(all);
  if (indent <= 2) fflush(stdout);
}

static inline void tr_dump_buffer(const char *msg, const TF_Buffer *b) {
  tr_dump(msg, b->data, b->length, 2);
}

#endif /* FERRY_TESTS_CAPI_TRANSCRIPT_H_ */
