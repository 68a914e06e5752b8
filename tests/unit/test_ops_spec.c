// SPDX-License-Identifier: Apache-2.0
// test_ops_spec.c: the op table, the registry, and texts that TensorFlow 2.21 printed.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "ops/spec_proto.h"
#include "ops/op.h"
#include "ops/spec_parse.h"
#include "wire/attr_proto.h"

static const fy_op *find(const char *name) {
  const fy_op *op = fy_op_find(name, strlen(name));
  assert_non_null(op);
  assert_string_equal(op->spec->name, name);
  return op;
}

// Ops of TensorFlow's Python modules are listed, and found if they run here.
static bool is_found(const fy_op *op) {
  const bool absent = op->spec->flags & FY_SPEC_PYTHON && !op->impl;
  return fy_op_find(op->spec->name, strlen(op->spec->name)) == (absent ? NULL : op);
}

static void expect_print(const char *name, const char *text) {
  fy_str s;
  fy_str_init(&s);
  fy_spec_print(&s, find(name)->spec);
  assert_string_equal(fy_str_text(&s), text);
  fy_str_free(&s);
}

// TensorFlow printed every one of its ops; this is FNV-1a over the lines, in the order of names.
static void all_ops_print_as_tensorflow(void **state) {
  (void)state;
  uint64_t hash = 0xcbf29ce484222325ull;
  size_t printed = 0;
  for (size_t i = 0; i < fy_op_count(); i++) {
    const fy_op *op = fy_op_at(i);
    assert_non_null(op);
    assert_true(is_found(op));
    if (strncmp(op->spec->name, "_CopyFrom", 9) == 0) continue;  // only with a GPU
    if (strncmp(op->spec->name, "_Ferry", 6) == 0) continue;     // our own
    fy_str s;
    fy_str_init(&s);
    fy_spec_print(&s, op->spec);
    fy_str_add(&s, "\n");
    for (size_t k = 0; k < s.len; k++) hash = (hash ^ (unsigned char)s.p[k]) * 0x100000001b3ull;
    fy_str_free(&s);
    printed++;
  }
  assert_int_equal(printed, 1908);
  assert_true(hash == 0x9985e397ede1d7ecull);
}

static void samples(void **state) {
  (void)state;
  expect_print(
      "Relu",
      "Op<name=Relu; signature=features:T -> activations:T; attr=T:type,allowed=[DT_FLOAT, "
      "DT_DOUBLE, DT_INT32, DT_UINT8, DT_INT16, DT_INT8, DT_INT64, DT_BFLOAT16, DT_UINT16, "
      "DT_HALF, DT_UINT32, DT_UINT64, DT_QINT8]>");
  expect_print("IdentityN",
               "Op<name=IdentityN; signature=input: -> output:; attr=T:list(type),min=1>");
  expect_print("Assign",
               "Op<name=Assign; signature=ref:Ref(T), value:T -> output_ref:Ref(T); attr=T:type; "
               "attr=validate_shape:bool,default=true; attr=use_locking:bool,default=true; "
               "allows_uninitialized_input=true>");
  const fy_op_spec *fft = find("BatchFFT")->spec;
  assert_int_equal(fft->deprecated_version, 15);
  assert_string_equal(fft->deprecated_text, "Use FFT");
  const fy_op_spec *image = find("ImageSummary")->spec;
  const fy_attr_spec *color = fy_spec_attr(image, "bad_color");
  assert_non_null(color);
  assert_int_equal(color->default_value.kind, FY_ATTR_TENSOR);
  assert_int_equal(color->default_value.v.tensor->count, 4);
  assert_int_equal(((uint8_t *)color->default_value.v.tensor->data)[3], 255);
  const fy_attr_spec *epsilon = fy_spec_attr(find("FusedBatchNormV3")->spec, "epsilon");
  assert_true(epsilon->default_value.v.f == 1e-4f);
  assert_true(fy_spec_attr(find("LeakyRelu")->spec, "alpha")->default_value.v.f == 0.2f);
  assert_true(find("Relu")->spec->flags & FY_SPEC_HAS_GRADIENT);
  assert_true(strstr(find("MatMul")->spec->cpu_kernels, "T=float;") != NULL);
  assert_null(fy_op_find("NoSuchOp", 8));
  assert_null(fy_op_find("Reluu", 5));
  assert_null(fy_op_find("", 0));
  assert_string_equal(fy_op_nearest("MatMull"), "MatMul");
}

static void list_is_sorted(void **state) {
  (void)state;
  for (size_t i = 0; i < fy_op_impl_count; i++) {
    if (i) assert_true(strcmp(fy_op_impls[i - 1]->name, fy_op_impls[i]->name) < 0);
    assert_ptr_equal(find(fy_op_impls[i]->name)->impl, fy_op_impls[i]);
  }
}

typedef struct attr_case {
  const char *op;
  const char *name;
  fy_attr value;
  const char *text;  // what the message starts with
} attr_case;

static fy_dtype bad_types[] = {FY_FLOAT, FY_INVALID};
static int64_t one[] = {1};

static void attr_texts(void **state) {
  (void)state;
  const attr_case cases[] = {
      {"Relu", "T", fy_attr_type(FY_STRING),
       "Value for attr 'T' of string is not in the list of allowed values: float, double, int32, "
       "uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8\n\t; NodeDef: "
       "{{node x}}; Op<name=Relu; signature=features:T -> "},
      {"Relu", "T", fy_attr_type((fy_dtype)101),
       "AttrValue must not have reference type value of float_ref\n\t for attr 'T'\n\t; NodeDef: "
       "{{node x}}; Op<name=Relu;"},
      {"Relu", "T", fy_attr_type(FY_INVALID),
       "AttrValue has invalid DataType\n\t for attr 'T'\n\t; "},
      {"Relu", "T", fy_attr_type((fy_dtype)77),
       "AttrValue has invalid DataType enum: 77\n\t for attr 'T'\n\t; "},
      {"Relu", "T", fy_attr_int(3),
       "AttrValue had value with type 'int' when 'type' expected\n\t for attr 'T'\n\t; "},
      {"Relu",
       "T",
       {.kind = FY_ATTR_NONE},
       "AttrValue missing value with expected type 'type'\n\t for attr 'T'\n\t; "},
      {"Relu",
       "T",
       {.kind = FY_ATTR_TYPE, .is_list = true, .n = 1, .v.types = bad_types},
       "AttrValue had value with type 'list(type)' when 'type' expected\n\t for attr 'T'\n\t; "},
      {"Relu", "zzz", fy_attr_int(3),
       "NodeDef missing attr 'T' from Op<name=Relu; signature=features:T -> activations:T; "},
      {"Cast", "Truncate", fy_attr_bool(false),
       "NodeDef missing attrs 'DstT', 'SrcT' from Op<name=Cast; signature=x:SrcT -> y:DstT; "
       "attr=SrcT:type; attr=DstT:type; attr=Truncate:bool,default=false>; NodeDef: {{node x}}"},
      {"AddN", "N", fy_attr_int(0), "Value for attr 'N' of 0 must be at least minimum 1\n\t; "},
      {"MaxPool",
       "ksize",
       {.kind = FY_ATTR_INT, .is_list = true, .n = 1, .v.ints = one},
       "Length for attr 'ksize' of 1 must be at least minimum 4\n\t; NodeDef: "},
      {"MaxPool", "padding", fy_attr_string(FY_VIEW("X")),
       "Value for attr 'padding' of \"X\" is not in the list of allowed values: \"SAME\", "
       "\"VALID\", "
       "\"EXPLICIT\"\n\t; NodeDef: "},
      {"IdentityN",
       "T",
       {.kind = FY_ATTR_TYPE, .is_list = true, .n = 2, .v.types = bad_types},
       "AttrValue contains invalid DataType\n\t for attr 'T'\n\t; NodeDef: "},
      {"LeakyRelu", "alpha", fy_attr_int(1),
       "AttrValue had value with type 'int' when 'float' expected\n\t for attr 'alpha'\n\t; "},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    fy_arena arena;
    fy_error err;
    fy_attrs attrs = {0};
    fy_arena_init(&arena);
    fy_error_init(&err);
    assert_int_equal(fy_attrs_set(&attrs, &arena, cases[i].name, &cases[i].value, NULL), FY_OK);
    fy_code code = fy_spec_check_attrs(find(cases[i].op)->spec, &attrs, "x", &err);
    assert_int_equal(code, FY_INVALID_ARGUMENT);
    char start[600];
    snprintf(start, sizeof start, "%.*s", (int)strlen(cases[i].text), fy_error_text(&err));
    assert_string_equal(start, cases[i].text);
    fy_error_clear(&err);
    fy_arena_free(&arena);
  }
}

static void argument_types(void **state) {
  (void)state;
  fy_arena arena;
  fy_attrs attrs = {0};
  fy_arena_init(&arena);
  fy_attr n = fy_attr_int(3), t = fy_attr_type(FY_HALF), axis = fy_attr_type(FY_INT32);
  assert_int_equal(fy_attrs_set(&attrs, &arena, "N", &n, NULL), FY_OK);
  assert_int_equal(fy_attrs_set(&attrs, &arena, "T", &t, NULL), FY_OK);
  assert_int_equal(fy_attrs_set(&attrs, &arena, "Tidx", &axis, NULL), FY_OK);
  const fy_op_spec *concat = find("ConcatV2")->spec;
  fy_dtype *types;
  int count, begin, end;
  assert_int_equal(fy_spec_arg_types(concat, false, &attrs, &arena, &types, &count, NULL), FY_OK);
  assert_int_equal(count, 4);
  assert_int_equal(types[2], FY_HALF);
  assert_int_equal(types[3], FY_INT32);
  assert_int_equal(fy_spec_arg_range(concat, false, 1, &attrs, &begin, &end, NULL), FY_OK);
  assert_int_equal(begin, 3);
  assert_int_equal(end, 4);
  const fy_op_spec *assign = find("Assign")->spec;
  assert_int_equal(fy_spec_add_defaults(assign, &attrs, &arena, NULL), FY_OK);
  assert_true(fy_attrs_get(&attrs, "use_locking")->v.b);
  assert_int_equal(fy_spec_arg_types(assign, true, &attrs, &arena, &types, &count, NULL), FY_OK);
  assert_int_equal(types[0], FY_HALF + FY_REF_BIT);
  fy_attr bad = fy_attr_int(-1);
  assert_int_equal(fy_attrs_set(&attrs, &arena, "N", &bad, NULL), FY_OK);
  assert_int_equal(fy_spec_arg_types(concat, false, &attrs, &arena, &types, &count, NULL),
                   FY_INVALID_ARGUMENT);
  bad = fy_attr_int(1ll << 31);
  assert_int_equal(fy_attrs_set(&attrs, &arena, "N", &bad, NULL), FY_OK);
  assert_int_equal(fy_spec_arg_types(concat, false, &attrs, &arena, &types, &count, NULL),
                   FY_INVALID_ARGUMENT);
  fy_arena_free(&arena);
}

static fy_code parse(const char *name, const char *attr, const char *input, fy_arena *arena,
                     fy_op_spec **out, fy_error *err) {
  const char *attrs[] = {"N: int", "M: type", "L: list(type)", "F: float", attr};
  fy_spec_text text = {.name = name,
                       .attrs = attrs,
                       .num_attrs = 4 + (attr != NULL),
                       .inputs = &input,
                       .num_inputs = input != NULL};
  return fy_spec_parse(&text, arena, out, err);
}

// What the real builder said to each of these.
static void builder_complaints(void **state) {
  (void)state;
  static const struct {
    const char *attr, *input, *text;
  } cases[] = {
      {"T", NULL, "Trouble parsing '<name>:' from Attr(\"T\") for Op X"},
      {"T:", NULL, "Trouble parsing type string at '' from Attr(\"T:\") for Op X"},
      {"T: {foo}", NULL, "Unrecognized type string 'foo' from Attr(\"T: {foo}\") for Op X"},
      {"T: {float;", NULL,
       "Expected , or } after types in list, not: ';' from Attr(\"T: {float;\") for Op X"},
      {"T: list(int", NULL,
       "Expected ) to close 'list(', not: '' from Attr(\"T: list(int\") for Op X"},
      {"T: int >= x", NULL,
       "Could not parse integer lower limit after '>=', found ' x' instead from Attr(\"T: int >= "
       "x\") for Op X"},
      {"T: int = x", NULL, "Could not parse default value 'x' from Attr(\"T: int = x\") for Op X"},
      {"T: int zz", NULL, "Extra 'zz' unparsed at the end from Attr(\"T: int zz\") for Op X"},
      {"T: {\"a\", b}", NULL,
       "Trouble parsing allowed string at 'b}' from Attr(\"T: {\"a\", b}\") for Op X"},
      {"T: {'a' 'b'}", NULL,
       "Expected , or } after strings in list, not: ''b'}' from Attr(\"T: {'a' 'b'}\") for Op X"},
      {"T: list(int) = 3", NULL,
       "Could not parse default value '3' from Attr(\"T: list(int) = 3\") for Op X"},
      {"T: type = float", NULL,
       "Could not parse default value 'float' from Attr(\"T: type = float\") for Op X"},
      {"T: string = \"a\" \"b\"", NULL, NULL},
      {"T: any", NULL, "Trouble parsing type string at '' from Attr(\"T: any\") for Op X"},
      {"T: type >= 1", NULL,
       "Extra '>= 1' unparsed at the end from Attr(\"T: type >= 1\") for Op X"},
      {"T: {'a\\q'}", NULL,
       "Trouble unescaping \"a\\q\", got error: Unknown escape sequence: \\q from Attr(\"T: "
       "{'a\\q'}\") for Op X"},
      {"T: {float,int32} = DT_STRING", NULL,
       "Value for attr 'T' of string is not in the list of allowed values: float, int32\n\t in Op "
       "'X'"},
      {"T: int >= 3 = 1", NULL, "Value for attr 'T' of 1 must be at least minimum 3\n\t in Op 'X'"},
      {NULL, "x", "Trouble parsing 'name:' from Input(\"x\") for Op X"},
      {NULL, "X: float", "Trouble parsing 'name:' from Input(\"X: float\") for Op X"},
      {NULL, "x: T2", "Reference to unknown attr 'T2' from Input(\"x: T2\") for Op X"},
      {NULL, "x: Ref(float",
       "Did not find closing ')' for 'Ref(', instead found: '' from Input(\"x: Ref(float\") for Op "
       "X"},
      {NULL, "x: N*",
       "Reference to attr 'N' with type int that isn't type or list(type) from Input(\"x: N*\") "
       "for "
       "Op X"},
      {NULL, "x: float zz", "Extra 'zz' unparsed at the end from Input(\"x: float zz\") for Op X"},
      {NULL, "x: 1",
       "Trouble parsing either a type or an attr name at '1' from Input(\"x: 1\") for Op X"},
      {NULL, "x:O*float",
       "No attr with name 'O' for input 'x'; in OpDef: goo.gle/debug name: \"X\" "},
      {NULL, "x: N * L",
       "Can't have both number_attr and type_list_attr for input 'x'; in OpDef: goo.gle/debug "
       "name: \"X\" "},
      {"N: int", NULL, "Duplicate name: N; in OpDef: goo.gle/debug name: \"X\" "},
      {"T", "x",
       "Trouble parsing '<name>:' from Attr(\"T\") for Op X\nTrouble parsing 'name:' from "
       "Input(\"x\") for Op X"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    fy_arena arena;
    fy_error err;
    fy_op_spec *spec;
    fy_arena_init(&arena);
    fy_error_init(&err);
    fy_code code = parse("X", cases[i].attr, cases[i].input, &arena, &spec, &err);
    if (cases[i].text) {
      assert_int_equal(code, FY_INVALID_ARGUMENT);
      if (strstr(cases[i].text, "in OpDef: ")) {  // what follows is the whole OpDef
        assert_memory_equal(fy_error_text(&err), cases[i].text, strlen(cases[i].text));
      } else {
        assert_string_equal(fy_error_text(&err), cases[i].text);
      }
      assert_null(spec);
    }
    fy_error_clear(&err);
    fy_arena_free(&arena);
  }
}

static void builder_forms(void **state) {
  (void)state;
  static const char *const attrs[] = {
      "T: {float, int32} = DT_FLOAT",
      "N: int",
      "s: {'a','b'} = 'a'",
      "x: list(type)",
      "f: float = 1.5",
      "l: list(int)=[1,2]",
      "sh: shape = {dim{size:2}}",
      "n: quantizedtype",
      "e: list(string) = [ ]",
      "q:{ half , float , }",
      "m : int >= -1",
      "u: shape = { unknown_rank: true }",
      "rl:list(realnumbertype)>= 2",
  };
  static const char *const inputs[] = {"a: N * T", "b: Ref(T)", "c: x", "d: N*string"};
  static const char *const outputs[] = {"o:T", "r : resource"};
  fy_spec_text text = {.name = "Fx",
                       .attrs = attrs,
                       .inputs = inputs,
                       .outputs = outputs,
                       .num_attrs = 13,
                       .num_inputs = 4,
                       .num_outputs = 2};
  fy_arena arena;
  fy_error err;
  fy_op_spec *spec;
  fy_arena_init(&arena);
  fy_error_init(&err);
  fy_code code = fy_spec_parse(&text, &arena, &spec, &err);
  assert_string_equal(fy_error_text(&err), "");
  assert_int_equal(code, FY_OK);
  fy_str s;
  fy_str_init(&s);
  fy_spec_print(&s, spec);
  assert_string_equal(
      fy_str_text(&s),
      "Op<name=Fx; signature=a:N*T, b:Ref(T), c:, d:N*string -> o:T, r:resource; "
      "attr=T:type,default=DT_FLOAT,allowed=[DT_FLOAT, DT_INT32]; attr=N:int,min=1; "
      "attr=s:string,default=\"a\",allowed=[\"a\", \"b\"]; attr=x:list(type),min=1; "
      "attr=f:float,default=1.5; attr=l:list(int),default=[1, 2]; attr=sh:shape,default=[2]; "
      "attr=n:type,allowed=[DT_QINT8, DT_QUINT8, DT_QINT32, DT_QINT16, DT_QUINT16]; "
      "attr=e:list(string),default=[]; attr=q:type,allowed=[DT_HALF, DT_FLOAT]; attr=m:int,min=-1; "
      "attr=u:shape,default=<unknown>; attr=rl:list(type),min=2,allowed=[DT_FLOAT, DT_DOUBLE, "
      "DT_INT32, DT_UINT8, DT_INT16, DT_INT8, DT_INT64, DT_BFLOAT16, DT_UINT16, DT_HALF, "
      "DT_UINT32, "
      "DT_UINT64]; is_stateful=true>");
  fy_str_free(&s);
  fy_arena_free(&arena);
}

// A spec survives its way through OpDef.
static void opdef_round_trip(void **state) {
  (void)state;
  for (size_t i = 0; i < fy_op_count(); i++) {
    fy_arena arena;
    fy_arena_init(&arena);
    Tensorflow__OpDef *def;
    fy_op_spec *back;
    const fy_op_spec *spec = fy_op_at(i)->spec;
    assert_int_equal(fy_spec_to_opdef(spec, &arena, &def, NULL), FY_OK);
    assert_int_equal(fy_spec_from_opdef(def, &arena, &back, NULL), FY_OK);
    assert_true(fy_spec_equal(spec, back));
    if (spec->name[0] != '_') assert_int_equal(fy_spec_validate(back, true, NULL), FY_OK);
    fy_arena_free(&arena);
  }
}

static void custom_ops(void **state) {
  (void)state;
  fy_arena arena;
  fy_error err;
  fy_op_spec *spec, *other;
  const fy_op *op, *again;
  fy_arena_init(&arena);
  fy_error_init(&err);
  size_t before = fy_op_count();
  assert_int_equal(parse("MyTestOp", "T: type", "x: T", &arena, &spec, &err), FY_OK);
  assert_int_equal(parse("MyTestOp", "T: type", "y: T", &arena, &other, &err), FY_OK);
  assert_int_equal(fy_op_register(spec, NULL, &op, &err), FY_OK);
  assert_int_equal(fy_op_register(spec, NULL, &again, &err), FY_OK);
  assert_ptr_equal(op, again);
  assert_true(op->spec->flags & FY_SPEC_CUSTOM);
  assert_int_equal(fy_op_register(other, NULL, &again, &err), FY_ALREADY_EXISTS);
  assert_string_equal(fy_error_text(&err), "Op with name MyTestOp");
  assert_int_equal(parse("AAA", NULL, NULL, &arena, &other, &err), FY_OK);
  assert_int_equal(fy_op_register(other, NULL, &again, &err), FY_OK);
  fy_error_clear(&err);
  fy_arena_free(&arena);  // the registry has its own copy
  assert_ptr_equal(find("MyTestOp"), op);
  assert_int_equal(fy_op_count(), before + 2);
  assert_string_equal(fy_op_at(1)->spec->name, "AAA");
  for (size_t i = 1; i < fy_op_count(); i++) {
    assert_true(strcmp(fy_op_at(i - 1)->spec->name, fy_op_at(i)->spec->name) < 0);
  }
  assert_null(fy_op_at(fy_op_count()));
  assert_int_equal(again->id, op->id + 1);
}

// Every allocation of a parse fails once: an error, no crash, no leak.
static void short_of_memory(void **state) {
  (void)state;
  for (int64_t nth = 1; nth < 500; nth++) {
    fy_arena arena;
    fy_op_spec *spec = NULL;
    fy_arena_init(&arena);
    fy_fault_arm(FY_FAULT_ALLOC, nth, true);
    fy_code code = parse("MyTestOp2", "T: list(int) = [1, 2]", "x: M", &arena, &spec, NULL);
    const fy_op *op = NULL;
    if (!code) code = fy_op_register(spec, NULL, &op, NULL);
    bool reached = fy_fault_hits(FY_FAULT_ALLOC) >= nth;
    fy_fault_disarm(FY_FAULT_ALLOC);
    fy_arena_free(&arena);
    assert_true(reached || code == FY_OK);
    if (!reached) return;
  }
  fail();
}

static const fy_op_impl fake = {.name = "MatMul", .dtypes = FY_T(FY_FLOAT) | FY_T(FY_DOUBLE)};

static void kernels(void **state) {
  (void)state;
  fy_arena arena;
  fy_error why;
  fy_attrs attrs = {0};
  fy_arena_init(&arena);
  fy_error_init(&why);
  fy_op op = *find("MatMul");
  op.impl = NULL;
  fy_attr t = fy_attr_type(FY_UINT16);
  assert_int_equal(fy_attrs_set(&attrs, &arena, "T", &t, NULL), FY_OK);
  assert_false(fy_op_has_kernel(&op, &attrs, "CPU", &why));
  assert_string_equal(fy_error_text(&why), "no kernel for op MatMul");
  fy_str s;
  fy_str_init(&s);
  fy_op_print_kernels(&s, &op);
  assert_string_equal(fy_str_text(&s), "  <no registered kernels>\n");
  fy_str_free(&s);
  op.impl = &fake;
  assert_false(fy_op_has_kernel(&op, &attrs, "CPU", &why));
  assert_string_equal(fy_error_text(&why),
                      "T=uint16 not in [int64, int32, int16, double, float, bfloat16, half, "
                      "complex128, complex64]");
  attrs.items[0].value = fy_attr_type(FY_HALF);
  assert_false(fy_op_has_kernel(&op, &attrs, "CPU", &why));
  assert_string_equal(fy_error_text(&why), "T=half not in [float, double]");
  attrs.items[0].value = fy_attr_type(FY_FLOAT);
  assert_true(fy_op_has_kernel(&op, &attrs, "CPU", NULL));
  assert_true(fy_op_has_kernel(&op, &attrs, "GPU", NULL));
  attrs.items[0].value = fy_attr_type(FY_STRING);
  assert_false(fy_op_has_kernel(&op, &attrs, "GPU", &why));
  fy_op_print_kernels(&s, &op);
  assert_string_equal(fy_str_text(&s),
                      "  device='CPU'; T in [DT_DOUBLE]\n  device='CPU'; T in [DT_FLOAT]\n");
  fy_str_free(&s);
  fy_error_clear(&why);
  fy_arena_free(&arena);
}

static void *find_all(void *arg) {
  size_t start = (size_t)(uintptr_t)arg, n = fy_op_count(), found = 0;
  for (size_t i = 0; i < n; i++) {
    const fy_op *op = fy_op_at((i * 7 + start) % n);
    found += op && is_found(op);
  }
  return (void *)(uintptr_t)(found == n);
}

static void four_threads_find_everything(void **state) {
  (void)state;
  fy_thread threads[4];
  for (size_t i = 0; i < 4; i++) {
    assert_true(fy_thread_start(&threads[i], find_all, (void *)(uintptr_t)(i * 477), "find"));
  }
  for (size_t i = 0; i < 4; i++) {
    void *ok = NULL;
    pthread_join(threads[i], &ok);
    assert_non_null(ok);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(four_threads_find_everything),  // first: nothing is parsed yet
      cmocka_unit_test(all_ops_print_as_tensorflow),
      cmocka_unit_test(samples),
      cmocka_unit_test(list_is_sorted),
      cmocka_unit_test(attr_texts),
      cmocka_unit_test(argument_types),
      cmocka_unit_test(builder_complaints),
      cmocka_unit_test(builder_forms),
      cmocka_unit_test(opdef_round_trip),
      cmocka_unit_test(custom_ops),
      cmocka_unit_test(short_of_memory),
      cmocka_unit_test(kernels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
