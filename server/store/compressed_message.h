// Serialised messages as stores keep them where each byte is read, sent and received at every
// start.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mdh {

// A serialised message in fewer bytes; as it is if it does not become shorter.
std::string Compressed(std::string_view message);

// The serialised message in bytes that Compressed gave, or that are one themselves. The view is of
// `stored`, or of `room`, which grows as need be and may be used for the next one. nullopt if the
// bytes are damaged, or compressed in a way that is not known.
std::optional<std::string_view> Decompressed(std::string_view stored, std::string& room);

}  // namespace mdh
