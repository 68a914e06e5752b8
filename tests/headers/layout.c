// SPDX-License-Identifier: Apache-2.0
// layout.c: the numbers of the C ABI: enumerators, sizes and offsets of all that callers see.
// They were printed by a probe compiled against the headers of TensorFlow 2.21 (x86-64). A program
// built against those headers must find the same ones here. Compiling is the test.

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_experimental.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/eager/c_api_experimental.h"
#include "tensorflow/c/env.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/tf_file_statistics.h"
#include "tensorflow/c/tf_tstring.h"
#include "tensorflow/core/common_runtime/next_pluggable_device/c/tf_rendezvous_c_api.h"

#define IS(name, value)   _Static_assert((name) == (value), #name)
#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "size of " #type)
#define AT(type, member, bytes) \
  _Static_assert(offsetof(type, member) == (bytes), "offset of " #type "." #member)

// ---- Values -------------------------------------------------------------------------------------

IS(TF_OK, 0);
IS(TF_CANCELLED, 1);
IS(TF_UNKNOWN, 2);
IS(TF_INVALID_ARGUMENT, 3);
IS(TF_DEADLINE_EXCEEDED, 4);
IS(TF_NOT_FOUND, 5);
IS(TF_ALREADY_EXISTS, 6);
IS(TF_PERMISSION_DENIED, 7);
IS(TF_RESOURCE_EXHAUSTED, 8);
IS(TF_FAILED_PRECONDITION, 9);
IS(TF_ABORTED, 10);
IS(TF_OUT_OF_RANGE, 11);
IS(TF_UNIMPLEMENTED, 12);
IS(TF_INTERNAL, 13);
IS(TF_UNAVAILABLE, 14);
IS(TF_DATA_LOSS, 15);
IS(TF_UNAUTHENTICATED, 16);

IS(TF_FLOAT, 1);
IS(TF_DOUBLE, 2);
IS(TF_INT32, 3);
IS(TF_UINT8, 4);
IS(TF_INT16, 5);
IS(TF_INT8, 6);
IS(TF_STRING, 7);
IS(TF_COMPLEX64, 8);
IS(TF_COMPLEX, 8);
IS(TF_INT64, 9);
IS(TF_BOOL, 10);
IS(TF_QINT8, 11);
IS(TF_QUINT8, 12);
IS(TF_QINT32, 13);
IS(TF_BFLOAT16, 14);
IS(TF_QINT16, 15);
IS(TF_QUINT16, 16);
IS(TF_UINT16, 17);
IS(TF_COMPLEX128, 18);
IS(TF_HALF, 19);
IS(TF_RESOURCE, 20);
IS(TF_VARIANT, 21);
IS(TF_UINT32, 22);
IS(TF_UINT64, 23);
IS(TF_FLOAT8_E5M2, 24);
IS(TF_FLOAT8_E4M3FN, 25);
IS(TF_FLOAT8_E4M3FNUZ, 26);
IS(TF_FLOAT8_E4M3B11FNUZ, 27);
IS(TF_FLOAT8_E5M2FNUZ, 28);
IS(TF_INT4, 29);
IS(TF_UINT4, 30);
IS(TF_INT2, 31);
IS(TF_UINT2, 32);
IS(TF_FLOAT4_E2M1FN, 33);

IS(TF_ATTR_STRING, 0);
IS(TF_ATTR_INT, 1);
IS(TF_ATTR_FLOAT, 2);
IS(TF_ATTR_BOOL, 3);
IS(TF_ATTR_TYPE, 4);
IS(TF_ATTR_SHAPE, 5);
IS(TF_ATTR_TENSOR, 6);
IS(TF_ATTR_PLACEHOLDER, 7);
IS(TF_ATTR_FUNC, 8);

IS(TF_TSTR_SMALL, 0);
IS(TF_TSTR_LARGE, 1);
IS(TF_TSTR_OFFSET, 2);
IS(TF_TSTR_VIEW, 3);
IS(TF_TSTR_TYPE_MASK, 3);
IS(TF_TString_SmallCapacity, 22);

IS(TFE_DEVICE_PLACEMENT_EXPLICIT, 0);
IS(TFE_DEVICE_PLACEMENT_WARN, 1);
IS(TFE_DEVICE_PLACEMENT_SILENT, 2);
IS(TFE_DEVICE_PLACEMENT_SILENT_FOR_INT32, 3);
IS(TFE_CUSTOM_DEVICE_VERSION, 4);

// ---- Sizes and offsets, where pointers have 64 bits ---------------------------------------------

#if UINTPTR_MAX == UINT64_MAX

SIZE(TF_DataType, 4);
SIZE(TF_Code, 4);
SIZE(TF_AttrType, 4);
SIZE(TF_TString_Type, 4);
SIZE(TFE_ContextDevicePlacementPolicy, 4);
SIZE(TFE_CancellationToken, 8);
SIZE(TF_Bool, 1);
SIZE(SP_Stream, 8);
IS(TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE, 9);
IS(TF_InputRange_Args_STRUCT_SIZE, 32);

SIZE(TF_AllocatorAttributes, 16);
AT(TF_AllocatorAttributes, struct_size, 0);
AT(TF_AllocatorAttributes, on_host, 8);

SIZE(TF_Buffer, 24);
AT(TF_Buffer, data, 0);
AT(TF_Buffer, length, 8);
AT(TF_Buffer, data_deallocator, 16);

SIZE(TF_StringView, 16);
AT(TF_StringView, data, 0);
AT(TF_StringView, len, 8);

SIZE(TF_Input, 16);
AT(TF_Input, oper, 0);
AT(TF_Input, index, 8);

SIZE(TF_Output, 16);
AT(TF_Output, oper, 0);
AT(TF_Output, index, 8);

SIZE(TF_AttrMetadata, 32);
AT(TF_AttrMetadata, is_list, 0);
AT(TF_AttrMetadata, list_size, 8);
AT(TF_AttrMetadata, type, 16);
AT(TF_AttrMetadata, total_size, 24);

SIZE(TF_WhileParams, 72);
AT(TF_WhileParams, ninputs, 0);
AT(TF_WhileParams, cond_graph, 8);
AT(TF_WhileParams, cond_inputs, 16);
AT(TF_WhileParams, cond_output, 24);
AT(TF_WhileParams, body_graph, 40);
AT(TF_WhileParams, body_inputs, 48);
AT(TF_WhileParams, body_outputs, 56);
AT(TF_WhileParams, name, 64);

SIZE(TF_FileStatistics, 24);
AT(TF_FileStatistics, length, 0);
AT(TF_FileStatistics, mtime_nsec, 8);
AT(TF_FileStatistics, is_directory, 16);

SIZE(TF_ThreadOptions, 24);
AT(TF_ThreadOptions, stack_size, 0);
AT(TF_ThreadOptions, guard_size, 8);
AT(TF_ThreadOptions, numa_node, 16);

SIZE(TF_ShapeAndType, 24);
AT(TF_ShapeAndType, num_dims, 0);
AT(TF_ShapeAndType, dims, 8);
AT(TF_ShapeAndType, dtype, 16);

SIZE(TF_ShapeAndTypeList, 16);
AT(TF_ShapeAndTypeList, num_items, 0);
AT(TF_ShapeAndTypeList, items, 8);

SIZE(TF_InputRange_Args, 32);
AT(TF_InputRange_Args, struct_size, 0);
AT(TF_InputRange_Args, priv, 8);
AT(TF_InputRange_Args, start, 16);
AT(TF_InputRange_Args, stop, 20);
AT(TF_InputRange_Args, status, 24);

SIZE(TF_TString, 24);

SIZE(TF_TString_Union, 24);

SIZE(TF_TString_Small, 24);
AT(TF_TString_Small, size, 0);
AT(TF_TString_Small, str, 1);

SIZE(TF_TString_Large, 24);
AT(TF_TString_Large, size, 0);
AT(TF_TString_Large, cap, 8);
AT(TF_TString_Large, ptr, 16);

SIZE(TF_TString_Offset, 12);
AT(TF_TString_Offset, size, 0);
AT(TF_TString_Offset, offset, 4);
AT(TF_TString_Offset, count, 8);

SIZE(TF_TString_View, 24);
AT(TF_TString_View, size, 0);
AT(TF_TString_View, ptr, 8);
AT(TF_TString_View, owner_ref, 16);

SIZE(TF_TString_Raw, 24);
AT(TF_TString_Raw, raw, 0);

SIZE(TStringOwnerCApi, 24);
AT(TStringOwnerCApi, ref, 0);
AT(TStringOwnerCApi, unref, 8);
AT(TStringOwnerCApi, obj, 16);

SIZE(TFE_CancelCallback, 16);
AT(TFE_CancelCallback, callback, 0);
AT(TFE_CancelCallback, context, 8);

SIZE(TFE_CustomDevice, 56);
AT(TFE_CustomDevice, version, 0);
AT(TFE_CustomDevice, copy_tensor_to_device, 8);
AT(TFE_CustomDevice, copy_tensor_from_device, 16);
AT(TFE_CustomDevice, execute, 24);
AT(TFE_CustomDevice, delete_device, 32);
AT(TFE_CustomDevice, pack, 40);
AT(TFE_CustomDevice, shall_pin_to_this_device, 48);

SIZE(TFE_CustomDeviceTensorHandle, 40);
AT(TFE_CustomDeviceTensorHandle, version, 0);
AT(TFE_CustomDeviceTensorHandle, num_dims, 8);
AT(TFE_CustomDeviceTensorHandle, dim, 16);
AT(TFE_CustomDeviceTensorHandle, deallocator, 24);
AT(TFE_CustomDeviceTensorHandle, summarize, 32);

SIZE(TFDevice_AllocatorAttributes, 8);
AT(TFDevice_AllocatorAttributes, value, 0);
AT(TFDevice_AllocatorAttributes, scope_id, 4);

SIZE(TF_RendezvousArgsStruct, 24);
AT(TF_RendezvousArgsStruct, device_context, 0);
AT(TF_RendezvousArgsStruct, alloc_attrs, 8);
AT(TF_RendezvousArgsStruct, cancellation_manager, 16);

SIZE(TF_RendezvousParsedKey, 16);
AT(TF_RendezvousParsedKey, full_key, 0);
AT(TF_RendezvousParsedKey, full_key_size, 8);

SIZE(TF_RendezvousSend_Params, 40);
AT(TF_RendezvousSend_Params, key, 0);
AT(TF_RendezvousSend_Params, args, 8);
AT(TF_RendezvousSend_Params, tensor, 16);
AT(TF_RendezvousSend_Params, is_dead, 24);
AT(TF_RendezvousSend_Params, status, 32);

SIZE(TF_RendezvousDoneCallback_Params, 32);
AT(TF_RendezvousDoneCallback_Params, context, 0);
AT(TF_RendezvousDoneCallback_Params, status, 8);
AT(TF_RendezvousDoneCallback_Params, tensor, 16);
AT(TF_RendezvousDoneCallback_Params, is_dead, 24);

SIZE(TF_RendezvousDoneCallbackImpl, 16);
AT(TF_RendezvousDoneCallbackImpl, context, 0);
AT(TF_RendezvousDoneCallbackImpl, callback, 8);

SIZE(TF_RendezvousAsyncRecv_Params, 40);
AT(TF_RendezvousAsyncRecv_Params, context, 0);
AT(TF_RendezvousAsyncRecv_Params, key, 8);
AT(TF_RendezvousAsyncRecv_Params, args, 16);
AT(TF_RendezvousAsyncRecv_Params, on_done, 24);

SIZE(TF_RendezvousThunk, 32);
AT(TF_RendezvousThunk, rendezvous, 0);
AT(TF_RendezvousThunk, send_func, 8);
AT(TF_RendezvousThunk, async_recv_func, 16);
AT(TF_RendezvousThunk, start_abort_func, 24);

#endif

int main(void) {
  return 0;
}
