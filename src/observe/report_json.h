// SPDX-License-Identifier: Apache-2.0
// report_json.h: pieces of the JSON report. Private to this folder.

#ifndef FY_OBSERVE_REPORT_JSON_H
#define FY_OBSERVE_REPORT_JSON_H

#include "observe/report.h"

void fy_json_text(fy_str *out, const char *key, const char *value);  // "key": "value"; NULL = null
void fy_json_node(fy_str *out, const fy_report_node *n);
void fy_json_transfer(fy_str *out, const fy_report_transfer *t);

#endif
