// Random contractions with random configurations for matrix units.
#pragma once

#include <optional>
#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/expression/expression.h"
#include "tests/property/block_backend.h"
#include "tests/property/output_judge.h"
#include "tests/random_expression.h"

namespace mdh {

struct UnitCase {
  Expression expression;
  TuningParameters parameters;  // valid
};

// The backend's device, or, where it only compiles, one with matrix units: of groups and of warps,
// or of warps only.
DeviceDescription DeviceWithUnits(const JudgedBackend& backend, Rng& rng);

// The outputs of a contraction on a matrix unit. Products of narrow types are rounded one by one in
// the interpreter, and a unit rounds what it stores only: such results may be the next ones.
std::vector<JudgedOutput> OutputsOfUnit(const Expression& expression);

// Of operands of 16 bits, doubles and bytes, and of fp32 by products of tf32 and of parts of bf16,
// as RandomContraction makes them: transposed, strided, as convolutions, with factors; tiles that
// sizes fill and do not, several groups of threads, stages and parts of k. nullopt: the device has
// no units, or no such configuration was found.
std::optional<UnitCase> RandomUnitCase(Rng& rng, const DeviceDescription& device);

}  // namespace mdh
