// SPDX-License-Identifier: Apache-2.0
// version.h: which TensorFlow we speak: the numbers that GraphDefs carry and errors quote.

#ifndef FY_GRAPH_VERSION_H
#define FY_GRAPH_VERSION_H

#define FY_TF_VERSION             "2.21.0"
#define FY_GRAPH_DEF_VERSION      2474
#define FY_GRAPH_DEF_MIN_PRODUCER 0
#define FY_FORWARD_WINDOW         21  // producers up to this much newer are promised to work

#endif
