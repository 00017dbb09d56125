// Between C and C++: errors, exceptions, structs that may be older or newer than the library.
#pragma once

#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/c/mdh.h"
#include "core/base/status.h"

namespace mdh {

// Makes *error of `status`, unless that is OK or `error` is NULL.
mdh_code Report(const Status& status, mdh_error** error);

// Runs `body`, which gives a Status; nothing is thrown into C.
template <typename Body>
mdh_code Guarded(mdh_error** error, const Body& body) noexcept {
  try {
    return Report(body(), error);
  } catch (const std::bad_alloc&) {
    return MDH_RESOURCE_EXHAUSTED;  // without a message: there is no memory for one
  } catch (const std::exception& exception) {
    return Report(absl::InternalError(exception.what()), error);
  }
}

// What the caller gave, with zeros for fields that its version of the struct does not have.
// Errors: InvalidArgument without a size; Unimplemented for fields that this library does not know,
// unless they are zero.
template <typename Options>
Result<Options> ReadOptions(const Options* given) {
  Options options = {};
  if (given == nullptr) return options;
  const size_t size = given->struct_bytes;
  if (size < sizeof(size)) {
    return absl::InvalidArgumentError("struct_bytes must be the size of the struct of options");
  }
  const char* const bytes = reinterpret_cast<const char*>(given);
  for (size_t at = sizeof(Options); at < size; ++at) {
    if (bytes[at] != 0) {
      return absl::UnimplementedError(
          absl::StrCat("an option is newer than the library, which is ", mdh_version()));
    }
  }
  std::memcpy(&options, given, size < sizeof(Options) ? size : sizeof(Options));
  return options;
}

// Who is trusted, if the caller does not say: TrustedUsers::Parse.
std::string TrustedUsersText(const char* given);

inline const char* TextOr(const char* text, const char* otherwise) {
  return text != nullptr ? text : otherwise;
}

}  // namespace mdh
