#include "core/device/cgroup.h"

#include <fstream>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace mdh {
namespace {

// Version 1 writes no limit as a number of pages that no machine has.
constexpr int64_t kNoMemoryLimit = int64_t{1} << 60;

std::string Line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<std::string> Lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// A file system of control groups.
struct Hierarchy {
  bool is_unified = false;  // version 2
  std::string shown;        // the group at its mount point
  std::string mount_point;
  std::string options;  // of version 1: ",cpu,cpuacct,"
};

// One line of /proc/self/mountinfo, see proc(5): "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 none
// rw".
std::optional<Hierarchy> ParseMount(const std::string& line) {
  const std::vector<std::string> sides = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
  if (sides.size() != 2) return std::nullopt;
  const std::vector<std::string> fields = absl::StrSplit(sides[0], ' ');
  const std::vector<std::string> types = absl::StrSplit(sides[1], ' ');
  if (fields.size() < 5 || types.size() < 3) return std::nullopt;
  const bool is_unified = types[0] == "cgroup2";
  if (!is_unified && types[0] != "cgroup") return std::nullopt;
  return Hierarchy{is_unified, fields[3], fields[4], absl::StrCat(",", types[2], ",")};
}

// The group of this process in a hierarchy, from /proc/self/cgroup: "4:cpu,cpuacct:/a/b", "0::/a".
std::optional<std::string> GroupIn(const Hierarchy& hierarchy, absl::string_view controller,
                                   const std::vector<std::string>& groups) {
  for (const std::string& line : groups) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const bool is_it = hierarchy.is_unified
                           ? fields[1].empty()
                           : absl::StrContains(absl::StrCat(",", fields[1], ","),
                                               absl::StrCat(",", std::string(controller), ","));
    if (is_it) return fields[2];
  }
  return std::nullopt;
}

// The folders of the group and of those above it, as far as they are shown.
std::vector<std::string> FoldersOf(const Hierarchy& hierarchy, const std::string& group,
                                   const std::string& root) {
  absl::string_view below = group;
  if (hierarchy.shown != "/") absl::ConsumePrefix(&below, hierarchy.shown);
  // Of a group outside of what is shown the mount point is all that can be seen.
  if (absl::StartsWith(below, "/..")) below = "";
  std::string folder = absl::StrCat(root, hierarchy.mount_point);
  std::vector<std::string> folders = {folder};
  for (const absl::string_view part : absl::StrSplit(below, '/', absl::SkipEmpty())) {
    absl::StrAppend(&folder, "/", std::string(part));
    folders.push_back(folder);
  }
  return folders;
}

// "150000 100000", "max 100000"; 0: no limit.
double ParseCpuMax(const std::string& line) {
  const std::vector<std::string> parts = absl::StrSplit(line, ' ');
  double quota = 0, period = 0;
  const bool is_limit = parts.size() == 2 && absl::SimpleAtod(parts[0], &quota) &&
                        absl::SimpleAtod(parts[1], &period) && quota > 0 && period > 0;
  return is_limit ? quota / period : 0;
}

double CpusOf(const Hierarchy& hierarchy, const std::string& folder) {
  if (hierarchy.is_unified) return ParseCpuMax(Line(folder + "/cpu.max"));
  return ParseCpuMax(
      absl::StrCat(Line(folder + "/cpu.cfs_quota_us"), " ", Line(folder + "/cpu.cfs_period_us")));
}

int64_t MemoryOf(const Hierarchy& hierarchy, const std::string& folder) {
  int64_t bytes = 0;
  const std::string name = hierarchy.is_unified ? "/memory.max" : "/memory.limit_in_bytes";
  const bool is_limit = absl::SimpleAtoi(Line(folder + name), &bytes) && bytes > 0;
  return is_limit && bytes < kNoMemoryLimit ? bytes : 0;
}

// The lesser of two limits.
template <typename T>
void TakeLeast(T limit, T* least) {
  if (limit > 0 && (*least == 0 || limit < *least)) *least = limit;
}

}  // namespace

CgroupLimits ReadCgroupLimits(const std::string& root) {
  const std::vector<std::string> groups = Lines(root + "/proc/self/cgroup");
  CgroupLimits limits;
  for (const std::string& line : Lines(root + "/proc/self/mountinfo")) {
    const std::optional<Hierarchy> hierarchy = ParseMount(line);
    if (!hierarchy) continue;
    for (const char* controller : {"cpu", "memory"}) {
      const bool has_it = hierarchy->is_unified ||
                          absl::StrContains(hierarchy->options, absl::StrCat(",", controller, ","));
      if (!has_it) continue;
      const std::optional<std::string> group = GroupIn(*hierarchy, controller, groups);
      for (const std::string& folder : FoldersOf(*hierarchy, group.value_or("/"), root)) {
        if (controller[0] == 'c') TakeLeast(CpusOf(*hierarchy, folder), &limits.cpus);
        if (controller[0] == 'm') TakeLeast(MemoryOf(*hierarchy, folder), &limits.memory_bytes);
      }
    }
  }
  return limits;
}

}  // namespace mdh
