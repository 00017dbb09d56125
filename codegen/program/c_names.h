// Names in generated code, for all targets alike.
#pragma once

#include <string>

#include "core/scalar/scalar_type.h"

namespace mdh {

// Makes an identifier that is no keyword of C, C++, OpenCL C or CUDA C++ and none that generated
// code uses.
std::string CIdentifier(const std::string& name);

// "f32", "i8", "u64", "b8": stem of vector type and function names.
std::string ShortName(ScalarType type);

}  // namespace mdh
