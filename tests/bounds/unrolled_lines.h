// How much code compilers have to do with.
#pragma once

#include <cstdint>
#include <string_view>

namespace mdh {

// Lines of the functions of generated OpenCL C, CUDA C++ or C, where those inside of loops under
// "#pragma unroll" count once for every iteration: the time that LLVM takes grows with them.
int64_t UnrolledLines(std::string_view source);

}  // namespace mdh
