#include "tests/bounds/unrolled_lines.h"

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace mdh {
namespace {

// Of "for (int i = 0; i < 64; i += 4) {"; 1 where bounds are no numbers.
int64_t IterationsOf(const std::string& loop) {
  static const auto& kLoop =
      *new std::regex(R"(^for \(.* = (-?\d+); \w+ < (\d+); \w+(\+\+| \+= (\d+))\).*)");
  std::smatch match;
  int64_t first = 0, end = 0, step = 1;
  if (!std::regex_match(loop, match, kLoop) || !absl::SimpleAtoi(match[1].str(), &first) ||
      !absl::SimpleAtoi(match[2].str(), &end)) {
    return 1;
  }
  if (match[4].matched && !absl::SimpleAtoi(match[4].str(), &step)) return 1;
  return std::max<int64_t>(1, (end - first + step - 1) / std::max<int64_t>(step, 1));
}

}  // namespace

int64_t UnrolledLines(std::string_view source) {
  std::vector<int64_t> copies = {1};  // of what is in each of the blocks that are open
  int64_t lines = 0;
  bool is_unrolled = false;
  for (const absl::string_view whole :
       absl::StrSplit(absl::string_view(source.data(), source.size()), '\n')) {
    const std::string line(absl::StripAsciiWhitespace(whole));
    if (line.empty() || absl::StartsWith(line, "//")) continue;
    if (absl::StartsWith(line, "#pragma unroll")) {
      is_unrolled = true;
      continue;
    }
    const int64_t iterations = is_unrolled ? IterationsOf(line) : 1;
    is_unrolled = false;
    if (line.front() == '}' && copies.size() > 1) copies.pop_back();
    lines += copies.back() * iterations;
    if (line.back() == '{') copies.push_back(copies.back() * iterations);
  }
  return lines;
}

}  // namespace mdh
