// SPDX-License-Identifier: Apache-2.0
// ctstring_internal.h: the layout of TF_TString and its inline functions. Contracts: ctstring.h.
//
// 24 bytes on 64-bit machines, one of four forms told apart by the two low bits of the first byte:
//   SMALL   [size:6|00] [22 characters] [0]
//   LARGE   size, capacity, owned heap pointer
//   OFFSET  size, distance from the string itself to the text (32-bit little-endian, for files)
//   VIEW    size, borrowed pointer, optional shared owner
// The size fields of LARGE and VIEW are shifted so that the form's bits land in the first byte on
// either endianness. Owned text always ends in a zero byte that the size does not count.
// Invariant: a heap block has capacity + 1 bytes, and capacity + 1 is a multiple of 16.
//
// Unlike TensorFlow's, these do not write through NULL when memory is out: the string is then left
// as it was.

#ifndef TENSORFLOW_CORE_PLATFORM_CTSTRING_INTERNAL_H_
#define TENSORFLOW_CORE_PLATFORM_CTSTRING_INTERNAL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define TF_TSTRING_LITTLE_ENDIAN 1
#elif defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define TF_TSTRING_LITTLE_ENDIAN 1
#elif defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define TF_TSTRING_LITTLE_ENDIAN 0
#else
#error "ctstring: unknown byte order"
#endif

static inline uint32_t TF_swap32(uint32_t host_int) {
  return (host_int << 24) | ((host_int & 0xFF00u) << 8) | ((host_int >> 8) & 0xFF00u) |
         (host_int >> 24);
}

#if TF_TSTRING_LITTLE_ENDIAN
#define TF_le32toh(x) (x)
#else
#define TF_le32toh(x) TF_swap32(x)
#endif

static inline size_t TF_align16(size_t i) {
  return (i + 15) & ~(size_t)15;
}
static inline size_t TF_max(size_t a, size_t b) {
  return a > b ? a : b;
}
static inline size_t TF_min(size_t a, size_t b) {
  return a < b ? a : b;
}

typedef enum TF_TString_Type {
  TF_TSTR_SMALL = 0x00,
  TF_TSTR_LARGE = 0x01,
  TF_TSTR_OFFSET = 0x02,
  TF_TSTR_VIEW = 0x03,
  TF_TSTR_TYPE_MASK = 0x03
} TF_TString_Type;

// Whoever keeps the text of a VIEW alive. |unref| says whether that was the last reference.
struct TStringOwnerCApi;
typedef void (*tstring_owner_ref_t)(struct TStringOwnerCApi *self);
typedef bool (*tstring_owner_unref_t)(struct TStringOwnerCApi *self);

typedef struct TStringOwnerCApi {
  tstring_owner_ref_t ref;
  tstring_owner_unref_t unref;
  void *obj;
} TStringOwnerCApi;

typedef struct TF_TString_Large {
  size_t size;  // internal form, see TF_TString_ToInternalSizeT
  size_t cap;
  char *ptr;
} TF_TString_Large;

typedef struct TF_TString_Offset {
  uint32_t size;  // little-endian, shifted by two
  uint32_t offset;
  uint32_t count;
} TF_TString_Offset;

typedef struct TF_TString_View {
  size_t size;  // internal form
  const char *ptr;
  TStringOwnerCApi *owner_ref;  // NULL: nobody is asked
} TF_TString_View;

typedef struct TF_TString_Raw {
  uint8_t raw[24];
} TF_TString_Raw;

typedef union TF_TString_Union {
  TF_TString_Large large;
  TF_TString_Offset offset;
  TF_TString_View view;
  TF_TString_Raw raw;
} TF_TString_Union;

enum {
  // All bytes but the size byte and the final zero: 22.
  TF_TString_SmallCapacity = sizeof(TF_TString_Union) - 2
};

typedef struct TF_TString_Small {
  uint8_t size;  // shifted by two
  char str[TF_TString_SmallCapacity + 1];
} TF_TString_Small;

typedef struct TF_TString {
  union {
    TF_TString_Small smll;  // `small` is a macro in a Windows header
    TF_TString_Large large;
    TF_TString_Offset offset;
    TF_TString_View view;
    TF_TString_Raw raw;
  } u;
} TF_TString;

static inline TF_TString_Type TF_TString_GetType(const TF_TString *str) {
  return (TF_TString_Type)(str->u.raw.raw[0] & TF_TSTR_TYPE_MASK);
}

// On big-endian machines the first byte is the most significant one. Only that byte is shifted, so
// the rest of the size stays where it is.
#if !TF_TSTRING_LITTLE_ENDIAN
#define TF_TSTRING_TOP_BYTE_ (~(SIZE_MAX >> 8))
#endif

static inline size_t TF_TString_ToActualSizeT(size_t size) {
#if TF_TSTRING_LITTLE_ENDIAN
  return size >> 2;
#else
  return ((size & (TF_TSTRING_TOP_BYTE_ << 2)) >> 2) | (size & ~TF_TSTRING_TOP_BYTE_);
#endif
}

static inline size_t TF_TString_ToInternalSizeT(size_t size, TF_TString_Type type) {
#if TF_TSTRING_LITTLE_ENDIAN
  return (size << 2) | (size_t)type;
#else
  return ((size << 2) & TF_TSTRING_TOP_BYTE_) | (size & ~TF_TSTRING_TOP_BYTE_) |
         ((size_t)type << (8 * (sizeof(size_t) - 1)));
#endif
}

static inline void TF_TString_Init(TF_TString *str) {
  memset(str, 0, sizeof(*str));
}

static inline void TF_TString_Dealloc(TF_TString *str) {
  TF_TString_Type type = TF_TString_GetType(str);
  if (type == TF_TSTR_LARGE && str->u.large.ptr != NULL) {
    free(str->u.large.ptr);
    TF_TString_Init(str);
  } else if (type == TF_TSTR_VIEW && str->u.view.owner_ref != NULL) {
    (void)str->u.view.owner_ref->unref(str->u.view.owner_ref);
    TF_TString_Init(str);
  }
}

static inline size_t TF_TString_GetSize(const TF_TString *str) {
  switch (TF_TString_GetType(str)) {
    case TF_TSTR_SMALL: return (size_t)str->u.smll.size >> 2;
    case TF_TSTR_LARGE: return TF_TString_ToActualSizeT(str->u.large.size);
    case TF_TSTR_OFFSET: return TF_le32toh(str->u.offset.size) >> 2;
    default: return TF_TString_ToActualSizeT(str->u.view.size);
  }
}

static inline size_t TF_TString_GetCapacity(const TF_TString *str) {
  switch (TF_TString_GetType(str)) {
    case TF_TSTR_SMALL: return TF_TString_SmallCapacity;
    case TF_TSTR_LARGE: return str->u.large.cap;
    default: return 0;
  }
}

static inline const char *TF_TString_GetDataPointer(const TF_TString *str) {
  switch (TF_TString_GetType(str)) {
    case TF_TSTR_SMALL: return str->u.smll.str;
    case TF_TSTR_LARGE: return str->u.large.ptr;
    case TF_TSTR_OFFSET: return (const char *)str + TF_le32toh(str->u.offset.offset);
    default: return str->u.view.ptr;
  }
}

// Gives |str| a heap block of |new_cap| + 1 bytes that holds its first |keep| characters, and drops
// what it had. The size and the final zero are left to the caller. NULL: nothing has changed.
static inline char *TF_TString_MoveToHeap_(TF_TString *str, size_t new_cap, size_t keep) {
  TF_TString_Type type = TF_TString_GetType(str);
  char *block;
  if (type == TF_TSTR_LARGE) {
    block = (char *)realloc(str->u.large.ptr, new_cap + 1);
    if (block == NULL) return NULL;
  } else {
    block = (char *)malloc(new_cap + 1);
    if (block == NULL) return NULL;
    if (keep != 0) memcpy(block, TF_TString_GetDataPointer(str), keep);
    if (type == TF_TSTR_VIEW) TF_TString_Dealloc(str);
  }
  str->u.large.ptr = block;
  str->u.large.cap = new_cap;
  return block;
}

static inline char *TF_TString_ResizeUninitialized(TF_TString *str, size_t new_size) {
  TF_TString_Type type = TF_TString_GetType(str);
  size_t size = TF_TString_GetSize(str);
  size_t keep = TF_min(size, new_size);

  if (new_size <= TF_TString_SmallCapacity) {
    if (type != TF_TSTR_SMALL) {
      TF_TString old = *str;
      const char *text = TF_TString_GetDataPointer(str);  // of |str|: an offset starts there
      if (keep != 0) memcpy(str->u.smll.str, text, keep);
      TF_TString_Dealloc(&old);
    }
    str->u.smll.size = (uint8_t)(new_size << 2 | TF_TSTR_SMALL);
    str->u.smll.str[new_size] = '\0';
    return str->u.smll.str;
  }

  size_t cap = TF_TString_GetCapacity(str);
  size_t new_cap = cap;
  if (new_size < size && new_size < cap / 2) {
    new_cap = TF_align16(cap / 2 + 1) - 1;  // gives memory back by halves
  } else if (new_size > cap) {
    if (new_size > SIZE_MAX / 4 - 16) return NULL;  // two bits of the size are taken
    new_cap = TF_align16(new_size + 1) - 1;
  }
  if (new_cap != cap && TF_TString_MoveToHeap_(str, new_cap, keep) == NULL) return NULL;
  str->u.large.size = TF_TString_ToInternalSizeT(new_size, TF_TSTR_LARGE);
  str->u.large.ptr[new_size] = '\0';
  return str->u.large.ptr;
}

static inline char *TF_TString_GetMutableDataPointer(TF_TString *str) {
  switch (TF_TString_GetType(str)) {
    case TF_TSTR_SMALL: return str->u.smll.str;
    case TF_TSTR_LARGE: return str->u.large.ptr;
    default: return TF_TString_ResizeUninitialized(str, TF_TString_GetSize(str));
  }
}

static inline void TF_TString_Reserve(TF_TString *str, size_t new_cap) {
  TF_TString_Type type = TF_TString_GetType(str);
  // A small request is met by every form as soon as it is written to.
  if (new_cap <= TF_TString_SmallCapacity) return;
  if (type == TF_TSTR_LARGE && new_cap <= str->u.large.cap) return;
  if (new_cap > SIZE_MAX / 4 - 16) return;

  size_t size = TF_TString_GetSize(str);
  new_cap = TF_align16(TF_max(new_cap, size) + 1) - 1;
  if (TF_TString_MoveToHeap_(str, new_cap, size) == NULL || type == TF_TSTR_LARGE) return;
  str->u.large.size = TF_TString_ToInternalSizeT(size, TF_TSTR_LARGE);
  str->u.large.ptr[size] = '\0';
}

static inline void TF_TString_ReserveAmortized(TF_TString *str, size_t new_cap) {
  size_t cap = TF_TString_GetCapacity(str);
  if (new_cap > cap) TF_TString_Reserve(str, TF_max(new_cap, 2 * cap));
}

static inline char *TF_TString_Resize(TF_TString *str, size_t new_size, char c) {
  size_t size = TF_TString_GetSize(str);
  char *text = TF_TString_ResizeUninitialized(str, new_size);
  if (text != NULL && new_size > size) memset(text + size, c, new_size - size);
  return text;
}

static inline void TF_TString_AssignViewWithOwner(TF_TString *dst, const char *src, size_t size,
                                                  TStringOwnerCApi *owner_ref) {
  if (owner_ref != NULL) owner_ref->ref(owner_ref);  // first: |dst| may hold the last reference
  TF_TString_Dealloc(dst);
  dst->u.view.size = TF_TString_ToInternalSizeT(size, TF_TSTR_VIEW);
  dst->u.view.ptr = src;
  dst->u.view.owner_ref = owner_ref;
}

static inline void TF_TString_AssignView(TF_TString *dst, const char *src, size_t size) {
  TF_TString_AssignViewWithOwner(dst, src, size, NULL);
}

static inline void TF_TString_AppendN(TF_TString *dst, const char *src, size_t src_size) {
  if (src_size == 0) return;
  size_t size = TF_TString_GetSize(dst);
  TF_TString_ReserveAmortized(dst, size + src_size);
  char *text = TF_TString_ResizeUninitialized(dst, size + src_size);
  if (text != NULL) memcpy(text + size, src, src_size);
}

static inline void TF_TString_Append(TF_TString *dst, const TF_TString *src) {
  TF_TString_AppendN(dst, TF_TString_GetDataPointer(src), TF_TString_GetSize(src));
}

static inline void TF_TString_Copy(TF_TString *dst, const char *src, size_t size) {
  char *text = TF_TString_ResizeUninitialized(dst, size);
  if (text != NULL && size != 0) memcpy(text, src, size);
}

static inline void TF_TString_Assign(TF_TString *dst, const TF_TString *src) {
  if (dst == src) return;
  const char *text = TF_TString_GetDataPointer(src);
  size_t size = TF_TString_GetSize(src);
  switch (TF_TString_GetType(src)) {
    case TF_TSTR_SMALL:
      TF_TString_Dealloc(dst);
      *dst = *src;
      return;
    case TF_TSTR_LARGE:
      TF_TString_Dealloc(dst);
      TF_TString_Copy(dst, text, size);
      return;
    case TF_TSTR_OFFSET: TF_TString_AssignView(dst, text, size); return;
    default: TF_TString_AssignViewWithOwner(dst, text, size, src->u.view.owner_ref); return;
  }
}

static inline void TF_TString_Move(TF_TString *dst, TF_TString *src) {
  if (dst == src) return;
  TF_TString_Dealloc(dst);
  switch (TF_TString_GetType(src)) {
    case TF_TSTR_SMALL: *dst = *src; return;
    case TF_TSTR_OFFSET:
      TF_TString_AssignView(dst, TF_TString_GetDataPointer(src), TF_TString_GetSize(src));
      return;
    default:
      *dst = *src;
      TF_TString_Init(src);
      return;
  }
}

#endif  // TENSORFLOW_CORE_PLATFORM_CTSTRING_INTERNAL_H_
