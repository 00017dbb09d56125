#include "client/commands/format/record_format.h"

#include <cmath>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/report/decomposition_data.h"
#include "client/text/formatting.h"
#include "core/base/wrap_lines.h"
#include "core/decomposition/low_level_summary.h"

namespace mdh {
namespace {

std::string Fact(const char* what, const std::string& text) {
  return absl::StrFormat("  %-12s %s\n", what, text);
}

// What share of the time no kernel can do without.
std::string BoundCell(const v1::TuningRecord& record) {
  const double bound_ns = record.certificate().problem_bound_ns();
  if (bound_ns <= 0 || record.time_ns() <= 0) return "-";
  return absl::StrFormat("%.0f %%", bound_ns / static_cast<double>(record.time_ns()) * 100);
}

std::string SpeedText(const v1::TuningRecord& record, const Bound& bound,
                      const std::optional<UnitUse>& unit) {
  const auto time_ns = static_cast<double>(record.time_ns());
  const bool shows_bytes = record.flops() == 0 || bound.is_bandwidth;
  std::string text =
      shows_bytes ? FormatBandwidth(static_cast<double>(record.compulsory_bytes()) / time_ns * 1e9)
                  : FormatFlops(static_cast<double>(record.flops()) / time_ns * 1e9);
  if (shows_bytes && record.fits_in_cache()) absl::StrAppend(&text, ", of data in caches");
  if (bound.time_ns <= 0) return text;
  const v1::MachinePeaks& peaks = record.peaks();
  const double share = bound.time_ns / time_ns * 100;
  if (unit.has_value() && !bound.is_bandwidth) {
    return absl::StrFormat("%s, %.0f %% of the %s that %s can do", text, share,
                           FormatFlops(unit->flops_per_s), unit->instruction.name);
  }
  const double peak =
      record.is_double_precision() ? peaks.fp64_flops_per_s() : peaks.fp32_flops_per_s();
  return absl::StrFormat("%s, %.0f %% of the measured %s", text, share,
                         bound.is_bandwidth
                             ? "bandwidth of " + FormatBandwidth(peaks.memory_bytes_per_s())
                             : "peak of " + FormatFlops(peak));
}

std::string ComparedText(const v1::TuningRecord& record) {
  const auto times = [&](int64_t slower_ns) {
    const double ratio = static_cast<double>(slower_ns) / static_cast<double>(record.time_ns());
    return absl::StrFormat("%.*f times ", ratio >= 100 ? 0 : 1, ratio);
  };
  const bool has_default = record.default_time_ns() > 0;
  std::string text;
  if (has_default) absl::StrAppend(&text, times(record.default_time_ns()), "as fast as from rules");
  if (record.loop_nest_time_ns() > 0) {
    absl::StrAppend(&text, has_default ? ", " : "", times(record.loop_nest_time_ns()),
                    has_default ? "a plain loop nest" : "as fast as a plain loop nest");
  }
  if (const int64_t unfused_ns = record.pipeline().unfused_time_ns(); unfused_ns > 0) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", times(unfused_ns),
                    text.empty() ? "as fast as unfused" : "the best unfused kernel");
  }
  return text;
}

// How much of its space the search has proven to be slower; empty: nothing.
std::string ProofLine(const v1::Certificate& certificate) {
  const std::string no_faster =
      certificate.gap() > 0
          ? absl::StrFormat("no faster by more than %.3g %%", 100 * certificate.gap())
          : "no faster";
  if (certificate.is_whole()) {
    return Fact("", "every other configuration was tried, or proven to be " + no_faster);
  }
  double worse = 0, all = 0;
  const bool is_known = absl::SimpleAtod(certificate.proven_worse_count(), &worse) &&
                        absl::SimpleAtod(certificate.space_count(), &all);
  if (!is_known || worse <= 0 || all <= 0) return "";
  const auto text = [](double count) {
    return count < 1e6 ? absl::StrFormat("%.0f", count) : absl::StrFormat("%.3g", count);
  };
  return Fact("", absl::StrCat("at least ", text(worse), " of ", text(all),
                               " configurations are proven to be ", no_faster));
}

// What no kernel can be faster than, and below it what is assumed; empty: nothing is known.
std::string BoundLines(const v1::TuningRecord& record) {
  const v1::Certificate& certificate = record.certificate();
  if (certificate.problem_bound_ns() <= 0 || record.time_ns() <= 0) return "";
  const double times = static_cast<double>(record.time_ns()) / certificate.problem_bound_ns();
  const bool is_proven = certificate.assumptions().empty();
  std::string text =
      Fact("bound", absl::StrFormat("%s, at most %.3g times as fast%s", certificate.binding_floor(),
                                    times, is_proven ? "; proven" : ""));
  for (const std::string& assumption : certificate.assumptions()) {
    absl::StrAppend(&text, Fact("", absl::StrCat("assumed: ", assumption)));
  }
  absl::StrAppend(&text, ProofLine(certificate));
  return text;
}

// As a word of a command for sh.
std::string Quoted(const std::string& word) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

}  // namespace

std::string FormatRecord(const v1::TuningRecord& record) {
  const Result<LowLevelExpression> low = DecompositionOf(record);
  const std::optional<UnitUse> unit = UnitUseOf(record);
  const Bound bound = LowerBound(record, unit.has_value() ? unit->flops_per_s : 0);
  std::string text =
      absl::StrCat(record.expression_name(), record.device().model().empty() ? "" : " on ",
                   record.device().model(), ": ", FormatTime(record.time_ns()),
                   record.cache_state() == v1::CACHE_STATE_COLD ? ", with cold caches\n" : "\n");
  absl::StrAppend(&text, Fact("speed", SpeedText(record, bound, unit)));
  const std::string why = WhyAbovePeak(static_cast<double>(record.time_ns()), bound,
                                       record.compulsory_bytes(), record.device());
  if (!why.empty()) absl::StrAppend(&text, Fact("", absl::StrCat("more than all: ", why)));
  const std::string compared = ComparedText(record);
  if (!compared.empty()) absl::StrAppend(&text, Fact("compared", compared));
  if (unit.has_value()) {
    absl::StrAppend(&text, Fact("unit", unit->text));
  } else if (low.ok()) {
    absl::StrAppend(&text, Fact("parts", ShortForm(*low)));
  }
  if (record.is_disturbed()) {
    absl::StrAppend(&text, Fact("disturbed",
                                "others used the machine; it is measured again when that is "
                                "quiet"));
  }
  if (record.result_check() == v1::RESULT_CHECK_SAMPLES) {
    absl::StrAppend(&text, Fact("checked", "on some elements"));
  } else if (record.result_check() == v1::RESULT_CHECK_NONE) {
    absl::StrAppend(&text, Fact("checked", "not: the budget is too short for that"));
  }
  absl::StrAppend(&text, BoundLines(record));
  return text;
}

std::string FormatRecordDetails(const v1::TuningRecord& record, int columns) {
  std::string text =
      Fact("trials",
           absl::StrFormat("%d, %d of them failed, in %s%s", record.trials(),
                           record.failed_trials(), FormatTime(record.search_time_ns()),
                           record.search_end() == v1::SEARCH_END_CANCELLED ? ", cancelled" : ""));
  const bool is_sum =
      record.total_search_time_ns() > record.search_time_ns() + record.search_time_ns() / 4;
  if (is_sum || record.is_exhausted()) {
    absl::StrAppend(
        &text,
        Fact("searched", absl::StrCat(FormatTime(record.total_search_time_ns()), " in all",
                                      record.is_exhausted() ? ", every configuration" : "")));
  }
  for (const v1::BoundFloor& floor : record.certificate().floors()) {
    absl::StrAppend(
        &text,
        Fact("floor", absl::StrCat(floor.resource(), ": ",
                                   FormatTime(static_cast<int64_t>(std::llround(floor.time_ns()))),
                                   ", ", floor.reason())));
  }
  absl::StrAppend(&text, Fact("record", record.name()), "\n", record.low_level_table());
  if (text.back() != '\n') text.push_back('\n');
  const Result<LowLevelExpression> low = DecompositionOf(record);
  if (low.ok()) absl::StrAppend(&text, TableLegend(low->model(), columns));
  return text;
}

std::string FormatNextCommands(const std::vector<std::vector<std::string>>& commands, int columns) {
  constexpr absl::string_view kFirst = "next: ", kOthers = "      ", kContinued = "    ";
  std::string text;
  for (const std::vector<std::string>& words : commands) {
    absl::StrAppend(&text, text.empty() ? kFirst : kOthers);
    int used = static_cast<int>(kFirst.size());
    for (size_t n = 0; n < words.size(); ++n) {
      const std::string word = Quoted(words[n]);
      const int needed = CharactersIn(word) + (n == 0 ? 0 : 1);
      constexpr int kBackslash = 2;  // with the blank in front of it
      if (n > 0 && used + needed + kBackslash > columns) {
        absl::StrAppend(&text, " \\\n", kOthers, kContinued, word);
        used = static_cast<int>(kOthers.size() + kContinued.size()) + needed - 1;
      } else {
        absl::StrAppend(&text, n == 0 ? "" : " ", word);
        used += needed;
      }
    }
    text.push_back('\n');
  }
  return text;
}

const std::vector<TextColumn>& RecordTable() {
  static const auto* table =
      new std::vector<TextColumn>{{.heading = "RECORD"},  // whole, for mdh pin and others
                                  {.heading = "TIME", .is_number = true},
                                  {.heading = "BOUND", .is_number = true, .dispensable = 3},
                                  {.heading = "STATE", .dispensable = 2},
                                  {.heading = "DEVICE", .least = 12, .dispensable = 1},
                                  {.heading = "EXPRESSION", .least = 10}};
  return *table;
}

std::vector<std::string> RecordRow(const v1::TuningRecord& record) {
  const char* state = record.is_pinned()                 ? "pinned"
                      : record.is_provisional()          ? "provisional"
                      : record.is_disturbed()            ? "disturbed"
                      : !record.key().schedule().empty() ? "scheduled"
                                                         : "";
  return {record.name(), FormatTime(record.time_ns()), BoundCell(record),
          state,         record.device().model(),      record.expression_name()};
}

}  // namespace mdh
