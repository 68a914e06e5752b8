// SPDX-License-Identifier: Apache-2.0
// run_errors.c: an error of a run names its node as TensorFlow does, through functions and calls that were
// inlined.

#include <stdio.h>
#include <string.h>

#include "execute/state.h"

#define MAX_CALLERS 32  // functions that an error names: a recursion would make it endless

static int count_callers(const char *text) {
  int n = 0;
  while (n <= MAX_CALLERS && (text = strstr(text, "{{function_node "))) {
    text++;
    n++;
  }
  return n;
}

static fy_view called_function(const fy_node *n) {
  const fy_attr *f = strstr(n->op_name, "PartitionedCall") ? fy_attrs_get(&n->attrs, "f") : NULL;
  return f && f->kind == FY_ATTR_FUNC && !f->is_list ? f->v.func->name : (fy_view){NULL, 0};
}

// A node called |function|, so the error may have happened in its body: then it names a node already.
static bool name_caller(const fy_node *n, fy_error *err) {
  if (!err) return false;
  fy_view f = called_function(n);
  if (!*fy_error_text(err)) return false;  // a code without words
  char *at = strstr(err->heap ? err->heap : err->text, "[[{{node ");
  if (!at || (!n->function && !f.n)) return false;
  if (count_callers(fy_error_text(err)) > MAX_CALLERS) return true;
  if (f.n) {
    fy_error_prepend(err, "{{function_node %.*s}} {{function_node %.*s}} ", (int)f.n, f.p, (int)f.n,
                     f.p);
    fy_error_append(err, "\n\t [[%s]]", n->name);
    return true;
  }
  char rest[256];
  snprintf(rest, sizeof rest, "%s", at + 2);
  err->len = (uint32_t)(at + 2 - (err->heap ? err->heap : err->text));
  at[2] = 0;
  fy_error_append(err, "{{function_node %s}}%s", n->op_name, rest);
  return true;
}

const char *fy_run_user_name(const fy_node *n) {
  return n->num_origins ? n->origins[0] : n->name;
}

// Where TensorFlow inlines: the innermost node has named itself and its function. False: name it as
// where functions are called.
static bool name_inlined(const fy_node *n, fy_error *err) {
  if (!err || !n->graph->flat_errors) return false;
  const bool calls =
      n->function || (n->op && n->op->impl && (n->op->impl->flags & FY_OP_CALLS_FUNCTIONS));
  if (calls && strstr(fy_error_text(err), "\n\t [[{{")) return true;
  if (n->error_tail || !n->graph->body_of) return false;
  if (strncmp(fy_error_text(err), "Missing ", 8) != 0)
    fy_error_append(err, "\n\t [[{{function_node %s}}{{node %s}}]]", n->graph->body_of,
                    fy_run_user_name(n));
  return true;
}

fy_code fy_run_name_node(fy_code code, const fy_instr *ins, fy_error *err) {
  if (ins->kind == FY_INSTR_KERNEL && name_inlined(ins->node, err)) {
    // done
  } else if (ins->kind == FY_INSTR_KERNEL && ins->node->error_tail) {
    if (!err || count_callers(fy_error_text(err)) <= MAX_CALLERS) {
      fy_error_prepend(err, "%s", ins->node->error_head);
      fy_error_append(err, "%s", ins->node->error_tail);
    }
  } else if (ins->kind == FY_INSTR_KERNEL && !name_caller(ins->node, err)) {
    // TensorFlow names the node of a missing output only once.
    if (err && strncmp(fy_error_text(err), "Missing ", 8) != 0)
      fy_error_append(err, "\n\t [[{{node %s}}]]", fy_run_user_name(ins->node));
  }
  const fy_op *op = ins->kind == FY_INSTR_KERNEL && ins->site ? ins->site->op : NULL;
  if (code == FY_UNAVAILABLE && err && op && op->user_kernels && !op->impl) {
    fy_error_append(
        err,
        "\nExecuting non-communication op <%s> originally returned UnavailableError, and "
        "was replaced by InternalError to avoid invoking TF network error handling logic.",
        ins->node->name);
    err->code = code = FY_INTERNAL;
  }
  return code;
}
