// SPDX-License-Identifier: Apache-2.0
// cost.h: decide by cost what the constraints leave open. Private to place/.

#ifndef FY_PLACE_COST_H
#define FY_PLACE_COST_H

#include "place/groups.h"

// |p| holds TensorFlow's own choice for every node; improves it where time or memory say so and writes
// the reason with its numbers. Groups with one candidate never move.
FY_MUST_CHECK fy_code fy_place_by_cost(fy_groups *gr, const fy_place_options *o, fy_placement *p,
                                       fy_error *err);

#endif
