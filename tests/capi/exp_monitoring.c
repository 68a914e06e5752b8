/* TFE_Monitoring*: counters, gauges, samplers. */
#include "eager_common.h"

static void sampler(const char *label, TFE_MonitoringSamplerCell *cell) {
  TF_Buffer *b = TF_NewBuffer();
  TFE_MonitoringSamplerCellValue(cell, b);
  ec_buf(label, b); /* HistogramProto */
  TF_DeleteBuffer(b);
}

static void strval(TFE_MonitoringStringGaugeCell *cell) {
  TF_Buffer *b = TF_NewBuffer();
  TFE_MonitoringStringGaugeCellValue(cell, b);
  printf("[%.*s]\n", (int)b->length, (const char *)b->data);
  TF_DeleteBuffer(b);
}

int main(void) {
  ec_open();
  tr_case("counter without labels");
  TFE_MonitoringCounter0 *c0 = TFE_MonitoringNewCounter0("/ferry/test/c0", S, "counts");
  ec_st("new");
  TFE_MonitoringCounterCell *cell = TFE_MonitoringGetCellCounter0(c0);
  printf("%" PRId64 "\n", TFE_MonitoringCounterCellValue(cell));
  TFE_MonitoringCounterCellIncrementBy(cell, 1);
  TFE_MonitoringCounterCellIncrementBy(cell, 5);
  printf("%" PRId64 "\n", TFE_MonitoringCounterCellValue(cell));
  printf("same cell %d\n", cell == TFE_MonitoringGetCellCounter0(c0));

  tr_case("a name used twice");
  TFE_MonitoringCounter0 *dup = TFE_MonitoringNewCounter0("/ferry/test/c0", S, "counts");
  ec_st("same name");
  printf("counter %s\n", dup ? "not null" : "null");
  TFE_MonitoringBoolGauge0 *dg = TFE_MonitoringNewBoolGauge0("/ferry/test/c0", S, "gauge");
  ec_st("same name, other kind");
  printf("gauge %s\n", dg ? "not null" : "null");
  if (dup) TFE_MonitoringDeleteCounter0(dup);
  if (dg) TFE_MonitoringDeleteBoolGauge0(dg);
  TFE_MonitoringDeleteCounter0(c0);
  c0 = TFE_MonitoringNewCounter0("/ferry/test/c0", S, "counts");
  ec_st("after deleting the first");
  if (c0) {
    printf("%" PRId64 "\n", TFE_MonitoringCounterCellValue(TFE_MonitoringGetCellCounter0(c0)));
    TFE_MonitoringDeleteCounter0(c0);
  }

  tr_case("counters with labels");
  TFE_MonitoringCounter1 *c1 = TFE_MonitoringNewCounter1("/ferry/test/c1", S, "d", "l1");
  ec_st("new");
  TFE_MonitoringCounterCellIncrementBy(TFE_MonitoringGetCellCounter1(c1, "x"), 2);
  TFE_MonitoringCounterCellIncrementBy(TFE_MonitoringGetCellCounter1(c1, "y"), 3);
  TFE_MonitoringCounterCellIncrementBy(TFE_MonitoringGetCellCounter1(c1, "x"), 4);
  printf("x %" PRId64 " y %" PRId64 " z %" PRId64 "\n",
         TFE_MonitoringCounterCellValue(TFE_MonitoringGetCellCounter1(c1, "x")),
         TFE_MonitoringCounterCellValue(TFE_MonitoringGetCellCounter1(c1, "y")),
         TFE_MonitoringCounterCellValue(TFE_MonitoringGetCellCounter1(c1, "z")));
  TFE_MonitoringDeleteCounter1(c1);
  TFE_MonitoringCounter2 *c2 = TFE_MonitoringNewCounter2("/ferry/test/c2", S, "d", "a", "b");
  ec_st("new");
  TFE_MonitoringCounterCellIncrementBy(TFE_MonitoringGetCellCounter2(c2, "x", "y"), 7);
  printf("xy %" PRId64 " yx %" PRId64 "\n",
         TFE_MonitoringCounterCellValue(TFE_MonitoringGetCellCounter2(c2, "x", "y")),
         TFE_MonitoringCounterCellValue(TFE_MonitoringGetCellCounter2(c2, "y", "x")));
  TFE_MonitoringDeleteCounter2(c2);

  tr_case("int gauges");
  TFE_MonitoringIntGauge0 *i0 = TFE_MonitoringNewIntGauge0("/ferry/test/i0", S, "d");
  ec_st("new");
  TFE_MonitoringIntGaugeCell *ic = TFE_MonitoringGetCellIntGauge0(i0);
  printf("%" PRId64 "\n", TFE_MonitoringIntGaugeCellValue(ic));
  TFE_MonitoringIntGaugeCellSet(ic, -5);
  printf("%" PRId64 "\n", TFE_MonitoringIntGaugeCellValue(ic));
  TFE_MonitoringDeleteIntGauge0(i0);
  TFE_MonitoringIntGauge1 *i1 = TFE_MonitoringNewIntGauge1("/ferry/test/i1", S, "d", "l");
  TFE_MonitoringIntGaugeCellSet(TFE_MonitoringGetCellIntGauge1(i1, "p"), 3);
  printf("p %" PRId64 " q %" PRId64 "\n",
         TFE_MonitoringIntGaugeCellValue(TFE_MonitoringGetCellIntGauge1(i1, "p")),
         TFE_MonitoringIntGaugeCellValue(TFE_MonitoringGetCellIntGauge1(i1, "q")));
  TFE_MonitoringDeleteIntGauge1(i1);
  TFE_MonitoringIntGauge2 *i2 = TFE_MonitoringNewIntGauge2("/ferry/test/i2", S, "d", "l", "m");
  TFE_MonitoringIntGaugeCellSet(TFE_MonitoringGetCellIntGauge2(i2, "p", "q"), 9);
  printf("pq %" PRId64 "\n",
         TFE_MonitoringIntGaugeCellValue(TFE_MonitoringGetCellIntGauge2(i2, "p", "q")));
  TFE_MonitoringDeleteIntGauge2(i2);

  tr_case("string gauges");
  TFE_MonitoringStringGauge0 *s0 = TFE_MonitoringNewStringGauge0("/ferry/test/s0", S, "d");
  ec_st("new");
  strval(TFE_MonitoringGetCellStringGauge0(s0));
  TFE_MonitoringStringGaugeCellSet(TFE_MonitoringGetCellStringGauge0(s0), "text");
  strval(TFE_MonitoringGetCellStringGauge0(s0));
  TFE_MonitoringDeleteStringGauge0(s0);
  TFE_MonitoringStringGauge1 *s1 = TFE_MonitoringNewStringGauge1("/ferry/test/s1", S, "d", "a");
  TFE_MonitoringStringGaugeCellSet(TFE_MonitoringGetCellStringGauge1(s1, "k"), "one");
  strval(TFE_MonitoringGetCellStringGauge1(s1, "k"));
  strval(TFE_MonitoringGetCellStringGauge1(s1, "other"));
  TFE_MonitoringDeleteStringGauge1(s1);
  TFE_MonitoringStringGauge2 *s2 =
      TFE_MonitoringNewStringGauge2("/ferry/test/s2", S, "d", "a", "b");
  TFE_MonitoringStringGaugeCellSet(TFE_MonitoringGetCellStringGauge2(s2, "k", "l"), "two");
  strval(TFE_MonitoringGetCellStringGauge2(s2, "k", "l"));
  TFE_MonitoringDeleteStringGauge2(s2);
  TFE_MonitoringStringGauge3 *s3 =
      TFE_MonitoringNewStringGauge3("/ferry/test/s3", S, "d", "a", "b", "c");
  TFE_MonitoringStringGaugeCellSet(TFE_MonitoringGetCellStringGauge3(s3, "k", "l", "m"), "three");
  strval(TFE_MonitoringGetCellStringGauge3(s3, "k", "l", "m"));
  TFE_MonitoringDeleteStringGauge3(s3);
  TFE_MonitoringStringGauge4 *s4 =
      TFE_MonitoringNewStringGauge4("/ferry/test/s4", S, "d", "a", "b", "c", "d");
  TFE_MonitoringStringGaugeCellSet(TFE_MonitoringGetCellStringGauge4(s4, "k", "l", "m", "n"),
                                   "four");
  strval(TFE_MonitoringGetCellStringGauge4(s4, "k", "l", "m", "n"));
  TFE_MonitoringDeleteStringGauge4(s4);

  tr_case("bool gauges");
  TFE_MonitoringBoolGauge0 *b0 = TFE_MonitoringNewBoolGauge0("/ferry/test/b0", S, "d");
  ec_st("new");
  TFE_MonitoringBoolGaugeCell *bc = TFE_MonitoringGetCellBoolGauge0(b0);
  printf("%d\n", TFE_MonitoringBoolGaugeCellValue(bc));
  TFE_MonitoringBoolGaugeCellSet(bc, true);
  printf("%d\n", TFE_MonitoringBoolGaugeCellValue(bc));
  TFE_MonitoringDeleteBoolGauge0(b0);
  TFE_MonitoringBoolGauge1 *b1 = TFE_MonitoringNewBoolGauge1("/ferry/test/b1", S, "d", "a");
  TFE_MonitoringBoolGaugeCellSet(TFE_MonitoringGetCellBoolGauge1(b1, "x"), true);
  printf("%d %d\n", TFE_MonitoringBoolGaugeCellValue(TFE_MonitoringGetCellBoolGauge1(b1, "x")),
         TFE_MonitoringBoolGaugeCellValue(TFE_MonitoringGetCellBoolGauge1(b1, "y")));
  TFE_MonitoringDeleteBoolGauge1(b1);
  TFE_MonitoringBoolGauge2 *b2 = TFE_MonitoringNewBoolGauge2("/ferry/test/b2", S, "d", "a", "b");
  TFE_MonitoringBoolGaugeCellSet(TFE_MonitoringGetCellBoolGauge2(b2, "x", "y"), true);
  printf("%d\n", TFE_MonitoringBoolGaugeCellValue(TFE_MonitoringGetCellBoolGauge2(b2, "x", "y")));
  TFE_MonitoringDeleteBoolGauge2(b2);

  tr_case("samplers");
  TFE_MonitoringBuckets *bk = TFE_MonitoringNewExponentialBuckets(1.0, 2.0, 4);
  TFE_MonitoringSampler0 *m0 = TFE_MonitoringNewSampler0("/ferry/test/m0", bk, S, "d");
  ec_st("new");
  TFE_MonitoringSamplerCell *mc = TFE_MonitoringGetCellSampler0(m0);
  sampler("empty", mc);
  TFE_MonitoringSamplerCellAdd(mc, 0.5);
  sampler("one", mc);
  TFE_MonitoringSamplerCellAdd(mc, 3.0);
  TFE_MonitoringSamplerCellAdd(mc, 100.0);
  TFE_MonitoringSamplerCellAdd(mc, 3.5);
  sampler("four", mc);
  TFE_MonitoringDeleteSampler0(m0);
  TFE_MonitoringSampler1 *m1 = TFE_MonitoringNewSampler1("/ferry/test/m1", bk, S, "d", "a");
  ec_st("new");
  TFE_MonitoringSamplerCellAdd(TFE_MonitoringGetCellSampler1(m1, "x"), 2.0);
  sampler("x", TFE_MonitoringGetCellSampler1(m1, "x"));
  sampler("y", TFE_MonitoringGetCellSampler1(m1, "y"));
  TFE_MonitoringDeleteSampler1(m1);
  TFE_MonitoringSampler2 *m2 = TFE_MonitoringNewSampler2("/ferry/test/m2", bk, S, "d", "a", "b");
  TFE_MonitoringSamplerCellAdd(TFE_MonitoringGetCellSampler2(m2, "x", "y"), 8.0);
  sampler("xy", TFE_MonitoringGetCellSampler2(m2, "x", "y"));
  TFE_MonitoringDeleteSampler2(m2);
  TFE_MonitoringDeleteBuckets(bk);
  return ec_close();
}
