#include "tuner/device/compiler_report.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace mdh {
namespace {

// "... 24 bytes smem, ..." has 24 before " bytes smem".
std::optional<int64_t> NumberBefore(absl::string_view unit, absl::string_view line) {
  const size_t end = line.find(unit);
  if (end == absl::string_view::npos) return std::nullopt;
  size_t begin = end;
  while (begin > 0 && absl::ascii_isdigit(static_cast<unsigned char>(line[begin - 1]))) --begin;
  int64_t number = 0;
  if (!absl::SimpleAtoi(line.substr(begin, end - begin), &number)) return std::nullopt;
  return number;
}

// Reads line by line:
//   ptxas info    : Compiling entry function 'mdh_sum_0' for 'sm_90'
//   ptxas info    : Function properties for mdh_sum_0
//   ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 77 registers, used 1 barriers, 20992 bytes smem
// Before the third line there is only white space in the logs of nvcc.
class Reader {
 public:
  Status Read(absl::string_view line) {
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "ptxas info")) {
      rest = absl::StripLeadingAsciiWhitespace(rest);
      absl::ConsumePrefix(&rest, ": ");
      if (absl::ConsumePrefix(&rest, "Compiling entry function '")) return Begin(rest, line);
      if (absl::ConsumePrefix(&rest, "Function properties for ")) {
        described_ = std::string(absl::StripAsciiWhitespace(rest));
      }
      if (absl::ConsumePrefix(&rest, "Used ")) return Registers(rest, line);
    } else if (absl::StrContains(line, " bytes stack frame")) {
      return Memory(line);
    }
    return absl::OkStatus();
  }

  Result<std::vector<FunctionResources>> End() && {
    MDH_RETURN_IF_ERROR(CheckThatLastIsComplete());
    return std::move(functions_);
  }

 private:
  static Status Bad(absl::string_view line) {
    return InvalidArgument("the compiler's report has no such line: ",
                           absl::StripAsciiWhitespace(line));
  }

  Status Begin(absl::string_view rest, absl::string_view line) {
    MDH_RETURN_IF_ERROR(CheckThatLastIsComplete());
    const size_t end = rest.find('\'');
    if (end == absl::string_view::npos || end == 0) return Bad(line);
    functions_.emplace_back().function = std::string(rest.substr(0, end));
    return absl::OkStatus();
  }

  Status Memory(absl::string_view line) {
    const auto stack = NumberBefore(" bytes stack frame", line);
    const auto stores = NumberBefore(" bytes spill stores", line);
    const auto loads = NumberBefore(" bytes spill loads", line);
    if (!stack || !stores || !loads) return Bad(line);
    if (functions_.empty() || described_ != functions_.back().function) return absl::OkStatus();
    FunctionResources& function = functions_.back();
    function.stack_bytes = *stack;
    function.spill_store_bytes = *stores;
    function.spill_load_bytes = *loads;
    return absl::OkStatus();
  }

  Status Registers(absl::string_view rest, absl::string_view line) {
    const auto registers = NumberBefore(" registers", rest);
    if (!registers || *registers < 1 || functions_.empty()) return Bad(line);
    functions_.back().registers = static_cast<int>(*registers);
    functions_.back().shared_bytes = NumberBefore(" bytes smem", rest).value_or(0);
    return absl::OkStatus();
  }

  Status CheckThatLastIsComplete() const {
    if (functions_.empty() || functions_.back().registers > 0) return absl::OkStatus();
    return InvalidArgument("the compiler's report has no registers of ",
                           functions_.back().function);
  }

  std::vector<FunctionResources> functions_;
  std::string described_;  // the function that the next properties are of
};

}  // namespace

Result<std::vector<FunctionResources>> ParseCompilerReport(absl::string_view log) {
  Reader reader;
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    MDH_RETURN_IF_ERROR(reader.Read(line));
  }
  return std::move(reader).End();
}

}  // namespace mdh
