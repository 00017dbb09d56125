// Messages in the rows of a PostgreSQL database.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "server/store/crc32.h"
#include "server/store/postgres/postgres_rows.h"

namespace mdh {

// A message and its checksum as the values of two parameters.
struct PgChecked {
  explicit PgChecked(const google::protobuf::MessageLite& message)
      : bytes(message.SerializeAsString()), crc32(Crc32Of(bytes)) {}

  std::string bytes;
  int64_t crc32;
};

// The message in a column, whose checksum is in the next one. Errors: FailedPrecondition if it is
// none, calling it `what`.
template <typename Message>
Result<Message> ParseChecked(const PgRow& row, int column, const char* what) {
  Message message;
  const std::string_view bytes = row.View(column);
  const bool is_whole = Crc32Of(bytes) == row.Integer(column + 1) &&
                        message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (!is_whole)
    return absl::FailedPreconditionError(absl::StrCat("a stored ", what, " is damaged"));
  return message;
}

}  // namespace mdh
