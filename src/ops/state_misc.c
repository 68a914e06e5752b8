// SPDX-License-Identifier: Apache-2.0
// state_misc.c: small ops around state: several variables at once, mutexes, constants from files,
// placeholders of branches, and Abort, which here is an error: a library does not end its process.

#include <string.h>

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/values.h"
#include "ops/variable.h"
#include "wire/mapping.h"

// ---------------------------------------------------------------- several variables
static fy_view name_in(const fy_site *site, const char *attr, int i) {
  const fy_attr *a = fy_site_attr(site, attr);
  return a && a->is_list && (uint32_t)i < a->n ? a->v.strings[i] : (fy_view){"", 0};
}

typedef struct make_arg {
  const fy_site *site;
  int index;
} make_arg;

static fy_code make_variable(fy_view container, fy_view name, const void *arg, fy_object **out,
                             fy_error *err) {
  const make_arg *a = arg;
  const fy_attr *types = fy_site_attr(a->site, "dtypes"), *shapes = fy_site_attr(a->site, "shapes");
  if (!types || (uint32_t)a->index >= types->n)
    return fy_fail(err, FY_INVALID_ARGUMENT, "_VarHandlesOp needs a dtype for each variable");
  fy_variable *v;
  FY_TRY(fy_variable_new(container, name, types->v.types[a->index], &v, err));
  if (shapes && (uint32_t)a->index < shapes->n &&
      shapes->v.shapes[a->index].rank <= FY_INLINE_RANK) {
    v->rank = shapes->v.shapes[a->index].rank;
    for (int32_t d = 0; d < v->rank; d++) v->dims[d] = shapes->v.shapes[a->index].dims[d];
  }
  *out = &v->object;
  return FY_OK;
}

static fy_code var_handles(fy_kernel_ctx *ctx, fy_error *err) {
  fy_resources *r = ctx->svc->resources ? ctx->svc->resources(ctx) : NULL;
  for (int i = 0; i < ctx->site->num_outputs; i++) {
    const make_arg arg = {ctx->site, i};
    const fy_view container = name_in(ctx->site, "containers", i);
    const fy_view name = name_in(ctx->site, "shared_names", i);
    fy_tensor *out;
    fy_object *object;
    FY_TRY(fy_out(ctx, i, 0, NULL, &out, err));
    FY_TRY(r ? fy_resources_get(r, &fy_variable_type, container, name, make_variable, &arg, &object,
                                err)
             : make_variable(container, name, &arg, &object, err));
    fy_resource_put(out, object);
  }
  return FY_OK;
}

// All those without a value are named at once.
static fy_code none_initialized(fy_kernel_ctx *ctx, fy_error *err) {
  fy_str names;
  fy_str_init(&names);
  for (int i = 0; i < ctx->site->num_inputs; i++) {
    fy_object *o;
    fy_tensor *value = NULL;
    if (fy_resource_object(ctx->in[i], &fy_variable_type, &o, err)) break;
    fy_variable *v = (fy_variable *)o;
    if (fy_variable_get(ctx, v, &value, err)) break;
    if (!value) {
      if (names.len) fy_str_add(&names, ", ");
      fy_str_add(&names, v->name);
    }
    fy_tensor_release(value);
  }
  const fy_code code =
      fy_fail(err, FY_FAILED_PRECONDITION,
              "In ReadVariablesOp the following variables were found uninitialized: %s",
              fy_str_text(&names));
  fy_str_free(&names);
  return code;
}

static fy_code read_variables(fy_kernel_ctx *ctx, fy_error *err) {
  for (int i = 0; i < ctx->site->num_outputs; i++) {
    fy_object *o;
    FY_TRY(fy_resource_object(ctx->in[i], &fy_variable_type, &o, err));
    fy_variable *v = (fy_variable *)o;
    fy_tensor *value;
    FY_TRY(fy_variable_get(ctx, v, &value, err));
    if (!value) return none_initialized(ctx, err);
    if (value->dtype != ctx->site->out_types[i]) {
      fy_tensor_release(value);
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Trying to read variable %s from Container: %s with wrong dtype", v->name,
                     v->container);
    }
    fy_out_set(ctx, i, value);
  }
  return FY_OK;
}

// A handle that keeps what it names alive: an anonymous one.
static fy_code is_ref_counting(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *out;
  fy_variable *v;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  *(bool *)out->data = fy_ref_variable(ctx->in[0], &v, NULL) == FY_OK &&
                       strcmp(v->name, "cd2c89b7-88b7-44c8-ad83-06c2a9158347") == 0;
  return FY_OK;
}

// ---------------------------------------------------------------- mutexes
typedef struct mutex {
  fy_object object;
  fy_mutex lock;
  fy_cond changed;
  bool held;
} mutex;

typedef struct mutex_lock {  // held until nobody has it any more
  fy_object object;
  mutex *of;
} mutex_lock;

static void destroy_mutex(fy_object *self) {
  mutex *m = (mutex *)self;
  fy_cond_destroy(&m->changed);
  fy_mutex_destroy(&m->lock);
  fy_free(m);
}

static void destroy_lock(fy_object *self) {
  mutex *m = ((mutex_lock *)self)->of;
  fy_lock(&m->lock);
  m->held = false;
  fy_cond_broadcast(&m->changed);
  fy_unlock(&m->lock);
  fy_object_release(&m->object);
  fy_free(self);
}

static const fy_object_type mutex_type = {"N10tensorflow12_GLOBAL__N_15MutexE", destroy_mutex};
static const fy_object_type lock_type = {"tensorflow::Mutex::SharedLockReleaser", destroy_lock};

static fy_code make_mutex(fy_view container, fy_view name, const void *arg, fy_object **out,
                          fy_error *err) {
  (void)container, (void)name, (void)arg;
  mutex *m = fy_calloc(1, sizeof *m);
  if (!m) return fy_fail_oom(err, sizeof *m);
  atomic_init(&m->object.refs, 1);
  m->object.type = &mutex_type;
  fy_mutex_init(&m->lock);
  fy_cond_init(&m->changed);
  *out = &m->object;
  return FY_OK;
}

static fy_code new_mutex(fy_kernel_ctx *ctx, fy_error *err) {
  fy_view name = fy_site_string(ctx->site, "shared_name");
  fy_resources *r = ctx->svc->resources ? ctx->svc->resources(ctx) : NULL;
  fy_tensor *out;
  fy_object *object;
  if (!name.n && ctx->site->node_name) name = fy_view_of(ctx->site->node_name);
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  FY_TRY(r ? fy_resources_get(r, &mutex_type, fy_site_string(ctx->site, "container"), name,
                              make_mutex, NULL, &object, err)
           : make_mutex(name, name, NULL, &object, err));
  fy_resource_put(out, object);
  return FY_OK;
}

static fy_code lock_mutex(fy_kernel_ctx *ctx, fy_error *err) {
  fy_object *o;
  fy_tensor *out;
  FY_TRY(fy_resource_object(ctx->in[0], &mutex_type, &o, err));
  mutex *m = (mutex *)o;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  mutex_lock *l = fy_calloc(1, sizeof *l);
  if (!l) return fy_fail_oom(err, sizeof *l);
  fy_code code = FY_OK;
  fy_lock(&m->lock);
  while (m->held && !code) {
    if (ctx->svc->cancelled && ctx->svc->cancelled(ctx))
      code = fy_fail(err, FY_CANCELLED, "Lock acquisition cancelled.");
    else
      fy_cond_wait_until(&m->changed, &m->lock, fy_now_ns() + 2000000);
  }
  if (!code) m->held = true;
  fy_unlock(&m->lock);
  if (code) {
    fy_free(l);
    return code;
  }
  atomic_init(&l->object.refs, 1);
  l->object.type = &lock_type;
  l->of = m;
  fy_object_retain(&m->object);
  fy_resource_put(out, &l->object);
  return FY_OK;
}

static fy_code consume_lock(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_object *o =
      ctx->in[0]->rank == 0 && ctx->in[0]->count ? *(fy_object **)ctx->in[0]->data : NULL;
  if (o && o->type == &lock_type) return FY_OK;  // the handle itself goes after this, its last use
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Expected input to contain a SharedLockReleaser object, but saw variant: '%s'",
                 o ? o->type->name : "<empty>");
}

// ---------------------------------------------------------------- constants and the like
// Stands for a value that the branch not taken would have had.
static fy_code fake_param(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_attr *a = fy_site_attr(ctx->site, "shape");
  const fy_pshape s = a && a->kind == FY_ATTR_SHAPE ? a->v.shape : FY_UNKNOWN_SHAPE;
  int64_t dims[FY_MAX_RANK];
  fy_tensor *out;
  const int32_t rank = s.rank < 0 || s.rank > FY_MAX_RANK ? 0 : s.rank;
  for (int32_t d = 0; d < rank; d++) dims[d] = s.dims[d] < 0 ? 0 : s.dims[d];
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  if (fy_dtype_is_plain(out->dtype) && out->count) memset(out->data, 0, fy_tensor_bytes(out));
  return FY_OK;
}

// The bytes of a tensor at the beginning of a file: where they lie, or read.
static fy_code read_region(const fy_wire_file *f, const char *path, fy_dtype dtype, fy_pshape s,
                           fy_tensor **out, fy_error *err) {
  fy_wire_mapping *m = fy_wire_mapping_open(f, path);
  fy_code code = fy_wire_mapping_tensor(m, 0, dtype, s, out, err);
  fy_wire_mapping_close(m);
  if (code || *out) return code;
  FY_TRY(fy_tensor_new(dtype, s.rank, s.dims, out, err));
  if ((*out)->count) code = fy_wire_file_read(f, 0, (*out)->data, fy_tensor_bytes(*out), err);
  if (!code) return FY_OK;
  fy_tensor_release(*out);
  *out = NULL;
  return code;
}

// A file holds the bytes of the tensor.
static fy_code immutable_const(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_view name = fy_site_string(ctx->site, "memory_region_name");
  const fy_attr *a = fy_site_attr(ctx->site, "shape");
  const fy_pshape s = a && a->kind == FY_ATTR_SHAPE ? a->v.shape : FY_UNKNOWN_SHAPE;
  const fy_dtype dtype = ctx->site->out_types[0];
  int64_t count;
  size_t need;
  fy_tensor *out = NULL;
  if (dtype == FY_STRING)
    return fy_fail(err, FY_UNIMPLEMENTED,
                   "Sorry, DT_STRING is not currently supported for ImmutableConstOp.");
  if (s.rank < 0 || !fy_shape_count(s.rank, s.dims, &count) ||
      !fy_mul_size((size_t)count, fy_dtype_storage(dtype), &need))
    return fy_fail(err, FY_INVALID_ARGUMENT, "ImmutableConst needs a fully defined shape");
  char *path = fy_strndup(name.p, name.n);
  if (!path) return fy_fail_oom(err, name.n);
  fy_wire_file f = {.fd = -1};
  fy_code code = fy_wire_file_open(path, &f, err);
  if (!code && f.bytes < need)
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Region size (%llu) is less than required (%zu)",
                   (unsigned long long)f.bytes, need);
  if (!code) code = read_region(&f, path, dtype, s, &out, err);
  if (!code) fy_out_set(ctx, 0, out);
  fy_wire_file_close(&f);
  fy_free(path);
  return code;
}

static fy_code refuse_abort(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_view text = fy_site_string(ctx->site, "error_msg");
  return fy_fail(err, FY_ABORTED, "Abort_op intentional failure; %.*s", (int)text.n,
                 text.n ? text.p : "");
}

static fy_code read_variables_shape(fy_shape_ctx *ctx, fy_error *err) {
  for (int i = 0; i < ctx->num_outputs && i < ctx->num_inputs; i++) {
    const fy_handle_shape *h = &ctx->in_handle[i];
    if (h->dtype != FY_INVALID) FY_TRY(fy_shape_set(ctx, i, h->shape.rank, h->shape.dims, err));
  }
  return FY_OK;
}

static fy_code var_handles_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *types = fy_attrs_get(ctx->attrs, "dtypes"),
                *shapes = fy_attrs_get(ctx->attrs, "shapes");
  for (int i = 0; i < ctx->num_outputs; i++) {
    if (types && types->is_list && (uint32_t)i < types->n)
      ctx->out_handle[i].dtype = types->v.types[i];
    if (shapes && shapes->is_list && (uint32_t)i < shapes->n)
      ctx->out_handle[i].shape = shapes->v.shapes[i];
  }
  return fy_shape_scalar(ctx, err);
}

static const fy_sample fake_samples[] = {{"", "dtype=float; shape=[2]", FY_OK, "0,0"},
                                         {"", "dtype=float; shape=[2,?]", FY_OK, ""}};
static const fy_sample abort_samples[] = {
    {"", "error_msg=\"why\"", FY_ABORTED, "Abort_op intentional failure; why"}};

#define HOST .flags = FY_OP_HOST | FY_OP_NO_FOLD
FY_OP(_VarHandlesOp, .shape = var_handles_shape, .compute = var_handles, HOST);
FY_OP(_ReadVariablesOp, .shape = read_variables_shape, .compute = read_variables,
      .flags = FY_OP_HOST | FY_OP_NO_FOLD | FY_OP_SETS_OUTPUT);
FY_OP(IsResourceHandleRefCounting, .shape = fy_shape_scalar, .compute = is_ref_counting, HOST);
FY_OP(MutexV2, .shape = fy_shape_scalar, .compute = new_mutex, HOST);
FY_OP(MutexLock, .shape = fy_shape_scalar, .compute = lock_mutex,
      .flags = FY_OP_HOST | FY_OP_NO_FOLD | FY_OP_ASYNC);
FY_OP(ConsumeMutexLock, .shape = fy_shape_none, .compute = consume_lock, HOST);
FY_OP(FakeParam, .shape = fy_shape_from_attr, .compute = fake_param,
      .flags = FY_OP_NO_FOLD | FY_OP_DYNAMIC, FY_SAMPLES(fake_samples));
FY_OP(ImmutableConst, .shape = fy_shape_from_attr, .compute = immutable_const,
      .flags = FY_OP_HOST | FY_OP_NO_FOLD | FY_OP_SETS_OUTPUT);
FY_OP(Abort, .shape = fy_shape_none, .compute = refuse_abort, HOST, FY_SAMPLES(abort_samples));
