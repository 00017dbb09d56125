// Whether an input is finite, as leaving out products with zeros asks (outside_products.h).
#pragma once

#include <string>

#include "codegen/program/loop_program.h"
#include "core/expression/expression.h"

namespace mdh {

// Declares the flag `name`: whether all elements at `pointer` are finite. `lanes`: of vectors.
Block DeclareFinite(const std::string& name, const std::string& pointer, const Buffer& buffer,
                    int lanes);

}  // namespace mdh
