// SPDX-License-Identifier: Apache-2.0
// input.c: which source is for which input, and what kind of source it is.

#include "input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json.h"

enum { STRING = 7, BOOL = 10, MAX_PARTS = 4096 };

typedef enum source_kind { NPY, NPZ, JSON, IMAGE, TABLE, LINES, BYTES } source_kind;

typedef struct source {
  const char *from;  // as given, for messages
  char *path;        // the file that arrays are loaded from: that, or a copy of standard input
  char *bytes;       // with a NUL after them
  size_t n;
  source_kind kind;
  bool literal;  // not a file but the value itself
  bool copied;   // |path| goes with it
} source;

static void close_source(source *s) {
  if (s->copied) unlink(s->path);
  free(s->path);
  free(s->bytes);
}

// ------------------------------------------------------------------ scale
bool input_scale(const char *text, input_options *o) {
  char *end;
  double a = strtod(text, &end), b;
  const char *dots = strstr(text, "..");
  if (dots) {
    char *stop;
    b = strtod(dots + 2, &stop);
    // strtod takes the first dot of "0..1" as the number's own.
    if (dots == text || dots[2] == 0 || *stop || (end != dots && end != dots + 1)) return false;
    o->scale = (b - a) / 255;
    o->offset = a;
    return true;
  }
  if (end == text) return false;
  if (*end == '/') {
    const char *p = end + 1;
    b = strtod(p, &end);
    if (end == p || b == 0) return false;
    a /= b;
  }
  o->scale = a;
  o->offset = 0;
  return *end == 0;
}

// ------------------------------------------------------------------ reading
static bool read_stream(FILE *f, const char *name, source *s) {
  size_t cap = 0;
  for (;;) {
    if (s->n + 1 >= cap) {
      cap = cap ? 2 * cap : 65536;
      char *more = realloc(s->bytes, cap);
      if (!more) {
        cli_error("%s: out of memory", name);
        return false;
      }
      s->bytes = more;
    }
    size_t k = fread(s->bytes + s->n, 1, cap - 1 - s->n, f);
    s->n += k;
    if (!k) break;
  }
  s->bytes[s->n] = 0;
  if (!ferror(f)) return true;
  cli_error("cannot read %s: %s", name, strerror(errno));
  return false;
}

static bool has_extension(const char *path, const char *extension) {
  size_t n = strlen(path), m = strlen(extension);
  return n > m && strcasecmp(path + n - m, extension) == 0;
}

static source_kind kind_of(const char *path, const char *bytes, size_t n, bool strings) {
  if (n > 6 && memcmp(bytes, "\x93NUMPY", 6) == 0) return NPY;
  if (n > 4 && memcmp(bytes, "PK\3\4", 4) == 0) return NPZ;
  if (has_extension(path, ".npy")) return NPY;
  if (has_extension(path, ".npz")) return NPZ;
  if (has_extension(path, ".json")) return JSON;
  if (has_extension(path, ".csv") || has_extension(path, ".tsv")) return TABLE;
  if (has_extension(path, ".png") || has_extension(path, ".jpg") || has_extension(path, ".jpeg") ||
      has_extension(path, ".gif") || has_extension(path, ".bmp"))
    return IMAGE;
  if (has_extension(path, ".txt")) return strings ? LINES : TABLE;
  if (n > 8 && (memcmp(bytes, "\x89PNG", 4) == 0 || memcmp(bytes, "\xff\xd8\xff", 3) == 0))
    return IMAGE;
  size_t at = strspn(bytes, " \t\r\n");
  if (bytes[at] == '[' || bytes[at] == '{') return JSON;
  if (memchr(bytes, 0, n)) return BYTES;
  return strings ? LINES : TABLE;
}

static bool is_literal(const char *text) {
  char why[160];
  json_value *v = json_parse(text, strlen(text), why);
  bool yes = v != NULL;
  json_free(v);
  return yes;
}

// Arrays are read from files: a pipe becomes one.
static bool copy_to_file(source *s) {
  const char *dir = getenv("TMPDIR");
  s->path = malloc(strlen(dir && *dir ? dir : "/tmp") + 32);
  if (!s->path) return false;
  sprintf(s->path, "%s/ferry-input-XXXXXX", dir && *dir ? dir : "/tmp");
  int fd = mkstemp(s->path);
  s->copied = fd >= 0;
  FILE *f = s->copied ? fdopen(fd, "wb") : NULL;
  bool ok = f && fwrite(s->bytes, 1, s->n, f) == s->n;
  if (f) ok = fclose(f) == 0 && ok;
  if (!f && s->copied) close(fd);
  if (!ok) cli_error("%s: cannot keep it in %s: %s", s->from, s->path, strerror(errno));
  return ok;
}

static bool open_stdin(source *s) {
  static bool taken;
  s->from = "standard input";
  if (taken) {
    cli_error("standard input can be read once only: put it in a file");
    return false;
  }
  taken = true;
  return read_stream(stdin, s->from, s);
}

static bool open_file(const char *path, FILE *f, source *s) {
  s->path = malloc(strlen(path) + 1);
  if (s->path) strcpy(s->path, path);
  bool ok = s->path && read_stream(f, path, s);
  fclose(f);
  return ok;
}

static bool open_literal(const char *text, source *s) {
  s->literal = true;
  s->kind = JSON;
  s->n = strlen(text);
  s->bytes = malloc(s->n + 1);
  if (s->bytes) memcpy(s->bytes, text, s->n + 1);
  return s->bytes != NULL;
}

static void no_source(const char *text, const ferry_model_value *want) {
  char what[256] = "";
  if (want) input_describe(want, what);
  cli_error("%s: there is no such file, and it is no value%s%s either (%s%s%s)", text,
            want ? " for " : "", what,
            want && want->dtype == BOOL ? "true or false" : "write a string as '\"",
            want && want->dtype == BOOL ? ""
            : strlen(text) < 40         ? text
                                        : "…",
            want && want->dtype == BOOL ? "" : "\"'");
}

// Editors on Windows put a mark before the first line.
static void drop_byte_order_mark(source *s) {
  if (s->n < 3 || memcmp(s->bytes, "\xef\xbb\xbf", 3) != 0) return;
  s->n -= 3;
  memmove(s->bytes, s->bytes + 3, s->n + 1);
}

// A file, "-", or the value itself; |want| is NULL if it is for all inputs. close_source in every case.
static bool open_source(const char *text, const ferry_model_value *want, bool strings, source *s) {
  struct stat info;
  *s = (source){.from = text};
  if (strcmp(text, "-") == 0) {
    if (!open_stdin(s)) return false;
  } else {
    FILE *f = stat(text, &info) == 0 && !S_ISDIR(info.st_mode) ? fopen(text, "rb") : NULL;
    if (!f && is_literal(text)) return open_literal(text, s);
    if (!f) {
      no_source(text, want);
      return false;
    }
    if (!open_file(text, f, s)) return false;
  }
  s->kind = kind_of(text, s->bytes, s->n, strings);
  if (s->kind == JSON || s->kind == TABLE || s->kind == LINES) drop_byte_order_mark(s);
  return s->path || (s->kind != NPY && s->kind != NPZ) || copy_to_file(s);
}

// ------------------------------------------------------------------ one input
static ferry_tensor *from_npz(const source *s, const ferry_model_value *want) {
  ferry_error err;
  char **names;
  ferry_tensor **tensors, *out = NULL;
  int n, at = -1;
  if (ferry_npz_load(s->path, &n, &names, &tensors, &err)) {
    cli_fail(NULL, &err);
    return NULL;
  }
  for (int i = 0; i < n; i++)
    if (strcmp(names[i], want->name) == 0) at = i;
  if (at < 0 && n == 1) at = 0;
  if (at >= 0) {
    out = tensors[at];
    tensors[at] = NULL;
  } else {
    const char *near = cli_nearest(want->name, (const char *const *)names, (size_t)n);
    cli_error("%s: has %d arrays, none is called %s%s%s%s", s->from, n, want->name,
              near ? " (nearest: " : "", near ? near : "", near ? ")" : "");
  }
  ferry_npz_free(n, names, tensors);
  return out;
}

// What belongs to |name| in {"inputs": {…}}, {"instances": [{…}, …]}, {name: …}; else the whole.
// |*rows|: a list with one object per row, from which the value of each is to be taken.
static const json_value *json_for(const json_value *v, const char *name, bool *rows) {
  const json_value *inputs = json_get(v, "inputs"), *instances = json_get(v, "instances");
  *rows = false;
  if (inputs) {
    const json_value *own = json_get(inputs, name);
    return own ? own : inputs;
  }
  if (instances) v = instances;
  if (json_get(v, name)) return json_get(v, name);
  *rows = v->kind == JSON_ARRAY && v->n && v->items[0].kind == JSON_OBJECT &&
          !json_get(&v->items[0], "b64");
  return v;
}

static bool json_values(const source *s, const json_value *v, const char *name, input_values *out) {
  bool rows;
  v = json_for(v, name, &rows);
  if (!rows) return input_from_json(s->from, v, out);
  json_value *list = calloc(v->n, sizeof *list);
  json_value column = {.kind = JSON_ARRAY, .items = list, .n = v->n};
  bool ok = list != NULL;
  for (size_t i = 0; ok && i < v->n; i++) {
    const json_value *own = json_get(&v->items[i], name);
    if (own)
      list[i] = *own;
    else
      ok = false;
    if (!own) cli_error("%s: instance %zu has no \"%s\"", s->from, i, name);
  }
  if (ok) ok = input_from_json(s->from, &column, out);
  free(list);
  return ok;
}

static ferry_tensor *from_values(const source *s, const ferry_model_value *want,
                                 const input_options *o, bool column) {
  input_values v = {0};
  ferry_tensor *t = NULL;
  bool strings = want->dtype == STRING, ok;
  if (s->kind == JSON) {
    char why[160];
    json_value *j = json_parse(s->bytes, s->n, why);
    if (!j) {
      cli_error("%s: not JSON: %s", s->from, why);
      return NULL;
    }
    ok = json_values(s, j, want->name, &v);
    json_free(j);
  } else if (s->kind == TABLE && column) {
    ok = input_from_column(s->from, s->bytes, s->n, want->name, strings, &v);
  } else if (s->kind == TABLE) {
    ok = input_from_table(s->from, s->bytes, s->n, strings, &v);
  } else {
    ok = input_from_lines(s->bytes, s->n, &v);
  }
  if (ok) t = input_typed(o->rt, s->from, &v, want);
  input_values_free(&v);
  return t;
}

static ferry_tensor *read_one(const source *s, const ferry_model_value *want,
                              const input_options *o, bool column) {
  ferry_tensor *t = NULL;
  ferry_error err;
  if (s->kind == IMAGE) return input_image(s->from, s->bytes, s->n, want, o);
  if (s->kind == NPY) {
    if (ferry_tensor_load(s->path, &t, &err)) {
      cli_fail(NULL, &err);
      return NULL;
    }
  } else if (s->kind == NPZ) {
    t = from_npz(s, want);
  } else if (s->kind == BYTES && want->dtype == STRING) {
    if (ferry_tensor_strings(0, NULL, NULL, &t, &err) ||
        ferry_tensor_set_string(t, 0, s->bytes, s->n, &err)) {
      cli_fail(s->from, &err);
      ferry_tensor_free(t);
      return NULL;
    }
  } else if (s->kind == BYTES) {
    char what[256];
    input_describe(want, what);
    cli_error("%s: cannot read it as %s: it is none of .npy, .npz, .csv, .txt, .json, .png, .jpg",
              s->from, what);
    return NULL;
  } else {
    t = from_values(s, want, o, column);
  }
  if (t) t = input_cast(o->rt, s->from, t, want);
  return t ? input_fit(s->from, t, want) : NULL;
}

// ------------------------------------------------------------------ all of them
static const ferry_model_value *find(const ferry_signature *s, const char *name, size_t n) {
  for (int i = 0; i < s->num_inputs; i++)
    if (strlen(s->inputs[i].name) == n && memcmp(s->inputs[i].name, name, n) == 0)
      return &s->inputs[i];
  return NULL;
}

// "x (float[?,3]), n (int32[])"
static void list_inputs(const ferry_signature *s, char out[900]) {
  char what[256];
  size_t at = 0;
  snprintf(out, 900, "none");
  for (int i = 0; i < s->num_inputs && i < INPUT_MAX; i++) {
    input_describe(&s->inputs[i], what);
    if (at + strlen(what) + 3 < 900)
      at += (size_t)snprintf(out + at, 900 - at, "%s%s", at ? ", " : "", what);
  }
}

static int no_input(const ferry_signature *s, const char *name, size_t n) {
  const char *names[INPUT_MAX];
  char word[128], list[900];
  size_t count = 0;
  snprintf(word, sizeof word, "%.*s", (int)(n < 127 ? n : 127), name);
  for (int i = 0; i < s->num_inputs && i < INPUT_MAX; i++) names[count++] = s->inputs[i].name;
  list_inputs(s, list);
  const char *near = cli_nearest(word, names, count);
  cli_error("signature %s has no input '%s'%s%s%s; it takes %s", s->name, word,
            near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "", list);
  return EXIT_FAILED;
}

// The values of one input, from every --input that names it.
static int read_input(input_set *set, const ferry_signature *s, const ferry_model_value *want,
                      const input_options *o) {
  ferry_tensor **parts = calloc(MAX_PARTS, sizeof *parts);
  int n = 0;
  bool ok = parts != NULL;
  (void)s;
  for (int i = 0; i < set->num_given && ok; i++) {
    const char *given = set->given[i], *eq = strchr(given, '=');
    bool named = eq && (size_t)(eq - given) == strlen(want->name) &&
                 memcmp(given, want->name, strlen(want->name)) == 0;
    source in;
    if (!named || n == MAX_PARTS) continue;
    ok = open_source(eq + 1, want, want->dtype == STRING, &in);
    if (ok) ok = (parts[n] = read_one(&in, want, o, false)) != NULL;
    n += ok;
    close_source(&in);
  }
  ferry_tensor *t = NULL;
  if (ok && n) {
    t = input_join(want, parts, n);
    ok = t != NULL;
  } else {
    for (int i = 0; i < n; i++) ferry_tensor_free(parts[i]);
  }
  free((void *)parts);
  if (t) {
    set->names[set->n] = want->name;
    set->tensors[set->n++] = t;
  }
  return ok ? EXIT_OK : EXIT_FAILED;
}

// A file for several inputs: arrays, columns or keys by their names.
static bool has_member(const source *s, const char *name, bool only) {
  if (s->kind == NPZ) {
    char **names;
    ferry_tensor **tensors;
    int n;
    bool found = false;
    if (ferry_npz_load(s->path, &n, &names, &tensors, NULL)) return true;  // read_one says why
    for (int i = 0; i < n; i++) found |= strcmp(names[i], name) == 0;
    ferry_npz_free(n, names, tensors);
    return found;
  }
  if (s->kind == JSON) {
    char why[160];
    json_value *v = json_parse(s->bytes, s->n, why);
    const json_value *top = json_get(v, "inputs") ? json_get(v, "inputs") : v;
    const json_value *rows = json_get(v, "instances");
    bool found = !v || json_get(top, name) ||
                 (rows && rows->n && rows->kind == JSON_ARRAY && json_get(&rows->items[0], name));
    json_free(v);
    return found || only;
  }
  if (s->kind == TABLE) return input_has_column(s->bytes, s->n, name);
  return only;
}

static int read_file_for_all(input_set *set, const char *path, const ferry_signature *s,
                             const input_options *o) {
  source in;
  int before = set->n;
  bool only = s->num_inputs == 1;
  if (s->num_inputs == 0) {
    cli_error("%s: signature %s takes no input: leave --input out", path, s->name);
    return EXIT_FAILED;
  }
  bool ok = open_source(path, NULL, only && s->inputs[0].dtype == STRING, &in);
  for (int i = 0; i < s->num_inputs && ok; i++) {
    bool column = in.kind == TABLE && has_member(&in, s->inputs[i].name, false);
    if (!column && !only && !has_member(&in, s->inputs[i].name, only)) continue;
    ferry_tensor *t = read_one(&in, &s->inputs[i], o, column);
    ok = t != NULL;
    if (!ok) break;
    set->names[set->n] = s->inputs[i].name;
    set->tensors[set->n++] = t;
  }
  if (ok && set->n == before) {
    char list[900];
    list_inputs(s, list);
    cli_error(
        "%s: nothing in it is named as an input of signature %s, which takes %s; name the input: "
        "--input NAME=%s",
        path, s->name, list, path);
    ok = false;
  }
  close_source(&in);
  return ok ? EXIT_OK : EXIT_FAILED;
}

static bool is_named(const ferry_signature *s, const char *given) {
  const char *eq = strchr(given, '=');
  struct stat info;
  if (!eq || eq == given) return false;
  return find(s, given, (size_t)(eq - given)) || stat(given, &info) != 0;
}

int input_read(input_set *set, const ferry_signature *s, const input_options *o) {
  if (s->num_inputs > INPUT_MAX / 2) {
    cli_error("signature %s has more than %d inputs", s->name, INPUT_MAX / 2);
    return EXIT_FAILED;
  }
  for (int i = 0; i < set->num_given; i++) {
    const char *given = set->given[i], *eq = strchr(given, '=');
    if (is_named(s, given) && !find(s, given, (size_t)(eq - given)))
      return no_input(s, given, (size_t)(eq - given));
    if (is_named(s, given)) continue;
    if (read_file_for_all(set, given, s, o)) return EXIT_FAILED;
  }
  for (int i = 0; i < s->num_inputs; i++)
    if (read_input(set, s, &s->inputs[i], o)) return EXIT_FAILED;
  return EXIT_OK;
}

void input_free(input_set *set) {
  for (int i = 0; i < set->n; i++) ferry_tensor_free(set->tensors[i]);
  set->n = 0;
}
