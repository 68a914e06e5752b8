// SPDX-License-Identifier: Apache-2.0
// ready.h: the short way to the program of a run that was made before in the same words. A session keeps
// a few (request, shapes, program), each in a slot of one atomic pointer: a run takes the one that may be
// its own, compares, and puts it back when it ends. Whoever finds none, or another's, asks under the
// session's lock as ever (session.c), and leaves what it found for the next.
// Only programs that hold nothing of a device are kept here: others have owners of their own memory.
// Threads: all functions may be called from several threads.

#ifndef FY_EXECUTE_READY_H
#define FY_EXECUTE_READY_H

#include "execute/session_impl.h"

// What |a| asks for, with its shapes: taken out of |s|, or NULL. To be put back.
fy_ready *fy_ready_take(fy_session *s, const fy_run_args *a);
fy_program *fy_ready_program(const fy_ready *r);
void fy_ready_put(fy_session *s, fy_ready *r);
// Remembers that |a| of |sig| ran |p|, if there is room (of what was missed for a while).
void fy_ready_learn(fy_session *s, const fy_run_args *a, fy_signature *sig, fy_program *p);
// With the session's lock: forgets all; their signatures learn when each was used.
void fy_ready_forget(fy_session *s);

#endif
