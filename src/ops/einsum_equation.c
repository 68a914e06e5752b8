// SPDX-License-Identifier: Apache-2.0
// einsum_equation.c: reads "ab...,bc->ac..." and gives every label its size. A label is any character
// but '.'. What does not fit is told in other words by a kernel than by shape inference, and a size of 0
// agrees with any other in a kernel only: a sum over nothing is 0.

#include "ops/einsum_equation.h"

#include "ops/shape_fns.h"

typedef fy_einsum_term term;
typedef fy_einsum_equation equation;

// The texts between ',' and "->": of the inputs and, last, of the output.
typedef struct parts {
  int inputs;
  fy_view text[3];
  int32_t letters[3];
  bool ellipsis[3];
} parts;

bool fy_einsum_has(const term *t, int32_t label) {
  for (int32_t d = 0; d < t->rank; d++) {
    if (t->label[d] == label) return true;
  }
  return false;
}

static bool is_dots(int32_t label) {
  return label >= 256;
}

// ---------------------------------------------------------------- text
static fy_code count(parts *p, int i, fy_error *err) {
  const fy_view text = p->text[i];
  int32_t points = 0;
  size_t first = text.n;
  for (size_t k = 0; k < text.n; k++) {
    if (text.p[k] != '.') continue;
    if (points++ == 0) first = k;
  }
  p->letters[i] = (int32_t)text.n - points;
  p->ellipsis[i] = points > 0;
  if (points == 0 ||
      (points == 3 && first + 2 < text.n && text.p[first + 1] == '.' && text.p[first + 2] == '.')) {
    return FY_OK;
  }
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Expected at most one ellipsis (...), but found %d periods (.) in the %s "
                 "subscript: %.*s",
                 points, i < 2 ? "input" : "output", (int)text.n, text.p);
}

static fy_code divide(fy_view text, parts *p, fy_error *err) {
  size_t arrow = text.n;
  int arrows = 0, found = 1;
  for (size_t i = 0; i + 1 < text.n; i++) {
    if (text.p[i] != '-' || text.p[i + 1] != '>') continue;
    if (arrows++ == 0) arrow = i;
  }
  if (arrows != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expecting exactly one '->' in einsum equation: %.*s",
                   (int)text.n, text.p);
  }
  for (int i = 0; i < 2; i++) p->text[i] = (fy_view){text.p, 0};
  for (size_t i = 0; i < arrow; i++) {
    if (text.p[i] == ',') {
      if (++found <= 2) p->text[1] = (fy_view){text.p + i + 1, 0};
    } else if (found <= 2) {
      p->text[found - 1].n++;
    }
  }
  if (found > 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expecting 1 or 2 input subscripts in equation '%.*s' but got: %d", (int)text.n,
                   text.p, found);
  }
  p->inputs = found;
  p->text[2] = (fy_view){text.p + arrow + 2, text.n - arrow - 2};
  for (int i = 0; i < 3; i++) {
    if (i != 1 || found > 1) FY_TRY(count(p, i, err));
  }
  for (size_t i = 0; i < p->text[2].n; i++) {
    const char c = p->text[2].p[i];
    if (c == '.' || memchr(p->text[0].p, c, p->text[0].n) ||
        (found > 1 && memchr(p->text[1].p, c, p->text[1].n))) {
      continue;
    }
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Einsum output subscripts for equation '%.*s' has label '%c' which is not present "
        "in the input subscripts",
        (int)text.n, text.p, c);
  }
  return FY_OK;
}

static fy_code read_term(fy_view text, int32_t dots, term *t, fy_error *err) {
  t->rank = 0;
  for (size_t i = 0; i < text.n; i++) {
    const bool ellipsis = text.p[i] == '.';
    if (t->rank + (ellipsis ? dots : 1) > FY_MAX_RANK) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
    }
    if (ellipsis) {
      for (int32_t d = dots - 1; d >= 0; d--) t->label[t->rank++] = 256 + d;
      i += 2;
    } else {
      t->label[t->rank++] = (unsigned char)text.p[i];
    }
  }
  return FY_OK;
}

// The labels, where "..." stands for |dots| dims of each input.
static fy_code read_terms(const parts *p, int inputs, const int32_t dots[2], equation *e,
                          fy_error *err) {
  int32_t most = 0;
  e->inputs = inputs;
  for (int l = 0; l < FY_EINSUM_LABELS; l++) e->size[l] = FY_EINSUM_UNSEEN;
  for (int i = 0; i < inputs; i++) {
    FY_TRY(read_term(p->text[i], dots[i], &e->in[i], err));
    most = dots[i] > most ? dots[i] : most;
  }
  return read_term(p->text[2], most, &e->out, err);
}

// ---------------------------------------------------------------- inference
// Equal sizes, but where "..." broadcasts.
static fy_code infer_sizes(equation *e, const fy_pshape *in, fy_error *err) {
  for (int i = 0; i < e->inputs; i++) {
    for (int32_t d = 0; d < e->in[i].rank; d++) {
      const int32_t label = e->in[i].label[d];
      const int64_t n = in[i].dims ? in[i].dims[d] : -1, old = e->size[label];
      int64_t size = old < 0 ? n : old;
      if (is_dots(label) && old != FY_EINSUM_UNSEEN && (old < 0 || n < 0)) {
        size = old > 1 || n > 1 ? (old > n ? old : n) : -1;
      } else if (is_dots(label) && (old == 1 || n == 1)) {
        size = old < 0 || old == 1 ? n : old;
      } else if (n >= 0 && old >= 0 && n != old) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "Dimensions must be equal, but are %lld and %lld",
                       (long long)old, (long long)n);
      }
      e->size[label] = size;
    }
  }
  return FY_OK;
}

fy_code fy_einsum_infer(fy_view text, const fy_pshape *in, int inputs, equation *e, bool *known,
                        fy_error *err) {
  int32_t dots[2] = {0, 0};
  fy_pshape shapes[2] = {{-1, NULL}, {-1, NULL}};
  parts p;
  *known = false;
  FY_TRY(divide(text, &p, err));
  if (inputs < 1 || inputs > 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected either 1 or 2 inputs but got: %d", inputs);
  }
  if (p.inputs != inputs) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected %d inputs for equation %.*s but got: %d",
                   p.inputs, (int)text.n, text.p, inputs);
  }
  for (int i = 0; i < inputs; i++) {
    const int32_t rank = in[i].rank;
    if (rank < 0) {
      if (p.ellipsis[i] && p.ellipsis[2]) return FY_OK;
      continue;  // the equation tells the rank
    }
    if (rank < p.letters[i] || (!p.ellipsis[i] && rank > p.letters[i])) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Shape must be %srank %d but is rank %d\n\t for %dth input and equation: %.*s",
                     p.ellipsis[i] ? "at least " : "", p.letters[i], rank, i, (int)text.n, text.p);
    }
    dots[i] = rank - p.letters[i];
    shapes[i] = in[i];
  }
  FY_TRY(read_terms(&p, inputs, dots, e, err));
  FY_TRY(infer_sizes(e, shapes, err));
  const int32_t most = dots[0] > dots[1] ? dots[0] : dots[1];
  if (most > 0 && !p.ellipsis[2]) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Shape must be at most rank 0 but is rank %d\n\t for einsum equation '%.*s' without "
        "ellipsis (...) in the output subscripts where input(s) have non-empty "
        "broadcasting shape",
        most, (int)text.n, text.p);
  }
  *known = true;
  return FY_OK;
}

// ---------------------------------------------------------------- tensors
// The shape that input |i| has in the product of matrices: "...", batch, and the products of the sizes
// that only it has and of those that are summed, in the order that needs no transposition.
static const char *product_text(const equation *e, const fy_pshape *in, int i, char text[128]) {
  int64_t dims[2 * FY_MAX_RANK + 2], free = 1, summed = 1;
  int32_t rank = 0, last = 0;
  bool swap = true;
  for (int32_t d = 0; d < e->in[i].rank; d++) {
    if (is_dots(e->in[i].label[d])) dims[rank++] = in[i].dims[d];
  }
  for (int32_t d = 0; d < e->in[0].rank; d++) {
    const int32_t label = e->in[0].label[d];
    const bool batch = fy_einsum_has(&e->in[1], label) && fy_einsum_has(&e->out, label);
    for (int32_t k = 0; k < e->in[i].rank && batch && !is_dots(label); k++) {
      if (e->in[i].label[k] != label) continue;
      dims[rank++] = in[i].dims[k];
      break;
    }
  }
  for (int32_t d = 0; d < e->in[i].rank; d++) {
    const int32_t label = e->in[i].label[d];
    const bool shared = fy_einsum_has(&e->in[1 - i], label), kept = fy_einsum_has(&e->out, label);
    const int32_t kind = is_dots(label) ? 0 : shared && kept ? 1 : shared ? 2 : kept ? 3 : 4;
    if (kind == 2) summed *= in[i].dims[d];
    if (kind == 3) free *= in[i].dims[d];
    swap &= kind >= last;
    last = kind;
  }
  dims[rank] = swap ? summed : free;
  dims[rank + 1] = swap ? free : summed;
  return fy_shape_text(rank + 2, dims, text);
}

static int64_t size_in(const term *t, const fy_pshape *in, int32_t label) {
  int32_t d = 0;
  while (t->label[d] != label) d++;
  return in->dims[d];
}

// Labels of both inputs: "..." and what is kept broadcast, and a sum over no element is 0.
static fy_code meet(equation *e, const fy_pshape *in, fy_error *err) {
  char x[128], y[128];
  for (int32_t d = 0; d < e->in[1].rank; d++) {
    const int32_t label = e->in[1].label[d];
    if (!fy_einsum_has(&e->in[0], label)) continue;
    const int64_t a = size_in(&e->in[0], &in[0], label), b = in[1].dims[d];
    if (!is_dots(label) && !fy_einsum_has(&e->out, label)) {
      if (a == 0) e->size[label] = 0;
      continue;
    }
    if (a != b && a != 1 && b != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid broadcasting dimensions: %s vs. %s",
                     product_text(e, in, 0, x), product_text(e, in, 1, y));
    }
    e->size[label] = a == 1 ? b : a;
  }
  return FY_OK;
}

static fy_code take_sizes(equation *e, const fy_pshape *in, fy_error *err) {
  char x[128];
  for (int i = 0; i < e->inputs; i++) {
    for (int32_t d = 0; d < e->in[i].rank; d++) {
      const int32_t label = e->in[i].label[d];
      const int64_t n = in[i].dims[d], old = e->size[label];
      const bool other = i > 0 && size_in(&e->in[i], &in[i], label) == n;
      if (n != old && old != FY_EINSUM_UNSEEN && !is_dots(label) && (old != 0 || !other)) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "Expected dimension %lld at axis %d of the input shaped %s but got "
                       "dimension %lld",
                       (long long)old, d, fy_shape_text(in[i].rank, in[i].dims, x), (long long)n);
      }
      e->size[label] = n;
    }
  }
  return e->inputs > 1 ? meet(e, in, err) : FY_OK;
}

fy_code fy_einsum_read(fy_view text, const fy_pshape *in, int inputs, equation *e, fy_error *err) {
  int32_t dots[2] = {0, 0};
  parts p;
  FY_TRY(divide(text, &p, err));
  if (p.inputs != inputs) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected %d inputs but got: %d", p.inputs, inputs);
  }
  for (int i = 0; i < inputs; i++) {
    dots[i] = in[i].rank - p.letters[i];
    if (dots[i] >= 0 && (p.ellipsis[i] || dots[i] == 0)) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected input %d to have rank %s%d but got: %d", i,
                   p.ellipsis[i] ? "at least " : "", p.letters[i], in[i].rank);
  }
  FY_TRY(read_terms(&p, inputs, dots, e, err));
  FY_TRY(take_sizes(e, in, err));
  const int32_t most = dots[0] > dots[1] ? dots[0] : dots[1];
  if (most > 0 && !p.ellipsis[2]) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Output contains %d broadcasting dimension(s) but no ellipsis (...) was found in "
        "the output subscripts.",
        most);
  }
  return FY_OK;
}
