// SPDX-License-Identifier: Apache-2.0
// explain.h: answers for programs that cannot ask (option explain, FERRY_EXPLAIN): every program that a
// session compiles and every new kind of eager call is written to a file, or to stderr.

#ifndef FY_API_EXPLAIN_H
#define FY_API_EXPLAIN_H

#include "execute/eager.h"
#include "execute/session.h"

// Makes |s| say what its options ask for: placement to the log, explanations to the file. A file that
// cannot be written is an error now, not silence later.
FY_MUST_CHECK fy_code fy_api_watch(fy_session *s, fy_error *err);
// The same for eager contexts: what they tell, and whether there is somebody who could hear it.
void fy_api_explain_program(const fy_options *options, const fy_compiled *compiled);
void fy_api_explain_call(const fy_options *options, const fy_eager_call *call);
FY_MUST_CHECK fy_code fy_api_explain_check(const fy_options *options, fy_error *err);

#endif
