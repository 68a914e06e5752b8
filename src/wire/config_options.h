// SPDX-License-Identifier: Apache-2.0
// config_options.h: what a ConfigProto asks for, as fy_options.

#ifndef FY_WIRE_CONFIG_OPTIONS_H
#define FY_WIRE_CONFIG_OPTIONS_H

#include "base/options.h"
#include "config.pb-c.h"

// Applies what |config| sets to |*options|. A proto3 field at its default says nothing, so what was
// set before stays. INVALID_ARGUMENT names the field; then |*options| is unchanged. Fields without
// a meaning here (placement_period, session_metadata, rpc_options…) are accepted and ignored.
FY_MUST_CHECK fy_code fy_wire_config_options(const Tensorflow__ConfigProto *config,
                                             fy_options *options, fy_error *err);
// INVALID_ARGUMENT if the share of a GPU's memory that |config| asks for is none. Not part of the above:
// TensorFlow minds only where there is a GPU.
FY_MUST_CHECK fy_code fy_wire_config_check_share(const Tensorflow__ConfigProto *config,
                                                 fy_error *err);

#endif
