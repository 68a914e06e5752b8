// SPDX-License-Identifier: Apache-2.0
// optimizers.c: Apply*, ResourceApply* and their sparse forms: one training step of a variable and its
// slots from a gradient: which
// inputs it has and which formula (optimizer_steps.inc).
//
// Inputs are some variables (the weight and its slots, all of one shape), then scalars and the
// gradient in the order each op has them. All variables are locked in the order of their addresses;
// a value that a reader holds is replaced, never written.

#include "ops/optimizers.h"

static const fy_optimizer descent = {
    1, 3, 2, {"var", "alpha", "delta"}, NULL, FY_STEP_descent, 0.5, false, false};
static const fy_optimizer momentum = {
    2, 5,     3,    {"var", "accum", "lr", "grad", "momentum"}, "use_nesterov", FY_STEP_momentum,
    1, false, false};
static const fy_optimizer keras_momentum = {2,
                                            5,
                                            3,
                                            {"var", "accum", "lr", "grad", "momentum"},
                                            "use_nesterov",
                                            FY_STEP_keras_momentum,
                                            1,
                                            false,
                                            false};
static const fy_optimizer adam = {
    3,
    10,
    9,
    {"var", "m", "v", "beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "grad"},
    "use_nesterov",
    FY_STEP_adam,
    3,
    false,
    true};
static const fy_optimizer amsgrad = {4,
                                     11,
                                     10,
                                     {"var", "m", "v", "vhat", "beta1_power", "beta2_power", "lr",
                                      "beta1", "beta2", "epsilon", "grad"},
                                     NULL,
                                     FY_STEP_amsgrad,
                                     3,
                                     false,
                                     true};
static const fy_optimizer adagrad = {
    2, 4, 3, {"var", "accum", "lr", "grad"}, "update_slots", FY_STEP_adagrad, 2, false, false};
static const fy_optimizer adagrad_v2 = {
    2, 5,     4,    {"var", "accum", "lr", "epsilon", "grad"}, "update_slots", FY_STEP_adagrad_v2,
    2, false, false};
static const fy_optimizer rmsprop = {
    3,    8,
    7,    {"var", "ms", "mom", "lr", "rho", "momentum", "epsilon", "grad"},
    NULL, FY_STEP_rmsprop,
    2,    false,
    true};
static const fy_optimizer centered = {
    4,    9,
    8,    {"var", "mg", "ms", "mom", "lr", "rho", "momentum", "epsilon", "grad"},
    NULL, FY_STEP_centered,
    3,    false,
    true};
static const fy_optimizer adadelta = {
    3,    7,
    6,    {"var", "accum", "accum_update", "lr", "rho", "epsilon", "grad"},
    NULL, FY_STEP_adadelta,
    3,    false,
    false};
static const fy_optimizer adamax = {
    3,    9,
    8,    {"var", "m", "v", "beta1_power", "lr", "beta1", "beta2", "epsilon", "grad"},
    NULL, FY_STEP_adamax,
    2,    false,
    true};
static const fy_optimizer ftrl = {3,
                                  8,
                                  3,
                                  {"var", "accum", "linear", "grad", "lr", "l1", "l2", "lr_power"},
                                  "multiply_linear_by_lr",
                                  FY_STEP_ftrl,
                                  5,
                                  true,
                                  false};
static const fy_optimizer ftrl_v2 = {
    3,
    9,
    3,
    {"var", "accum", "linear", "grad", "lr", "l1", "l2", "l2_shrinkage", "lr_power"},
    "multiply_linear_by_lr",
    FY_STEP_ftrl_v2,
    5,
    true,
    false};

static const fy_optimizer add_sign = {
    2,    7,
    6,    {"var", "m", "lr", "alpha", "sign_decay", "beta", "grad"},
    NULL, FY_STEP_add_sign,
    2,    false,
    false};
static const fy_optimizer power_sign = {
    2,    7,
    6,    {"var", "m", "lr", "logbase", "sign_decay", "beta", "grad"},
    NULL, FY_STEP_power_sign,
    5,    false,
    false};
static const fy_optimizer proximal = {
    1, 5, 4, {"var", "alpha", "l1", "l2", "delta"}, NULL, FY_STEP_proximal, 2, false, false};
static const fy_optimizer proximal_adagrad = {
    2, 6,     5,    {"var", "accum", "lr", "l1", "l2", "grad"}, NULL, FY_STEP_proximal_adagrad,
    2, false, false};
static const fy_optimizer adagrad_da = {
    3,
    8,
    3,
    {"var", "gradient_accumulator", "gradient_squared_accumulator", "grad", "lr", "l1", "l2",
     "global_step"},
    NULL,
    FY_STEP_adagrad_da,
    3,
    false,
    false};

#define OPTIMIZER(Name, table)                                                           \
  FY_OP(Name, .shape = fy_optimizer_shape, .compute = fy_optimizer_apply, .aux = &table, \
        .host_inputs = HOSTS_##table)
#define HOSTS_descent          1
#define HOSTS_momentum         3
#define HOSTS_keras_momentum   3
#define HOSTS_adam             7
#define HOSTS_amsgrad          15
#define HOSTS_adagrad          3
#define HOSTS_adagrad_v2       3
#define HOSTS_rmsprop          7
#define HOSTS_centered         15
#define HOSTS_adadelta         7
#define HOSTS_adamax           7
#define HOSTS_ftrl             7
#define HOSTS_ftrl_v2          7
#define HOSTS_add_sign         3
#define HOSTS_power_sign       3
#define HOSTS_proximal         1
#define HOSTS_proximal_adagrad 3
#define HOSTS_adagrad_da       7
OPTIMIZER(ResourceApplyGradientDescent, descent);
OPTIMIZER(ResourceApplyMomentum, momentum);
OPTIMIZER(ResourceApplyKerasMomentum, keras_momentum);
OPTIMIZER(ResourceApplyAdam, adam);
OPTIMIZER(ResourceApplyAdamWithAmsgrad, amsgrad);
OPTIMIZER(ResourceApplyAdagrad, adagrad);
OPTIMIZER(ResourceApplyAdagradV2, adagrad_v2);
OPTIMIZER(ResourceApplyRMSProp, rmsprop);
OPTIMIZER(ResourceApplyCenteredRMSProp, centered);
OPTIMIZER(ResourceApplyAdadelta, adadelta);
OPTIMIZER(ResourceApplyAdaMax, adamax);
OPTIMIZER(ResourceApplyFtrl, ftrl);
OPTIMIZER(ResourceApplyFtrlV2, ftrl_v2);

#define REF_OPTIMIZER(Name, table)                                                       \
  FY_OP(Name, .shape = fy_optimizer_shape, .compute = fy_optimizer_apply, .aux = &table, \
        .host_inputs = HOSTS_##table, .host_outputs = 1, .flags = FY_OP_SETS_OUTPUT)
REF_OPTIMIZER(ApplyGradientDescent, descent);
REF_OPTIMIZER(ApplyMomentum, momentum);
REF_OPTIMIZER(ApplyAdam, adam);
REF_OPTIMIZER(ApplyAdagrad, adagrad);
REF_OPTIMIZER(ApplyAdagradV2, adagrad_v2);
REF_OPTIMIZER(ApplyRMSProp, rmsprop);
REF_OPTIMIZER(ApplyCenteredRMSProp, centered);
REF_OPTIMIZER(ApplyAdadelta, adadelta);
REF_OPTIMIZER(ApplyAdaMax, adamax);
REF_OPTIMIZER(ApplyFtrl, ftrl);
REF_OPTIMIZER(ApplyFtrlV2, ftrl_v2);
REF_OPTIMIZER(ApplyAddSign, add_sign);
OPTIMIZER(ResourceApplyAddSign, add_sign);
REF_OPTIMIZER(ApplyPowerSign, power_sign);
OPTIMIZER(ResourceApplyPowerSign, power_sign);
REF_OPTIMIZER(ApplyProximalGradientDescent, proximal);
OPTIMIZER(ResourceApplyProximalGradientDescent, proximal);
REF_OPTIMIZER(ApplyProximalAdagrad, proximal_adagrad);
OPTIMIZER(ResourceApplyProximalAdagrad, proximal_adagrad);
REF_OPTIMIZER(ApplyAdagradDA, adagrad_da);
OPTIMIZER(ResourceApplyAdagradDA, adagrad_da);
REF_OPTIMIZER(SparseApplyAdadelta, adadelta);
OPTIMIZER(ResourceSparseApplyAdadelta, adadelta);
REF_OPTIMIZER(SparseApplyAdagrad, adagrad);
OPTIMIZER(ResourceSparseApplyAdagrad, adagrad);
REF_OPTIMIZER(SparseApplyAdagradV2, adagrad_v2);
OPTIMIZER(ResourceSparseApplyAdagradV2, adagrad_v2);
REF_OPTIMIZER(SparseApplyAdagradDA, adagrad_da);
OPTIMIZER(ResourceSparseApplyAdagradDA, adagrad_da);
REF_OPTIMIZER(SparseApplyCenteredRMSProp, centered);
OPTIMIZER(ResourceSparseApplyCenteredRMSProp, centered);
REF_OPTIMIZER(SparseApplyFtrl, ftrl);
OPTIMIZER(ResourceSparseApplyFtrl, ftrl);
REF_OPTIMIZER(SparseApplyFtrlV2, ftrl_v2);
OPTIMIZER(ResourceSparseApplyFtrlV2, ftrl_v2);
REF_OPTIMIZER(SparseApplyMomentum, momentum);
OPTIMIZER(ResourceSparseApplyMomentum, momentum);
REF_OPTIMIZER(SparseApplyProximalAdagrad, proximal_adagrad);
OPTIMIZER(ResourceSparseApplyProximalAdagrad, proximal_adagrad);
REF_OPTIMIZER(SparseApplyProximalGradientDescent, proximal);
OPTIMIZER(ResourceSparseApplyProximalGradientDescent, proximal);
REF_OPTIMIZER(SparseApplyRMSProp, rmsprop);
OPTIMIZER(ResourceSparseApplyRMSProp, rmsprop);
OPTIMIZER(ResourceSparseApplyKerasMomentum, keras_momentum);
