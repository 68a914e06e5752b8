// SPDX-License-Identifier: Apache-2.0
// output.c: print or save results.

#include "output.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "input.h"

enum { STRING = 7 };

// ------------------------------------------------------------------ elements
// Element |i| as a number; false for types that have none here (strings, complex).
static bool number_at(ferry_tensor *t, int64_t i, double *out, int64_t *whole) {
  const void *d = ferry_tensor_data(t);
  *whole = 0;
  switch (ferry_tensor_dtype(t)) {
    case 1: *out = (double)((const float *)d)[i]; return true;
    case 2: *out = ((const double *)d)[i]; return true;
    case 3: *whole = ((const int32_t *)d)[i]; break;
    case 4: *whole = ((const uint8_t *)d)[i]; break;
    case 5: *whole = ((const int16_t *)d)[i]; break;
    case 6: *whole = ((const int8_t *)d)[i]; break;
    case 9: *whole = ((const int64_t *)d)[i]; break;
    case 10: *whole = ((const uint8_t *)d)[i] != 0; break;
    case 17: *whole = ((const uint16_t *)d)[i]; break;
    case 22: *whole = ((const uint32_t *)d)[i]; break;
    case 23: *whole = (int64_t)((const uint64_t *)d)[i]; break;
    default: return false;
  }
  *out = (double)*whole;
  return true;
}

// ------------------------------------------------------------------ JSON
static bool is_utf8(const unsigned char *p, size_t n) {
  for (size_t i = 0; i < n;) {
    size_t more = p[i] < 0x80                   ? 0
                  : p[i] >= 0xc2 && p[i] < 0xe0 ? 1
                  : (p[i] & 0xf0) == 0xe0       ? 2
                  : p[i] >= 0xf0 && p[i] < 0xf5 ? 3
                                                : 9;
    if (more == 9 || more >= n - i) return false;
    for (size_t k = 1; k <= more; k++)
      if ((p[i + k] & 0xc0) != 0x80) return false;
    i += more + 1;
  }
  return true;
}

static void put_base64(FILE *f, const unsigned char *p, size_t n) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < n; i += 3) {
    unsigned v = (unsigned)p[i] << 16 | (i + 1 < n ? (unsigned)p[i + 1] << 8 : 0) |
                 (i + 2 < n ? p[i + 2] : 0);
    fputc(digits[v >> 18], f);
    fputc(digits[v >> 12 & 63], f);
    fputc(i + 1 < n ? digits[v >> 6 & 63] : '=', f);
    fputc(i + 2 < n ? digits[v & 63] : '=', f);
  }
}

static void put_string(FILE *f, const char *p, size_t n) {
  if (!is_utf8((const unsigned char *)p, n)) {
    fputs("{\"b64\": \"", f);
    put_base64(f, (const unsigned char *)p, n);
    fputs("\"}", f);
    return;
  }
  fputc('"', f);
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)p[i];
    if (c == '"' || c == '\\')
      fprintf(f, "\\%c", c);
    else if (c < 32)
      fprintf(f, "\\u%04x", c);
    else
      fputc(c, f);
  }
  fputc('"', f);
}

static void put_element(FILE *f, ferry_tensor *t, int64_t i) {
  double v;
  int64_t whole;
  size_t n;
  int dtype = ferry_tensor_dtype(t);
  if (dtype == STRING) {
    const char *p = ferry_tensor_string(t, i, &n);
    put_string(f, p, n);
  } else if (dtype == 10) {
    fputs(number_at(t, i, &v, &whole) && whole ? "true" : "false", f);
  } else if (dtype == 23) {
    fprintf(f, "%llu", (unsigned long long)((const uint64_t *)ferry_tensor_data(t))[i]);
  } else if (!number_at(t, i, &v, &whole)) {
    fputs("null", f);
  } else if (dtype > 2) {
    fprintf(f, "%lld", (long long)whole);
  } else if (isnan(v)) {
    fputs("NaN", f);  // as TensorFlow Serving and Python write them
  } else if (isinf(v)) {
    fputs(v > 0 ? "Infinity" : "-Infinity", f);
  } else {
    fprintf(f, dtype == 1 ? "%.9g" : "%.17g", v);
  }
}

static void put_nested(FILE *f, ferry_tensor *t, int depth, int64_t *at) {
  if (depth == ferry_tensor_rank(t)) {
    put_element(f, t, (*at)++);
    return;
  }
  fputc('[', f);
  for (int64_t i = 0; i < ferry_tensor_dim(t, depth); i++) {
    if (i) fputs(", ", f);
    put_nested(f, t, depth + 1, at);
  }
  fputc(']', f);
}

// Types that C has no numbers for are printed as floats.
static ferry_tensor *printable(const output_options *o, ferry_tensor *t) {
  int dtype = ferry_tensor_dtype(t);
  if (dtype != 14 && dtype != 19) return NULL;
  ferry_model_value want = {.name = "result", .dtype = 1, .rank = -1};
  int64_t dims[254];
  ferry_tensor *copy;
  for (int i = 0; i < ferry_tensor_rank(t) && i < 254; i++) dims[i] = ferry_tensor_dim(t, i);
  if (ferry_tensor_new(dtype, ferry_tensor_rank(t), dims, ferry_tensor_data(t), &copy, NULL))
    return NULL;
  return input_cast(o->rt, "result", copy, &want);
}

static int save_json(const output_options *o, int n, const char *const *names,
                     ferry_tensor *const *results) {
  FILE *f = strcmp(o->path, "-.json") == 0 ? stdout : fopen(o->path, "wb");
  if (!f) {
    cli_error("cannot write %s: %s", o->path, strerror(errno));
    return EXIT_FAILED;
  }
  fputs("{\"outputs\": {", f);
  for (int i = 0; i < n; i++) {
    int64_t at = 0;
    fputs(i ? ",\n  " : "\n  ", f);
    put_string(f, names[i], strlen(names[i]));
    fputs(": ", f);
    if (!results[i]) {
      fputs("null", f);
      continue;
    }
    ferry_tensor *other = printable(o, results[i]);
    put_nested(f, other ? other : results[i], 0, &at);
    ferry_tensor_free(other);
  }
  fputs("\n}}\n", f);
  bool bad = ferror(f) != 0;
  if (f != stdout) bad |= fclose(f) != 0;
  if (bad) cli_error("cannot write %s: %s", o->path, strerror(errno));
  return bad ? EXIT_FAILED : EXIT_OK;
}

// ------------------------------------------------------------------ files
static int save_npz(const output_options *o, int n, const char *const *names,
                    ferry_tensor *const *results) {
  const char **kept = calloc((size_t)n + 1, sizeof *kept);
  ferry_tensor **tensors = calloc((size_t)n + 1, sizeof *tensors);
  ferry_error err;
  int count = 0, bad = !kept || !tensors;
  for (int i = 0; i < n && !bad; i++)
    if (results[i]) {
      kept[count] = names[i];
      tensors[count++] = results[i];
    }
  if (!bad && ferry_npz_save(o->path, count, kept, tensors, &err)) bad = cli_fail(NULL, &err);
  free((void *)kept);
  free((void *)tensors);
  return bad ? EXIT_FAILED : EXIT_OK;
}

static int save_directory(const output_options *o, int n, const char *const *names,
                          ferry_tensor *const *results) {
  ferry_error err;
  if (mkdir(o->path, 0777) != 0 && errno != EEXIST) {
    cli_error("cannot make the directory %s: %s", o->path, strerror(errno));
    return EXIT_FAILED;
  }
  for (int i = 0; i < n; i++) {
    char path[4096];
    if (!results[i]) continue;
    snprintf(path, sizeof path, "%s/%s.npy", o->path, names[i]);
    for (char *p = path + strlen(o->path) + 1; *p; p++)
      if (*p == '/' || *p == ':') *p = '_';
    if (ferry_tensor_save(results[i], path, &err)) return cli_fail(NULL, &err);
    if (!o->quiet) printf("%s\n", path);
  }
  return EXIT_OK;
}

// ------------------------------------------------------------------ the largest of each row
static char **read_labels(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  char line[1024], **list = NULL;
  *n = 0;
  if (!f) {
    cli_error("cannot read the labels %s: %s", path, strerror(errno));
    return NULL;
  }
  while (fgets(line, sizeof line, f)) {
    line[strcspn(line, "\r\n")] = 0;
    char **more = realloc((void *)list, (*n + 1) * sizeof *list);
    if (!more) break;
    list = more;
    list[*n] = strdup(line);
    if (!list[(*n)++]) break;
  }
  fclose(f);
  return list;
}

static void print_row(ferry_tensor *t, int64_t start, int64_t width, int64_t top, char **labels,
                      size_t num_labels) {
  double least = INFINITY;  // what was printed last, and where: ties by place
  int64_t least_at = -1, whole = 0;
  for (int64_t k = 0; k < top && k < width; k++) {
    double best = -INFINITY, v = 0;
    int64_t best_at = -1;
    for (int64_t i = 0; i < width; i++) {
      number_at(t, start + i, &v, &whole);
      bool after = v < least || (v == least && i > least_at);
      if (after && (best_at < 0 || v > best)) best = v, best_at = i;
    }
    if (best_at < 0) break;
    const char *label = (size_t)best_at < num_labels ? labels[best_at] : "";
    printf("  %-6lld %-12.6g%s%s\n", (long long)best_at, best, *label ? " " : "", label);
    least = best;
    least_at = best_at;
  }
}

static void print_top(const output_options *o, const char *name, ferry_tensor *t, char **labels,
                      size_t num_labels) {
  int rank = ferry_tensor_rank(t);
  int64_t width = ferry_tensor_dim(t, rank - 1), rows = ferry_tensor_count(t) / width;
  for (int64_t r = 0; r < rows; r++) {
    printf("%s", name);
    int64_t rest = r, parts[254];
    for (int d = rank - 2; d >= 0; d--) {
      parts[d] = rest % ferry_tensor_dim(t, d);
      rest /= ferry_tensor_dim(t, d);
    }
    for (int d = 0; d < rank - 1; d++) printf("[%lld]", (long long)parts[d]);
    printf(" top %lld of %lld\n", (long long)(o->top < width ? o->top : width), (long long)width);
    print_row(t, r * width, width, o->top, labels, num_labels);
  }
}

static bool has_rows(ferry_tensor *t) {
  double v;
  int64_t whole;
  return ferry_tensor_rank(t) > 0 && ferry_tensor_count(t) > 0 &&
         ferry_tensor_dim(t, ferry_tensor_rank(t) - 1) > 1 && number_at(t, 0, &v, &whole);
}

static int print_all(const output_options *o, int n, const char *const *names,
                     ferry_tensor *const *results) {
  size_t num_labels = 0;
  char **labels = NULL;
  if (o->labels && !(labels = read_labels(o->labels, &num_labels))) return EXIT_FAILED;
  for (int i = 0; i < n; i++) {
    char *text;
    if (!results[i]) {
      printf("%s ran\n", names[i]);
      continue;
    }
    ferry_tensor *other = o->top > 0 ? printable(o, results[i]) : NULL;
    ferry_tensor *t = other ? other : results[i];
    if (o->top > 0 && has_rows(t)) {
      print_top(o, names[i], t, labels, num_labels);
    } else if (ferry_tensor_text(results[i], o->elements, &text) == 0) {
      printf("%s = %s\n", names[i], text);
      ferry_free_text(text);
    }
    ferry_tensor_free(other);
  }
  for (size_t i = 0; i < num_labels; i++) free(labels[i]);
  free((void *)labels);
  return EXIT_OK;
}

int output_results(const output_options *o, int n, const char *const *names,
                   ferry_tensor *const *results) {
  ferry_error err;
  if (!o->path) return print_all(o, n, names, results);
  if (cli_ends_with(o->path, ".json")) return save_json(o, n, names, results);
  if (cli_ends_with(o->path, ".npz")) return save_npz(o, n, names, results);
  if (!cli_ends_with(o->path, ".npy")) return save_directory(o, n, names, results);
  if (n != 1 || !results[0])
    return cli_usage(&command_run,
                     "%d fetches need a directory as --output, or a .npz or .json file", n);
  return ferry_tensor_save(results[0], o->path, &err) ? cli_fail(NULL, &err) : EXIT_OK;
}
