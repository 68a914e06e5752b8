/* Helpers shared by the eager_*, kernel_*, op_* and exp_* transcript programs.
   Everything printed is stable text: no pointers, times or hash orders. */
#ifndef FERRY_TESTS_EAGER_COMMON_H
#define FERRY_TESTS_EAGER_COMMON_H

#include <unistd.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_experimental.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/eager/c_api_experimental.h"
#include "tensorflow/c/tf_tstring.h"
#include "transcript.h"

#define EC_UNUSED __attribute__((unused))
#define EC_FN     static EC_UNUSED

/* One status for the whole program; every printed call leaves it OK again. */
static TF_Status *S;

/* Print a text with the parts that differ between machines and runs masked:
   the host name, device incarnations, protobuf's debug marker (random words
   and blanks), and (unless ec_show_kernels is set) lists of the kernels of a
   built-in op. */
static EC_UNUSED int ec_show_kernels;
EC_FN int ec_str_cmp(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}
/* Print "a, b, c]..." up to the bracket with its parts sorted; TensorFlow
   gives them in hash order. Returns what was consumed. */
EC_FN size_t ec_sorted(const char *m) {
  char buf[512];
  char *part[32];
  int n = 0;
  size_t len = strcspn(m, "]");
  if (len == 0 || len >= sizeof buf) return 0;
  memcpy(buf, m, len);
  buf[len] = 0;
  for (char *p = buf; p && n < 32;) {
    part[n++] = p;
    p = strstr(p, ", ");
    if (p) {
      *p = 0;
      p += 2;
    }
  }
  qsort(part, (size_t)n, sizeof *part, ec_str_cmp);
  for (int i = 0; i < n; i++) printf("%s%s", i ? ", " : "", part[i]);
  return len;
}

EC_FN void ec_text(const char *m) {
  static const char *const mark[] = {"binary running on ",
                                     "incarnation: ",
                                     "goo.gle/debug",
                                     "with these attrs: [",
                                     ", KernelDef: ",
                                     ".  Registered:  ",
                                     "All kernels registered for op "};
  static const char *const mask[] = {"HOST", "N", " ", "", "FIRST", "LIST", "LIST"};
  while (*m) {
    int hit = -1;
    for (int k = 0; k < (ec_show_kernels ? 4 : 7); k++)
      if (strncmp(m, mark[k], strlen(mark[k])) == 0) hit = k;
    if (hit < 0) {
      tr_escaped(m++, 1);
      continue;
    }
    printf("%s%s", mark[hit], mask[hit]);
    m += strlen(mark[hit]);
    if (hit == 0)
      while (*m && strncmp(m, ". Make", 6) != 0) m++;
    if (hit == 1)
      while (*m >= '0' && *m <= '9') m++;
    if (hit == 2) {
      while (*m >= 'a' && *m <= 'z') m++;
      while (*m == ' ') m++;
    }
    if (hit == 3) m += ec_sorted(m);
    if (hit >= 4) m += strlen(m);
  }
}

EC_FN void ec_pst(const char *what, const TF_Status *s) {
  printf("%s: %s", what, tr_code_name(TF_GetCode(s)));
  if (TF_Message(s)[0]) printf(" ");
  ec_text(TF_Message(s));
  printf("\n");
}

/* Print S and clear it; returns 1 when it was OK. */
EC_FN int ec_st(const char *label) {
  int ok = TF_GetCode(S) == TF_OK;
  ec_pst(label, S);
  TF_SetStatus(S, TF_OK, "");
  return ok;
}

/* Stop the program when a set-up call that cannot fail failed. */
EC_FN void ec_must(const char *label) {
  if (TF_GetCode(S) != TF_OK) {
    ec_pst(label, S);
    printf("FATAL\n");
    exit(1);
  }
}

EC_FN TF_Tensor *ec_new(TF_DataType dt, int nd, const int64_t *dims, const void *data) {
  return tr_tensor(dt, dims, nd, data);
}

EC_FN TFE_TensorHandle *ec_h(TF_Tensor *t) {
  TFE_TensorHandle *h = TFE_NewTensorHandle(t, S);
  ec_must("NewTensorHandle");
  TF_DeleteTensor(t);
  return h;
}

/* Handles of common kinds. */
EC_FN TFE_TensorHandle *ec_f0(float v) {
  return ec_h(ec_new(TF_FLOAT, 0, 0, &v));
}
EC_FN TFE_TensorHandle *ec_i0(int32_t v) {
  return ec_h(ec_new(TF_INT32, 0, 0, &v));
}
EC_FN TFE_TensorHandle *ec_b0(int v) {
  uint8_t b = (uint8_t)v;
  return ec_h(ec_new(TF_BOOL, 0, 0, &b));
}
EC_FN TFE_TensorHandle *ec_f1(int64_t n, const float *v) {
  return ec_h(ec_new(TF_FLOAT, 1, &n, v));
}
EC_FN TFE_TensorHandle *ec_i1(int64_t n, const int32_t *v) {
  return ec_h(ec_new(TF_INT32, 1, &n, v));
}
EC_FN TFE_TensorHandle *ec_f2(int64_t r, int64_t c, const float *v) {
  int64_t d[2] = {r, c};
  return ec_h(ec_new(TF_FLOAT, 2, d, v));
}
/* float ramp 1,2,3.. of the given shape */
EC_FN TFE_TensorHandle *ec_ramp(int nd, const int64_t *dims) {
  float v[256];
  for (int i = 0; i < 256; i++) v[i] = (float)(i + 1);
  return ec_h(ec_new(TF_FLOAT, nd, dims, v));
}

EC_FN void ec_handle(const char *label, TFE_TensorHandle *h) {
  if (!h) {
    printf("%s: null handle\n", label);
    return;
  }
  TF_Status *s = TF_NewStatus();
  TF_Tensor *t = TFE_TensorHandleResolve(h, s);
  if (TF_GetCode(s) != TF_OK)
    ec_pst(label, s);
  else
    tr_show(label, t);
  if (t) TF_DeleteTensor(t);
  TF_DeleteStatus(s);
}

EC_FN TFE_Context *ec_ctx(void) {
  TFE_ContextOptions *o = TFE_NewContextOptions();
  TFE_Context *c = TFE_NewContext(o, S);
  ec_must("NewContext");
  TFE_DeleteContextOptions(o);
  return c;
}

EC_FN TFE_Op *ec_op(TFE_Context *c, const char *name) {
  TFE_Op *op = TFE_NewOp(c, name, S);
  ec_must(name);
  return op;
}

EC_FN void ec_in(TFE_Op *op, TFE_TensorHandle *h) {
  TFE_OpAddInput(op, h, S);
  ec_must("OpAddInput");
}

/* Execute with room for `room` outputs, print status and outputs, delete op.
   Returns output 0 (or NULL); other outputs are deleted. */
EC_FN TFE_TensorHandle *ec_exec_keep(const char *label, TFE_Op *op, int room) {
  TFE_TensorHandle *r[16] = {0};
  int n = room;
  TFE_Execute(op, r, &n, S);
  int ok = TF_GetCode(S) == TF_OK;
  ec_st(label);
  if (ok) {
    if (n != 1) printf("  outputs: %d\n", n);
    for (int i = 0; i < n; i++) {
      if (r[i] && (TFE_TensorHandleDataType(r[i]) == TF_RESOURCE))
        printf("  resource\n");
      else
        ec_handle("  out", r[i]);
      if (i && r[i]) TFE_DeleteTensorHandle(r[i]);
    }
  }
  TFE_DeleteOp(op);
  return ok && n > 0 ? r[0] : NULL;
}
EC_FN void ec_exec(const char *label, TFE_Op *op, int room) {
  TFE_TensorHandle *h = ec_exec_keep(label, op, room);
  if (h) TFE_DeleteTensorHandle(h);
}

/* name(a[,b[,c]]) with attrs left to inference */
EC_FN void ec_run(TFE_Context *c, const char *name, TFE_TensorHandle *a, TFE_TensorHandle *b,
                  TFE_TensorHandle *d) {
  TFE_Op *op = ec_op(c, name);
  if (a) ec_in(op, a);
  if (b) ec_in(op, b);
  if (d) ec_in(op, d);
  ec_exec(name, op, 8);
}

/* Wire dumper: prints a serialized proto field by field. A length-delimited
   field is shown as text when printable, otherwise as a message when it parses
   as one, otherwise as hex. */
EC_FN int ec_wire_ok(const uint8_t *p, size_t n) {
  size_t i = 0;
  while (i < n) {
    uint64_t v[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
      int sh = 0;
      do {
        if (i >= n || sh > 63) return 0;
        v[k] |= (uint64_t)(p[i] & 127) << sh;
        sh += 7;
      } while (p[i++] & 128);
      if (k == 0) {
        if ((v[0] >> 3) == 0 || (v[0] >> 3) > 4000) return 0;
        int w = (int)(v[0] & 7);
        if (w == 1) {
          i += 8;
          break;
        }
        if (w == 5) {
          i += 4;
          break;
        }
        if (w != 0 && w != 2) return 0;
      } else if ((v[0] & 7) == 2) {
        if (v[1] > n - i) return 0;
        i += (size_t)v[1];
      }
    }
    if (i > n) return 0;
  }
  return 1;
}

EC_FN uint64_t ec_varint(const uint8_t *p, size_t *i) {
  uint64_t v = 0;
  int sh = 0;
  do v |= (uint64_t)(p[*i] & 127) << sh, sh += 7;
  while (p[(*i)++] & 128);
  return v;
}

EC_FN void ec_wire(const void *data, size_t n, int indent) {
  const uint8_t *p = data;
  size_t i = 0;
  while (i < n) {
    uint64_t key = ec_varint(p, &i);
    printf("%*s%d", indent, "", (int)(key >> 3));
    if ((key & 7) == 0) {
      printf(": %" PRId64 "\n", (int64_t)ec_varint(p, &i));
    } else if ((key & 7) == 5) {
      uint32_t u;
      memcpy(&u, p + i, 4);
      printf(": 0x%08" PRIx32 "\n", u);
      i += 4;
    } else if ((key & 7) == 1) {
      uint64_t u;
      memcpy(&u, p + i, 8);
      printf(": 0x%016" PRIx64 "\n", u);
      i += 8;
    } else {
      size_t m = (size_t)ec_varint(p, &i);
      int text = 1;
      for (size_t k = 0; k < m; k++)
        if (p[i + k] < 32 || p[i + k] >= 127) text = 0;
      if (m == 0) {
        printf(": \"\"\n");
      } else if (!text && ec_wire_ok(p + i, m)) {
        printf(" {\n");
        ec_wire(p + i, m, indent + 2);
        printf("%*s}\n", indent, "");
      } else if (text) {
        printf(": \"%.*s\"\n", (int)m, (const char *)p + i);
      } else {
        printf(": hex ");
        for (size_t k = 0; k < m; k++) printf("%02x", p[i + k]);
        printf("\n");
      }
      i += m;
    }
  }
}

EC_FN void ec_buf(const char *label, const TF_Buffer *b) {
  printf("%s: %zu bytes\n", label, b->length);
  if (!ec_wire_ok(b->data, b->length))
    printf("  not a proto\n");
  else
    ec_wire(b->data, b->length, 2);
}

EC_FN void ec_open(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  S = TF_NewStatus();
}
/* Go to the directory of this source file, so that data has relative names. */
EC_FN void ec_chdir(const char *file) {
  char dir[4096];
  const char *env = getenv("FERRY_CAPI_DIR");
  const char *slash = strrchr(file, '/');
  if (env)
    snprintf(dir, sizeof dir, "%s", env);
  else if (slash)
    snprintf(dir, sizeof dir, "%.*s", (int)(slash - file), file);
  else
    return;
  if (chdir(dir) != 0) {
    printf("FATAL chdir\n");
    exit(1);
  }
}
/* Copy the plug-in NAME.so of this program to file `to` of the current
   directory. It is in FERRY_PLUGIN_DIR, else in the current directory. */
EC_FN void ec_plugin(const char *name, const char *to) {
  char from[4096], buf[4096];
  const char *dir = getenv("FERRY_PLUGIN_DIR");
  snprintf(from, sizeof from, "%s/%s", dir ? dir : ".", name);
  if (!dir && strcmp(from, to) == 0) return;
  FILE *a = fopen(from, "rb");
  FILE *b = fopen(to, "wb");
  if (!a || !b) {
    printf("FATAL no plug-in %s\n", from);
    exit(1);
  }
  for (size_t n; (n = fread(buf, 1, sizeof buf, a)) > 0;) fwrite(buf, 1, n, b);
  fclose(a);
  fclose(b);
}
EC_FN int ec_close(void) {
  TF_DeleteStatus(S);
  printf("== end\n");
  return 0;
}

#endif
