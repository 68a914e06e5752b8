// foreign.c: stands in for TensorFlow's own library when one_copy.c is linked; never loaded.
const char *TF_Version(void);
const char *TF_Version(void) {
  return "foreign";
}
