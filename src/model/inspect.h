// SPDX-License-Identifier: Apache-2.0
// inspect.h: look into models without loading them: a report, a conversion, a comparison.

#ifndef FY_MODEL_INSPECT_H
#define FY_MODEL_INSPECT_H

#include "devices/devices.h"
#include "model/model_file.h"

// Appends a report on |f| as text or JSON. |devices|: which of them could run it.
FY_MUST_CHECK fy_code fy_model_inspect(const fy_model_file *f, const fy_device_set *devices,
                                       bool json, fy_str *out, fy_error *err);

// Writes what |from| names as |to|, see ferry_convert.
FY_MUST_CHECK fy_code fy_model_convert(const char *from, const char *to, fy_error *err);

// Appends what differs between |a| and |b|; |*same| if nothing does.
FY_MUST_CHECK fy_code fy_model_diff(const fy_model_file *a, const fy_model_file *b,
                                    double tolerance, bool json, bool *same, fy_str *out,
                                    fy_error *err);

#endif
