// The copy of a part of a buffer in two steps: into private arrays, and from there to the shared
// array.
#pragma once

#include <optional>
#include <string>

#include "codegen/program/loop_program.h"
#include "codegen/program/scalar_code.h"

namespace mdh {

// Elements of the region's array that one thread stores; nullopt if the region has loops whose
// bounds are not constant, other statements than loops, branches, index variables and stores of
// single elements, or more than a million elements.
std::optional<int64_t> PrefetchedElements(const CopyRegion& region);

struct Prefetch {
  int64_t elements;  // of the private array
  Block copy;        // the region's body
  Block load;        // the same, into the private array
  Block store;       // from there into the region's array
};

// Expects PrefetchedElements(region). `carrier`: name of the private array; `offset` is added to
// the positions in the shared array to which `store` writes. What the three blocks declare gets
// names of its own in all but the first.
Prefetch MakePrefetch(const CopyRegion& region, const std::string& carrier, const Index& offset,
                      NameAllocator& names);

}  // namespace mdh
