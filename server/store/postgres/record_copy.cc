#include "server/store/postgres/record_copy.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/start_thread.h"
#include "server/records/resource_names.h"
#include "server/store/compressed_message.h"
#include "server/store/crc32.h"
#include "server/store/postgres/postgres_rows.h"
#include "server/store/stored_record.h"

namespace mdh {
namespace {

// Processes of the server that read at the same time: two on each core of this machine, at most
// these.
constexpr int64_t kMostParts = 4;
// Smaller tables are read by one.
constexpr int64_t kLeastBlocks = 1'000;

// Blocks of the table.
struct Part {
  int64_t first = 0;
  int64_t end = 0;
  std::string room = {};  // for the record that is taken
  std::vector<std::string> damaged = {};
  Status status = absl::OkStatus();
};

// Reads what COPY writes in its binary format: a header; rows, each with the number of its columns
// and these with their sizes; -1.
class CopiedRow {
 public:
  explicit CopiedRow(std::string_view bytes) : rest_(bytes) {}
  // Before the first row.
  bool SkipHeader() {
    constexpr size_t kSignature = 11;
    constexpr size_t kFlags = 4;
    if (!Skip(kSignature + kFlags)) return false;
    const std::optional<int64_t> more = Integer(4);
    return more.has_value() && Skip(static_cast<size_t>(*more));
  }
  // Columns of the next row; -1: the end.
  std::optional<int64_t> Columns() { return Integer(2); }
  std::optional<std::string_view> Column() {
    const std::optional<int64_t> size = Integer(4);
    if (!size.has_value() || *size < 0 || static_cast<size_t>(*size) > rest_.size()) {
      return std::nullopt;
    }
    const std::string_view column = rest_.substr(0, *size);
    rest_.remove_prefix(*size);
    return column;
  }

 private:
  bool Skip(size_t bytes) {
    if (rest_.size() < bytes) return false;
    rest_.remove_prefix(bytes);
    return true;
  }
  std::optional<int64_t> Integer(size_t bytes) {
    if (rest_.size() < bytes) return std::nullopt;
    const int64_t value = IntegerFromNetwork(rest_.substr(0, bytes));
    rest_.remove_prefix(bytes);
    return value;
  }

  std::string_view rest_;
};

Status TakeRow(CopiedRow row, const Store::TakeRecord& take, Part& part) {
  const std::optional<int64_t> columns = row.Columns();
  if (columns == -1) return absl::OkStatus();
  const std::optional<std::string_view> id = row.Column();
  const std::optional<std::string_view> stored = row.Column();
  const std::optional<std::string_view> crc32 = row.Column();
  const std::optional<std::string_view> is_pinned = row.Column();
  if (columns != 4 || !is_pinned.has_value()) {
    return absl::InternalError("PostgreSQL copies records in another format than is known");
  }
  const std::optional<std::string_view> record = Crc32Of(*stored) == IntegerFromNetwork(*crc32)
                                                     ? Decompressed(*stored, part.room)
                                                     : std::nullopt;
  if (!record.has_value() || NameIn(*record) != RecordName(*id)) {
    part.damaged.emplace_back(*id);
  } else if (IntegerFromNetwork(*is_pinned) == 0) {
    take(*record);
  } else {
    take(Pinned(*record));
  }
  return absl::OkStatus();
}

Status CopyPart(const PostgresPool& pool, const std::string& condition,
                const Store::TakeRecord& take, Part& part) {
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<PostgresConnection> connection, pool.Connect());
  bool is_first = true;
  const auto take_piece = [&](std::string_view piece) -> Status {
    CopiedRow row(piece);
    if (is_first && !row.SkipHeader()) return absl::InternalError("PostgreSQL copies no header");
    is_first = false;
    return TakeRow(row, take, part);
  };
  return connection->CopyOut(
      absl::StrCat("COPY (SELECT id, record, crc32, is_pinned FROM mdhd.records WHERE ctid >= '(",
                   part.first, ",0)' AND ctid < '(", part.end, ",0)' AND ", condition,
                   ") TO STDOUT (FORMAT binary)"),
      take_piece);
}

Result<std::vector<Part>> PartsOfTable(PostgresConnection& connection) {
  MDH_ASSIGN_OR_RETURN(const PgRows rows, connection.Run("SELECT pg_relation_size('mdhd.records') /"
                                                         " current_setting('block_size')::bigint"));
  const int64_t blocks = rows[0].Integer(0);
  const int64_t most = std::min<int64_t>(2 * std::thread::hardware_concurrency(), kMostParts);
  const int64_t count = std::clamp<int64_t>(blocks / kLeastBlocks, 1, std::max<int64_t>(most, 1));
  std::vector<Part> parts(count);
  for (int64_t n = 0; n < count; ++n) {
    parts[n].first = n * blocks / count;
    parts[n].end = (n + 1) * blocks / count;
  }
  // With what is added meanwhile.
  parts.back().end = std::numeric_limits<uint32_t>::max();
  return parts;
}

}  // namespace

// What an earlier version wrote does not say its device, and of its schema, which a daemon that
// only reads leaves as it is, no record does.
Result<std::string> ConditionOfDevices(PostgresConnection& connection,
                                       const Store::Fingerprints& devices) {
  if (devices.empty()) return "true";
  MDH_ASSIGN_OR_RETURN(
      const PgRows columns,
      connection.Run("SELECT 1 FROM pg_attribute WHERE attrelid = 'mdhd.records'::regclass AND"
                     " attname = 'device_fingerprint' AND NOT attisdropped"));
  if (columns.empty()) return "true";
  const std::string array = *PgValue::Texts(devices).data();
  return absl::StrCat("(device_fingerprint IS NULL OR device_fingerprint = ANY (E'",
                      absl::StrReplaceAll(array, {{"\\", "\\\\"}, {"'", "''"}}), "'::text[]))");
}

Result<std::vector<std::string>> CopyRecords(const PostgresPool& pool,
                                             const Store::Fingerprints& devices,
                                             const Store::TakeRecord& take) {
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<PostgresConnection> connection, pool.Connect());
  MDH_ASSIGN_OR_RETURN(std::vector<Part> parts, PartsOfTable(*connection));
  MDH_ASSIGN_OR_RETURN(const std::string condition, ConditionOfDevices(*connection, devices));
  connection.reset();
  std::vector<std::thread> threads;
  for (Part& part : parts) {
    const auto copy = [&] { part.status = CopyPart(pool, condition, take, part); };
    Result<std::thread> thread = StartThread(copy);
    if (thread.ok()) {
      threads.push_back(*std::move(thread));
    } else {
      copy();
    }
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::string> damaged;
  for (const Part& part : parts) {
    MDH_RETURN_IF_ERROR(part.status);
    damaged.insert(damaged.end(), part.damaged.begin(), part.damaged.end());
  }
  return damaged;
}

}  // namespace mdh
