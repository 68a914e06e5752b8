// SPDX-License-Identifier: Apache-2.0
// options.c: one table of options. Parsing, printing, "did you mean" and the documentation all read
// it, so an option that exists is an option that can be set, seen and found.
// A plain option is a kind and a place in fy_options; one with a syntax of its own has a function.

#include "base/options.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIB  1024ull
#define WORD 64  // longest single word copied for messages

typedef enum kind { INT, INT64, BOOL, BYTES, TEXT, FRACTION, RATE, TIME, CUSTOM } kind;

typedef struct option {
  const char *name;
  kind what;
  size_t at;         // offset in the struct it belongs to
  double low, high;  // INT, INT64: what is allowed; TEXT: |high| is the size of the array
  const char *help;
  // CUSTOM: reads |value| into, or prints from, the struct at |base|.
  fy_code (*set)(void *base, const char *name, fy_view value, fy_error *err);
  void (*print)(fy_str *out, const void *base);
} option;

// --- values ---

static fy_view trim(fy_view v) {
  while (v.n && isspace((unsigned char)v.p[0])) v.p++, v.n--;
  while (v.n && isspace((unsigned char)v.p[v.n - 1])) v.n--;
  return v;
}

// Cuts |*rest| at the first of |stops| (which is dropped); all of it if there is none.
static fy_view cut(fy_view *rest, const char *stops) {
  size_t n = 0;
  while (n < rest->n && !strchr(stops, rest->p[n])) n++;
  fy_view piece = {rest->p, n};
  size_t used = n < rest->n ? n + 1 : n;
  rest->p += used;
  rest->n -= used;
  return trim(piece);
}

static fy_code bad_value(fy_error *err, const char *name, fy_view value, const char *allowed) {
  return fy_fail(err, FY_INVALID_ARGUMENT, "option '%s': '%.*s' is not %s", name,
                 (int)(value.n < 200 ? value.n : 200), value.p, allowed);
}

static bool parse_int(fy_view v, int64_t *out) {
  char word[WORD];
  if (v.n == 0 || v.n >= sizeof word) return false;
  memcpy(word, v.p, v.n);
  word[v.n] = 0;
  char *end;
  long long n = strtoll(word, &end, 10);
  *out = n;
  return *end == 0 && !isspace((unsigned char)word[0]) && n != INT64_MAX && n != INT64_MIN;
}

static bool parse_double(fy_view v, double *out, fy_view *unit) {
  char word[WORD];
  if (v.n == 0 || v.n >= sizeof word) return false;
  memcpy(word, v.p, v.n);
  word[v.n] = 0;
  char *end;
  *out = strtod(word, &end);
  if (end == word || !isfinite(*out) || strpbrk(word, "xX")) return false;
  *unit = trim((fy_view){v.p + (end - word), v.n - (size_t)(end - word)});
  return true;
}

static bool parse_bool(fy_view v, bool *out) {
  static const char *const yes[] = {"true", "on", "1", "yes"};
  static const char *const no[] = {"false", "off", "0", "no"};
  for (size_t i = 0; i < 4; i++) {
    *out = v.n == strlen(yes[i]) && strncasecmp(v.p, yes[i], v.n) == 0;
    if (*out || (v.n == strlen(no[i]) && strncasecmp(v.p, no[i], v.n) == 0)) return true;
  }
  return false;
}

// "12GB/s", "10TFLOP/s", "1e12": a number, a prefix of 1000 (or 1024 with i), and any of these
// names.
static bool parse_rate(fy_view v, double *out) {
  fy_view unit;
  if (!parse_double(v, out, &unit)) return false;
  static const char prefixes[] = "kmgtpe";
  const char *prefix = unit.n ? memchr(prefixes, tolower((unsigned char)unit.p[0]), 6) : NULL;
  if (prefix) {
    unit.p++, unit.n--;
    bool binary = unit.n && unit.p[0] == 'i';
    if (binary) unit.p++, unit.n--;
    *out *= pow(binary ? 1024 : 1000, (double)(prefix - prefixes + 1));
  }
  static const char *const names[] = {"", "B", "B/s", "FLOP/s", "FLOPS", "flops", "flop/s"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (fy_view_is(unit, names[i])) return *out > 0;
  }
  return false;
}

static bool parse_time_ns(fy_view v, double *out) {
  static const struct {
    const char *name;
    double ns;
  } units[] = {{"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  fy_view unit;
  if (!parse_double(v, out, &unit) || *out < 0) return false;
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (!fy_view_is(unit, units[i].name)) continue;
    *out *= units[i].ns;
    return *out <= 1e15;
  }
  return false;
}

static fy_code set_plain(const option *o, void *base, fy_view v, fy_error *err) {
  char *at = (char *)base + o->at, allowed[96];
  int64_t n;
  double d;
  fy_view unit;
  switch (o->what) {
    case INT:
    case INT64:
      if (!parse_int(v, &n) || (double)n < o->low || (double)n > o->high) {
        snprintf(allowed, sizeof allowed, "a whole number from %.0f to %.0f", o->low, o->high);
        return bad_value(err, o->name, v, allowed);
      }
      if (o->what == INT)
        *(int *)at = (int)n;
      else
        *(int64_t *)at = n;
      return FY_OK;
    case BOOL:
      return parse_bool(v, (bool *)at) ? FY_OK : bad_value(err, o->name, v, "true or false");
    case BYTES:
      if (fy_parse_bytes(v.p, v.n, (uint64_t *)at)) return FY_OK;
      return bad_value(err, o->name, v, "a size such as 512MiB, 2GiB or 1000000");
    case FRACTION:
      if (!parse_double(v, &d, &unit) || unit.n || d < o->low || d > o->high) {
        snprintf(allowed, sizeof allowed, "a number from %g to %g", o->low, o->high);
        return bad_value(err, o->name, v, allowed);
      }
      *(double *)at = d;
      return FY_OK;
    case RATE:
      if (!parse_rate(v, &d)) return bad_value(err, o->name, v, "a rate such as 12GB/s or 10T");
      *(double *)at = d;
      return FY_OK;
    case TIME:
      if (!parse_time_ns(v, &d)) return bad_value(err, o->name, v, "a time such as 10us or 2ms");
      *(double *)at = d;
      return FY_OK;
    case TEXT:
      if ((double)v.n >= o->high) return bad_value(err, o->name, v, "short enough");
      if (v.n) memcpy(at, v.p, v.n);
      at[v.n] = 0;
      return FY_OK;
    case CUSTOM: break;
  }
  return o->set(base, o->name, v, err);
}

// Units that divide |v| evenly, so that what is printed can be read back.
static void print_scaled(fy_str *out, double v, double step, const char *const *units,
                         size_t count) {
  size_t i = 0;
  while (i + 1 < count && v >= step && fmod(v, step) == 0) v /= step, i++;
  fy_str_printf(out, "%.15g%s", v, units[i]);
}

static void print_bytes(fy_str *out, uint64_t v) {
  static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
  print_scaled(out, (double)v, 1024, units, 5);
}

static void print_plain(fy_str *out, const option *o, const void *base) {
  static const char *const rates[] = {"", "k", "M", "G", "T", "P"};
  static const char *const times[] = {"ns", "us", "ms", "s"};
  const char *at = (const char *)base + o->at;
  switch (o->what) {
    case INT: fy_str_printf(out, "%d", *(const int *)at); break;
    case INT64: fy_str_printf(out, "%lld", (long long)*(const int64_t *)at); break;
    case BOOL: fy_str_add(out, *(const bool *)at ? "true" : "false"); break;
    case BYTES: print_bytes(out, *(const uint64_t *)at); break;
    case TEXT: fy_str_add(out, at); break;
    case FRACTION: fy_str_printf(out, "%.15g", *(const double *)at); break;
    case RATE: print_scaled(out, *(const double *)at, 1000, rates, 6); break;
    case TIME: print_scaled(out, *(const double *)at, 1000, times, 4); break;
    case CUSTOM: o->print(out, base); break;
  }
}

static fy_code unknown(fy_error *err, const char *what, fy_view key, const option *table,
                       size_t n) {
  char word[WORD];
  const char *names[WORD];
  fy_str known;
  fy_str_init(&known);
  for (size_t i = 0; i < n && i < WORD; i++) {
    names[i] = table[i].name;
    fy_str_printf(&known, "%s%s", i ? ", " : "", names[i]);
  }
  snprintf(word, sizeof word, "%.*s", (int)(key.n < WORD ? key.n : WORD - 1), key.p);
  const char *near = fy_nearest(word, names, n < WORD ? n : WORD);
  fy_fail(err, FY_INVALID_ARGUMENT, "unknown %s '%s'%s%s%s; known %ss: %s", what, word,
          near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "", what,
          fy_str_text(&known));
  fy_str_free(&known);
  return FY_INVALID_ARGUMENT;
}

static const option *find(const option *table, size_t n, fy_view key) {
  for (size_t i = 0; i < n; i++) {
    if (fy_view_is(key, table[i].name)) return &table[i];
  }
  return NULL;
}

// --- the simulator's own options ---

static fy_code set_gpu(void *base, const char *name, fy_view v, fy_error *err) {
  int64_t n;
  char allowed[64];
  snprintf(allowed, sizeof allowed, "a number of simulated GPUs, at most %d", FY_MAX_SIM_DEVICES);
  if (!parse_int(v, &n) || n < 0 || n > FY_MAX_SIM_DEVICES) return bad_value(err, name, v, allowed);
  ((fy_sim_options *)base)->devices = (int)n;
  return FY_OK;
}

static void print_gpu(fy_str *out, const void *base) {
  fy_str_printf(out, "%d", ((const fy_sim_options *)base)->devices);
}

static fy_code set_lack(void *base, const char *name, fy_view v, fy_error *err) {
  fy_sim_options *s = base;
  if (v.n == 0 || v.n >= sizeof s->lacks[0]) {
    return bad_value(err, name, v,
                     "a dtype, an op or op:dtype such as float64, MatMul or MatMul:float64");
  }
  for (int i = 0; i < s->num_lacks; i++) {
    if (fy_view_is(v, s->lacks[i])) return FY_OK;
  }
  if (s->num_lacks == FY_MAX_SIM_LACKS) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "option 'lack' is given more than %d times",
                   FY_MAX_SIM_LACKS);
  }
  memcpy(s->lacks[s->num_lacks], v.p, v.n);
  s->lacks[s->num_lacks++][v.n] = 0;
  return FY_OK;
}

static void print_lack(fy_str *out, const void *base) {
  const fy_sim_options *s = base;
  for (int i = 0; i < s->num_lacks; i++) {
    fy_str_printf(out, "%s%s", i ? ",lack=" : "", s->lacks[i]);
  }
}

#define SIM(field) offsetof(fy_sim_options, field)
static const option sim_table[] = {
    {"gpu", CUSTOM, 0, 0, 0, "how many GPUs are simulated", set_gpu, print_gpu},
    {"memory", BYTES, SIM(memory_bytes), 0, 0, "memory of each", NULL, NULL},
    {"pcie", RATE, SIM(link_bytes_per_s), 0, 0, "host link, bytes per second", NULL, NULL},
    {"latency", TIME, SIM(link_latency_ns), 0, 0, "host link, time before the first byte", NULL,
     NULL},
    {"launch", TIME, SIM(launch_ns), 0, 0, "time to start a kernel", NULL, NULL},
    {"flops", RATE, SIM(flops), 0, 0, "peak float32 operations per second", NULL, NULL},
    {"bandwidth", RATE, SIM(memory_bytes_per_s), 0, 0, "device memory, bytes per second", NULL,
     NULL},
    {"shared", BOOL, SIM(shared), 0, 0,
     "one memory for all processes that simulate the same GPU with shared=true", NULL, NULL},
    {"busy", FRACTION, SIM(busy), 0, 0.99, "share that others keep busy", NULL, NULL},
    {"lack", CUSTOM, 0, 0, 0, "dtype, op or op:dtype without a kernel", set_lack, print_lack},
    {"fail_alloc", INT64, SIM(fail_alloc), 0, 1e15, "the N-th allocation fails", NULL, NULL},
    {"fail_launch", INT64, SIM(fail_launch), 0, 1e15, "the N-th launch fails", NULL, NULL},
    {"fail_copy", INT64, SIM(fail_copy), 0, 1e15, "the N-th copy fails", NULL, NULL},
    {"lost_after", INT64, SIM(lost_after), 0, 1e15, "the device is lost after N launches", NULL,
     NULL},
};
#define NUM_SIM (sizeof sim_table / sizeof *sim_table)

static fy_code set_sim(void *base, const char *name, fy_view v, fy_error *err) {
  fy_options *o = base;
  fy_sim_options s = o->sim;  // all or nothing
  (void)name;
  if (fy_view_is(v, "off") || fy_view_is(v, "none") || fy_view_is(v, "0")) s.devices = 0, v.n = 0;
  while (v.n) {
    fy_view piece = cut(&v, ","), value = piece;
    if (piece.n == 0) continue;
    fy_view key = cut(&value, "=:");
    const option *found = find(sim_table, NUM_SIM, key);
    if (!found) return unknown(err, "simulator option", key, sim_table, NUM_SIM);
    if (value.n == 0 && fy_view_is(key, "gpu")) value = FY_VIEW("1");
    FY_TRY(set_plain(found, &s, value, err));
  }
  if (s.devices > 0 && s.memory_bytes < KIB * KIB) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "option 'memory': a simulated GPU needs at least 1MiB");
  }
  o->sim = s;
  return FY_OK;
}

static void print_sim(fy_str *out, const void *base) {
  const fy_options *o = base;
  if (o->sim.devices == 0) {
    fy_str_add(out, "off");
    return;
  }
  fy_sim_options plain;
  fy_options d;
  fy_options_default(&d);
  plain = d.sim;
  fy_str_printf(out, "gpu:%d", o->sim.devices);
  for (size_t i = 1; i < NUM_SIM; i++) {  // what differs from the default
    fy_str a, b;
    fy_str_init(&a);
    fy_str_init(&b);
    print_plain(&a, &sim_table[i], &o->sim);
    print_plain(&b, &sim_table[i], &plain);
    if (strcmp(fy_str_text(&a), fy_str_text(&b)) != 0) {
      fy_str_printf(out, ",%s=%s", sim_table[i].name, fy_str_text(&a));
    }
    fy_str_free(&a);
    fy_str_free(&b);
  }
}

// --- options with a syntax of their own ---

// cores=CPU:1:2-3 (several separated by spaces or '|'). What cores exist is the CPU backend's to
// say.
static fy_code set_cores(void *base, const char *name, fy_view v, fy_error *err) {
  fy_options *o = base;
  while (v.n) {
    fy_view one = cut(&v, " |"), list = one;
    if (one.n == 0) continue;
    fy_view type = cut(&list, ":");
    fy_view index = cut(&list, ":");
    int64_t i;
    bool ok = type.n == 3 && strncasecmp(type.p, "CPU", 3) == 0 && parse_int(index, &i) && i >= 0 &&
              i < FY_MAX_CPU_DEVICES && list.n > 0 && list.n < sizeof o->cores[0];
    for (size_t k = 0; ok && k < list.n; k++) {
      ok = isdigit((unsigned char)list.p[k]) || list.p[k] == '-' || list.p[k] == ',';
    }
    if (!ok) return bad_value(err, name, one, "of the form CPU:1:2-3 or CPU:0:0,2");
    memcpy(o->cores[i], list.p, list.n);
    o->cores[i][list.n] = 0;
    if (o->cpu_devices <= (int)i) o->cpu_devices = (int)i + 1;
  }
  return FY_OK;
}

static void print_cores(fy_str *out, const void *base) {
  const fy_options *o = base;
  const char *space = "";
  for (int i = 0; i < FY_MAX_CPU_DEVICES; i++) {
    if (!o->cores[i][0]) continue;
    fy_str_printf(out, "%sCPU:%d:%s", space, i, o->cores[i]);
    space = " ";
  }
}

static fy_code set_place(void *base, const char *name, fy_view v, fy_error *err) {
  bool tensorflow = fy_view_is(v, "tensorflow");
  if (!tensorflow && !fy_view_is(v, "auto")) return bad_value(err, name, v, "auto or tensorflow");
  ((fy_options *)base)->place_tensorflow = tensorflow;
  return FY_OK;
}

static void print_place(fy_str *out, const void *base) {
  fy_str_add(out, ((const fy_options *)base)->place_tensorflow ? "tensorflow" : "auto");
}

static fy_code set_spill(void *base, const char *name, fy_view v, fy_error *err) {
  bool yes;
  if (fy_view_is(v, "never"))
    yes = false;
  else if (fy_view_is(v, "auto"))
    yes = true;
  else if (!parse_bool(v, &yes))
    return bad_value(err, name, v, "auto or never");
  ((fy_options *)base)->spill = yes;
  return FY_OK;
}

static void print_spill(fy_str *out, const void *base) {
  fy_str_add(out, ((const fy_options *)base)->spill ? "auto" : "never");
}

static fy_code set_oversubscribe(void *base, const char *name, fy_view v, fy_error *err) {
  bool queue = fy_view_is(v, "queue");
  if (!queue && !fy_view_is(v, "refuse")) return bad_value(err, name, v, "refuse or queue");
  ((fy_options *)base)->queue = queue;
  return FY_OK;
}

static void print_oversubscribe(fy_str *out, const void *base) {
  fy_str_add(out, ((const fy_options *)base)->queue ? "queue" : "refuse");
}

// passes=-fuse,-cse. The names are optimize/'s; an unknown one is its error.
static fy_code set_passes(void *base, const char *name, fy_view v, fy_error *err) {
  fy_options *o = base;
  char list[sizeof o->passes_off] = "";
  size_t n = 0;
  while (v.n) {
    fy_view pass = cut(&v, ", ");
    if (pass.n == 0) continue;
    if (pass.p[0] != '-' || pass.n < 2) {
      return bad_value(err, name, pass, "a pass to switch off, written -name");
    }
    pass.p++, pass.n--;
    if (n + pass.n + 2 > sizeof list) return bad_value(err, name, pass, "in a list that short");
    if (n) list[n++] = ',';
    memcpy(list + n, pass.p, pass.n);
    n += pass.n;
  }
  list[n] = 0;
  memcpy(o->passes_off, list, sizeof list);
  return FY_OK;
}

static void print_passes(fy_str *out, const void *base) {
  const char *p = ((const fy_options *)base)->passes_off;
  if (*p) fy_str_addc(out, '-');
  for (; *p; p++) fy_str_add(out, *p == ',' ? ",-" : (char[2]){*p, 0});
}

#define AT(field)      offsetof(fy_options, field)
#define SIZE_OF(field) sizeof(((fy_options *)0)->field)
static const option table[] = {
    {"intra_threads", INT, AT(intra_threads), 0, 4096, "threads inside one op; 0 = one per CPU",
     NULL, NULL},
    {"inter_threads", INT, AT(inter_threads), -1, 4096,
     "ops at a time; 0 = one per CPU, -1 = the caller's thread", NULL, NULL},
    {"cpu_devices", INT, AT(cpu_devices), 1, FY_MAX_CPU_DEVICES, "how many CPU devices", NULL,
     NULL},
    {"gpu_devices", INT, AT(gpu_devices), -1, 1024, "at most so many GPUs; -1 = all", NULL, NULL},
    {"cores", CUSTOM, 0, 0, 0, "dedicated cores, e.g. CPU:1:2-3", set_cores, print_cores},
    {"visible_devices", TEXT, AT(visible_devices), 0, SIZE_OF(visible_devices),
     "physical GPUs to use, in order, e.g. 1,0", NULL, NULL},
    {"soft_placement", BOOL, AT(soft_placement), 0, 0,
     "a requested device is a preference, not a requirement", NULL, NULL},
    {"log_placement", BOOL, AT(log_placement), 0, 0, "print where each node runs", NULL, NULL},
    {"explain", TEXT, AT(explain), 0, SIZE_OF(explain),
     "file (or stderr) to which every program's placement, transfers and memory are added", NULL,
     NULL},
    {"place", CUSTOM, 0, 0, 0, "auto (by cost) or tensorflow (its rules)", set_place, print_place},
    {"optimize", BOOL, AT(optimize), 0, 0, "rewrite graphs before running", NULL, NULL},
    {"passes", CUSTOM, 0, 0, 0, "rewrites to switch off, e.g. -fuse,-cse", set_passes,
     print_passes},
    {"allow_growth", BOOL, AT(allow_growth), 0, 0,
     "take memory on demand; false: the first use takes all that the limit allows", NULL, NULL},
    {"memory_fraction", FRACTION, AT(memory_fraction), 0, 1,
     "share of a GPU's memory we may take; 0 = all", NULL, NULL},
    {"memory_limit.CPU", BYTES, AT(cpu_memory_limit), 0, 0, "per CPU device; 0 = none", NULL, NULL},
    {"memory_limit.GPU", BYTES, AT(gpu_memory_limit), 0, 0, "per GPU; 0 = all it has", NULL, NULL},
    {"spill", CUSTOM, 0, 0, 0,
     "what does not fit a device waits in host memory meanwhile: auto or never", set_spill,
     print_spill},
    {"spill_dir", TEXT, AT(spill_dir), 0, SIZE_OF(spill_dir),
     "where tensors are that host memory is too small for; empty = a temporary directory on a disk",
     NULL, NULL},
    {"oversubscribe", CUSTOM, 0, 0, 0,
     "memory of a GPU that other processes have: refuse or queue (wait for it)", set_oversubscribe,
     print_oversubscribe},
    {"queue_ms", INT64, AT(queue_ms), 0, 1e12, "longest wait with oversubscribe=queue", NULL, NULL},
    {"max_programs", INT, AT(max_programs), 1, 1e6, "compiled programs kept per session", NULL,
     NULL},
    {"operation_timeout_ms", INT64, AT(operation_timeout_ms), 0, 1e15,
     "longest run of a session; 0 = none", NULL, NULL},
    {"isolate_session_state", BOOL, AT(isolate_session_state), 0, 0, "sessions share no variables",
     NULL, NULL},
    {"opencl_cpu", BOOL, AT(opencl_cpu), 0, 0, "accept OpenCL devices that are CPUs", NULL, NULL},
    {"sim", CUSTOM, 0, 0, 0, "simulated GPUs, e.g. gpu:2,memory=2GiB,pcie=12GB/s", set_sim,
     print_sim},
};
#define NUM_OPTIONS (sizeof table / sizeof *table)

// --- the interface ---

void fy_options_default(fy_options *o) {
  memset(o, 0, sizeof *o);
  o->cpu_devices = 1;
  o->gpu_devices = -1;
  o->optimize = true;
  o->allow_growth = true;
  o->spill = true;
  o->queue_ms = 10000;
  o->max_programs = 64;
  o->sim.memory_bytes = KIB * KIB * KIB;
  o->sim.link_bytes_per_s = 12e9;
  o->sim.link_latency_ns = 10e3;
  o->sim.launch_ns = 5e3;
  o->sim.flops = 10e12;
  o->sim.memory_bytes_per_s = 500e9;
}

static fy_code apply(fy_options *o, fy_view text, fy_error *err) {
  while (text.n) {
    fy_view line = cut(&text, ";\n");
    if (line.n == 0 || line.p[0] == '#') continue;
    fy_view value = line;
    fy_view key = cut(&value, "=");
    const option *found = find(table, NUM_OPTIONS, key);
    if (!found) return unknown(err, "option", key, table, NUM_OPTIONS);
    if (!memchr(line.p, '=', line.n)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "option '%s' has no value: write %s=…  (%s)",
                     found->name, found->name, found->help);
    }
    FY_TRY(set_plain(found, o, trim(value), err));
  }
  return FY_OK;
}

fy_code fy_options_text(fy_options *o, const char *text, fy_error *err) {
  fy_options copy = *o;  // an error changes nothing
  FY_TRY(apply(&copy, fy_view_of(text), err));
  *o = copy;
  return FY_OK;
}

fy_code fy_options_sim(fy_options *o, const char *text, fy_error *err) {
  return set_sim(o, "sim", trim(fy_view_of(text)), err);
}

static fy_code from_variable(fy_options *o, const char *variable, const char *key, fy_error *err) {
  const char *text = getenv(variable);
  if (!text || !*text) return FY_OK;
  fy_code code =
      key ? set_plain(find(table, NUM_OPTIONS, fy_view_of(key)), o, trim(fy_view_of(text)), err)
          : fy_options_text(o, text, err);
  if (code) fy_error_prepend(err, "environment variable %s: ", variable);
  return code;
}

fy_code fy_options_environment(fy_options *o, fy_error *err) {
  FY_TRY(from_variable(o, "TF_NUM_INTEROP_THREADS", "inter_threads", err));
  FY_TRY(from_variable(o, "TF_NUM_INTRAOP_THREADS", "intra_threads", err));
  FY_TRY(from_variable(o, "FERRY_CONFIG", NULL, err));
  FY_TRY(from_variable(o, "FERRY_SIM", "sim", err));
  FY_TRY(from_variable(o, "FERRY_EXPLAIN", "explain", err));
  return from_variable(o, "FERRY_OPENCL_CPU", "opencl_cpu", err);
}

void fy_options_print(fy_str *out, const fy_options *o) {
  for (size_t i = 0; i < NUM_OPTIONS; i++) {
    fy_str_printf(out, "%s = ", table[i].name);
    print_plain(out, &table[i], o);
    fy_str_printf(out, "  (%s)\n", table[i].help);
  }
}
