// Names that a kernel's source uses for something of its own.
#pragma once

#include <string_view>

namespace mdh {

// Whether `source`, in a language like C, declares a variable or parameter called `name`: as a
// macro it would break the declaration. Looks at the tokens beside the name, outside of comments
// and lines of the preprocessor; a function or a type of that name is not found.
bool DeclaresVariable(std::string_view source, std::string_view name);

}  // namespace mdh
