// SPDX-License-Identifier: Apache-2.0
// ferry_runtime.c: open devices from a line of text, look at them, and say what each backend can
// do.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "api/ferry_api.h"
#include "base/alloc.h"
#include "graph/version.h"
#include "memory/pool.h"
#include "memory/registry.h"
#include "observe/transfer_bench.h"
#include "ops/image_codec.h"
#include "wire/config.h"
#include "wire/config_options.h"
#include "wire/mapping.h"

const char *ferry_version(void) {
  return FERRY_VERSION;
}

const char *ferry_code_name(int code) {
  return fy_code_name((fy_code)code);
}

void ferry_free_text(char *text) {
  fy_free(text);
}

// ------------------------------------------------------------------ shared helpers
// What is too long is cut in its middle: texts begin with what happened and end with what to do about it.
static void copy_text(char *to, size_t room, const char *text) {
  static const char cut[] = "\n[...]\n";
  const size_t n = strlen(text);
  if (n < room) {
    memcpy(to, text, n + 1);
    return;
  }
  size_t head = room / 2, tail = n - (room - sizeof cut - head);
  while (head > 0 && ((unsigned char)text[head] & 0xC0) == 0x80) head--;  // not inside a letter
  while (((unsigned char)text[tail] & 0xC0) == 0x80) tail++;
  memcpy(to, text, head);
  memcpy(to + head, cut, sizeof cut - 1);
  memcpy(to + head + sizeof cut - 1, text + tail, n - tail + 1);
}

int fy_ferry_end(fy_code code, fy_error *from, ferry_error *err) {
  if (err) {
    err->code = (int)code;
    copy_text(err->text, sizeof err->text, code ? fy_error_text(from) : "");
  }
  fy_error_clear(from);
  return (int)code;
}

fy_code fy_ferry_text(fy_str *s, char **out, fy_error *err) {
  if (!s->p && !s->failed) fy_str_add(s, "");
  *out = s->failed ? NULL : s->p ? fy_str_take(s) : fy_strdup("");
  if (!*out) {
    fy_str_free(s);
    return fy_fail_oom(err, 64);
  }
  return FY_OK;
}

fy_view fy_ferry_trim(fy_view v) {
  while (v.n && strchr(" \t\r\n", v.p[0])) v.p++, v.n--;
  while (v.n && strchr(" \t\r\n", v.p[v.n - 1])) v.n--;
  return v;
}

fy_view fy_ferry_cut(fy_view *rest, char stop) {
  size_t n = 0;
  int depth = 0;
  char quote = 0;
  for (; n < rest->n; n++) {
    char c = rest->p[n];
    if (quote) {
      if (c == '\\' && n + 1 < rest->n)
        n++;
      else if (c == quote)
        quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '(') {
      depth++;
    } else if (c == ']' || c == ')') {
      depth--;
    } else if (depth <= 0 && (c == stop || (stop == ';' && c == '\n'))) {
      break;
    }
  }
  fy_view piece = {rest->p, n};
  size_t used = n < rest->n ? n + 1 : n;
  rest->p += used;
  rest->n -= used;
  return fy_ferry_trim(piece);
}

// ------------------------------------------------------------------ options
// `key=value` and a ConfigProto's text differ in what follows the first word.
static bool reads_like_options(const char *text) {
  const char *p = text + strcspn(text, "=:{");
  return *p == '=' || *p == 0;
}

fy_code fy_ferry_options(const char *config, fy_options *out, fy_error *err) {
  fy_options_default(out);
  FY_TRY(fy_options_environment(out, err));
  if (!config || !*config) return FY_OK;
  bool binary = false;
  for (const char *p = config; *p; p++) binary |= (unsigned char)*p < 9;
  if (!binary && reads_like_options(config)) return fy_options_text(out, config, err);
  fy_arena arena;
  Tensorflow__ConfigProto *proto;
  fy_arena_init(&arena);
  fy_code code = fy_wire_config_parse(config, strlen(config), &arena, &proto, err);
  if (!code) code = fy_wire_config_check_share(proto, err);
  if (!code) code = fy_wire_config_options(proto, out, err);
  fy_arena_free(&arena);
  return code;
}

// ------------------------------------------------------------------ runtime
int ferry_open(const char *config, ferry_runtime **out, ferry_error *err) {
  fy_error e;
  fy_error_init(&e);
  *out = NULL;
  ferry_runtime *rt = fy_calloc(1, sizeof *rt);
  fy_code code = rt ? fy_ferry_options(config, &rt->options, &e) : fy_fail_oom(&e, sizeof *rt);
  if (!code) code = fy_devices_open(&rt->options, &rt->devices, &e);
  if (code)
    fy_free(rt);
  else
    *out = rt;
  return fy_ferry_end(code, &e, err);
}

void ferry_close(ferry_runtime *rt) {
  if (!rt) return;
  fy_devices_unref(rt->devices);
  fy_free(rt);
}

int ferry_device_count(const ferry_runtime *rt) {
  return rt->devices->n;
}

int ferry_device_get(const ferry_runtime *rt, int index, ferry_device *out) {
  memset(out, 0, sizeof *out);
  if (index < 0 || index >= rt->devices->n) return FY_OUT_OF_RANGE;
  const fy_device *d = rt->devices->items[index];
  const fy_device_info *f = &d->facts;
  fy_mempool_stats s;
  fy_mempool_stats_get(d->memory, &s);
  snprintf(out->name, sizeof out->name, "%s", d->name);
  snprintf(out->type, sizeof out->type, "%s", d->type);
  snprintf(out->backend, sizeof out->backend, "%s", d->ops->backend);
  snprintf(out->description, sizeof out->description, "%s", f->description);
  out->simulated = f->simulated;
  out->memory_limit = fy_memory_limit(d);
  out->memory_in_use = s.bytes_in_use;
  out->memory_peak = s.peak_bytes_in_use;
  out->memory_reserved = s.reserved_bytes;
  out->largest_free = s.largest_free_bytes;
  const uint64_t idle = s.reserved_bytes - s.bytes_in_use;
  if (!d->is_host && idle) out->fragmentation = 1 - (double)s.largest_free_bytes / (double)idle;
  out->flops = f->flops;
  out->memory_bytes_per_s = f->memory_bytes_per_s;
  out->link_bytes_per_s = f->link_bytes_per_s;
  out->link_latency_ns = f->link_latency_ns;
  out->launch_ns = f->launch_ns;
  return FY_OK;
}

static fy_code find_device(const ferry_runtime *rt, const char *name, fy_device **out,
                           fy_error *err) {
  *out = fy_devices_find(rt->devices, name);
  if (*out) return FY_OK;
  fy_str known;
  fy_str_init(&known);
  for (int i = 0; i < rt->devices->n; i++)
    fy_str_printf(&known, "%s%s:%d", i ? ", " : "", rt->devices->items[i]->type,
                  rt->devices->items[i]->index);
  fy_fail(err, FY_NOT_FOUND, "there is no device '%s'; open are: %s", name ? name : "",
          fy_str_text(&known));
  fy_str_free(&known);
  return FY_NOT_FOUND;
}

int ferry_trim(ferry_runtime *rt, const char *device, uint64_t keep_bytes, ferry_error *err) {
  fy_error e;
  fy_device *d;
  fy_error_init(&e);
  fy_code code = find_device(rt, device, &d, &e);
  if (!code) (void)fy_memory_let_go(d);
  if (!code) fy_mempool_trim(d->memory, keep_bytes);
  return fy_ferry_end(code, &e, err);
}

int ferry_set_memory_limit(ferry_runtime *rt, const char *device, uint64_t bytes,
                           ferry_error *err) {
  fy_error e;
  fy_device *d;
  fy_error_init(&e);
  fy_code code = find_device(rt, device, &d, &e);
  if (!code && !d->is_host && bytes > d->facts.memory_total)
    code = fy_fail(&e, FY_INVALID_ARGUMENT, "%s has only %llu bytes of memory", device,
                   (unsigned long long)d->facts.memory_total);
  if (!code) {
    (void)fy_memory_let_go(d);
    fy_mempool_set_limit(d->memory, bytes);
    // What placement and prediction go by, and programs that exist were made by.
    __atomic_store_n(&d->facts.memory_limit, bytes ? bytes : d->facts.memory_total,
                     __ATOMIC_RELAXED);
    __atomic_fetch_add(&rt->devices->changes, 1, __ATOMIC_RELAXED);
  }
  return fy_ferry_end(code, &e, err);
}

int ferry_mapped_weights(ferry_mapped *out, char **text) {
  const fy_wire_mapped c = fy_wire_mapping_count();
  *out = (ferry_mapped){c.files, c.tensors, c.bytes, c.moved_files, c.moved_bytes};
  if (!text) return FY_OK;
  fy_str s;
  fy_str_init(&s);
  fy_wire_mapping_report(&s);
  *text = fy_str_take(&s);
  return *text ? FY_OK : FY_RESOURCE_EXHAUSTED;
}

// ------------------------------------------------------------------ doctor
static void machine_line(fy_str *out) {
  struct utsname u;
  if (uname(&u) == 0)
    fy_str_printf(out, "%s %s %s, %d CPUs for this process", u.sysname, u.release, u.machine,
                  fy_cpu_count());
}

static const char *const variables[] = {
    "FERRY_CONFIG",          "FERRY_SIM",     "FERRY_CPU",     "FERRY_EXPLAIN",
    "FERRY_OPENCL_CPU",      "FERRY_CLBLAST", "FERRY_WEIGHTS", "TF_NUM_INTEROP_THREADS",
    "TF_NUM_INTRAOP_THREADS"};
#define NUM_VARIABLES (sizeof variables / sizeof *variables)

static void doctor_text(fy_str *out, const fy_options *o, const fy_device_set *set,
                        const char *failure) {
  fy_str_printf(out, "Ferry %s (speaks TensorFlow %s's C API)\n", FERRY_VERSION, FY_TF_VERSION);
  fy_str_add(out, "Machine: ");
  machine_line(out);
  fy_str_add(out, "\n\nBackends\n");
  for (size_t i = 0; i < fy_backend_count; i++) {
    fy_str why;
    fy_str_init(&why);
    bool ok = fy_backends[i]->probe(o, &why);
    fy_str_printf(out, "  %-7s %-4s %s\n", fy_backends[i]->name, ok ? "yes" : "no",
                  fy_str_text(&why));
    fy_str_free(&why);
  }
  fy_str_add(out, "\nImage files\n  ");
  fy_image_libraries_report(out);
  fy_str_add(out, "\n\nLarge weights\n  ");
  fy_wire_mapping_doctor(out);
  fy_str_add(out, "\n\nDevices\n");
  for (int i = 0; set && i < set->n; i++)
    fy_str_printf(out, "  %s:%d  %s\n", set->items[i]->type, set->items[i]->index,
                  set->items[i]->facts.description);
  if (failure) fy_str_printf(out, "  none could be opened: %s\n", failure);
  fy_str_add(out, "\nEnvironment\n");
  for (size_t i = 0; i < NUM_VARIABLES; i++) {
    const char *v = getenv(variables[i]);
    fy_str_printf(out, "  %s%s%s\n", variables[i], v ? "=" : " is not set", v ? v : "");
  }
  fy_str_add(out, "\nOptions in force\n");
  fy_str lines;
  fy_str_init(&lines);
  fy_options_print(&lines, o);
  for (const char *p = fy_str_text(&lines); *p;) {
    size_t n = strcspn(p, "\n");
    fy_str_printf(out, "  %.*s\n", (int)n, p);
    p += n + (p[n] == '\n');
  }
  out->failed |= lines.failed;
  fy_str_free(&lines);
}

static void json_field(fy_str *out, const char *key, const char *value, bool last) {
  fy_str_printf(out, "\"%s\": ", key);
  fy_str_json(out, value, strlen(value));
  if (!last) fy_str_add(out, ", ");
}

static void doctor_json(fy_str *out, const fy_options *o, const fy_device_set *set,
                        const char *failure) {
  fy_str text;
  fy_str_init(&text);
  machine_line(&text);
  fy_str_add(out, "{\n  ");
  json_field(out, "version", FERRY_VERSION, false);
  json_field(out, "tensorflow_version", FY_TF_VERSION, false);
  json_field(out, "machine", fy_str_text(&text), true);
  fy_str_free(&text);
  fy_str_init(&text);
  fy_image_libraries_report(&text);
  fy_str_add(out, ", ");
  json_field(out, "image_files", fy_str_text(&text), false);
  fy_str_free(&text);
  fy_str_init(&text);
  fy_wire_mapping_doctor(&text);
  json_field(out, "large_weights", fy_str_text(&text), true);
  fy_str_free(&text);
  fy_str_add(out, ",\n  \"backends\": [");
  for (size_t i = 0; i < fy_backend_count; i++) {
    fy_str why;
    fy_str_init(&why);
    bool ok = fy_backends[i]->probe(o, &why);
    fy_str_printf(out, "%s\n    {", i ? "," : "");
    json_field(out, "name", fy_backends[i]->name, false);
    fy_str_printf(out, "\"usable\": %s, ", ok ? "true" : "false");
    json_field(out, "why", fy_str_text(&why), true);
    fy_str_addc(out, '}');
    fy_str_free(&why);
  }
  fy_str_add(out, "\n  ],\n  \"devices\": [");
  for (int i = 0; set && i < set->n; i++) {
    fy_str_printf(out, "%s\n    {", i ? "," : "");
    json_field(out, "name", set->items[i]->name, false);
    json_field(out, "description", set->items[i]->facts.description, true);
    fy_str_addc(out, '}');
  }
  fy_str_add(out, "\n  ],\n  \"error\": ");
  if (failure)
    fy_str_json(out, failure, strlen(failure));
  else
    fy_str_add(out, "null");
  fy_str_add(out, ",\n  \"options\": {");
  fy_str lines;
  fy_str_init(&lines);
  fy_options_print(&lines, o);
  const char *sep = "\n    ";
  for (const char *p = fy_str_text(&lines); *p; sep = ",\n    ") {  // "key = value  (help)"
    size_t n = strcspn(p, "\n");
    const char *eq = strstr(p, " = "), *help = eq;
    if (eq) {
      eq += 3;
      while (help < p + n && strncmp(help, "  (", 3) != 0) help++;
      fy_str_add(out, sep);
      fy_str_json(out, p, (size_t)(eq - 3 - p));
      fy_str_add(out, ": ");
      fy_str_json(out, eq, help > eq ? (size_t)(help - eq) : 0);
    }
    p += n + (p[n] == '\n');
  }
  fy_str_free(&lines);
  fy_str_add(out, "\n  }\n}\n");
}

int ferry_doctor(const char *config, ferry_format format, char **out, ferry_error *err) {
  fy_error e, opening;
  fy_options o;
  fy_error_init(&e);
  fy_error_init(&opening);
  *out = NULL;
  fy_code code = fy_ferry_options(config, &o, &e);
  if (!code) {
    fy_device_set *set = NULL;
    fy_str s;
    fy_str_init(&s);
    const char *failure = fy_devices_open(&o, &set, &opening) ? fy_error_text(&opening) : NULL;
    if (format == FERRY_JSON)
      doctor_json(&s, &o, set, failure);
    else
      doctor_text(&s, &o, set, failure);
    fy_devices_unref(set);
    fy_error_clear(&opening);
    code = fy_ferry_text(&s, out, &e);
  }
  return fy_ferry_end(code, &e, err);
}

// ------------------------------------------------------------------ top
static void top_json(fy_str *out, const fy_registry_process *p, int n) {
  fy_str_add(out, "[");
  for (int i = 0; i < n; i++) {
    fy_str_printf(out, "%s\n  {\"pid\": %d, \"program\": ", i ? "," : "", (int)p[i].pid);
    fy_str_add(out, "\"");
    for (const char *c = p[i].name; *c; c++)
      fy_str_printf(out, (unsigned char)*c < 32 || *c == '"' || *c == '\\' ? "\\u%04x" : "%c",
                    (unsigned char)*c);
    fy_str_printf(out, "\", \"cpu_share\": %.4f, \"devices\": [", p[i].cpu_share);
    for (int k = 0; k < p[i].num_devices; k++) {
      const fy_registry_device *d = &p[i].devices[k];
      fy_str_printf(out,
                    "%s{\"device\": \"%s\", \"backend\": \"%s\", \"in_use\": %llu, \"peak\": "
                    "%llu, \"reserved\": %llu, \"limit\": %llu, \"busy\": %.4f}",
                    k ? ", " : "", d->name, d->backend, (unsigned long long)d->in_use,
                    (unsigned long long)d->peak, (unsigned long long)d->reserved,
                    (unsigned long long)d->limit, d->busy);
    }
    fy_str_add(out, "]}");
  }
  fy_str_add(out, "\n]\n");
}

static void top_text(fy_str *out, const fy_registry_process *p, int n) {
  char a[32], b[32], c[32], d[32];
  fy_str_printf(out, "  %7s %-16s %6s  %-8s %-8s %6s %11s %11s %11s %11s\n", "PID", "PROGRAM",
                "CPU", "DEVICE", "BACKEND", "BUSY", "IN USE", "PEAK", "RESERVED", "LIMIT");
  for (int i = 0; i < n; i++)
    for (int k = 0; k < p[i].num_devices; k++) {
      const fy_registry_device *v = &p[i].devices[k];
      fy_human_bytes((double)v->in_use, a);
      fy_human_bytes((double)v->peak, b);
      fy_human_bytes((double)v->reserved, c);
      fy_human_bytes((double)v->limit, d);
      fy_str_printf(out, "  %7d %-16.16s %5.0f%%  %-8s %-8s %5.0f%% %11s %11s %11s %11s\n",
                    (int)p[i].pid, p[i].name, 100 * p[i].cpu_share, v->name, v->backend,
                    100 * v->busy, a, b, c, d);
    }
  if (!n) fy_str_add(out, "  (no Ferry process of yours has run anything)\n");
}

int ferry_top(ferry_format format, char **out, ferry_error *err) {
  fy_error e;
  fy_str text;
  *out = NULL;
  fy_error_init(&e);
  fy_str_init(&text);
  fy_registry_process *p = fy_calloc(FY_REGISTRY_SLOTS, sizeof *p);
  fy_code code = p ? FY_OK : fy_fail_oom(&e, sizeof *p);
  if (p) {
    int n = fy_registry_list(p, FY_REGISTRY_SLOTS);
    if (format == FERRY_JSON)
      top_json(&text, p, n);
    else
      top_text(&text, p, n);
    code = fy_ferry_text(&text, out, &e);
  }
  fy_free(p);
  return fy_ferry_end(code, &e, err);
}

int ferry_bench_transfer(ferry_runtime *rt, ferry_format format, char **out, ferry_error *err) {
  fy_error e;
  fy_str text;
  fy_code code = FY_OK;
  int measured = 0;
  *out = NULL;
  fy_error_init(&e);
  fy_str_init(&text);
  if (format == FERRY_JSON) fy_str_add(&text, "[");
  for (int i = 0; i < rt->devices->n && !code; i++) {
    fy_device *d = rt->devices->items[i];
    fy_transfer_bench b;
    if (d->is_host) continue;
    code = fy_transfer_measure(d, &b, &e);
    if (!code) code = fy_transfer_measure_ahead(rt->devices, d, &rt->options, &b, &e);
    if (code) break;
    if (format == FERRY_JSON && measured) fy_str_add(&text, ",\n");
    fy_transfer_print(&text, d, &b, format == FERRY_JSON);
    measured++;
  }
  if (format == FERRY_JSON) fy_str_add(&text, "]\n");
  if (!code && !measured)
    code = fy_fail(&e, FY_FAILED_PRECONDITION,
                   "no device has memory of its own here, so nothing is ever transferred; "
                   "FERRY_SIM=gpu:1 makes a simulated one");
  if (code)
    fy_str_free(&text);
  else
    code = fy_ferry_text(&text, out, &e);
  return fy_ferry_end(code, &e, err);
}
