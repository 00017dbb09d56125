// Durations on the command line.
#pragma once

#include <cstdint>
#include <string>

namespace mdh {

// Sets `nanoseconds` from "60s", "2m" or "2min", "1h30m" or a number of seconds, between 0 and 24
// hours. Returns what is wrong; empty if nothing is.
std::string ParseDurationArgument(const std::string& text, int64_t& nanoseconds);

}  // namespace mdh
