// SPDX-License-Identifier: Apache-2.0
// print.h: TensorFlow's number and string formats. Private to this folder.

#ifndef FY_TENSOR_PRINT_H
#define FY_TENSOR_PRINT_H

#include "base/str.h"

// Six digits if they read back as the same number, else nine (fifteen and seventeen for doubles).
void fy_print_float(fy_str *out, float f);
void fy_print_double(fy_str *out, double d);
// C escapes; bytes from 0x80 stay as they are if |keep_utf8|, else become octal.
void fy_print_escaped(fy_str *out, fy_view s, bool keep_utf8);

#endif
