# table.awk: sorted lines "library name value" -> a Markdown table of medians.
# Ratio is TensorFlow / Ferry (how many times faster or smaller); "of limit" is Ferry / limit.
# The machine's own values are limits: there the best of all rounds counts, not the median.
function flush_group() {
  if (count > 0) {
    median[group] = count % 2 ? value[(count + 1) / 2] : (value[count / 2] + value[count / 2 + 1]) / 2;
    if (group ~ /^machine /) median[group] = group ~ /_per_s$/ ? value[count] : value[1];
  }
  count = 0;
}
{
  if ($1 " " $2 != group) { flush_group(); group = $1 " " $2; }
  value[++count] = $3;
  if ($2 ~ /^check:/) checks[$2] = 1;
}
# Three significant digits, with a unit a person would choose.
function digits(x) { return x >= 99.95 ? sprintf("%.0f", x) : x >= 9.995 ? sprintf("%.1f", x) : sprintf("%.2f", x); }
function show(x, kind) {
  if (x == "") return "–";
  if (kind == "bytes") return digits(x / 1e6) " MB";
  if (kind == "ns/el") return (x < 1 ? sprintf("%.3f", x) : digits(x)) " ns";
  return x < 1e3 ? digits(x) " ns" : x < 1e6 ? digits(x / 1e3) " us" : x < 1e9 ? digits(x / 1e6) " ms" : digits(x / 1e9) " s";
}
# target "15x": at least 15 times TensorFlow; "20e6": Ferry's own value at most that.
function row(name, title, kind, target,    f, t, l, ratio, distance, verdict, goal) {
  f = median["ferry " name]; t = median["tf " name]; l = median["machine limit:" name];
  if (f == "" && t == "") return;
  ratio = (f != "" && t != "" && f > 0) ? t / f : "";
  distance = (f != "" && l != "" && l > 0) ? digits(f / l) "x" : "–";
  goal = target; verdict = "";
  if (target ~ /x$/) { if (ratio != "") verdict = ratio >= target + 0 ? " ✓" : " ✗"; goal = "≥ " target; }
  else if (target != "") { if (f != "") verdict = f <= target + 0 ? " ✓" : " ✗"; goal = "≤ " show(target + 0, kind); }
  printf "| %s | %s | %s | %s | %s%s | %s | %s |\n", title, show(f, kind), show(t, kind),
    (ratio == "" ? "–" : digits(ratio) "x"), (goal == "" ? "–" : goal), verdict, show(l, kind),
    distance;
}
END {
  flush_group();
  print "| benchmark | Ferry | TensorFlow | ratio | target | physical limit | Ferry / limit |";
  print "|---|---|---|---|---|---|---|";
  row("eager_add", "eager scalar add", "ns", "15x");
  row("session_one_op", "`TF_SessionRun` of one op", "ns", "30x");
  row("chain_node", "chain of 10,000 scalar ops, per node", "ns", "12x");
  row("chain_first_result", "the same chain, empty graph to first result", "ns", "50x");
  row("load_first_result", "process start to first result", "ns", "20e6");
  row("load_resident_bytes", "resident memory after it", "bytes", "20e6");
  row("library_bytes", "library size (Ferry stripped)", "bytes", "6e6");
  row("elementwise", "ten element-wise ops on 1,000,000 floats, per element", "ns/el", "4x");
  for (n = 32; n <= 1024; n *= 2) row("matmul_" n, "MatMul " n " x " n, "ns", "");
  row("chains_product", "32 chains of ten 64 x 64 products side by side, per product", "ns", "");
  print "\nProbes of this machine: a call into a library " show(median["machine probe:library_call_ns"], "ns") \
    ", malloc and free " show(median["machine probe:malloc_free_ns"], "ns") \
    ", lock and unlock " show(median["machine probe:lock_unlock_ns"], "ns") \
    ", a dependent float operation " show(median["machine probe:dependent_flop_ns"], "ns") \
    ", copying (read + write) " digits(median["machine probe:copy_gb_per_s"]) " GB/s" \
    ", multiply-add peak " digits(median["machine probe:peak_gflop_per_s"]) " GFLOP/s.";
  different = "";
  for (name in checks) {
    f = median["ferry " name]; t = median["tf " name];
    if (f == "" || t == "") continue;
    error = f - t; if (error < 0) error = -error;
    size = t < 0 ? -t : t; if (size < 1) size = 1;
    if (error > 1e-4 * size) different = different "\n- " substr(name, 7) ": Ferry " f ", TensorFlow " t;
  }
  if (different != "") print "\n**The two libraries computed different results:**" different;
}
