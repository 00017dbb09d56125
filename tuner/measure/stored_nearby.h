// What a store function (an epilogue) makes of results that are as far off as those of right
// kernels may be, element by element: a quotient by what is nearly zero, say, is further off than
// others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/expression/expression.h"
#include "core/expression/interpreter.h"
#include "core/scalar/scalar_value.h"
#include "tuner/measure/results/output_points.h"

namespace mdh {

// Of one output of an expression with a store function. What was asked for is kept. Thread-safe.
class StoredNearby {
 public:
  struct Options {
    std::vector<double> tolerances;  // per value of stored(): ResultTolerance
    // Per result of f its root mean square: errors are relative to it where results are smaller.
    std::vector<double> scales;
    Accumulation accumulation = Accumulation::kWide;
    int64_t most_elements = 0;  // of others nothing is said
  };

  // `inputs`: one pointer per passed input. They, and the expression, must outlive it.
  StoredNearby(const Expression& expression, std::vector<const std::byte*> inputs, int output,
               Options options);

  // As ReferenceBuffer::nearby: with each of the results of f larger, and smaller, by as much as it
  // may be off.
  std::vector<ScalarValue> At(int64_t element, int field);

 private:
  std::vector<ScalarValue> Compute(int64_t element, int field) const;

  const Expression& expression_;
  const std::vector<const std::byte*> inputs_;
  const int output_;
  const Options options_;
  const OutputPoints points_;
  std::mutex mutex_;
  std::map<std::pair<int64_t, int>, std::vector<ScalarValue>> known_;
};

}  // namespace mdh
