// SPDX-License-Identifier: Apache-2.0
// ready.h: the short way to the program of a run that was made before in the same words. A session keeps
// a few (request, shapes, program, what a run of it owns), each in a slot: a run takes the slot that may be
// its own, compares, and frees it when it ends. Whoever finds it taken, or another's, asks under the
// session's lock as ever (session.c), and leaves what it found for the next.
// Only programs that hold nothing of a device are kept here: others have owners of their own memory.
// Threads: all functions may be called from several threads.

#ifndef FY_EXECUTE_READY_H
#define FY_EXECUTE_READY_H

#include "execute/session_impl.h"

// Runs |a|, which nothing keeps from running. False: it is not among these, and nothing was done. |*again|
// is set if it failed for a lost device, and may be done again.
bool fy_ready_run(fy_session *s, const fy_run_args *a, fy_tensor **results, fy_code *code,
                  bool *again, fy_error *err);
// Remembers that |a| of |sig| ran |p|, if there is room (of what was missed for a while).
void fy_ready_learn(fy_session *s, const fy_run_args *a, fy_signature *sig, fy_program *p);
// With the session's lock: forgets all; their signatures learn when each was used.
void fy_ready_forget(fy_session *s);

#endif
