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
// "float", "int32_t": of elements in memory, as the prelude of every target knows them; bool is
// stored as uint8_t, fp16 and the like (IsStorageOnly) are their bits as uint16_t or uint8_t.
std::string StandardType(ScalarType type);

}  // namespace mdh
