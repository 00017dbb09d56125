// Messages in the rows of a PostgreSQL database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "server/store/compressed_message.h"
#include "server/store/crc32.h"
#include "server/store/postgres/postgres_rows.h"

namespace mdh {

// A message and its checksum as the values of two parameters. The checksum is that of the bytes as
// they are stored.
struct PgChecked {
  explicit PgChecked(std::string stored) : bytes(std::move(stored)), crc32(Crc32Of(bytes)) {}
  explicit PgChecked(const google::protobuf::MessageLite& message)
      : PgChecked(message.SerializeAsString()) {}

  std::string bytes;
  int64_t crc32;
};

// The message in a column, compressed or not, whose checksum is in the next one. Errors:
// FailedPrecondition if it is none, calling it `what`.
template <typename Message>
Result<Message> ParseChecked(const PgRow& row, int column, const char* what) {
  Message message;
  const std::string_view bytes = row.View(column);
  std::string room;
  const std::optional<std::string_view> stored =
      Crc32Of(bytes) == row.Integer(column + 1) ? Decompressed(bytes, room) : std::nullopt;
  const bool is_whole = stored.has_value() &&
                        message.ParseFromArray(stored->data(), static_cast<int>(stored->size()));
  if (!is_whole)
    return absl::FailedPreconditionError(absl::StrCat("a stored ", what, " is damaged"));
  return message;
}

}  // namespace mdh
