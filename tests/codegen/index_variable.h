// Indices that tests make by hand.
#pragma once

#include <string>

#include "codegen/program/index.h"

namespace mdh {

inline Index Var(const std::string& name) { return Index::Variable(name); }

}  // namespace mdh
