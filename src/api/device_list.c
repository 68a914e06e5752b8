// SPDX-License-Identifier: Apache-2.0
// device_list.c: TF_DeviceList: what a session or an eager context runs on. The list keeps the
// devices.

#include <string.h>

#include "api/eager.h"
#include "base/alloc.h"
#include "devices/devices.h"
#include "memory/pool.h"

struct TF_DeviceList {
  fy_device_set *devices;
};

TF_DeviceList *fy_api_device_list(const fy_device_set *devices, fy_error *err) {
  TF_DeviceList *list = fy_malloc(sizeof *list);
  if (!list) {
    fy_fail_oom(err, sizeof *list);
    return NULL;
  }
  list->devices = fy_devices_ref((fy_device_set *)(uintptr_t)devices);
  return list;
}

void TF_DeleteDeviceList(TF_DeviceList *list) {
  if (!list) return;
  fy_devices_unref(list->devices);
  fy_free(list);
}

int TF_DeviceListCount(const TF_DeviceList *list) {
  return list->devices->n;
}

static const fy_device *get(const TF_DeviceList *list, int index, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  if (list && index >= 0 && index < list->devices->n) return list->devices->items[index];
  fy_fail(err, FY_INVALID_ARGUMENT, list ? "index out of bounds" : "list is null!");
  return NULL;
}

const char *TF_DeviceListName(const TF_DeviceList *list, int index, TF_Status *status) {
  const fy_device *d = get(list, index, status);
  return d ? d->name : NULL;
}

const char *TF_DeviceListType(const TF_DeviceList *list, int index, TF_Status *status) {
  const fy_device *d = get(list, index, status);
  return d ? d->type : NULL;
}

int64_t TF_DeviceListMemoryBytes(const TF_DeviceList *list, int index, TF_Status *status) {
  const fy_device *d = get(list, index, status);
  if (!d) return -1;
  // TensorFlow says 256 MiB for every CPU.
  return strcmp(d->type, "CPU") == 0 ? (int64_t)256 << 20 : (int64_t)fy_memory_limit(d);
}

uint64_t TF_DeviceListIncarnation(const TF_DeviceList *list, int index, TF_Status *status) {
  const fy_device *d = get(list, index, status);
  return d ? d->incarnation : 0;
}
