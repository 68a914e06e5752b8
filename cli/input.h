// SPDX-License-Identifier: Apache-2.0
// input.h: inputs of a model as people have them: .npy, .npz, .csv, .txt, .json, .png, .jpg, values on
// the command line, standard input; turned into the type and shape that the signature wants.

#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "cli.h"

#define INPUT_MAX 256

typedef struct input_options {
  ferry_runtime *rt;
  double scale, offset;  // of pixels that become floats
  bool resize;
} input_options;

// What was given with --input: "NAME=SOURCE" or a file with values for several inputs.
typedef struct input_set {
  const char *given[INPUT_MAX];
  int num_given;
  // after input_read: one tensor per input of the signature that was given
  const char *names[INPUT_MAX];
  ferry_tensor *tensors[INPUT_MAX];
  int n;
} input_set;

// EXIT_OK, or says what was expected, what came, and what to do.
int input_read(input_set *set, const ferry_signature *s, const input_options *o);
void input_free(input_set *set);
bool input_scale(const char *text, input_options *o);  // "1/255", "0.5", "0..1", "-1..1"

// ---- input_values.c: values without a type yet
typedef struct input_cell {
  char *text;  // a string of |length| bytes, or NULL: a number
  size_t length;
  double number;
  int64_t integer;
  bool is_integer, is_unsigned;
} input_cell;

typedef struct input_values {
  input_cell *cells;
  int64_t count, cap;
  int rank;
  int64_t dims[16];
  bool settled;  // a value was seen: the rank stays
  bool failed;
} input_values;

void input_values_free(input_values *v);
void input_add(input_values *v, input_cell cell);  // takes cell.text
// Each fills |v|; false after saying what is wrong, with |from| as the place.
bool input_from_json(const char *from, const void *json, input_values *v);  // a json_value
bool input_from_table(const char *from, const char *text, size_t n, bool strings, input_values *v);
bool input_from_lines(const char *text, size_t n, input_values *v);
// A column of a table with a header.
bool input_has_column(const char *text, size_t n, const char *name);
bool input_from_column(const char *from, const char *text, size_t n, const char *name, bool strings,
                       input_values *v);
// A tensor of |want|'s type; NULL after saying why not.
ferry_tensor *input_typed(ferry_runtime *rt, const char *from, const input_values *v,
                          const ferry_model_value *want);

// ---- input_tensor.c: tensors made to fit
void input_describe(const ferry_model_value *v, char out[256]);  // "x (float[?,6])"
ferry_tensor *input_cast(ferry_runtime *rt, const char *from, ferry_tensor *t,
                         const ferry_model_value *want);  // takes |t|
ferry_tensor *input_fit(const char *from, ferry_tensor *t, const ferry_model_value *want);  // takes
ferry_tensor *input_join(const ferry_model_value *want, ferry_tensor **parts, int n);  // takes all
ferry_tensor *input_image(const char *from, const void *bytes, size_t n,
                          const ferry_model_value *want, const input_options *o);

#endif
