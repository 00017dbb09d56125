#include "server/store/postgres/sql_state.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

// By prefix; the first that fits counts.
constexpr std::pair<std::string_view, absl::StatusCode> kMeanings[] = {
    {"08", absl::StatusCode::kUnavailable},            // the connection
    {"57P0", absl::StatusCode::kUnavailable},          // the server shuts down or starts
    {"57014", absl::StatusCode::kUnavailable},         // ended by a time limit
    {"40", absl::StatusCode::kUnavailable},            // serialisation failure, deadlock
    {"55P03", absl::StatusCode::kUnavailable},         // a lock was not to be had in time
    {"25006", absl::StatusCode::kUnavailable},         // read-only: no longer the primary
    {"25P03", absl::StatusCode::kUnavailable},         // the transaction was idle for too long
    {"53", absl::StatusCode::kResourceExhausted},      // disk, memory, connections
    {"23505", absl::StatusCode::kAlreadyExists},       // a unique column
    {"22021", absl::StatusCode::kInvalidArgument},     // text that is no UTF-8
    {"XX001", absl::StatusCode::kFailedPrecondition},  // data corrupted
    {"XX002", absl::StatusCode::kFailedPrecondition},  // index corrupted
    {"42501", absl::StatusCode::kFailedPrecondition},  // permission
    {"3D000", absl::StatusCode::kFailedPrecondition},  // no such database
    {"28", absl::StatusCode::kFailedPrecondition},     // credentials
};

}  // namespace

Status StatusOfSqlState(std::string_view state, std::string_view message) {
  const std::string text(absl::StripAsciiWhitespace(std::string(message)));
  if (state.empty()) return absl::UnavailableError(absl::StrCat("PostgreSQL: ", text));
  absl::StatusCode code = absl::StatusCode::kInternal;
  for (const auto& [prefix, meaning] : kMeanings) {
    if (!state.starts_with(prefix)) continue;
    code = meaning;
    break;
  }
  return Status(code, absl::StrCat("PostgreSQL: ", text, " (", std::string(state), ")"));
}

}  // namespace mdh
