// Records and kernels as their bytes are stored.
#pragma once

#include <string>
#include <string_view>

namespace mdh {

// The name in a serialised record or kernel; empty if there is none.
std::string_view NameIn(std::string_view message);

// Whether a record is pinned is not stored with it: a serialised record as a pinned one.
std::string Pinned(std::string_view record);

}  // namespace mdh
