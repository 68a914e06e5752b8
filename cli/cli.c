// SPDX-License-Identifier: Apache-2.0
// cli.c: arguments, errors and output for all commands.

#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

// ------------------------------------------------------------------ errors
void cli_error(const char *format, ...) {
  va_list args;
  fflush(stdout);
  fputs("ferry: ", stderr);
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
}

int cli_usage(const cli_command *c, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  cli_error("%s: %s (see `ferry help %s`)", c->name, text, c->name);
  return EXIT_USAGE;
}

int cli_fail(const char *what, const ferry_error *err) {
  static const char variable[] = "environment variable FERRY_SIM";  // where --sim is kept
  const size_t n = sizeof variable - 1;
  bool by_option = cli_sim_given() && strncmp(err->text, variable, n) == 0;
  cli_error("%s%s%s%s [%s]", what ? what : "", what ? ": " : "", by_option ? "--sim" : "",
            by_option ? err->text + n : err->text, ferry_code_name(err->code));
  return EXIT_FAILED;
}

static size_t distance(const char *a, const char *b) {
  size_t row[64], n = strlen(b);
  if (n >= 64) return 99;
  for (size_t j = 0; j <= n; j++) row[j] = j;
  for (size_t i = 1; a[i - 1]; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= n; j++) {
      size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      size_t least = row[j] + 1 < row[j - 1] + 1 ? row[j] + 1 : row[j - 1] + 1;
      row[j] = change < least ? change : least;
    }
  }
  return row[n];
}

const char *cli_nearest(const char *word, const char *const *names, size_t n) {
  const char *best = NULL;
  size_t least = strlen(word) / 2 + 1;
  for (size_t i = 0; i < n; i++) {
    size_t d = distance(word, names[i]);
    if (d < least) least = d, best = names[i];
  }
  return best;
}

// ------------------------------------------------------------------ arguments
int cli_next(cli_args *a, const cli_option *options, size_t n, const char **value) {
  *value = NULL;
  if (++a->at >= a->argc) return CLI_END;
  const char *word = a->argv[a->at];
  if (word[0] != '-' || !word[1]) {
    *value = word;
    return CLI_WORD;
  }
  const char *eq = strchr(word, '=');
  size_t len = eq ? (size_t)(eq - word) : strlen(word);
  const char *names[32];
  for (size_t i = 0; i < n; i++) {
    const char *name = options[i].name;
    names[i < 32 ? i : 31] = name;
    if (strlen(name) != len || strncmp(name, word, len) != 0) continue;
    if (!options[i].takes_value) {
      if (!eq) return (int)i;
      cli_usage(a->command, "%s takes no value", name);
      return CLI_BAD;
    }
    *value = eq ? eq + 1 : a->at + 1 < a->argc ? a->argv[++a->at] : NULL;
    if (*value) return (int)i;
    cli_usage(a->command, "%s needs a value", name);
    return CLI_BAD;
  }
  char copy[64];
  snprintf(copy, sizeof copy, "%.*s", (int)(len < 63 ? len : 63), word);
  const char *near = cli_nearest(copy, names, n < 32 ? n : 32);
  cli_usage(a->command, "there is no option %s%s%s%s", copy, near ? " (did you mean " : "",
            near ? near : "", near ? "?)" : "");
  return CLI_BAD;
}

int cli_only_json(const cli_command *c, int argc, char **argv, bool *json) {
  static const cli_option options[] = {{"--json", false}};
  cli_args a = {c, argc, 0, argv};
  const char *value;
  *json = false;
  for (int o; (o = cli_next(&a, options, 1, &value)) != CLI_END;) {
    if (o == CLI_BAD) return EXIT_USAGE;
    if (o == CLI_WORD) return cli_usage(c, "'%s' is one word too many", value);
    *json = true;
  }
  return EXIT_OK;
}

bool cli_number(const char *text, int64_t *out) {
  char *end;
  errno = 0;
  *out = strtoll(text, &end, 10);
  return end != text && !*end && !errno;
}

void cli_list_add(cli_list *l, const char *separator, const char *item) {
  size_t have = l->text ? strlen(l->text) : 0, need = have + strlen(separator) + strlen(item) + 1;
  char *grown = realloc(l->text, need);
  if (!grown) {
    l->failed = true;
    return;
  }
  if (!have)
    grown[0] = 0;
  else
    strcat(grown, separator);
  l->text = strcat(grown, item);
}

// ------------------------------------------------------------------ output
int cli_width(void) {
  struct winsize w;
  if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0) return 0;
  return w.ws_col;
}

bool cli_colors(void) {
  const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
  return isatty(STDOUT_FILENO) && (!none || !*none) && (!term || strcmp(term, "dumb") != 0);
}

static void print_coloured(const char *line, size_t n) {
  bool heading = n && line[0] != ' ' && line[0] != '#';
  if (heading) fputs("\033[1m", stdout);
  for (size_t i = 0; i < n; i++) {
    if (!heading && strncmp(line + i, "GPU:", 4) == 0 && line[i + 4] >= '0' && line[i + 4] <= '9') {
      printf("\033[32m%.5s\033[0m", line + i);
      i += 4;
    } else {
      putchar(line[i]);
    }
  }
  if (heading) fputs("\033[0m", stdout);
}

void cli_print(const char *text) {
  if (!cli_colors()) {
    fputs(text, stdout);
    return;
  }
  while (*text) {
    size_t n = strcspn(text, "\n");
    print_coloured(text, n);
    text += n;
    if (*text) putchar(*text++);
  }
}

const char *cli_bytes(double bytes, char out[32]) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t u = 0;
  while (bytes >= 1024 && u < 5) bytes /= 1024, u++;
  snprintf(out, 32, u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
  return out;
}

double cli_now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

bool cli_ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

void cli_json_text(const char *text) {
  putchar('"');
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      printf("\\%c", c);
    else if (c < 32)
      printf("\\u%04x", c);
    else
      putchar(c);
  }
  putchar('"');
}

// ------------------------------------------------------------------ models
int cli_open(ferry_runtime **out) {
  ferry_error err;
  return ferry_open(cli_config(), out, &err) ? cli_fail(NULL, &err) : EXIT_OK;
}

int cli_model_open(const char *path, const char *tags, cli_model *m) {
  ferry_error err;
  *m = (cli_model){0};
  if (cli_open(&m->rt)) return EXIT_FAILED;
  cli_progress_start("loading");
  int bad = ferry_model_load(m->rt, path, tags, &m->model, &err);
  cli_progress_stop();
  if (bad) {
    cli_fail(NULL, &err);
    cli_model_close(m);
    return EXIT_FAILED;
  }
  m->graph = ferry_model_graph(m->model);
  m->session = ferry_model_session(m->model);
  return EXIT_OK;
}

void cli_model_close(cli_model *m) {
  ferry_model_free(m->model);
  ferry_close(m->rt);
  *m = (cli_model){0};
}
