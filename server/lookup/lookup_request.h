// Requests of lookups, read in place.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "mdh/v1/kernel.pb.h"
#include "server/records/kernel_key.h"

namespace mdh {

// A LookupKernelRequest that has a key with a digest and nothing that must be looked at first.
struct KeyLookup {
  KernelKeyView key;
  v1::MatchKind weakest = v1::MATCH_KIND_UNSPECIFIED;
  std::string_view min_cursor = {};

  // nullopt for every other request, and for bytes that are none. What it has is views of `bytes`.
  static std::optional<KeyLookup> Parse(std::string_view bytes);
};

// The min_cursor of a serialised LookupKernelRequest; empty if it has none, or the bytes are none.
std::string_view MinCursorOf(std::string_view request);
// The bytes of the same request without it; all of them if it is not at their end, where clients
// have it.
std::string_view WithoutMinCursor(std::string_view request);

// The requests of a serialised BatchLookupKernelsRequest; nullopt if the bytes are none.
std::optional<std::vector<std::string_view>> ParseBatch(std::string_view bytes);

}  // namespace mdh
