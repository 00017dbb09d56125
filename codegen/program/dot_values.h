// Values of loop programs for dot instructions of CPUs (core/decomposition/dot_plan.h).
#pragma once

#include <cstdint>
#include <string>

#include "codegen/program/index.h"
#include "codegen/program/unit_statements.h"

namespace mdh {

// Neighbours of 32 bits together, as uint32, of which the first are the lowest: one word from every
// element at offset, offset + stride, ... on, aligned or not.
struct LoadWords {
  std::string pointer;
  Index offset;
  int64_t stride;  // elements
};
// `sum`, of float or int32, with products of what is in words `a` and `b` added to each lane: those
// of bf16, or of four bytes, unsigned ones of a and signed ones of b. Of bf16 they are exact; how
// their sum is rounded is the target's choice.
struct AddDots {
  LoopValue sum;
  LoopValue a;
  LoopValue b;
};

}  // namespace mdh
