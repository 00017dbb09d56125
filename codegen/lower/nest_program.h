// From a low-level expression to a loop program, level by level (paper, Section 3.1 and appendix
// E): the lowering of everything but the CPU's register tiles.
#pragma once

#include <cstdint>
#include <optional>

#include "codegen/program/loop_program.h"
#include "core/base/status.h"
#include "core/decomposition/low_level_expression.h"
#include "core/device/device_description.h"
#include "core/expression/dependences.h"

namespace mdh {

// What becomes of the results that blocks store.
enum class StoredResults : uint8_t {
  kFinal,    // a result may be stored twice: parts of blocks may overlap (OverlappingParts)
  kCarried,  // others take the place of stores, which may add results to those of other parts
};

// The dimensions of which such results are computed on and below the diagonal only
// (BlockChoices::mirrors).
std::optional<ExchangeablePair> MirrorOf(const LowLevelExpression& low_level, StoredResults stored);

// Expects a low-level expression for one of the models that have a backend. Ensures: running all
// stages in turn stores every reached output element. Inputs and outputs go by the identifiers of
// KernelArguments. Phases that are set apart become stages of their own, with the MDAs between them
// in scratch buffers. Errors: Unimplemented for several devices; ResourceExhausted if MDAs between
// phases are too large.
Result<LoopProgram> BuildNestProgram(const LowLevelExpression& low_level,
                                     const DeviceDescription& device,
                                     StoredResults stored = StoredResults::kFinal);

}  // namespace mdh
