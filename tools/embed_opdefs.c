// SPDX-License-Identifier: Apache-2.0
// embed_opdefs.c: opdefs.tsv -> a C file with the same lines, packed, and an index of their names.
// Packing is byte-pair encoding: the commonest pair of tokens becomes a new token, again and again,
// never across lines. So any line unpacks alone, by a short loop (spec_table.c), and a list of types
// that many ops share ends up as one token. The commonest tokens are written as one byte (128..239),
// the others as two (240..255 and any byte); bytes below 128 stand for themselves.
// Only offsets are written, no pointers: the table needs no relocation when the library is loaded.
// Runs on the build machine; it may print and exit.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_LINES = 16384,
  FIRST = 128,         // tokens below are characters
  LONG = 240,          // where the first bytes of long codes begin
  MOST_TOKENS = 4096,  // of both kinds
  LEAST_USES = 5,      // a new token costs four bytes of the table
  MAX_DEPTH = 60,      // of pairs in pairs: spec_table.c unpacks with a stack of 64
};

static uint16_t *text;  // tokens of all lines, each line ended by '\n'
static size_t text_len;
static struct token {
  uint16_t parts[2];
  uint16_t code;  // how it is written: 128..239, or 240 << 8 and more
  uint32_t uses;
  int depth;
} tokens[MOST_TOKENS];
static int num_tokens = FIRST;

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
    if (text_len + (size_t)n > room) {
      room = 2 * (text_len + (size_t)n);
      text = realloc(text, room * sizeof *text);
      if (!text) die("out of memory", path);
    }
    for (ssize_t i = 0; i < n; i++) {
      if ((uint8_t)line[i] >= FIRST) die("not ASCII", line);
      text[text_len++] = (uint8_t)line[i];
    }
  }
  free(line);
  fclose(f);
}

// The names, which are found without unpacking anything, leave the lines (with the tab after them).
static size_t cut_names(uint8_t *names, uint32_t *name_at) {
  size_t num_lines = 0, names_len = 0, to = 0;
  for (size_t i = 0; i < text_len;) {
    if (num_lines == MAX_LINES) die("too many lines", "opdefs");
    name_at[num_lines] = (uint32_t)names_len;
    while (text[i] != '\t' && text[i] != '\n') names[names_len++] = (uint8_t)text[i++];
    if (text[i] == '\t') i++;
    names[names_len++] = 0;
    const char *name = (char *)names + name_at[num_lines];
    if (num_lines && strcmp((char *)names + name_at[num_lines - 1], name) >= 0)
      die("not sorted", name);
    num_lines++;
    while (text[i] != '\n') text[to++] = text[i++];
    text[to++] = text[i++];
  }
  text_len = to;
  name_at[num_lines] = (uint32_t)names_len;
  return num_lines;
}

// Replaces the commonest pair by a new token; 0 if none is worth it.
static int pack_once(uint32_t *counts) {
  for (size_t i = 0; i + 1 < text_len; i++) {
    if (text[i] != '\n' && text[i + 1] != '\n') counts[text[i] * MOST_TOKENS + text[i + 1]]++;
  }
  uint32_t best = 0, most = 0;
  for (size_t i = 0; i + 1 < text_len; i++) {
    uint32_t pair = (uint32_t)(text[i] * MOST_TOKENS + text[i + 1]);
    if (counts[pair] > most) most = counts[best = pair];
    counts[pair] = 0;
  }
  uint16_t a = (uint16_t)(best / MOST_TOKENS), b = (uint16_t)(best % MOST_TOKENS);
  int depth = 1 + (tokens[a].depth > tokens[b].depth ? tokens[a].depth : tokens[b].depth);
  if (most < LEAST_USES || depth > MAX_DEPTH) return 0;
  tokens[num_tokens] = (struct token){.parts = {a, b}, .depth = depth};
  size_t to = 0;
  for (size_t i = 0; i < text_len; to++) {
    int here = i + 1 < text_len && text[i] == a && text[i + 1] == b;
    text[to] = here ? (uint16_t)num_tokens : text[i];
    i += here ? 2 : 1;
  }
  text_len = to;
  num_tokens++;
  return 1;
}

static int by_uses(const void *a, const void *b) {
  const struct token *x = &tokens[*(const uint16_t *)a], *y = &tokens[*(const uint16_t *)b];
  if (x->uses != y->uses) return x->uses < y->uses ? 1 : -1;
  return *(const uint16_t *)a < *(const uint16_t *)b ? -1 : 1;
}

// Gives short codes to the tokens that are written most; |order| lists tokens by their code.
static void choose_codes(uint16_t *order) {
  for (size_t i = 0; i < text_len; i++) tokens[text[i]].uses++;
  for (int t = 0; t < FIRST; t++) tokens[t].code = (uint16_t)t;
  int count = num_tokens - FIRST;
  for (int i = 0; i < count; i++) order[i] = (uint16_t)(FIRST + i);
  qsort(order, (size_t)count, sizeof *order, by_uses);
  for (int i = 0; i < count; i++) {
    int is_short = i < LONG - FIRST;
    tokens[order[i]].code = (uint16_t)(is_short ? FIRST + i : (LONG << 8) + i - (LONG - FIRST));
  }
}

static size_t write_codes(uint8_t *out, uint32_t *line_at) {
  size_t len = 0, line = 0;
  line_at[line++] = 0;
  for (size_t i = 0; i < text_len; i++) {
    if (text[i] == '\n') {
      line_at[line++] = (uint32_t)len;
      continue;
    }
    uint16_t code = tokens[text[i]].code;
    if (code >> 8) out[len++] = (uint8_t)(code >> 8);
    out[len++] = (uint8_t)code;
  }
  return len;
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

static void print_pairs(FILE *out, const uint16_t *order) {
  fprintf(out, "const uint16_t fy_opdefs_pairs[][2] = {");
  for (int i = 0; i < num_tokens - FIRST; i++) {
    const struct token *t = &tokens[order[i]];
    fprintf(out, i % 8 ? "{%u,%u}," : "\n{%u,%u},", tokens[t->parts[0]].code,
            tokens[t->parts[1]].code);
  }
  fprintf(out, "};\n");
}

int main(int argc, char **argv) {
  if (argc != 3) die("usage", "embed_opdefs in.tsv out.c");
  read_lines(argv[1]);
  uint8_t *names = must_alloc(text_len + 1), *codes = must_alloc(2 * text_len);
  uint32_t *name_at = must_alloc((MAX_LINES + 1) * sizeof(uint32_t));
  uint32_t *line_at = must_alloc((MAX_LINES + 1) * sizeof(uint32_t));
  uint32_t *counts = calloc((size_t)MOST_TOKENS * MOST_TOKENS, sizeof *counts);
  if (!counts) die("out of memory", "calloc");
  size_t num_lines = cut_names(names, name_at);
  // Long codes are 16 x 256 at most: fewer than MOST_TOKENS less the characters.
  while (num_tokens < MOST_TOKENS && pack_once(counts)) {
  }
  uint16_t order[MOST_TOKENS];
  choose_codes(order);
  size_t codes_len = write_codes(codes, line_at);

  FILE *out = fopen(argv[2], "wb");
  if (!out) die("cannot write", argv[2]);
  fprintf(out, "// Made by tools/embed_opdefs.c from opdefs.tsv.\n#include <stdint.h>\n");
  fprintf(out, "const uint32_t fy_opdefs_count = %zu;\n", num_lines);
  print_bytes(out, "fy_opdefs_names", names, name_at[num_lines]);
  print_offsets(out, "fy_opdefs_name_at", name_at, num_lines + 1);
  print_offsets(out, "fy_opdefs_line_at", line_at, num_lines + 1);
  print_pairs(out, order);
  print_bytes(out, "fy_opdefs_text", codes, codes_len);
  if (fclose(out)) die("cannot write", argv[2]);
  free(counts);
  free(line_at);
  free(name_at);
  free(codes);
  free(names);
  free(text);
  return 0;
}
