// SPDX-License-Identifier: Apache-2.0
// gemm_impl.h: what gemm.c (how a product is cut) and gemm_rows.c (where the rows of A are) share.

#ifndef FY_DEVICES_CPU_GEMM_IMPL_H
#define FY_DEVICES_CPU_GEMM_IMPL_H

#include "devices/cpu/gemm.h"

#define FY_GEMM_MOST_BLOCKS 64  // of a tile
#define FY_GEMM_LINES       64  // of a window over few channels, at most

typedef struct fy_gemm_tiles {
  const fy_gemm_job *job;
  const fy_gemm_kernels *kernels;
  int64_t tiles, tile_rows;       // the most rows of one
  int64_t shares;                 // that the tiles are dealt out in
  int64_t panels, chunk, chunks;  // the most panels of an item; items per tile
  int64_t block_rows;             // the most of a block
  bool wide;                      // the last panel is a half and goes with the one before
  int columns;
  size_t size;
  bool gather, far, even;  // even: rows of a block lie evenly apart
  bool copies, large;      // of A's rows; all of them, since the product is large
  bool fills;              // the first block that meets a panel packs it
  int64_t whole_from,
      whole_to;  // gather: pixels of a row that see a run of each line, and all of it inside
  bool runs;     // gather: what tall blocks of pixels side by side see of a line is one run
} fy_gemm_tiles;

typedef struct fy_gemm_cuts {  // of a tile's rows
  int n;
  uint8_t rows[FY_GEMM_MOST_BLOCKS];
  bool even;  // the rows of each block lie evenly apart
} fy_gemm_cuts;

typedef struct fy_gemm_piece {  // of the sum
  int64_t tap, taps, at, depth;
  bool first, last;
} fy_gemm_piece;

// All blocks are about equal, because one with a single row costs as much as one with three.
void fy_gemm_cut(int rows, int most, fy_gemm_cuts *out);
// The rows [m0, m1) of a product, or pixels, where windows over few channels see runs: no block goes on in the
// next line.
void fy_gemm_cut_rows(const fy_gemm_tiles *r, int64_t m0, int64_t m1, fy_gemm_cuts *out);
// Pointers to the rows from |m0| on, group by group: [group][tap][row of the group].
void fy_gemm_find_rows(const fy_gemm_tiles *r, const fy_gemm_cuts *k, int64_t m0, const void **out);
// The same for windows over few channels, whose lines count as taps: pixels side by side are one run
// of the image. What lies partly outside of it is copied to |buffer|, which begins with a line of zeros
// for what lies above and below.
void fy_gemm_find_lines(const fy_gemm_tiles *r, const fy_gemm_cuts *k, int64_t m0, char *buffer,
                        const void **out);
// Sets |whole_from|, |whole_to| and |runs|, before the first fy_gemm_find_lines().
void fy_gemm_find_whole(fy_gemm_tiles *r);
// The piece |s| of the rows from |m| on, each block one run, term by term: where they lie the terms of a
// transposed A are a line apart, and the rows of any large one a page.
void fy_gemm_copy_rows(const fy_gemm_tiles *r, const fy_gemm_piece *s, const fy_gemm_cuts *cuts,
                       int64_t m, char *buffer, const void **rows);

#endif
