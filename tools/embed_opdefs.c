// SPDX-License-Identifier: Apache-2.0
// embed_opdefs.c: opdefs.tsv -> a C file with the same lines, packed, and an index of their names.
// Packing is byte-pair encoding: the commonest pair of bytes becomes one new byte (128..255), again
// and again, never across lines. So any line unpacks alone, by a short loop (spec_table.c), and a
// word such as "bfloat16" ends up as one byte.
// Only offsets are written, no pointers: the table needs no relocation when the library is loaded.
// Runs on the build machine; it may print and exit.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINES = 16384, FIRST_CODE = 128, LAST_CODE = 255 };

static uint8_t *text;  // all lines joined by '\n'
static size_t text_len;
static uint8_t pairs[256][2];
static uint32_t counts[65536];

static void die(const char *what, const char *name) {
  fprintf(stderr, "embed_opdefs: %s: %s\n", what, name);
  exit(1);
}

static void *must_alloc(size_t bytes) {
  void *p = malloc(bytes ? bytes : 1);
  if (!p) die("out of memory", "malloc");
  return p;
}

static void read_lines(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) die("cannot read", path);
  char *line = NULL;
  size_t cap = 0, room = 0;
  ssize_t n;
  while ((n = getline(&line, &cap, f)) > 0) {
    if (line[0] == '#') continue;
    if (line[n - 1] != '\n') die("last line has no newline", path);
    for (ssize_t i = 0; i < n; i++) {
      if ((uint8_t)line[i] >= FIRST_CODE) die("not ASCII", line);
    }
    if (text_len + (size_t)n > room) {
      room = 2 * (text_len + (size_t)n);
      text = realloc(text, room);
      if (!text) die("out of memory", path);
    }
    memcpy(text + text_len, line, (size_t)n);
    text_len += (size_t)n;
  }
  free(line);
  fclose(f);
}

// Replaces the commonest pair by |code|; 0 if none is worth it.
static int pack_once(int code) {
  memset(counts, 0, sizeof counts);
  for (size_t i = 0; i + 1 < text_len; i++) {
    if (text[i] == '\n' || text[i + 1] == '\n') continue;
    counts[text[i] << 8 | text[i + 1]]++;
  }
  uint32_t best = 0;
  for (uint32_t k = 1; k < 65536; k++) {
    if (counts[k] > counts[best]) best = k;
  }
  if (counts[best] < 8) return 0;
  uint8_t a = (uint8_t)(best >> 8), b = (uint8_t)best;
  size_t to = 0;
  for (size_t i = 0; i < text_len; to++) {
    if (i + 1 < text_len && text[i] == a && text[i + 1] == b) {
      text[to] = (uint8_t)code;
      i += 2;
    } else {
      text[to] = text[i++];
    }
  }
  text_len = to;
  pairs[code][0] = a;
  pairs[code][1] = b;
  return 1;
}

static void print_bytes(FILE *out, const char *name, const uint8_t *p, size_t n) {
  fprintf(out, "const unsigned char %s[] = {", name);
  for (size_t i = 0; i < n; i++) fprintf(out, i % 24 ? "%u," : "\n%u,", p[i]);
  fprintf(out, "0};\n");
}

static void print_offsets(FILE *out, const char *name, const uint32_t *p, size_t n) {
  fprintf(out, "const uint32_t %s[] = {", name);
  for (size_t i = 0; i < n; i++) fprintf(out, i % 12 ? "%u," : "\n%u,", p[i]);
  fprintf(out, "};\n");
}

int main(int argc, char **argv) {
  if (argc != 3) die("usage", "embed_opdefs in.tsv out.c");
  read_lines(argv[1]);
  size_t num_lines = 0, names_len = 0;
  uint8_t *names = must_alloc(text_len + 1);
  uint32_t *name_at = must_alloc((MAX_LINES + 1) * sizeof(uint32_t));
  uint32_t *line_at = must_alloc((MAX_LINES + 1) * sizeof(uint32_t));
  for (size_t i = 0; i < text_len;) {
    const uint8_t *end = memchr(text + i, '\n', text_len - i);
    size_t n = (size_t)(end - (text + i)), name = 0;
    while (name < n && text[i + name] != '\t') name++;
    if (num_lines == MAX_LINES) die("too many lines", argv[1]);
    name_at[num_lines] = (uint32_t)names_len;
    memcpy(names + names_len, text + i, name);
    names[names_len + name] = 0;
    if (num_lines && strcmp((char *)names + name_at[num_lines - 1], (char *)names + names_len) >= 0)
      die("not sorted", (char *)names + names_len);
    names_len += name + 1;
    num_lines++;
    i += n + 1;
  }
  name_at[num_lines] = (uint32_t)names_len;
  for (int code = FIRST_CODE; code <= LAST_CODE && pack_once(code); code++) {
  }
  size_t lines = 0;
  for (size_t i = 0; i < text_len; i++) {
    if (i == 0 || text[i - 1] == '\n') line_at[lines++] = (uint32_t)i;
  }
  line_at[lines] = (uint32_t)text_len;  // a line ends one before the next begins

  FILE *out = fopen(argv[2], "wb");
  if (!out) die("cannot write", argv[2]);
  fprintf(out, "// Made by tools/embed_opdefs.c from opdefs.tsv.\n#include <stdint.h>\n");
  fprintf(out, "const uint32_t fy_opdefs_count = %zu;\n", num_lines);
  print_bytes(out, "fy_opdefs_names", names, names_len);
  print_offsets(out, "fy_opdefs_name_at", name_at, num_lines + 1);
  print_offsets(out, "fy_opdefs_line_at", line_at, num_lines + 1);
  print_bytes(out, "fy_opdefs_pairs", (uint8_t *)pairs[FIRST_CODE], 2 * (256 - FIRST_CODE));
  print_bytes(out, "fy_opdefs_text", text, text_len);
  if (fclose(out)) die("cannot write", argv[2]);
  free(line_at);
  free(name_at);
  free(names);
  free(text);
  return 0;
}
