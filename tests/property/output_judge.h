// What is wrong with the outputs of a kernel whose results are exact, or nearly.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/expression/expression.h"
#include "core/expression/unreached_elements.h"
#include "core/pipeline/pipeline.h"

namespace mdh {

// Of every output and element, point by point.
std::vector<std::vector<ElementContent>> ContentsOfOutputs(const Expression& expression);

// An output of a kernel, and what becomes of its elements.
struct JudgedOutput {
  Buffer buffer;
  std::vector<ElementContent> contents;
  int units = 0;  // in the last place, by which floating-point results may differ
};
std::vector<JudgedOutput> OutputsOf(const Expression& expression);
std::vector<JudgedOutput> OutputsOf(const Pipeline& pipeline);

// The first element of an output that is not bit by bit (but for the sign of zeros) what is
// expected; that no index function reaches and is not zero, or not as before where it is kept; or
// the first byte of other memory that was written. An empty string if there is none. `poison`: the
// byte that the buffer was filled with before. `units`: in the last place, by which floating-point
// results may differ.
std::string DifferenceOf(const Buffer& buffer, const std::byte* got, const std::byte* expected,
                         const std::vector<ElementContent>& contents, std::byte poison,
                         int units = 0);

}  // namespace mdh
