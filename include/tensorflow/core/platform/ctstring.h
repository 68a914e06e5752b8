// SPDX-License-Identifier: Apache-2.0
// ctstring.h: TF_TString, the element of a TF_STRING tensor: 24 bytes that hold short text in place
// and longer text on the heap, or point at text of somebody else. Layout: ctstring_internal.h.
// A string is not locked: any number of readers, or one writer.
//
// The form (TF_TString_GetType) decides who owns the text: SMALL and LARGE strings own it, a VIEW
// borrows it (or shares it with an owner object), an OFFSET borrows it from the memory it lies in.
// Borrowed text is never written: the first change makes an owned copy. Text may hold zero bytes;
// owned text is followed by one, borrowed text need not be. When memory is out, functions that
// return a pointer return NULL, and the string keeps its value (TF_TString_Assign may leave |dst|
// empty).

#ifndef TENSORFLOW_CORE_PLATFORM_CTSTRING_H_
#define TENSORFLOW_CORE_PLATFORM_CTSTRING_H_

#include <stddef.h>

#include "tensorflow/core/platform/ctstring_internal.h"

// Makes raw memory the empty string. Frees nothing: use TF_TString_Dealloc on a live string.
static inline void TF_TString_Init(TF_TString *str);

// Frees owned text, or lets go of the owner. An owned string is empty afterwards.
static inline void TF_TString_Dealloc(TF_TString *str);

static inline size_t TF_TString_GetSize(const TF_TString *str);

// Room without a new allocation; 0 for borrowed text. Resize before writing beyond the size.
static inline size_t TF_TString_GetCapacity(const TF_TString *str);

static inline TF_TString_Type TF_TString_GetType(const TF_TString *str);

// Valid until the string changes or, for a SMALL one, moves.
static inline const char *TF_TString_GetDataPointer(const TF_TString *str);

// The same for writing; makes borrowed text owned first.
static inline char *TF_TString_GetMutableDataPointer(TF_TString *str);

// Cuts or extends to |new_size|; new characters are |c|, or whatever was there.
static inline char *TF_TString_Resize(TF_TString *str, size_t new_size, char c);
static inline char *TF_TString_ResizeUninitialized(TF_TString *str, size_t new_size);

// Makes room for at least |new_cap| characters; size and text do not change. The second form at
// least doubles the room when it grows, so that appending one by one is cheap.
static inline void TF_TString_Reserve(TF_TString *str, size_t new_cap);
static inline void TF_TString_ReserveAmortized(TF_TString *str, size_t new_cap);

// Borrows |src|, which must outlive |dst|; or shares it through |owner_ref|, which is referenced
// once (NULL: as the first form).
static inline void TF_TString_AssignView(TF_TString *dst, const char *src, size_t size);
static inline void TF_TString_AssignViewWithOwner(TF_TString *dst, const char *src, size_t size,
                                                  TStringOwnerCApi *owner_ref);

// |src| must not be text that |dst| owns.
static inline void TF_TString_Append(TF_TString *dst, const TF_TString *src);
static inline void TF_TString_AppendN(TF_TString *dst, const char *src, size_t src_size);

// An owned copy, whatever |src| is. |src| must not be text that |dst| owns.
static inline void TF_TString_Copy(TF_TString *dst, const char *src, size_t size);

// Owned text is copied, borrowed text stays borrowed (an OFFSET becomes a VIEW).
static inline void TF_TString_Assign(TF_TString *dst, const TF_TString *src);

// Takes over the text of |src| without copying it. |src| stays valid; a LARGE one or a VIEW is left
// empty.
static inline void TF_TString_Move(TF_TString *dst, TF_TString *src);

#endif  // TENSORFLOW_CORE_PLATFORM_CTSTRING_H_
