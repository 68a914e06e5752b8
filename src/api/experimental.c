// SPDX-License-Identifier: Apache-2.0
// experimental.c: small things of c_api_experimental.h: XLA's switches (remembered, without effect:
// there is no such compiler), ports, shapes of saved models.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/eager.h"
#include "api/shape.h"
#include "base/alloc.h"
#include "tensorflow/c/c_api_experimental.h"

// ---------------------------------------------------------------- XLA
static atomic_uchar lazy_compilation = 1, cpu_global_jit, folding_disabled, auto_jit;

void TF_EnableXLACompilation(TF_SessionOptions *options, unsigned char enable) {
  (void)options;
  (void)enable;
}

unsigned char TF_SetXlaEnableLazyCompilation(unsigned char enable) {
  return atomic_exchange(&lazy_compilation, enable != 0);
}

unsigned char TF_SetTfXlaCpuGlobalJit(unsigned char enable) {
  return atomic_exchange(&cpu_global_jit, enable != 0);
}

void TF_SetXlaAutoJitMode(const char *mode) {
  atomic_store(&auto_jit, mode && *mode && strcmp(mode, "0") != 0);
}

unsigned char TF_GetXlaAutoJitEnabled(void) {
  return atomic_load(&auto_jit);
}
void TF_SetXlaMinClusterSize(int size) {
  (void)size;
}
unsigned char TF_GetXlaConstantFoldingDisabled(void) {
  return atomic_load(&folding_disabled);
}

void TF_SetXlaConstantFoldingDisabled(unsigned char should_enable) {
  atomic_store(&folding_disabled, should_enable != 0);
}

// ---------------------------------------------------------------- platform
void TF_InitMain(const char *usage, int *argc, char ***argv) {
  (void)usage;
  (void)argc;
  (void)argv;
}

// 0 if there is none: a library does not die.
int TF_PickUnusedPortOrDie(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t n = sizeof address;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = 0;
  if (fd < 0) return 0;
  if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
      getsockname(fd, (struct sockaddr *)&address, &n) == 0)
    port = ntohs(address.sin_port);
  close(fd);
  return port;
}

void TF_MakeInternalErrorStatus(TF_Status *status, const char *errMsg) {
  TF_SetStatus(status, TF_INTERNAL, errMsg);
}

// ---------------------------------------------------------------- shapes
TF_Shape *TF_NewShape(void) {
  TF_Shape *s = fy_malloc(sizeof *s);
  if (s) *s = (TF_Shape){-1, NULL};
  return s;
}

int TF_ShapeDims(const TF_Shape *shape) {
  return shape->num_dims;
}

int64_t TF_ShapeDimSize(const TF_Shape *shape, int d) {
  return d >= 0 && d < shape->num_dims ? shape->dim_sizes[d] : -1;
}

void TF_DeleteShape(TF_Shape *shape) {
  if (!shape) return;
  fy_free(shape->dim_sizes);
  fy_free(shape);
}
