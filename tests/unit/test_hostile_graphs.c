// SPDX-License-Identifier: Apache-2.0
// test_hostile_graphs.c: GraphDefs that are well-formed messages and lie about themselves: functions that
// call themselves, take or give other things than their callers say, loops that never end, shapes that
// promise more than there is. Each gives a status that names what is wrong, and a run with a timeout ends.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ferry/ferry.h>
#include <stdio.h>
#include <string.h>

#define FLOAT "attr { key: 'T' value { type: DT_FLOAT } }"
#define X     "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }"
#define TYPES(n)                               \
  "attr { key: 'Tin' value { list { type: [" n \
  "] } } }"                                    \
  "attr { key: 'Tout' value { list { type: [DT_FLOAT] } } }"
#define CALL(op, name, input, f, tin)                   \
  "node { name: '" name "' op: '" op "' input: '" input \
  "'" TYPES(tin) "attr { key: 'f' value { func { name: '" f "' } } } }"
#define ARG(n)     "input_arg { name: '" n "' type: DT_FLOAT }"
#define OUT        "output_arg { name: 'r' type: DT_FLOAT }"
#define NEG(input) "node_def { name: 'n' op: 'Neg' input: '" input "'" FLOAT " }"
#define INNER(f)                                                 \
  "node_def { name: 'c' op: 'PartitionedCall' input: 'a'" TYPES( \
      "DT_FLOAT") "attr { key: 'f' value { func { name: '" f "' } } } }"
#define FUNCTION(name, args, body, ret)                                                        \
  "function { signature { name: '" name "'" args OUT " } " body " ret { key: 'r' value: '" ret \
  "' } }"

typedef struct lie {
  const char *what, *text, *fetch;
  int code;          // 0: any
  const char *says;  // a part of the message
} lie;

static const lie lies[] = {
    {"a function that calls itself",
     X CALL("PartitionedCall", "y", "x", "F", "DT_FLOAT") "library {" FUNCTION(
         "F", ARG("a"), INNER("F"), "c:output:0") "}",
     "y", 3, "nested more than 1000 deep"},
    {"two functions that call each other",
     X CALL("PartitionedCall", "y", "x", "F", "DT_FLOAT") "library {" FUNCTION(
         "F", ARG("a"), INNER("G"), "c:output:0")
         FUNCTION("G", ARG("a"), INNER("F"), "c:output:0") "}",
     "y", 3, "nested more than 1000 deep"},
    {"a function used as an op that calls itself",
     X "node { name: 'y' op: 'F' input: 'x' } library {" FUNCTION(
         "F", ARG("a"), "node_def { name: 'c' op: 'F' input: 'a' }", "c:r:0") "}",
     "y", 0, NULL},
    {"a call of a function that is not there",
     X CALL("PartitionedCall", "y", "x", "Nobody", "DT_FLOAT"), "y", 0, "Nobody"},
    {"a call with an argument too few",
     X CALL("PartitionedCall", "y", "x", "F", "DT_FLOAT") "library {" FUNCTION(
         "F", ARG("a") ARG("b"), NEG("a"), "n:y:0") "}",
     "y", 3, NULL},
    {"a call with an argument too many",
     X CALL("PartitionedCall", "y", "x' input: 'x", "F", "DT_FLOAT, DT_FLOAT") "library {" FUNCTION(
         "F", ARG("a"), NEG("a"), "n:y:0") "}",
     "y", 3, NULL},
    {"a result that nobody computes",
     X CALL("PartitionedCall", "y", "x", "F", "DT_FLOAT") "library {" FUNCTION(
         "F", ARG("a"), NEG("a"), "gone:y:0") "}",
     "y", 3, "gone"},
    {"a result of an output that does not exist",
     X CALL("PartitionedCall", "y", "x", "F", "DT_FLOAT") "library {" FUNCTION(
         "F", ARG("a"), NEG("a"), "n:y:7") "}",
     "y", 0, NULL},
    {"a body that reads a node of its own that comes back to it",
     X CALL("PartitionedCall", "y", "x", "F", "DT_FLOAT") "library {" FUNCTION(
         "F", ARG("a"),
         "node_def { name: 'n' op: 'Neg' input: 'm:y:0'" FLOAT
         " } node_def { name: 'm' op: 'Neg' input: 'n:y:0'" FLOAT " }",
         "n:y:0") "}",
     "y", 3, NULL},
    {"a While whose body gives another type",
     X
     "node { name: 'w' op: 'While' input: 'x' attr { key: 'T' value { list { type: DT_FLOAT } } }"
     "attr { key: 'cond' value { func { name: 'Goes' } } } attr { key: 'body' value { func { name: "
     "'Step' } } } }"
     "library { function { signature { name: 'Goes'" ARG(
         "a") "output_arg { name: 'r' type: DT_BOOL } }"
              "node_def { name: 't' op: 'Const' attr { key: 'dtype' value { type: DT_BOOL } }"
              "attr { key: 'value' value { tensor { dtype: DT_BOOL tensor_shape {} bool_val: "
              "true } } } }"
              "ret { key: 'r' value: 't:output:0' } }"
              "function { signature { name: 'Step'" ARG(
                  "a") "output_arg { name: 'r' type: DT_INT32 } }"
                       "node_def { name: 'c' op: 'Cast' input: 'a' attr { key: 'SrcT' value { "
                       "type: DT_FLOAT } }"
                       "attr { key: 'DstT' value { type: DT_INT32 } } } ret { key: 'r' value: "
                       "'c:y:0' } } }",
     "w", 3, NULL},
    {"a graph that is a circle",
     "node { name: 'a' op: 'Neg' input: 'b'" FLOAT " } node { name: 'b' op: 'Neg' input: 'a'" FLOAT
     " }",
     "a", 3, NULL},
    {"an input that does not exist", X "node { name: 'y' op: 'Neg' input: 'x:3'" FLOAT " }", "y", 0,
     NULL},
    {"a constant of more elements than memory has",
     "node { name: 'y' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: "
     "'value'"
     "value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1099511627776 } } float_val: 1 } "
     "} } }",
     "y", 0, NULL},
    {"a constant whose shape overflows",
     "node { name: 'y' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: "
     "'value'"
     "value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 4611686018427387904 } dim { "
     "size: "
     "4 } } float_val: 1 } } } }",
     "y", 0, NULL},
    {"a constant of a negative size",
     "node { name: 'y' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: "
     "'value'"
     "value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: -5 } } float_val: 1 } } } }",
     "y", 3, NULL},
    {"a loop without an exit condition that is a boolean",
     X
     "node { name: 'e' op: 'Enter' input: 'x'" FLOAT "attr { key: 'frame_name' value { s: 'f' } } }"
     "node { name: 'm' op: 'Merge' input: 'e' input: 'n'" FLOAT "attr { key: 'N' value { i: 2 } } }"
     "node { name: 's' op: 'Switch' input: 'm' input: 'm'" FLOAT " }"
     "node { name: 'n' op: 'NextIteration' input: 's:1'" FLOAT " }"
     "node { name: 'y' op: 'Exit' input: 's'" FLOAT " }",
     "y", 3, NULL},
    {"a Merge of nothing",
     "node { name: 'y' op: 'Merge'" FLOAT "attr { key: 'N' value { i: 0 } } }", "y", 3, NULL},
    {"an Exit outside of a loop", X "node { name: 'y' op: 'Exit' input: 'x'" FLOAT " }", "y", 0,
     NULL},
};

static ferry_runtime *rt;

static int run(const char *text, const char *fetch, int64_t timeout_ms, ferry_error *err) {
  ferry_graph *g = NULL;
  ferry_session *s = NULL;
  ferry_tensor *x, *y = NULL;
  const float one = 1;
  const char *feed = "x";
  int code = ferry_graph_parse(rt, text, strlen(text), &g, err);
  if (code) return code;
  assert_int_equal(ferry_tensor_new(1, 0, NULL, &one, &x, NULL), 0);
  code = ferry_session_new(rt, g, &s, err);
  const int feeds = strstr(text, "'Placeholder'") != NULL;
  if (!code) code = ferry_run(s, feeds, &feed, &x, 1, &fetch, &y, timeout_ms, err);
  ferry_tensor_free(y);
  ferry_tensor_free(x);
  ferry_session_free(s);
  ferry_graph_free(g);
  return code;
}

static void each_says_what_is_wrong(void **state) {
  (void)state;
  static const char *const configs[] = {NULL, "optimize=off", "sim=gpu:1; place=tensorflow"};
  for (size_t c = 0; c < sizeof configs / sizeof *configs; c++) {
    assert_int_equal(ferry_open(configs[c], &rt, NULL), 0);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
      ferry_error err = {0};
      const int code = run(lies[i].text, lies[i].fetch, 20000, &err);
      if (!code) fail_msg("%s: no error", lies[i].what);
      if (lies[i].code && code != lies[i].code)
        fail_msg("%s: %s %s", lies[i].what, ferry_code_name(code), err.text);
      if (!err.text[0] || (lies[i].says && !strstr(err.text, lies[i].says)))
        fail_msg("%s says: %s", lies[i].what, err.text);
    }
    ferry_close(rt);
  }
}

// Loops that never end stop when their time is over.
static void endless_loops_end(void **state) {
  (void)state;
  static const char *const loops[] = {
      X "node { name: 'w' op: 'While' input: 'x' attr { key: 'T' value { list { type: DT_FLOAT } } }"
        "attr { key: 'cond' value { func { name: 'Goes' } } } attr { key: 'body' value { func { name: 'Step' } } } }"
        "library { function { signature { name: 'Goes'" ARG("a") "output_arg { name: 'r' type: DT_BOOL } }"
        "node_def { name: 't' op: 'Const' attr { key: 'dtype' value { type: DT_BOOL } }"
        "attr { key: 'value' value { tensor { dtype: DT_BOOL tensor_shape {} bool_val: true } } } }"
        "ret { key: 'r' value: 't:output:0' } }" FUNCTION("Step", ARG("a"), NEG("a"), "n:y:0") "}",
      X "node { name: 'p' op: 'Placeholder' attr { key: 'dtype' value { type: DT_BOOL } } }"
        "node { name: 'e' op: 'Enter' input: 'x'" FLOAT "attr { key: 'frame_name' value { s: 'f' } } }"
        "node { name: 'm' op: 'Merge' input: 'e' input: 'n'" FLOAT "attr { key: 'N' value { i: 2 } } }"
        "node { name: 'g' op: 'Const' input: '^m' attr { key: 'dtype' value { type: DT_BOOL } } attr { "
        "key: 'value' value { tensor { dtype: DT_BOOL tensor_shape {} bool_val: true } } } }"
        "node { name: 'l' op: 'LoopCond' input: 'g' }"
        "node { name: 's' op: 'Switch' input: 'm' input: 'l'" FLOAT " }"
        "node { name: 'k' op: 'Neg' input: 's:1'" FLOAT " }"
        "node { name: 'n' op: 'NextIteration' input: 'k'" FLOAT " }"
        "node { name: 'w' op: 'Exit' input: 's'" FLOAT " }"};
  assert_int_equal(ferry_open(NULL, &rt, NULL), 0);
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
    ferry_error err = {0};
    const int code = run(loops[i], "w", 200, &err);
    if (code != 4) fail_msg("loop %zu: %s %s", i, ferry_code_name(code), err.text);
  }
  ferry_close(rt);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_says_what_is_wrong),
                                     cmocka_unit_test(endless_loops_end)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
