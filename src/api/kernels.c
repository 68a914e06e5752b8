// SPDX-License-Identifier: Apache-2.0
// kernels.c: registering kernels from outside, and their life: create once per site, compute,
// delete. Registrations live as long as the process. The newest of an op stands first, as in
// TensorFlow.

#include "tensorflow/c/kernels.h"

#include <string.h>

#include "api/user_kernels.h"
#include "base/alloc.h"
#include "base/thread.h"
#include "wire/attr_proto.h"
#include "wire/proto_util.h"
#include "wire/text_format.h"

struct TF_KernelBuilder {
  fy_arena arena;
  char *op;
  fy_user_kernel kernel;  // strings and lists in |arena|
  bool failed;            // memory was short
};

static fy_arena registry;  // guarded by fy_op_lock
static void free_registry(void) __attribute__((destructor));
static void free_registry(void) {
  fy_arena_free(&registry);
}

// ---------------------------------------------------------------- builders
static TF_KernelBuilder *new_builder(const char *op, const char *device,
                                     void *(*create)(TF_OpKernelConstruction *),
                                     void (*destroy)(void *)) {
  TF_KernelBuilder *b = fy_calloc(1, sizeof *b);
  if (!b) return NULL;
  fy_arena_init(&b->arena);
  b->op = fy_arena_strdup(&b->arena, op);
  b->kernel.device = fy_arena_strdup(&b->arena, device);
  b->kernel.label = "";
  b->kernel.create = create;
  b->kernel.destroy = destroy;
  b->failed = !b->op || !b->kernel.device;
  return b;
}

TF_KernelBuilder *TF_NewKernelBuilder(const char *op_name, const char *device_name,
                                      void *(*create_func)(TF_OpKernelConstruction *),
                                      void (*compute_func)(void *, TF_OpKernelContext *),
                                      void (*delete_func)(void *)) {
  TF_KernelBuilder *b = new_builder(op_name, device_name, create_func, delete_func);
  if (b) b->kernel.compute = compute_func;
  return b;
}

TF_KernelBuilder *TF_NewAsyncKernelBuilder(
    const char *op_name, const char *device_name, void *(*create_func)(TF_OpKernelConstruction *),
    void (*compute_async_func)(void *, TF_OpKernelContext *, TF_AsyncOpKernelDoneCallback *),
    void (*delete_func)(void *)) {
  TF_KernelBuilder *b = new_builder(op_name, device_name, create_func, delete_func);
  if (b) b->kernel.compute_async = compute_async_func;
  return b;
}

void TF_DeleteKernelBuilder(TF_KernelBuilder *builder) {
  if (!builder) return;
  fy_arena_free(&builder->arena);
  fy_free(builder);
}

// A copy of |array| with room for one more; NULL when memory is short.
static void *longer(fy_arena *arena, const void *array, size_t n, size_t bytes) {
  void *to = fy_arena_array(arena, n + 1, bytes);
  if (to && n) memcpy(to, array, n * bytes);
  return to;
}

// All constraints must hold, also two of one attribute: each call adds one.
static fy_code add_constraint(TF_KernelBuilder *b, const char *attr_name, const fy_dtype *types,
                              uint32_t n, fy_error *err) {
  fy_user_kernel *k = &b->kernel;
  fy_kernel_constraint *all = longer(&b->arena, k->constraints, k->num_constraints, sizeof *all);
  char *name = fy_arena_strdup(&b->arena, attr_name);
  fy_dtype *copy = fy_arena_memdup(&b->arena, types, n * sizeof *types);
  if (!all || !name || !copy) {
    b->failed = true;
    return fy_fail_oom(err, sizeof *all);
  }
  all[k->num_constraints++] = (fy_kernel_constraint){.name = name, .types = copy, .num_types = n};
  k->constraints = all;
  return FY_OK;
}

void TF_KernelBuilder_TypeConstraint(TF_KernelBuilder *b, const char *attr_name, TF_DataType type,
                                     TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  const fy_dtype one = (fy_dtype)type;
  fy_api_end(status, add_constraint(b, attr_name, &one, 1, err));
}

void TF_KernelBuilder_HostMemory(TF_KernelBuilder *b, const char *arg_name) {
  fy_user_kernel *k = &b->kernel;
  const char **all = longer(&b->arena, k->host_args, k->num_host_args, sizeof *all);
  char *name = fy_arena_strdup(&b->arena, arg_name);
  if (!all || !name) {
    b->failed = true;
    return;
  }
  k->host_args = all;
  all[k->num_host_args++] = name;
}

void TF_KernelBuilder_Priority(TF_KernelBuilder *b, int32_t priority_number) {
  b->kernel.priority = priority_number;
}

void TF_KernelBuilder_Label(TF_KernelBuilder *b, const char *label) {
  char *copy = fy_arena_strdup(&b->arena, label);
  if (copy)
    b->kernel.label = copy;
  else
    b->failed = true;
}

// ---------------------------------------------------------------- what fits
static bool type_allowed(const fy_kernel_constraint *c, fy_dtype type) {
  for (uint32_t i = 0; i < c->num_types; i++)
    if (c->types[i] == fy_dtype_base(type)) return true;
  return false;
}

static bool constraint_holds(const fy_kernel_constraint *c, const fy_attrs *attrs) {
  const fy_attr *a = fy_attrs_get(attrs, c->name);
  if (!a || a->kind != FY_ATTR_TYPE) return false;
  if (!a->is_list) return type_allowed(c, a->v.type);
  for (uint32_t i = 0; i < a->n; i++)
    if (!type_allowed(c, a->v.types[i])) return false;
  return true;
}

static bool fits(const fy_user_kernel *k, const fy_attrs *attrs, const char *device_type) {
  const fy_attr *label = fy_attrs_get(attrs, "_kernel");
  fy_view wanted = label && label->kind == FY_ATTR_STRING ? label->v.s : FY_VIEW("");
  if (strcmp(k->device, device_type) != 0 || !fy_view_is(wanted, k->label)) return false;
  for (uint32_t i = 0; i < k->num_constraints; i++)
    if (!constraint_holds(&k->constraints[i], attrs)) return false;
  return true;
}

static bool any_fits(const fy_user_kernel *kernels, const fy_attrs *attrs,
                     const char *device_type) {
  for (const fy_user_kernel *k = kernels; k; k = k->next)
    if (fits(k, attrs, device_type)) return true;
  return false;
}

static void print(fy_str *out, const fy_user_kernel *kernels) {
  for (const fy_user_kernel *k = kernels; k; k = k->next) {
    fy_str_printf(out, "  device='%s'", k->device);
    if (*k->label) fy_str_printf(out, "; label='%s'", k->label);
    for (uint32_t i = 0; i < k->num_constraints; i++) {
      const fy_kernel_constraint *c = &k->constraints[i];
      fy_str_printf(out, "; %s in [", c->name);
      for (uint32_t t = 0; t < c->num_types; t++)
        fy_str_printf(out, "%s%s", t ? ", " : "", fy_dtype_enum_name(c->types[t]));
      fy_str_add(out, "]");
    }
    fy_str_add(out, "\n");
  }
}

static fy_code bind(fy_site *site, fy_error *err);
static void unbind(fy_site *site);
static fy_code compute(fy_kernel_ctx *ctx, fy_error *err);

static const fy_user_kernel_hooks hooks = {
    .matches = any_fits, .print = print, .bind = bind, .unbind = unbind, .compute = compute};

// ---------------------------------------------------------------- registration
static fy_code copy_kernel(const fy_user_kernel *from, fy_user_kernel **out, fy_error *err) {
  fy_user_kernel *k = fy_arena_memdup(&registry, from, sizeof *k);
  if (!k) return fy_fail_oom(err, sizeof *k);
  k->device = fy_arena_strdup(&registry, from->device);
  k->label = fy_arena_strdup(&registry, from->label);
  k->constraints =
      longer(&registry, from->constraints, from->num_constraints, sizeof *k->constraints);
  k->host_args = longer(&registry, from->host_args, from->num_host_args, sizeof *k->host_args);
  if (!k->device || !k->label || !k->constraints || !k->host_args)
    return fy_fail_oom(err, sizeof *k);
  for (uint32_t i = 0; i < k->num_constraints; i++) {
    fy_kernel_constraint *c = &k->constraints[i];
    c->name = fy_arena_strdup(&registry, c->name);
    c->types = longer(&registry, c->types, c->num_types, sizeof *c->types);
    if (!c->name || !c->types) return fy_fail_oom(err, sizeof *c);
  }
  for (uint32_t i = 0; i < k->num_host_args; i++)
    if (!(k->host_args[i] = fy_arena_strdup(&registry, k->host_args[i])))
      return fy_fail_oom(err, sizeof *k);
  *out = k;
  return FY_OK;
}

// Kernels may come before their op, as TensorFlow allows: they wait here.
typedef struct orphan {
  struct orphan *next;
  const char *op;
  fy_user_kernel *kernel;
} orphan;
static orphan *orphans;  // guarded by fy_op_lock

static fy_code add(const char *name, const fy_user_kernel *kernel, fy_error *err) {
  fy_op *op = (fy_op *)(uintptr_t)fy_op_find(name, strlen(name));
  fy_user_kernel *k = NULL;
  fy_op_lock();
  fy_code code = copy_kernel(kernel, &k, err);
  if (!code && op) {
    k->next = op->user_kernels;
    op->user_kernels = k;
  } else if (!code) {
    orphan *o = fy_arena_zalloc(&registry, sizeof *o);
    if (o) *o = (orphan){orphans, fy_arena_strdup(&registry, name), k};
    if (o && o->op)
      orphans = o;
    else
      code = fy_fail_oom(err, sizeof *o);
  }
  fy_op_unlock();
  return code;
}

void fy_api_adopt_kernels(const fy_op *op) {
  fy_op *to = (fy_op *)(uintptr_t)op;
  fy_op_lock();
  for (orphan **p = &orphans; *p;) {
    orphan *o = *p;
    if (strcmp(o->op, op->spec->name) != 0) {
      p = &o->next;
      continue;
    }
    *p = o->next;
    o->kernel->next = to->user_kernels;
    to->user_kernels = o->kernel;
  }
  fy_op_unlock();
}

void TF_RegisterKernelBuilder(const char *kernel_name, TF_KernelBuilder *builder,
                              TF_Status *status) {
  TF_RegisterKernelBuilderWithKernelDef(NULL, kernel_name, builder, status);
}

// Replaces what the builder says by a serialized KernelDef (NUL-terminated, as TensorFlow takes
// it).
static fy_code read_def(TF_KernelBuilder *b, const char *bytes, fy_error *err) {
  ProtobufCMessage *m;
  fy_error why;
  fy_error_init(&why);
  fy_code code = fy_wire_unpack(&tensorflow__kernel_def__descriptor, bytes, strlen(bytes), NULL,
                                &b->arena, &m, &why);
  fy_error_clear(&why);
  if (code) return fy_fail(err, FY_INVALID_ARGUMENT, "Error parsing serialized KernelDef.");
  const Tensorflow__KernelDef *def = (const Tensorflow__KernelDef *)m;
  fy_user_kernel *k = &b->kernel;
  b->op = def->op;
  k->device = def->device_type;
  k->label = def->label;
  k->priority = def->priority;
  k->num_constraints = 0;
  k->num_host_args = 0;
  for (size_t i = 0; i < def->n_host_memory_arg; i++)
    TF_KernelBuilder_HostMemory(b, def->host_memory_arg[i]);
  for (size_t i = 0; i < def->n_constraint; i++) {
    fy_attr a;
    FY_TRY(fy_wire_attr_read(def->constraint[i]->allowed_values, &b->arena, NULL, &a, err));
    if (a.is_list && a.kind == FY_ATTR_TYPE && a.n)
      FY_TRY(add_constraint(b, def->constraint[i]->name, a.v.types, a.n, err));
  }
  return FY_OK;
}

void TF_RegisterKernelBuilderWithKernelDef(const char *serialized_kernel_def, const char *name,
                                           TF_KernelBuilder *builder, TF_Status *status) {
  (void)name;  // TensorFlow's class name, for its logs
  fy_error *err = fy_api_begin(status);
  fy_op_set_user_kernel_hooks(&hooks);
  fy_code code = FY_OK;
  if (serialized_kernel_def) code = read_def(builder, serialized_kernel_def, err);
  if (!code && builder->failed) code = fy_fail_oom(err, sizeof *builder);
  if (!code) code = add(builder->op, &builder->kernel, err);
  TF_DeleteKernelBuilder(builder);
  fy_api_end(status, code);
}

static fy_code write_def(const fy_op *op, const fy_user_kernel *k, fy_arena *arena,
                         Tensorflow__KernelDef **out, fy_error *err) {
  Tensorflow__KernelDef *def = fy_wire_new(&tensorflow__kernel_def__descriptor, arena);
  if (!def) return fy_fail_oom(err, sizeof *def);
  def->op = (char *)(uintptr_t)op->spec->name;
  def->device_type = (char *)(uintptr_t)k->device;
  def->label = (char *)(uintptr_t)k->label;
  def->priority = k->priority;
  def->n_host_memory_arg = k->num_host_args;
  def->host_memory_arg = (char **)(uintptr_t)k->host_args;
  def->constraint = fy_arena_array(arena, (size_t)k->num_constraints + 1, sizeof *def->constraint);
  if (!def->constraint) return fy_fail_oom(err, sizeof *def);
  for (uint32_t i = 0; i < k->num_constraints; i++) {
    Tensorflow__KernelDef__AttrConstraint *c =
        fy_wire_new(&tensorflow__kernel_def__attr_constraint__descriptor, arena);
    if (!c) return fy_fail_oom(err, sizeof *c);
    const fy_kernel_constraint *from = &k->constraints[i];
    fy_attr *types = fy_arena_zalloc(arena, sizeof *types);
    if (!types) return fy_fail_oom(err, sizeof *types);
    *types = (fy_attr){.kind = FY_ATTR_TYPE,
                       .is_list = true,
                       .n = from->num_types,
                       .v.types = (fy_dtype *)(uintptr_t)from->types};
    c->name = (char *)(uintptr_t)from->name;
    FY_TRY(fy_wire_attr_write(types, arena, &c->allowed_values, err));
    def->constraint[def->n_constraint++] = c;
  }
  *out = def;
  return FY_OK;
}

fy_code fy_api_user_kernel_defs(const fy_op *op, fy_arena *arena, Tensorflow__KernelDef ***out,
                                size_t *out_n, fy_error *err) {
  size_t n = 0;
  fy_code code = FY_OK;
  *out_n = 0;
  fy_op_lock();
  for (const fy_user_kernel *k = op->user_kernels; k; k = k->next) n++;
  *out = fy_arena_array(arena, n + 1, sizeof **out);
  if (!*out) code = fy_fail_oom(err, n * sizeof **out);
  for (const fy_user_kernel *k = op->user_kernels; k && !code; k = k->next)
    code = write_def(op, k, arena, &(*out)[(*out_n)++], err);
  fy_op_unlock();
  return code;
}

// ---------------------------------------------------------------- life
typedef struct bound {
  const fy_user_kernel *kernel;
  void *object;  // what create() returned
} bound;

// The fitting kernel of highest priority, and in |*twin| another one of that priority, or NULL.
// Registrations never go away, so they may be kept.
static const fy_user_kernel *choose(const fy_site *site, const fy_user_kernel **twin) {
  const fy_user_kernel *best = NULL;
  *twin = NULL;
  fy_op_lock();
  for (const fy_user_kernel *k = site->op->user_kernels; k; k = k->next) {
    if (!fits(k, site->attrs, site->device ? site->device->type : "CPU")) continue;
    if (best && k->priority == best->priority) *twin = k;
    if (best && k->priority <= best->priority) continue;
    best = k;
    *twin = NULL;
  }
  fy_op_unlock();
  return best;
}

static fy_code fail_twins(const fy_site *site, const fy_user_kernel *a, const fy_user_kernel *b,
                          fy_error *err) {
  fy_arena arena;
  fy_str text[2];
  fy_arena_init(&arena);
  for (int i = 0; i < 2; i++) {
    Tensorflow__KernelDef *def;
    fy_str_init(&text[i]);
    if (!write_def(site->op, i ? b : a, &arena, &def, NULL))
      fy_wire_text_print_line(&text[i], &def->base);
  }
  fy_fail(err, FY_INVALID_ARGUMENT,
          "Multiple OpKernel registrations match NodeDef at the same priority '{{node %s}}': "
          "'goo.gle/debugstr %s' and 'goo.gle/debugstr %s'",
          site->node_name, fy_str_text(&text[0]), fy_str_text(&text[1]));
  for (int i = 0; i < 2; i++) fy_str_free(&text[i]);
  fy_arena_free(&arena);
  return FY_INVALID_ARGUMENT;
}

static fy_code bind(fy_site *site, fy_error *err) {
  const fy_user_kernel *twin, *k = choose(site, &twin);
  if (!k)
    return fy_fail(err, FY_NOT_FOUND, "No registered '%s' OpKernel fits node %s",
                   site->op->spec->name, site->node_name);
  if (twin) return fail_twins(site, k, twin, err);
  bound *b = fy_malloc(sizeof *b);
  if (!b) return fy_fail_oom(err, sizeof *b);
  *b = (bound){k, NULL};
  if (!k->create) {
    site->state = b;
    return FY_OK;
  }
  TF_OpKernelConstruction c = {.site = site};
  fy_error_init(&c.error);
  b->object = k->create(&c);
  fy_code code = c.error.code;
  if (!code) {
    site->state = b;
    return FY_OK;
  }
  if (k->destroy) k->destroy(b->object);
  fy_free(b);
  if (err) fy_error_move(err, &c.error);
  fy_error_clear(&c.error);
  return code;
}

static void unbind(fy_site *site) {
  bound *b = site->state;
  if (!b) return;
  if (b->kernel->destroy) b->kernel->destroy(b->object);
  fy_free(b);
  site->state = NULL;
}

struct TF_AsyncOpKernelDoneCallback {
  fy_mutex lock;
  fy_cond cond;
  bool done;
};

void TF_RunAsyncOpKernelDoneCallback(TF_AsyncOpKernelDoneCallback *done) {
  fy_lock(&done->lock);
  done->done = true;
  fy_cond_signal(&done->cond);
  fy_unlock(&done->lock);
}

static fy_code compute(fy_kernel_ctx *ctx, fy_error *err) {
  const bound *b = ctx->site->state;
  TF_OpKernelContext c = {.ctx = ctx, .kernel = b->kernel};
  fy_error_init(&c.error);
  if (b->kernel->compute) {
    b->kernel->compute(b->object, &c);
  } else if (b->kernel->compute_async) {
    TF_AsyncOpKernelDoneCallback done = {.done = false};
    fy_mutex_init(&done.lock);
    fy_cond_init(&done.cond);
    b->kernel->compute_async(b->object, &c, &done);
    fy_lock(&done.lock);
    while (!done.done) fy_cond_wait(&done.cond, &done.lock);
    fy_unlock(&done.lock);
    fy_cond_destroy(&done.cond);
    fy_mutex_destroy(&done.lock);
  }
  fy_code code = c.error.code;
  if (code && err) fy_error_move(err, &c.error);
  fy_error_clear(&c.error);
  return code;
}
