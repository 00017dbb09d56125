#include "tests/bounds/campaign_page.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "codegen/bounds/problem_bound.h"
#include "codegen/program/kernel.h"

namespace mdh {
namespace {

constexpr char kIntroduction[] =
    "# Campaigns about bounds\n\n"
    "Random configurations of random sizes of the shipped expressions, each measured and compared "
    "with its [bound](../../../deploy/docs/bounds.md)\nand those of every prefix of five orders of "
    "decisions, by `bound_campaign --page`. A violation is a bound above the fastest call, in two\n"
    "measurements; a drop is a bound that falls along a decision. "
    "Others on a machine make calls\nlonger: they can hide a violation, and make none.\n\n";
constexpr char kHead[] =
    "| device | seed | points at most | commit | generator | version of bounds | measured | "
    "expressions | prefixes | violations | drops | bound / time, median | at most |\n"
    "|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";
constexpr char kTotalHead[] =
    "\n## Altogether\n\n"
    "| device | campaigns | measured | prefixes | violations | drops |\n"
    "|---|--:|--:|--:|--:|--:|\n";
constexpr size_t kDevice = 0, kMeasured = 6, kPrefixes = 8, kViolations = 9, kDrops = 10,
                 kColumns = 13;

using Row = std::vector<std::string>;

// The cells of a row of campaigns; empty: the line is another one.
Row CellsOf(const std::string& line) {
  Row cells;
  if (!absl::StartsWith(line, "| ")) return cells;
  for (const absl::string_view cell : absl::StrSplit(line, '|')) {
    cells.emplace_back(absl::StripAsciiWhitespace(cell));
  }
  cells.erase(cells.begin());
  cells.pop_back();
  const bool is_head = !cells.empty() && cells[kDevice] == "device";
  if (cells.size() != kColumns || is_head) cells.clear();
  return cells;
}

Status Collect(const std::string& text, std::vector<Row>& rows) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const Row cells = CellsOf(std::string(line));
    if (cells.empty()) continue;
    for (const size_t column : {kMeasured, kPrefixes, kViolations, kDrops}) {
      int64_t count = 0;
      if (absl::SimpleAtoi(cells[column], &count)) continue;
      return InvalidArgument("'", cells[column], "' is no count in the row ", line);
    }
    if (std::ranges::find(rows, cells) == rows.end()) rows.push_back(cells);
  }
  return absl::OkStatus();
}

std::string TotalsOf(const std::vector<Row>& rows) {
  std::vector<std::string> devices;
  for (const Row& row : rows) {
    if (std::ranges::find(devices, row[kDevice]) == devices.end()) devices.push_back(row[kDevice]);
  }
  std::string text = kTotalHead;
  for (const std::string& device : devices) {
    int64_t campaigns = 0;
    std::array<int64_t, 4> sums = {};
    for (const Row& row : rows) {
      if (row[kDevice] != device) continue;
      ++campaigns;
      constexpr std::array<size_t, 4> kSummed = {kMeasured, kPrefixes, kViolations, kDrops};
      for (size_t n = 0; n < sums.size(); ++n) {
        int64_t count = 0;
        if (absl::SimpleAtoi(row[kSummed[n]], &count)) sums[n] += count;
      }
    }
    absl::StrAppend(&text, "| ", device, " | ", campaigns, " | ", absl::StrJoin(sums, " | "),
                    " |\n");
  }
  return text;
}

}  // namespace

std::string RowOf(const BoundCheckReport& report, const CampaignOrigin& origin) {
  const double median = report.shares.empty() ? 0 : report.shares[report.shares.size() / 2];
  const double most = report.shares.empty() ? 0 : report.shares.back();
  return absl::StrFormat("| %s | %d | %d | %s | %d | %d | %d | %d | %d | %d | %d | %.3f | %.2f |\n",
                         report.device, origin.seed, origin.points,
                         origin.commit.empty() ? "?" : origin.commit, kGeneratorVersion,
                         kBoundVersion, report.measured, report.expressions, report.bounds,
                         report.violations, report.drops, median, most);
}

Result<std::string> CampaignPage(const std::string& page, const std::string& rows) {
  std::vector<Row> all;
  MDH_RETURN_IF_ERROR(Collect(page, all));
  MDH_RETURN_IF_ERROR(Collect(rows, all));
  std::string text = absl::StrCat(kIntroduction, kHead);
  for (const Row& row : all) absl::StrAppend(&text, "| ", absl::StrJoin(row, " | "), " |\n");
  return text + TotalsOf(all);
}

}  // namespace mdh
