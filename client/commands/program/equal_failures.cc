#include "client/commands/program/equal_failures.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tuner/program/evaluator.h"

namespace mdh {
namespace {

constexpr int kFew = 8;
constexpr int kMany = 64;

std::string WithoutNumbers(const std::string& text) {
  std::string without;
  for (const char c : text) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) without += c;
  }
  return without;
}

}  // namespace

void EqualFailures::Note(const v1::StudyTrial& trial) {
  const std::string kind(Name(FailureKind::kCompileError));
  const bool is_compile_error =
      !trial.has_cost() && absl::StartsWith(trial.failure(), absl::StrCat(kind, ":"));
  if (!is_compile_error) is_over_ = true;
  if (is_over_) return;
  const std::string comparable = WithoutNumbers(trial.failure());
  if (count_ == 0) {
    first_ = trial.failure();
    comparable_ = comparable;
  }
  is_over_ = comparable != comparable_;
  ++count_;
  for (const auto& [name, value] : trial.configuration().values().fields()) {
    values_[name].insert(value.SerializeAsString());
  }
}

std::string EqualFailures::Verdict() const {
  const bool have_all_varied = std::ranges::all_of(
      values_, [](const auto& parameter) { return parameter.second.size() > 1; });
  const bool is_hopeless = !is_over_ && (count_ >= kMany || (count_ >= kFew && have_all_varied));
  if (!is_hopeless) return "";
  return absl::StrCat("all of its first ", count_, " configurations fail alike: ", first_);
}

}  // namespace mdh
