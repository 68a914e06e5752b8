// SPDX-License-Identifier: Apache-2.0
// contract.c: a product or convolution takes in what is done to its result before anybody else reads
// it: bias, batch normalisation (not in training), the other branch of a residual sum, activation
// (ops/contraction.h), and zeros put around its input. The sums are the same; only what multiplies
// the result, which is folded into the weights, may round differently.

#include <string.h>

#include "optimize/rewrite.h"

#define MOST_ARGS    8
#define MOST_MEMBERS 9
#define MOST_AFFINE  4  // FY_EPILOGUE_STEPS

typedef struct chain {
  fy_node *head, *last;            // the product; the node whose output the new node stands for
  fy_node *members[MOST_MEMBERS];  // the head first
  int num_members, num_affine;
  fy_node *pad;      // zeros around the head's input, or NULL
  fy_node *reshape;  // on the way: the same rows of channels under another shape, or NULL
  fy_pshape shape;   // of the last member's output
  int32_t tail;      // its last dims that together are the channels
  int64_t padding[8];
  fy_output args[MOST_ARGS];
  int num_args;
  char steps[64];
  float epsilon, alpha;
  int64_t channels;
  const char *op;
} chain;

static bool is_float(const fy_node *n) {
  return n->outputs[0].dtype == FY_FLOAT;
}

static bool has_nhwc(const fy_node *n) {
  const fy_attr *a = fy_attrs_get(&n->attrs, "data_format");
  return !a || (a->kind == FY_ATTR_STRING && fy_view_is(a->v.s, "NHWC"));
}

static fy_node *only_reader(const fy_rewriter *r, const fy_node *n) {
  return fy_rewrite_only_reader(r, n, 0);
}

// Another chain may have taken it: both branches of a sum may be products.
static bool may_join(const fy_rewriter *r, const chain *c, const fy_node *n) {
  return fy_rewrite_may_join(r, c->head, n) && n->outputs[0].dtype == c->head->outputs[0].dtype;
}

static void join(chain *c, fy_node *n, const char *step) {
  c->members[c->num_members++] = n;
  c->last = n;
  if (c->steps[0]) strcat(c->steps, ",");
  strcat(c->steps, step);
}

// One number for each channel; dims of one before them say nothing, up to the result's rank.
static bool is_vector(const chain *c, fy_output o) {
  const fy_pshape s = fy_output_shape(o);
  const int32_t lead = s.rank - c->tail;
  if (lead < 0 || s.rank > c->shape.rank) return false;
  for (int32_t i = 0; i < lead; i++)
    if (s.dims[i] != 1) return false;
  return memcmp(s.dims + lead, c->shape.dims + c->shape.rank - c->tail,
                (size_t)c->tail * sizeof *s.dims) == 0;
}

// A number for each channel, added, subtracted or multiplied.
static bool take_vector(const fy_rewriter *r, chain *c) {
  fy_node *n = only_reader(r, c->last);
  if (!n || !may_join(r, c, n) || c->num_args == MOST_ARGS) return false;
  fy_output v;
  const char *step = "bias";
  if (fy_node_is(n, "BiasAdd") && has_nhwc(n) && fy_rewrite_input(r, n, 0).node == c->last) {
    v = fy_rewrite_input(r, n, 1);
  } else if (fy_node_is_sum(n) || (fy_node_is(n, "Mul") && n->num_inputs == 2)) {
    v = fy_rewrite_other_operand(r, n, c->last);
    if (fy_node_is(n, "Mul")) step = "scale";
  } else if (fy_node_is(n, "Sub") && fy_rewrite_input(r, n, 0).node == c->last) {
    v = fy_rewrite_input(r, n, 1);
    step = "minus";
  } else {
    return false;
  }
  if (v.node == c->last || !is_vector(c, v)) return false;
  c->args[c->num_args++] = v;
  join(c, n, step);
  return true;
}

static bool take_norm(const fy_rewriter *r, chain *c) {
  fy_node *n = only_reader(r, c->last);
  if (!n || !is_float(c->head) || fy_node_is(c->head, "MatMul") ||
      strncmp(n->op_name, "FusedBatchNorm", 14) != 0 || strstr(n->op_name, "Grad") ||
      !may_join(r, c, n) || n->num_inputs < 5 || strstr(c->steps, "norm") ||
      c->num_args > MOST_ARGS - 4 || !has_nhwc(n))
    return false;
  const fy_attr *training = fy_attrs_get(&n->attrs, "is_training");
  const fy_attr *epsilon = fy_attrs_get(&n->attrs, "epsilon");
  if (!training || training->v.b || !epsilon || fy_rewrite_input(r, n, 0).node != c->last)
    return false;
  for (uint32_t i = 1; i < n->num_outputs; i++)
    if (n->outputs[i].num_uses || fy_rewrite_is_fetched(r, n, i)) return false;
  for (uint32_t i = 1; i < 5; i++)
    if (!is_vector(c, fy_rewrite_input(r, n, i))) return false;
  for (uint32_t i = 1; i < 5; i++) c->args[c->num_args++] = fy_rewrite_input(r, n, i);
  c->epsilon = epsilon->v.f;
  join(c, n, "norm");
  return true;
}

static void take_sum(const fy_rewriter *r, chain *c) {
  fy_node *n = only_reader(r, c->last);
  if (!n || !fy_node_is_sum(n) || !may_join(r, c, n) || c->num_args == MOST_ARGS) return;
  const fy_output other = fy_rewrite_other_operand(r, n, c->last);
  if (other.node == c->last || !fy_shape_same(fy_output_shape(other), c->shape)) return;
  c->args[c->num_args++] = other;
  join(c, n, "add");
}

// A reshape that keeps the channels together may come between a product and its bias (Keras' Dense on
// sequences, the heads of an attention): it is done afterwards.
static void pass_reshape(const fy_rewriter *r, chain *c) {
  fy_node *n = only_reader(r, c->last);
  if (c->reshape || c->num_members > 1 || !n || !fy_node_is(n, "Reshape") || !may_join(r, c, n) ||
      fy_rewrite_input(r, n, 0).node != c->last)
    return;
  const fy_pshape s = n->outputs[0].shape;
  int64_t count, channels = 1;
  int32_t tail = 0;
  if (!fy_shape_static(s, &count) || count == 0) return;
  while (tail < s.rank && channels < c->channels) channels *= s.dims[s.rank - ++tail];
  if (channels != c->channels || tail == 0) return;
  c->reshape = c->last = n;
  c->shape = s;
  c->tail = tail;
}

// x * sigmoid(x): two nodes read x, one of them through the other.
static bool take_swish(const fy_rewriter *r, chain *c) {
  const fy_node *x = c->last;
  if (x->outputs[0].num_uses != 2 || x->num_control_outs || fy_rewrite_is_fetched(r, x, 0) ||
      fy_rewrite_is_target(r, x))
    return false;
  fy_node *a = x->outputs[0].uses[0].node, *b = x->outputs[0].uses[1].node;
  fy_node *gate = fy_node_is(a, "Sigmoid") ? a : b, *mul = gate == a ? b : a;
  if (!fy_node_is(gate, "Sigmoid") || !fy_node_is(mul, "Mul") || gate == mul ||
      !may_join(r, c, gate) || !may_join(r, c, mul) || only_reader(r, gate) != mul)
    return false;
  c->members[c->num_members++] = gate;
  join(c, mul, "swish");
  return true;
}

static void take_activation(const fy_rewriter *r, chain *c) {
  static const char *const acts[][2] = {{"Relu", "relu"}, {"Relu6", "relu6"},
                                        {"Tanh", "tanh"}, {"Sigmoid", "sigmoid"},
                                        {"Elu", "elu"},   {"LeakyRelu", "leaky"}};
  if (is_float(c->head) && take_swish(r, c)) return;
  fy_node *n = only_reader(r, c->last);
  if (!n || !may_join(r, c, n)) return;
  for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
    if (!fy_node_is(n, acts[i][0]) || (i > 1 && !is_float(c->head))) continue;
    const fy_attr *alpha = fy_attrs_get(&n->attrs, "alpha");
    if (alpha && alpha->kind == FY_ATTR_FLOAT) c->alpha = alpha->v.f;
    join(c, n, acts[i][1]);
    return;
  }
}

// Zeros put around the image for this convolution alone become its own padding.
static void take_pad(const fy_rewriter *r, chain *c) {
  const fy_output in = fy_rewrite_input(r, c->head, 0);
  fy_node *n = in.node;
  const fy_attr *padding = fy_attrs_get(&c->head->attrs, "padding");
  if (!fy_node_is(n, "Pad") || !padding || !fy_view_is(padding->v.s, "VALID") ||
      !may_join(r, c, n) || only_reader(r, n) != c->head)
    return;
  const fy_tensor *p = fy_rewrite_const(r, n, 1);
  if (!p || p->device || p->count != 8) return;
  for (int i = 0; i < 8; i++) {
    c->padding[i] = fy_tensor_int(p, i);
    if (c->padding[i] < 0 || c->padding[i] > 1 << 20 || ((i < 2 || i > 5) && c->padding[i])) return;
  }
  c->pad = n;
}

// A batch of matrices times one matrix: one product of all their rows.
static bool is_tall_product(const fy_node *n) {
  if (!fy_node_is(n, "BatchMatMulV2") && !fy_node_is(n, "BatchMatMulV3")) return false;
  const fy_attr *x = fy_attrs_get(&n->attrs, "adj_x"), *y = fy_attrs_get(&n->attrs, "adj_y");
  return fy_output_shape(n->inputs[1]).rank == 2 && fy_output_shape(n->inputs[0]).rank > 2 && x &&
         y && !x->v.b && !y->v.b && fy_output_type(n->inputs[0]) == n->outputs[0].dtype &&
         fy_output_type(n->inputs[1]) == n->outputs[0].dtype;
}

static bool start(const fy_rewriter *r, fy_node *n, chain *c) {
  *c = (chain){.head = n, .last = n, .alpha = 0.2f};
  c->op = fy_node_is(n, "Conv2D")                  ? "_FerryConv2D"
          : fy_node_is(n, "MatMul")                ? "_FerryMatMul"
          : fy_node_is(n, "DepthwiseConv2dNative") ? "_FerryDepthwise"
          : is_tall_product(n)                     ? "_FerryMatMul"
                                                   : NULL;
  if (!c->op || !fy_node_runs_anywhere(r, n) || !fy_node_is_pure(n) || fy_node_colocated(n) ||
      fy_rewrite_is_target(r, n) ||
      (n->outputs[0].dtype != FY_FLOAT && n->outputs[0].dtype != FY_DOUBLE) || !has_nhwc(n))
    return false;
  const fy_pshape s = n->outputs[0].shape;
  if (s.rank < 1 || s.dims[s.rank - 1] < 1) return false;
  c->channels = s.dims[s.rank - 1];
  c->shape = s;
  c->tail = 1;
  c->members[c->num_members++] = n;
  return true;
}

// ------------------------------------------------------------------ the new node
static fy_code set_attrs(const fy_rewriter *r, const chain *c, fy_attrs *out, fy_error *err) {
  static const char *const kept[] = {"T",         "strides",     "padding",     "explicit_paddings",
                                     "dilations", "data_format", "transpose_a", "transpose_b"};
  fy_arena *a = &r->graph->arena;
  for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
    const fy_attr *v = fy_attrs_get(&c->head->attrs, kept[i]);
    if (v) FY_TRY(fy_attrs_set(out, a, kept[i], v, err));
  }
  if (!fy_attrs_get(out, "T")) {  // BatchMatMulV3 has two of them
    const fy_attr t = fy_attr_type(c->head->outputs[0].dtype);
    FY_TRY(fy_attrs_set(out, a, "T", &t, err));
  }
  if (c->pad) {
    int64_t *dims = fy_arena_memdup(a, c->padding, sizeof c->padding);
    if (!dims) return fy_fail_oom(err, sizeof c->padding);
    const fy_attr list = {.kind = FY_ATTR_INT, .is_list = true, .n = 8, .v.ints = dims};
    const fy_attr explicit_ = fy_attr_string(fy_view_of("EXPLICIT"));
    FY_TRY(fy_attrs_set(out, a, "padding", &explicit_, err));
    FY_TRY(fy_attrs_set(out, a, "explicit_paddings", &list, err));
  }
  const char *steps = fy_arena_strdup(a, c->steps);
  if (!steps) return fy_fail_oom(err, sizeof c->steps);
  const fy_attr n = fy_attr_int(c->num_args), epilogue = fy_attr_string(fy_view_of(steps));
  const fy_attr epsilon = fy_attr_float(c->epsilon), alpha = fy_attr_float(c->alpha);
  FY_TRY(fy_attrs_set(out, a, "N", &n, err));
  FY_TRY(fy_attrs_set(out, a, "epilogue", &epilogue, err));
  FY_TRY(fy_attrs_set(out, a, "epsilon", &epsilon, err));
  return fy_attrs_set(out, a, "alpha", &alpha, err);
}

static fy_code replace(fy_rewriter *r, const chain *c, fy_error *err) {
  fy_graph *g = r->graph;
  fy_attrs attrs = {0};
  fy_output inputs[2 + MOST_ARGS] = {fy_rewrite_input(r, c->pad ? c->pad : c->head, 0),
                                     fy_rewrite_input(r, c->head, 1)};
  memcpy(inputs + 2, c->args, (size_t)c->num_args * sizeof *c->args);
  FY_TRY(set_attrs(r, c, &attrs, err));
  char *base = fy_arena_printf(&g->arena, "%s/with_%s", c->head->name, c->last->op_name);
  const char *name = base ? fy_graph_unique_name(g, base) : NULL;
  if (!name) return fy_fail_oom(err, 64);
  fy_node *made;
  FY_TRY(fy_graph_add_raw(g, c->op, name, c->head->device, &attrs, inputs,
                          2 + (uint32_t)c->num_args, c->head->controls, c->head->num_controls,
                          &c->head->outputs[0].dtype, 1, &made, err));
  made->outputs[0].shape = c->head->outputs[0].shape;
  FY_TRY(fy_node_clear_origins(g, made, err));
  if (c->reshape) {
    c->reshape->inputs[0] = (fy_output){made, 0};
    r->flags[c->reshape->id] = 1;
    FY_TRY(fy_rewrite_forward(r, (fy_output){c->last, 0}, (fy_output){c->reshape, 0}, err));
  } else {
    FY_TRY(fy_rewrite_forward(r, (fy_output){c->last, 0}, (fy_output){made, 0}, err));
  }
  for (int i = 0; i < c->num_members; i++) {
    r->flags[c->members[i]->id] = 1;
    fy_rewrite_instead(r, c->members[i], made);
  }
  if (c->pad) {
    r->flags[c->pad->id] = 1;
    fy_rewrite_instead(r, c->pad, made);
  }
  fy_rewrite_log(r, "contract: %s = %s with %s", made->name, c->head->name, c->steps);
  return FY_OK;
}

static fy_code run(fy_rewriter *r, fy_error *err) {
  for (size_t i = 0; i < r->n; i++) {
    chain c;
    if (r->flags[r->order[i]->id] || !start(r, r->order[i], &c)) continue;
    take_pad(r, &c);
    pass_reshape(r, &c);
    while (c.num_affine < MOST_AFFINE && (take_vector(r, &c) || take_norm(r, &c))) c.num_affine++;
    take_sum(r, &c);
    take_activation(r, &c);
    if (c.num_members > 1 || c.pad) FY_TRY(replace(r, &c, err));
  }
  return FY_OK;
}

fy_code fy_pass_contract(fy_opt_ctx *ctx, bool *changed, fy_error *err) {
  fy_rewriter r;
  FY_TRY(fy_rewrite_begin(&r, ctx, err));
  return fy_rewrite_end(&r, run(&r, err), changed, err);
}
