// SPDX-License-Identifier: Apache-2.0
// eager_report.c: a table of calls, then a line for each input that had to be brought to a call.

#include "observe/eager_report.h"

#include "observe/report_json.h"
#include "observe/table.h"

static void print_copy(fy_str *out, const fy_eager_call *call, const struct fy_eager_call_copy *c) {
  char bytes[32];
  fy_str_printf(out, "input %d of %s was copied from %s to %s: %lld time%s, %s", c->input,
                call->name, fy_devname_short(c->from), fy_devname_short(c->to), (long long)c->times,
                c->times == 1 ? "" : "s", fy_report_bytes((double)c->bytes, bytes));
}

void fy_eager_report_text(fy_str *out, const fy_eager_call *calls, size_t n) {
  size_t copies = 0;
  for (size_t i = 0; i < n; i++) copies += (size_t)calls[i].num_copies;
  fy_str_printf(out, "Eager calls: %zu kinds\n", n);
  if (n) {
    static const char *const heads[] = {"OP", "INPUTS", "DEVICE", "WHY"};
    fy_table t;
    fy_table_init(&t, 4, 0);
    for (int i = 0; i < 4; i++) fy_table_add(&t, heads[i]);
    for (size_t i = 0; i < n; i++) {
      fy_table_add(&t, calls[i].name);
      fy_table_add(&t, calls[i].types);
      fy_table_add(&t, fy_devname_short(calls[i].device));
      fy_table_add(&t, calls[i].reason);
    }
    fy_str_addc(out, '\n');
    fy_table_print(out, &t, 2, 0);
    fy_table_free(&t);
  }
  fy_str_printf(out, "\nCopies of inputs: %zu%s\n", copies, copies ? "\n" : "");
  for (size_t i = 0; i < n; i++) {
    for (int k = 0; k < calls[i].num_copies; k++) {
      fy_str_add(out, "  ");
      print_copy(out, &calls[i], &calls[i].copies[k]);
      fy_str_addc(out, '\n');
    }
  }
}

static void print_json(fy_str *out, const fy_eager_call *call) {
  fy_str_addc(out, '{');
  fy_json_text(out, "eager_op", call->name);
  fy_str_add(out, ", ");
  fy_json_text(out, "inputs", call->types);
  fy_str_add(out, ", ");
  fy_json_text(out, "device", fy_devname_short(call->device));
  fy_str_add(out, ", ");
  fy_json_text(out, "reason", call->reason);
  fy_str_add(out, ", \"copies\": [");
  for (int i = 0; i < call->num_copies; i++) {
    const struct fy_eager_call_copy *c = &call->copies[i];
    fy_str_printf(out, "%s{\"input\": %d, ", i ? ", " : "", c->input);
    fy_json_text(out, "from", fy_devname_short(c->from));
    fy_str_add(out, ", ");
    fy_json_text(out, "to", fy_devname_short(c->to));
    fy_str_printf(out, ", \"times\": %lld, \"bytes\": %lld}", (long long)c->times,
                  (long long)c->bytes);
  }
  fy_str_add(out, "]}");
}

void fy_eager_report_json(fy_str *out, const fy_eager_call *calls, size_t n) {
  fy_str_add(out, "{\"eager_calls\": [");
  for (size_t i = 0; i < n; i++) {
    fy_str_add(out, i ? ",\n  " : "\n  ");
    print_json(out, &calls[i]);
  }
  fy_str_add(out, n ? "\n]}\n" : "]}\n");
}

void fy_eager_report_line(fy_str *out, const fy_eager_call *call, bool json) {
  if (json) {
    print_json(out, call);
  } else if (!call->num_copies) {
    fy_str_printf(out, "eager %s(%s) runs on %s: %s", call->name, call->types,
                  fy_devname_short(call->device), call->reason);
  } else {
    fy_str_add(out, "eager: ");
    print_copy(out, call, &call->copies[call->num_copies - 1]);
  }
  fy_str_addc(out, '\n');
}
