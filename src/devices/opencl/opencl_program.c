// SPDX-License-Identifier: Apache-2.0
// opencl_program.c: programs, compiled once per device and kept on disk.
//
// The cache is $XDG_CACHE_HOME/ferry/opencl (or ~/.cache/…), one file per (device, driver, source,
// options). A file says in its head what it is for and what its bytes add up to; whatever does not
// fit is ignored and made anew, so that a torn or foreign file costs a compilation, nothing else.

#include "devices/opencl/opencl_impl.h"

#ifdef FY_OPENCL

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

// --- the cache ---

typedef struct head {
  char magic[8];
  uint64_t key[2], bytes, sum;
} head;

#define MAGIC "FYOCL01"

static void make_key(const fy_ocl *o, const char *source, const char *options, uint64_t key[2]) {
  const char *parts[] = {o->platform_name, o->name, o->driver, o->version, options, source};
  key[0] = 0x9E3779B97F4A7C15ull, key[1] = 0xC2B2AE3D27D4EB4Full;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    for (int k = 0; k < 2; k++)
      key[k] = fy_hash64(parts[i], strlen(parts[i]) + 1, key[k] + (uint64_t)k);
  }
}

static bool cache_path(const uint64_t key[2], char *out, size_t n) {
  const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int used;
  if (base && base[0] == '/')
    used = snprintf(out, n, "%s/ferry/opencl/", base);
  else if (home && home[0] == '/')
    used = snprintf(out, n, "%s/.cache/ferry/opencl/", home);
  else
    return false;
  if (used < 0 || (size_t)used + 48 > n) return false;
  snprintf(out + used, n - (size_t)used, "%016llx%016llx.bin", (unsigned long long)key[0],
           (unsigned long long)key[1]);
  return true;
}

static unsigned char *read_cached(const uint64_t key[2], size_t *bytes) {
  char path[4096];
  head h;
  struct stat st;
  unsigned char *data = NULL;
  if (!cache_path(key, path, sizeof path)) return NULL;
  FILE *f = fopen(path, "rbe");
  if (!f) return NULL;
  if (!fstat(fileno(f), &st) && fread(&h, sizeof h, 1, f) == 1 &&
      !memcmp(h.magic, MAGIC, sizeof h.magic) && h.key[0] == key[0] && h.key[1] == key[1] &&
      st.st_size >= 0 && h.bytes && h.bytes == (uint64_t)st.st_size - sizeof h &&
      (data = fy_malloc(h.bytes))) {
    if (fread(data, 1, h.bytes, f) != h.bytes || fy_hash64(data, h.bytes, 1) != h.sum) {
      fy_free(data);
      data = NULL;
    } else {
      *bytes = h.bytes;
    }
  }
  fclose(f);
  return data;
}

static void make_folders(char *path) {
  for (char *p = path + 1; *p; p++) {
    if (*p != '/') continue;
    *p = 0;
    (void)mkdir(path, 0700);  // what cannot be made shows when the file is opened
    *p = '/';
  }
}

// Written beside and renamed: a reader sees all of it or nothing. Failing to keep it is no error.
static void write_cached(const uint64_t key[2], const unsigned char *data, size_t bytes) {
  char path[4096], temporary[4160];
  head h = {.magic = MAGIC, .key = {key[0], key[1]}, .bytes = bytes};
  if (!cache_path(key, path, sizeof path)) return;
  h.sum = fy_hash64(data, bytes, 1);
  make_folders(path);
  snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
  int fd = mkstemp(temporary);
  if (fd < 0) return;
  FILE *f = fdopen(fd, "wb");
  if (!f) {
    close(fd);
    (void)unlink(temporary);
    return;
  }
  bool good = fwrite(&h, sizeof h, 1, f) == 1 && fwrite(data, 1, bytes, f) == bytes;
  if (fclose(f) || !good || rename(temporary, path)) (void)unlink(temporary);
}

static void keep(fy_ocl *o, cl_program program, const uint64_t key[2]) {
  size_t bytes = 0;
  if (o->cl->GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) ||
      !bytes || bytes > ((size_t)256 << 20))
    return;
  unsigned char *data = fy_malloc(bytes);
  if (!data) return;
  if (!o->cl->GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof data, &data, NULL))
    write_cached(key, data, bytes);
  fy_free(data);
}

// --- building ---

static fy_code fail_build(fy_ocl *o, cl_program program, cl_int code, fy_error *err) {
  size_t n = 0;
  char *log = NULL;
  (void)o->cl->GetProgramBuildInfo(program, o->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &n);
  if (n && n < ((size_t)1 << 24) && (log = fy_calloc(1, n + 1)))
    (void)o->cl->GetProgramBuildInfo(program, o->id, CL_PROGRAM_BUILD_LOG, n, log, NULL);
  fy_code as =
      fy_fail(err, FY_INTERNAL, "%s (%s): a kernel does not compile: OpenCL error %d, %s\n%.2000s",
              o->device->name, o->name, (int)code, fy_cl_error_name(code), log ? log : "");
  fy_free(log);
  return as;
}

static fy_code build(fy_ocl *o, const char *source, const char *options, cl_program *out,
                     fy_error *err) {
  uint64_t key[2];
  size_t bytes = 0;
  cl_int code = CL_SUCCESS, status = CL_SUCCESS;
  cl_program program;
  char quiet[512];  // drivers must not print
  *out = NULL;
  if ((size_t)snprintf(quiet, sizeof quiet, "%s -w", options) >= sizeof quiet)
    return fy_fail(err, FY_INTERNAL, "the options of a kernel are too long");
  make_key(o, source, options, key);
  unsigned char *cached = read_cached(key, &bytes);
  if (cached) {
    const unsigned char *data = cached;
    program = o->cl->CreateProgramWithBinary(o->context, 1, &o->id, &bytes, &data, &status, &code);
    fy_free(cached);
    if (program && !code && !status &&
        !o->cl->BuildProgram(program, 1, &o->id, quiet, NULL, NULL)) {
      o->cache_hits++;
      *out = program;
      return FY_OK;
    }
    if (program) o->cl->ReleaseProgram(program);
  }
  program = o->cl->CreateProgramWithSource(o->context, 1, &source, NULL, &code);
  if (!program) return fy_ocl_fail(o, "making a program", code, err);
  code = o->cl->BuildProgram(program, 1, &o->id, quiet, NULL, NULL);
  // PoCL keeps files of its own, and now and then trips over another process that writes the same ones.
  if (code == CL_BUILD_PROGRAM_FAILURE)
    code = o->cl->BuildProgram(program, 1, &o->id, quiet, NULL, NULL);
  if (code) {
    fy_code as = fail_build(o, program, code, err);
    o->cl->ReleaseProgram(program);
    return as;
  }
  o->builds++;
  keep(o, program, key);
  *out = program;
  return FY_OK;
}

static fy_code find_program(fy_ocl *o, const char *source, const char *options,
                            fy_ocl_program **out, fy_error *err) {
  size_t n = strlen(options), m = strlen(source);
  for (fy_ocl_program *p = o->programs; p; p = p->next) {
    if (!strncmp(p->key, options, n) && p->key[n] == '\n' && !strcmp(p->key + n + 1, source)) {
      *out = p;
      return FY_OK;
    }
  }
  fy_ocl_program *p = fy_calloc(1, sizeof *p);
  if (!p || !(p->key = fy_malloc(n + m + 2))) {
    fy_free(p);
    return fy_fail_oom(err, n + m);
  }
  snprintf(p->key, n + m + 2, "%s\n%s", options, source);
  fy_map_init(&p->kernels);
  fy_code code = build(o, source, options, &p->program, err);
  if (code) {
    fy_free(p->key);
    fy_free(p);
    return code;
  }
  p->next = o->programs;
  *out = o->programs = p;
  return FY_OK;
}

fy_code fy_ocl_kernel(fy_ocl *o, const char *source, const char *options, const char *name,
                      cl_kernel *out, fy_error *err) {
  fy_ocl_program *p = NULL;
  FY_TRY(fy_ocl_open_context(o, err));
  fy_lock(&o->build_lock);
  fy_code code = find_program(o, source, options, &p, err);
  cl_kernel kernel = code ? NULL : fy_map_gets(&p->kernels, name);
  if (!code && !kernel) {
    cl_int rc = CL_SUCCESS;
    kernel = o->cl->CreateKernel(p->program, name, &rc);
    if (!kernel) {
      code = fy_ocl_fail(o, "making a kernel", rc, err);
    } else if (!fy_map_puts(&p->kernels, name, kernel)) {
      o->cl->ReleaseKernel(kernel);
      code = fy_fail_oom(err, sizeof kernel);
    }
  }
  fy_unlock(&o->build_lock);
  *out = code ? NULL : kernel;
  return code;
}

void fy_ocl_release_programs(fy_ocl *o) {
  while (o->programs) {
    fy_ocl_program *p = o->programs;
    o->programs = p->next;
    for (uint32_t i = 0; i < p->kernels.n; i++) {
      if (p->kernels.items[i].value) o->cl->ReleaseKernel(p->kernels.items[i].value);
    }
    fy_map_free(&p->kernels);
    o->cl->ReleaseProgram(p->program);
    fy_free(p->key);
    fy_free(p);
  }
}

#else
typedef int fy_opencl_program_is_empty;
#endif
