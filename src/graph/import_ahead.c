// SPDX-License-Identifier: Apache-2.0
// import_ahead.c: the large constants of a GraphDef are copied before the nodes are made, on all CPUs: the
// time goes into fresh pages, which each thread makes its own of. What cannot be read is left for
// the import itself, which says why.

#include <stdatomic.h>
#include <string.h>

#include "base/thread.h"
#include "graph/import_internal.h"
#include "wire/mapping.h"

#define LARGE       ((size_t)256 << 10)
#define WORTH_BYTES ((size_t)8 << 20)  // a thread costs about 50 us
#define MAX_THREADS 8

typedef struct ahead {
  const Tensorflow__TensorProto **protos;
  fy_tensor **tensors;
  size_t n;
  bool consume;
  atomic_size_t next;
} ahead;

static const Tensorflow__TensorProto *large_value(const Tensorflow__NodeDef *n) {
  if (strcmp(n->op, "Const") != 0) return NULL;
  for (size_t i = 0; i < n->n_attr; i++) {
    const Tensorflow__AttrValue *v = n->attr[i]->value;
    if (v && v->value_case == TENSORFLOW__ATTR_VALUE__VALUE_TENSOR &&
        v->tensor->tensor_content.len >= LARGE &&
        v->tensor->dtype != TENSORFLOW__DATA_TYPE__DT_STRING)
      return v->tensor;
  }
  return NULL;
}

static void *work(void *arg) {
  ahead *a = arg;
  for (size_t i; (i = atomic_fetch_add(&a->next, 1)) < a->n;) {
    const ProtobufCBinaryData *from = &a->protos[i]->tensor_content;
    if (fy_wire_tensor_read(a->protos[i], NULL, &a->tensors[i], NULL))
      a->tensors[i] = NULL;
    else if (a->consume && a->tensors[i]->data != from->data)  // else it would be there twice
      fy_wire_view_drop(from->data, from->len);
  }
  return NULL;
}

fy_code fy_import_ahead(fy_import *im, fy_error *err) {
  ahead a = {.consume = im->options->consume};
  size_t bytes = 0, n = 0;
  int threads = fy_cpu_count() < MAX_THREADS ? fy_cpu_count() : MAX_THREADS;
  for (size_t i = 0; (threads > 1 || a.consume) && i < im->def->n_node; i++) {
    const Tensorflow__TensorProto *p = large_value(im->def->node[i]);
    n += p != NULL;
    bytes += p ? p->tensor_content.len : 0;
  }
  if (bytes < WORTH_BYTES || n < 2) return FY_OK;
  a.protos = fy_arena_array(&im->tmp, n, sizeof *a.protos);
  a.tensors = fy_arena_array(&im->tmp, n, sizeof *a.tensors);
  if (!a.protos || !a.tensors) return fy_fail_oom(err, n * sizeof *a.protos);
  for (size_t i = 0; i < im->def->n_node; i++) {
    const Tensorflow__TensorProto *p = large_value(im->def->node[i]);
    if (p) a.protos[a.n++] = p;
  }
  fy_thread started[MAX_THREADS];
  int num = 0;
  while (num + 1 < threads && fy_thread_start(&started[num], work, &a, "ferry-import")) num++;
  work(&a);
  while (num) fy_thread_join(started[--num]);
  fy_code code = FY_OK;
  for (size_t i = 0; i < a.n; i++) {
    if (!a.tensors[i]) continue;
    if (!code && fy_imap_put(&im->ready, (uintptr_t)a.protos[i], (uintptr_t)a.tensors[i])) continue;
    if (!code) code = fy_fail_oom(err, sizeof(fy_imap));
    fy_tensor_release(a.tensors[i]);
  }
  return code;
}

void fy_import_ahead_end(fy_import *im) {
  for (size_t i = 0; im->ready.n && i < im->def->n_node; i++) {
    uint64_t t = 0;
    const Tensorflow__TensorProto *p = large_value(im->def->node[i]);
    if (p && fy_imap_get(&im->ready, (uintptr_t)p, &t))
      fy_tensor_release((fy_tensor *)(uintptr_t)t);
  }
  fy_imap_free(&im->ready);
}
