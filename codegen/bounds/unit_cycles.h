// How long the units of one core take for floating-point operations, at least.
#pragma once

#include <array>

#include "codegen/bounds/certain_work.h"
#include "codegen/bounds/device_rates.h"

namespace mdh {

// Counts and rates are doubles: what rounding may add to a quotient of them.
inline constexpr double kRounding = 1e-12;

// Floating-point instructions that multiply or add.
double Fused(const ArithmeticWork& work, bool may_fuse);
// Core-cycles that units for multiplications and additions take.
double CyclesOf(const ArithmeticWork& work, const ArithmeticRate& rate, bool may_fuse);
// Those that the busiest kind of units takes: multiplications and additions of each type, special
// units, and the issue of all instructions. By RealKind.
double UnitCycles(const std::array<ArithmeticWork, 3>& work, const DeviceRates& rates,
                  bool may_fuse);

}  // namespace mdh
