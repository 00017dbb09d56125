// The stage behind a computation of results on and below the diagonal of two exchangeable
// dimensions: those below it are stored again, above it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/program/loop_program.h"
#include "codegen/program/result_targets.h"
#include "core/expression/dependences.h"

namespace mdh {

struct MirroredResults {
  ExchangeablePair dimensions;
  std::vector<std::string> index_names;  // of loop variables, one per dimension
  std::vector<ResultTarget> outputs;
  int64_t lanes = 1;  // of the vectors that the computation has, a power of two
};

// On CPUs. Squares of results are transposed in vector registers, where neighbours along one of the
// two dimensions are neighbours in all outputs.
Stage MirrorStage(const Expression& expression, const MirroredResults& results);

}  // namespace mdh
