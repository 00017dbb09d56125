// Which point of an expression writes an element of an output: the inverse of the output's index
// functions (paper, Definition 10: no element is written twice).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/status.h"
#include "core/expression/expression.h"

namespace mdh {

// Of one output. The expression must outlive it. Thread-safe.
class OutputPoints {
 public:
  OutputPoints(const Expression& expression, int output);

  // One index per dimension, 0 in reduced ones; nullopt if no point writes the element. Errors:
  // ResourceExhausted if index functions are so entangled that it takes too long to say.
  Result<std::optional<std::vector<int64_t>>> Find(int64_t element) const;

 private:
  // An access of which every index follows one dimension of its own, at most.
  struct Separate {
    std::vector<int> dimension_of;  // per index of the buffer; -1: it is constant
  };

  std::optional<std::vector<int64_t>> IndexOf(int64_t element) const;
  std::optional<std::vector<int64_t>> FindSeparate(size_t access,
                                                   const std::vector<int64_t>& index) const;

  const Expression& expression_;
  const Buffer& buffer_;
  std::vector<std::optional<Separate>> separate_;  // per access; nullopt: not of that kind
};

}  // namespace mdh
