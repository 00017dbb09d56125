#include "client/commands/explore_prompt.h"

#include <algorithm>
#include <cstdio>
#include <istream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/commands/call/duration_argument.h"
#include "client/commands/call/restriction_arguments.h"
#include "client/text/formatting.h"
#include "client/text/text_table.h"
#include "client/wait_for_job.h"

namespace mdh {
namespace {

constexpr const char* kHelp =
    "take PARAMETER=VALUE,..     only these values remain\n"
    "forbid PARAMETER=VALUE,..   these values do not\n"
    "undo [PARAMETER]            what was decided of it, or what was decided last\n"
    "why PARAMETER[=VALUE]       what it means, or what rules the value out\n"
    "show                        the parameters again\n"
    "sample [SEED]               a random one of the configurations that remain\n"
    "finish rules | record       the one nearest to the rules or to a record, with its schedule\n"
    "finish sample [SEED]        a random one, with its schedule\n"
    "finish search BUDGET        a tuning job for what remains\n"
    "schedule                    what was decided, as a schedule\n"
    "bounds [TIME]               how many are shown to take longer than the record, or than that\n"
    "quit\n";

// Numbers of any length: "1234", "3.1e19".
std::string ShortCount(const std::string& count) {
  constexpr size_t kMostDigits = 6;
  if (count.size() <= kMostDigits) return count;
  return absl::StrCat(count.substr(0, 1), ".", count.substr(1, 1), "e", count.size() - 1);
}

// "1, 2, 4, .., 64".
std::string ValuesOf(const v1::CandidateDecision& decision) {
  constexpr int kMostShown = 8;
  std::vector<std::string> values;
  for (const v1::RemainingValue& value : decision.remaining()) values.push_back(value.value());
  const auto count = static_cast<int>(values.size());
  if (count > kMostShown) {
    values.erase(values.begin() + kMostShown - 1, values.end() - 1);
    values.insert(values.end() - 1, "..");
  }
  return absl::StrJoin(values, ", ");
}

// "1.20 us"; empty: nothing is known.
std::string BoundText(double bound_ns) {
  return bound_ns <= 0 ? "" : FormatTime(static_cast<int64_t>(bound_ns));
}

// One command of a prompt, and what it does.
class Prompt {
 public:
  Prompt(const ExploreCalls& calls, v1::Candidate candidate)
      : calls_(calls), candidate_(std::move(candidate)) {}

  Status Show() {
    MDH_ASSIGN_OR_RETURN(const v1::DescribeCandidateResponse described,
                         calls_.describe(candidate_));
    PrintCandidate(described);
    return absl::OkStatus();
  }

  // Errors: InvalidArgument for what is no command; what the daemon says.
  Status Do(const std::vector<std::string>& words) {
    const std::string& command = words[0];
    const std::string argument = words.size() > 1 ? words[1] : "";
    if (command == "take" || command == "forbid") return Restrict(words, command == "forbid");
    if (command == "undo") return Undo(argument);
    if (command == "why") return Why(argument);
    if (command == "show") return Show();
    if (command == "sample") return Sample(argument);
    if (command == "finish") return Finish(argument, words.size() > 2 ? words[2] : "");
    if (command == "schedule") return PrintSchedule();
    if (command == "bounds") return Compare(argument);
    if (command == "help") {
      std::fputs(kHelp, stdout);
      return absl::OkStatus();
    }
    return InvalidArgument("there is no command '", command,
                           "'; there are take, forbid, undo, why, show, "
                           "sample, finish, schedule, bounds, help, quit");
  }

 private:
  // A candidate that the daemon refuses is none.
  Status Change(v1::Candidate changed) {
    MDH_ASSIGN_OR_RETURN(const v1::DescribeCandidateResponse described, calls_.describe(changed));
    candidate_ = std::move(changed);
    std::printf("%s configurations remain\n", described.count().empty()
                                                  ? "an unknown number of"
                                                  : ShortCount(described.count()).c_str());
    return absl::OkStatus();
  }

  Status Restrict(const std::vector<std::string>& words, bool is_forbidden) {
    if (words.size() < 2) return InvalidArgument(words[0], " needs PARAMETER=VALUE");
    v1::Candidate changed = candidate_;
    for (size_t n = 1; n < words.size(); ++n) {
      MDH_ASSIGN_OR_RETURN(*changed.add_restrictions(), ParseRestriction(words[n], is_forbidden));
    }
    return Change(std::move(changed));
  }

  Status Undo(std::string parameter) {
    v1::Candidate changed = candidate_;
    auto& restrictions = *changed.mutable_restrictions();
    if (restrictions.empty()) return InvalidArgument("nothing was decided");
    if (parameter.empty()) {
      restrictions.RemoveLast();
      return Change(std::move(changed));
    }
    const auto left = std::remove_if(
        restrictions.begin(), restrictions.end(),
        [&](const v1::Restriction& restriction) { return restriction.parameter() == parameter; });
    if (left == restrictions.end()) {
      return InvalidArgument("nothing was decided of '", parameter, "'");
    }
    restrictions.erase(left, restrictions.end());
    return Change(std::move(changed));
  }

  Status Why(const std::string& argument) {
    if (argument.find('=') != std::string::npos) {
      v1::Candidate asked = candidate_;
      MDH_ASSIGN_OR_RETURN(*asked.add_restrictions(), ParseRestriction(argument, false));
      MDH_ASSIGN_OR_RETURN(const v1::DescribeCandidateResponse described, calls_.describe(asked));
      std::printf("%s configurations have it\n", described.count().empty()
                                                     ? "an unknown number of"
                                                     : ShortCount(described.count()).c_str());
      return absl::OkStatus();
    }
    MDH_ASSIGN_OR_RETURN(const v1::DescribeCandidateResponse described,
                         calls_.describe(candidate_));
    for (const v1::CandidateDecision& decision : described.decisions()) {
      if (decision.parameter() != argument) continue;
      PrintDecision(decision);
      return absl::OkStatus();
    }
    return InvalidArgument("no parameter is named '", argument, "'; show lists them");
  }

  static Result<uint64_t> SeedOf(const std::string& text) {
    uint64_t seed = 1;
    if (!text.empty() && !absl::SimpleAtoi(text, &seed)) {
      return InvalidArgument("'", text, "' is no seed");
    }
    return seed;
  }

  Status Sample(const std::string& seed_text) {
    MDH_ASSIGN_OR_RETURN(const uint64_t seed, SeedOf(seed_text));
    MDH_ASSIGN_OR_RETURN(const v1::FinishCandidateResponse finished,
                         calls_.finish(candidate_, v1::FINISH_RULE_SAMPLE, seed));
    std::printf("%s\n", Printable(finished.parameters()).c_str());
    return absl::OkStatus();
  }

  Status Finish(const std::string& how, const std::string& argument) {
    if (how == "search") return calls_.search(candidate_, argument);
    MDH_ASSIGN_OR_RETURN(const v1::FinishRule by, FinishRuleNamed(how));
    MDH_ASSIGN_OR_RETURN(const uint64_t seed, SeedOf(argument));
    MDH_ASSIGN_OR_RETURN(const v1::FinishCandidateResponse finished,
                         calls_.finish(candidate_, by, seed));
    PrintFinished(finished);
    return absl::OkStatus();
  }

  Status PrintSchedule() {
    MDH_ASSIGN_OR_RETURN(const v1::DescribeCandidateResponse described,
                         calls_.describe(candidate_));
    std::fputs(described.schedule().c_str(), stdout);
    return absl::OkStatus();
  }

  Status Compare(const std::string& time) {
    MDH_ASSIGN_OR_RETURN(const v1::BoundComparison comparison, ParseBoundComparison(time));
    MDH_ASSIGN_OR_RETURN(const v1::DescribeCandidateResponse described,
                         calls_.compare(candidate_, comparison));
    PrintBounds(described.bounds());
    return absl::OkStatus();
  }

  const ExploreCalls& calls_;
  v1::Candidate candidate_;
};

}  // namespace

Result<v1::FinishRule> FinishRuleNamed(const std::string& word) {
  if (word == "rules") return v1::FINISH_RULE_RULES;
  if (word == "record") return v1::FINISH_RULE_NEAREST_RECORD;
  if (word == "sample") return v1::FINISH_RULE_SAMPLE;
  return InvalidArgument("'", word, "' is no way to finish; there are rules, record and sample");
}

void PrintCandidate(const v1::DescribeCandidateResponse& described) {
  std::vector<std::vector<std::string>> rows;
  int open = 0;
  for (const v1::CandidateDecision& decision : described.decisions()) {
    if (decision.remaining_values() > 1) ++open;
    rows.push_back({decision.parameter(), decision.is_restricted() ? "*" : "",
                    absl::StrCat(decision.remaining_values()), ValuesOf(decision),
                    decision.meaning()});
  }
  if (described.count().empty()) {
    std::printf("the space is too large to be counted: values are possible\n");
  } else {
    std::printf("%s of %s configurations remain; ", ShortCount(described.count()).c_str(),
                ShortCount(described.space_count()).c_str());
  }
  std::printf("%d of %d parameters are open\n", open, described.decisions_size());
  if (described.bound_ns() > 0) {
    std::printf("none of them takes less than %s (%s%s%s)\n",
                BoundText(described.bound_ns()).c_str(), described.binding_floor().c_str(),
                described.bound_assumption().empty() ? "" : "; assumed: ",
                Printable(described.bound_assumption()).c_str());
  }
  PrintTable({{.heading = "PARAMETER"},
              {.heading = ""},
              {.heading = "LEFT", .is_number = true},
              {.heading = "VALUES", .least = 12},
              {.heading = "MEANING", .least = 16, .dispensable = 1}},
             rows);
}

void PrintDecision(const v1::CandidateDecision& decision) {
  std::printf("%s: %s\n", decision.parameter().c_str(), decision.meaning().c_str());
  if (!decision.schedule().empty()) {
    std::printf("in schedules: %s\n", decision.schedule().c_str());
  }
  std::vector<std::vector<std::string>> rows;
  for (const v1::RemainingValue& value : decision.remaining()) {
    rows.push_back({value.value(), value.count().empty() ? "possible" : ShortCount(value.count()),
                    BoundText(value.bound_ns())});
  }
  PrintTable({{.heading = "VALUE", .is_number = true},
              {.heading = "CONFIGURATIONS", .is_number = true},
              {.heading = "AT LEAST", .is_number = true}},
             rows);
  if (decision.remaining_values() > decision.remaining_size()) {
    std::printf("and %lld more\n",
                static_cast<long long>(decision.remaining_values() - decision.remaining_size()));
  }
}

void PrintFinished(const v1::FinishCandidateResponse& finished) {
  std::printf("%s\n", Printable(finished.parameters()).c_str());
  if (!finished.made_from().empty()) std::printf("# near to %s\n", finished.made_from().c_str());
  std::fputs(finished.schedule().c_str(), stdout);
}

Result<v1::BoundComparison> ParseBoundComparison(const std::string& text) {
  v1::BoundComparison comparison;
  if (text.empty() || text == "record") return comparison;
  int64_t time_ns = 0;
  if (const std::string wrong = ParseDurationArgument(text, time_ns); !wrong.empty()) {
    return InvalidArgument(wrong);
  }
  comparison.set_time_ns(static_cast<double>(time_ns));
  return comparison;
}

void PrintBounds(const v1::BoundHistogram& bounds) {
  const auto percent = [](double share) { return absl::StrFormat("%.3g %%", 100 * share); };
  const auto looked_at = static_cast<double>(bounds.configurations());
  std::printf("compared with %s, %s%lld configurations:\n", BoundText(bounds.time_ns()).c_str(),
              bounds.is_exact() ? "all " : "a sample of ",
              static_cast<long long>(bounds.configurations()));
  std::vector<std::vector<std::string>> rows;
  for (int n = 0; n < bounds.counts_size() && n < std::ssize(kBoundClasses); ++n) {
    const auto count = static_cast<double>(bounds.counts(n));
    rows.push_back({kBoundClasses[n], absl::StrCat(bounds.counts(n)), percent(count / looked_at)});
  }
  PrintTable({{.heading = "BOUND / TIME"},
              {.heading = "CONFIGURATIONS", .is_number = true},
              {.heading = "SHARE", .is_number = true}},
             rows);
  const std::string left = percent(bounds.left_share_low());
  std::printf("not shown to take longer: %s%s\n", left.c_str(),
              bounds.is_exact() ? ""
                                : absl::StrCat(" to ", percent(bounds.left_share_high()),
                                               ", with 95 % confidence")
                                      .c_str());
}

Status RunExplorePrompt(const ExploreCalls& calls, v1::Candidate candidate, std::istream& commands,
                        bool is_echoed) {
  Prompt prompt(calls, std::move(candidate));
  MDH_RETURN_IF_ERROR(prompt.Show());
  std::string line;
  for (;;) {
    std::printf("> ");
    std::fflush(stdout);
    if (!std::getline(commands, line)) break;
    if (is_echoed) std::printf("%s\n", Printable(line).c_str());
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.empty()) continue;
    if (words[0] == "quit" || words[0] == "exit") return absl::OkStatus();
    const Status done = prompt.Do(words);
    if (IsOfConnection(done)) return done;
    if (!done.ok()) std::printf("%s\n", std::string(done.message()).c_str());
  }
  std::printf("\n");
  return absl::OkStatus();
}

}  // namespace mdh
