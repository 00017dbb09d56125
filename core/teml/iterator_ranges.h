// Ranges of iterators and shapes of tensor expressions, which follow from the shapes of the tensors
// that are indexed: the inference of S' in equations (14) and (15) and of ub_k in (19).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/teml/program_text.h"
#include "core/teml/tensor_tree.h"

namespace mdh {

// One index of one tensor.
struct IteratorUse {
  Token token;  // of the access
  const RealTensor* tensor;
  size_t dimension;
  const IteratorIndex* index;
  bool is_target;
};

// The number of values of every iterator, from 0 on. An iterator that indexes a dimension alone
// goes over all of it; one that does so in dimensions of several extents goes over those of the
// target, or over the shortest one, and all longer ones must be read with shifted indices as well,
// as stencils do. Others go as far as all their indices are inside. Iterators whose range does not
// follow are left out. Errors: InvalidArgument for extents that do not agree.
Result<std::map<std::string, int64_t>> InferRanges(const std::vector<IteratorUse>& uses,
                                                   const ProgramText& text);

// Every index is inside of its dimension for all values of the iterators, which have ranges.
// Errors: InvalidArgument, with the value that is not.
Status CheckInside(const std::vector<IteratorUse>& uses,
                   const std::map<std::string, int64_t>& ranges, const ProgramText& text);

void AppendUses(const TensorNode& access, bool is_target, std::vector<IteratorUse>* uses);

}  // namespace mdh
