// All that unrolled loops load is loaded before the first of their stores.
#pragma once

#include <set>
#include <string>

#include "codegen/program/loop_program.h"
#include "codegen/program/scalar_code.h"

namespace mdh {

// Expects a body in which an element that is stored by unrolled loops is loaded, by them, by the
// same iteration alone. Ensures the same, with the values of nests of unrolled loops that end with
// a store kept in registers, and stored by a nest of their own: compilers make neighbours one
// access only if no other memory that they cannot tell apart is accessed between them. `memory`:
// names of what is stored to so; `names`: for the arrays.
Block StoresBehindLoads(const Block& body, const std::set<std::string>& memory,
                        NameAllocator* names);

}  // namespace mdh
