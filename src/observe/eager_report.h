// SPDX-License-Identifier: Apache-2.0
// eager_report.h: eager calls in words: where each kind of call runs and why, what it made move.

#ifndef FY_OBSERVE_EAGER_REPORT_H
#define FY_OBSERVE_EAGER_REPORT_H

#include "execute/eager.h"

void fy_eager_report_text(fy_str *out, const fy_eager_call *calls, size_t n);
void fy_eager_report_json(fy_str *out, const fy_eager_call *calls, size_t n);
// One call as a line of its own.
void fy_eager_report_line(fy_str *out, const fy_eager_call *call, bool json);

#endif
