#include "server/records/resource_names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

constexpr std::string_view kJobs = "tuningJobs/";
constexpr std::string_view kStudies = "studies/";
constexpr std::string_view kRecords = "records/";
constexpr std::string_view kKernels = "kernels/";

// The part after `prefix`.
Result<std::string> PartAfter(std::string_view name, std::string_view prefix) {
  if (name.substr(0, prefix.size()) != prefix || name.size() == prefix.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", std::string(name), "' is no resource name of the form ", std::string(prefix), "..."));
  }
  return std::string(name.substr(prefix.size()));
}

// The number after `prefix`; `what` is numbered.
Result<int64_t> ParseNumber(std::string_view name, std::string_view prefix, const char* what) {
  MDH_ASSIGN_OR_RETURN(const std::string digits, PartAfter(name, prefix));
  int64_t number = 0;
  if (!absl::SimpleAtoi(digits, &number) || number <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", std::string(name), "' does not end with the number of a ", what));
  }
  return number;
}

}  // namespace

std::string JobName(int64_t number) { return absl::StrCat(std::string(kJobs), number); }
std::string StudyName(int64_t number) { return absl::StrCat(std::string(kStudies), number); }

Result<int64_t> ParseJobName(std::string_view name) { return ParseNumber(name, kJobs, "job"); }
Result<int64_t> ParseStudyName(std::string_view name) {
  return ParseNumber(name, kStudies, "study");
}

std::string NodeName(std::string_view daemon) {
  if (daemon.empty()) return "";
  std::string name = "nodes/";
  for (const char c : daemon) {
    const bool is_kept = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_';
    if (is_kept) {
      name.push_back(c);
    } else if (name.back() != '-' && name.back() != '/') {
      name.push_back('-');
    }
  }
  return name;
}

std::string RecordName(std::string_view id) { return std::string(kRecords).append(id); }
std::string KernelName(std::string_view id) { return std::string(kKernels).append(id); }
Result<std::string> ParseRecordName(std::string_view name) { return PartAfter(name, kRecords); }
Result<std::string> ParseKernelName(std::string_view name) { return PartAfter(name, kKernels); }

}  // namespace mdh
