// What methods share: responses from results, and pages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "core/base/status.h"
#include "proto/error_details.h"

namespace mdh {

// Of pages with small entries.
inline constexpr int kMaxPageSize = 1'000;

// The response of a call is what `result` has. Errors: those of `result`.
template <typename Message>
Status Reply(Result<Message> result, Message* response) {
  if (result.ok()) *response = *std::move(result);
  return result.status();
}

// The number in a page token, which is positive; 0 for the first page. Errors: InvalidArgument.
inline Result<int64_t> ParsePageToken(const std::string& token) {
  int64_t number = 0;
  if (!token.empty() && (!absl::SimpleAtoi(token, &number) || number <= 0)) {
    return InvalidField("page_token", "page_token is not one that this service gave");
  }
  return number;
}

// Errors: InvalidArgument if it is negative.
inline Result<int> PageLimit(int page_size, int default_size, int max_size) {
  if (page_size < 0) return InvalidField("page_size", "page_size is negative");
  return page_size == 0 ? default_size : std::min(page_size, max_size);
}

// Of `found`, which were asked for with one more than `limit`, to see whether there is a next page:
// all but that go to `entries`. Whether there is one.
template <typename Entry, typename Entries>
bool FillPage(std::vector<Entry> found, int limit, Entries* entries) {
  const bool has_more = std::ssize(found) > limit;
  if (has_more) found.pop_back();
  for (Entry& entry : found) *entries->Add() = std::move(entry);
  return has_more;
}

}  // namespace mdh
