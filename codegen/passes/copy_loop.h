// Loops that copy neighbours, and what is known of the alignment of indices: what passes that make
// wide copies share.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/program/loop_program.h"

namespace mdh {

// for x = 0 .. iterations:  target[to + stride * x] = source[from + x], or += if it adds
struct CopyLoop {
  int64_t iterations;
  ScalarType type;
  std::string target, source;
  Index to, from;
  int64_t stride;
  bool adds;  // atomically
  // Of a source with a boundary: what is loaded for x = 0, with the next element in the next lane.
  std::optional<LoadInside> inside = std::nullopt;

  // So many elements from x on, at once.
  LoopValue Load(const Index& x, int64_t lanes) const;
};
// nullopt: the loop is something else.
std::optional<CopyLoop> CopyLoopOf(const For& loop);

// Where the element is that lane 0 loads, if it is inside of the buffer, and what makes it so.
Index PlaceOf(const LoadInside& load);
std::vector<Condition> InsideConditions(const LoadInside& load);

// Whether all values of coefficient * index are known to be multiples of `divisor`. `definitions`:
// values of index variables.
bool IsMultiple(const Index& index, int64_t divisor,
                const std::map<std::string, Index>& definitions, int64_t coefficient = 1);

}  // namespace mdh
