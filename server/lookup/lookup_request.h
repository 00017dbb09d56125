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

  // nullopt for every other request, and for bytes that are none. The key is a view of `bytes`.
  static std::optional<KeyLookup> Parse(std::string_view bytes);
};

// The requests of a serialised BatchLookupKernelsRequest; nullopt if the bytes are none.
std::optional<std::vector<std::string_view>> ParseBatch(std::string_view bytes);

}  // namespace mdh
