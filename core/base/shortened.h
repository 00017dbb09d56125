// Texts of others, such as what a compiler prints, which may have any length and any bytes.
#pragma once

#include <string>
#include <string_view>

namespace mdh {

// What a person reads of an error; it is sent twice, and must fit into the trailers of a call,
// which are 8 KiB.
inline constexpr size_t kLongestMessage = 1536;

// `text` with a question mark for each byte that is no part of a character of UTF-8, and for zeros:
// messages between programs have no others.
std::string ValidText(std::string_view text);

// The valid text without its middle, "... (123456 bytes left out) ...", if it is longer than `most`
// bytes. Characters stay whole.
std::string Shortened(std::string_view text, size_t most = kLongestMessage);

}  // namespace mdh
