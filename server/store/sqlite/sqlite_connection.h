// Connections to the database of the daemon, and messages in its rows.
#pragma once

#include <google/protobuf/message_lite.h>

#include <memory>
#include <string>

#include "core/base/status.h"
#include "server/store/sqlite/sqlite_database.h"
#include "server/store/sqlite/sqlite_store.h"

namespace mdh {

// A connection that waits for others, keeps the size limit, and has committed only what is on the
// disk. Errors: as SqliteDatabase::Open.
Result<std::unique_ptr<SqliteDatabase>> OpenConnection(const SqliteStoreOptions& options);

// A connection that cannot write. The database must be open already. Errors: as OpenConnection.
Result<std::unique_ptr<SqliteDatabase>> OpenReader(const SqliteStoreOptions& options);

// As a value of a parameter.
inline SqliteBytes BytesOf(const google::protobuf::MessageLite& message) {
  return {message.SerializeAsString()};
}

// The message in a column. Errors: FailedPrecondition if it is none, calling it `what`.
template <typename Message>
Result<Message> ParseStored(const std::string& bytes, const char* what) {
  Message message;
  if (!message.ParseFromString(bytes)) return FailedPrecondition("a stored ", what, " is damaged");
  return message;
}

// The same of two columns of a row: the bytes, and whether their checksum is right.
template <typename Message>
Result<Message> ParseChecked(const SqliteStatement& row, int column, const char* what) {
  if (row.Integer(column + 1) == 0) return FailedPrecondition("a stored ", what, " is damaged");
  return ParseStored<Message>(row.Bytes(column), what);
}

}  // namespace mdh
