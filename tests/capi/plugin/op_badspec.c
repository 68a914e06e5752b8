/* Registers the op described by environment variables while being loaded. */
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/ops.h"

__attribute__((constructor)) static void init(void) {
  const char *name = getenv("OP_NAME");
  const char *attr = getenv("OP_ATTR");
  const char *in = getenv("OP_IN");
  const char *out = getenv("OP_OUT");
  TF_OpDefinitionBuilder *b = TF_NewOpDefinitionBuilder(name);
  TF_Status *s = TF_NewStatus();
  if (attr && *attr) TF_OpDefinitionBuilderAddAttr(b, attr);
  if (in && *in) TF_OpDefinitionBuilderAddInput(b, in);
  if (out && *out) TF_OpDefinitionBuilderAddOutput(b, out);
  TF_RegisterOpDefinition(b, s);
  TF_DeleteStatus(s);
}
