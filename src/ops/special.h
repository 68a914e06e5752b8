// SPDX-License-Identifier: Apache-2.0
// special.h: special functions that more than one file of ops needs.

#ifndef FY_OPS_SPECIAL_H
#define FY_OPS_SPECIAL_H

double fy_digamma(double x);  // NaN at its poles

#endif
