#include "client/read_cursor.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "google/rpc/error_details.pb.h"
#include "proto/error_details.h"

namespace mdh {
namespace {

std::pair<std::string_view, int64_t> SplitCursor(std::string_view cursor) {
  const size_t dot = cursor.rfind('.');
  if (dot == std::string_view::npos) return {"", 0};
  int64_t number = 0;
  const std::string_view digits = cursor.substr(dot + 1);
  if (!absl::SimpleAtoi(absl::string_view(digits.data(), digits.size()), &number)) return {"", 0};
  return {cursor.substr(0, dot), number};
}

}  // namespace

void ReadCursor::Note(const std::string& cursor) {
  if (cursor.empty()) return;
  absl::MutexLock lock(&mutex_);
  const auto [incarnation, number] = SplitCursor(cursor);
  if (incarnation.empty()) return;
  const auto [known_incarnation, known_number] = SplitCursor(cursor_);
  if (incarnation != known_incarnation || number > known_number) cursor_ = cursor;
}

std::string ReadCursor::Get() const {
  absl::MutexLock lock(&mutex_);
  return cursor_;
}

void ReadCursor::Forget(const std::string& cursor) {
  absl::MutexLock lock(&mutex_);
  if (cursor_ == cursor) cursor_.clear();
}

bool ReadCursor::IsReason(const Status& error) {
  const std::optional<google::rpc::ErrorInfo> info = DetailOf<google::rpc::ErrorInfo>(error);
  return info.has_value() &&
         (info->reason() == "REPLICA_BEHIND" || info->reason() == "CURSOR_EXPIRED");
}

}  // namespace mdh
