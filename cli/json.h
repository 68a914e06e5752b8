// SPDX-License-Identifier: Apache-2.0
// json.h: read JSON into a tree. Small: for inputs of a model, not for data sets.

#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum json_kind {
  JSON_NULL,
  JSON_BOOL,
  JSON_NUMBER,
  JSON_STRING,
  JSON_ARRAY,
  JSON_OBJECT,
} json_kind;

typedef struct json_value {
  json_kind kind;
  bool is_integer;   // written without a point or exponent, and fits
  bool is_unsigned;  // then above INT64_MAX: |integer| holds the bits
  int64_t integer;
  double number;  // also of an integer
  char *text;     // of a string: |length| bytes
  size_t length;
  struct json_value *items;  // of an array or object
  char **keys;               // of an object
  size_t n;
} json_value;

// NULL and "line 3: expected ','" in |why| if it is not JSON. Python's NaN and Infinity are read too.
json_value *json_parse(const char *text, size_t n, char why[160]);
void json_free(json_value *v);
const json_value *json_get(const json_value *v, const char *key);  // NULL if absent or no object

#endif
