#include "server/store/sqlite/commit_count.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "absl/strings/str_format.h"
#include "server/store/crc32.h"

namespace mdh {
namespace {

// A line for people, with a checksum: the machine may have stopped while it was written.
std::string LineOf(int64_t number) {
  const std::string text = absl::StrFormat("transactions %019d", number);
  return absl::StrFormat("%s %08x\n", text, Crc32Of(text));
}

}  // namespace

Result<int64_t> CommitCount::CountMissing(SqliteDatabase& database) {
  MDH_ASSIGN_OR_RETURN(number_, database.QueryInteger("SELECT number FROM commits"));
  const std::string line = lock_.Text();
  int64_t outside = 0;
  if (std::sscanf(line.c_str(), "transactions %ld", &outside) != 1) return 0;
  if (line != LineOf(outside)) return 0;
  is_known_outside_ = true;
  return std::max<int64_t>(0, outside - number_);
}

Status CommitCount::Add(SqliteDatabase& database) {
  const Result<int64_t> number =
      NumberFromSql(database, "UPDATE commits SET number = number + 1 RETURNING number");
  if (absl::IsNotFound(number.status())) return FailedPrecondition("the table of commits is empty");
  if (number.ok()) number_ = *number;
  return number.status();
}

void CommitCount::Keep() { lock_.SetText(LineOf(number_)); }

}  // namespace mdh
