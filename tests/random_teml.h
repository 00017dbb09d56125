// Random TeML programs that are well-formed, as texts.
#pragma once

#include <string>

#include "tests/random_expression.h"

namespace mdh {

struct RandomTemlOptions {
  int statements = 14;        // that are kept, at most
  int64_t max_points = 4096;  // of the loops around an assignment, and elements of a tensor
};

// All in int64, in which every order of computation gives the same. Has an assignment at least;
// uses all forms of tensor expressions and of loop expressions.
std::string RandomTemlProgram(Rng& rng, const RandomTemlOptions& options = {});

}  // namespace mdh
