// limits_empty.c: a shared library with one function that does nothing: the price of a call into a
// library, and of loading one.
void limits_nothing(void *unused);
void limits_nothing(void *unused) {
  (void)unused;
}
