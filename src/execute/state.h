// SPDX-License-Identifier: Apache-2.0
// state.h: what one run of a program owns. States are recycled: a second run of the same program
// allocates nothing but its results.

#ifndef FY_EXECUTE_STATE_H
#define FY_EXECUTE_STATE_H

#include "base/vtime.h"
#include "execute/program.h"

typedef struct fy_run_state {
  struct fy_run_state *next;
  fy_program *program;
  fy_tensor **slots;     // [num_values] the tensor of each value now, or NULL
  bool *owned;           // [num_values] slots[v] carries a reference of ours
  fy_tensor *planned;    // [num_values] headers of PLANNED values, and of feeds that are taken over
  fy_tensor **lent;      // [num_fresh] the memory of fetched results that begin as another value
  void **arenas;         // [num_spaces] base address
  fy_event *computed;    // [num_spaces] last kernel of each device; only with copies that make room
  fy_event *left;        // [num_spaces] last such copy to the host
  fy_event *events;      // [num_values] when the value is ready, only with devices
  unsigned shard;        // of the host's pool, for results
  bool told;             // a run of it has ended, and the registry knows
  struct fy_exec *main;  // working memory of the calling thread
  // several tasks only
  atomic_uint *pending;  // [num_tasks]
  atomic_uint
      *unread;      // [num_values] reads to come of what several tasks read and the last lets go
  uint32_t *reads;  // [num_values] the same before the run; 0: not one of those
  atomic_uint tasks_left;
  atomic_bool failed;
  atomic_bool replaced;  // a kernel brought its own tensor for a planned value
  bool finished;         // under |lock|
  fy_mutex lock;
  fy_cond done;
  fy_error error;   // first one
  fy_vtime waited;  // under |lock|: the latest that its threads waited for
  const fy_run *run;
} fy_run_state;

// A run that was handed to the devices and is not waited for yet.
struct fy_started {
  fy_program *program;
  fy_run run;
  uint32_t next;        // instruction
  fy_mutex lock;        // guards what follows, up to the list
  fy_run_state *state;  // NULL once it is settled
  fy_code code;
  fy_error error;
  bool listed;  // guarded by the list's lock (ahead.h), as are its neighbours
  fy_started *older, *newer;
  fy_tensor *results[];
};

// Working memory of one thread that executes instructions.
typedef struct fy_exec {
  fy_kernel_ctx ctx;
  fy_run_state *state;
  const fy_run *run;
  const fy_instr *instr;
  fy_tensor **in, **out;
  bool *out_owned;
  fy_event *after;
  void **extra;  // scratch blocks of this instruction that were not planned, from the host's pool
  size_t num_extra, cap_extra, extra_bytes;
  bool timed_out;
} fy_exec;

extern const fy_services fy_program_services;

FY_MUST_CHECK fy_code fy_state_acquire(fy_program *p, fy_run_state **out, fy_error *err);
// Programs that hold device memory know each other: to share constants, and to let go of what idle
// runs keep when somebody needs it.
void fy_peers_join(fy_program *p);
void fy_peers_leave(fy_program *p);
// The device copy that another program of these devices has of |host|, with a reference; or NULL.
fy_tensor *fy_peers_constant(fy_program *p, const fy_tensor *host, int space, uint32_t hint);
// Those of |p| leave the devices, if this run is the only one and has not begun.
void fy_peers_drop_constants(fy_program *p);
bool fy_peers_reclaim(fy_program *p);  // frees idle runs' memory; false: there was none
void fy_state_recycle(fy_run_state *s);
void fy_state_free(fy_run_state *s);
fy_exec *fy_exec_new(fy_run_state *s);
void fy_exec_free(fy_exec *e);
// Memory beyond the plan until the instruction ends.
FY_MUST_CHECK fy_code fy_exec_extra(fy_exec *e, size_t bytes, void **out, fy_error *err);
// The instruction asked for more than its plan: remembers that, for later plans.
void fy_exec_end_scratch(fy_exec *e);

// |*a| becomes the later of two events. Where no clock tells, the host waits for the first.
FY_MUST_CHECK fy_code fy_event_later(fy_event *a, const fy_event *b, fy_error *err);

static inline const fy_event *fy_run_ready_at(const fy_run_state *s, uint32_t value) {
  return &s->events[s->program->values[value].origin];
}
// Value |v| is where it was before the run, or nowhere.
static inline void fy_run_forget(fy_run_state *s, uint32_t v) {
  s->slots[v] =
      atomic_load_explicit(&s->planned[v].refs, memory_order_relaxed) ? &s->planned[v] : NULL;
}
// The run's reference to value |v| goes. A planned value whose kernel brought its own tensor goes back to
// its place in the arena.
static inline void fy_run_drop(fy_run_state *s, uint32_t v) {
  if (!s->owned[v]) return;
  s->owned[v] = false;
  fy_tensor_release(s->slots[v]);
  fy_run_forget(s, v);
}

// What a run is made of (run.c). Fills in feeds, which are of the right types, and the memory of results: fresh,
// or with |gives| that of feeds.
FY_MUST_CHECK fy_code fy_run_fill(fy_run_state *s, bool gives, fy_tensor *const *feeds,
                                  fy_error *err);
static inline void fy_run_prepare(fy_run_state *s, const fy_run *run) {
  s->run = s->main->run = run;
  s->main->timed_out = false;
}
// All that comes before the first instruction, making room where it is short.
FY_MUST_CHECK fy_code fy_run_begin(fy_program *p, const fy_run *run, fy_tensor *const *feeds,
                                   fy_run_state **out, fy_error *err);
// Hands out the results of a run whose instructions ended with |code|, and puts its state away.
fy_code fy_run_end(fy_run_state *s, fy_code code, fy_tensor **results, fy_error *err);
void fy_run_clean(fy_run_state *s, bool all);  // lets go of what the run still has

// Runs one instruction; on failure |err| names the node.
FY_MUST_CHECK fy_code fy_exec_instr(fy_exec *e, const fy_instr *ins, fy_error *err);
// Runs those from |begin| on, up to |end|, unless somebody asks to stop.
FY_MUST_CHECK fy_code fy_exec_range(fy_exec *e, uint32_t begin, uint32_t end, fy_error *err);
// Runs all instructions of a plain program.
FY_MUST_CHECK fy_code fy_exec_line(fy_exec *e, fy_error *err);
// Runs all tasks of the program.
FY_MUST_CHECK fy_code fy_run_tasks(fy_run_state *s, fy_error *err);
// What the user calls |n|: for a node that a pass made, the first it stands for.
const char *fy_run_user_name(const fy_node *n);
// |err|, of |code|, names the node of |ins|. Returns |code|.
fy_code fy_run_name_node(fy_code code, const fy_instr *ins, fy_error *err);

#endif
