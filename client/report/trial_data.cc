#include "client/report/trial_data.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "client/report/parameter_importance.h"

namespace mdh {
namespace {

using nlohmann::json;

constexpr size_t kMostReasons = 3;  // of one outcome
constexpr size_t kReasonBytes = 300;

// Those that have ended, in the order in which they did.
std::vector<const v1::TuningTrial*> EndedTrials(const JobRun& run) {
  std::vector<const v1::TuningTrial*> ended;
  for (const v1::TuningTrial& trial : run.trials) {
    if (!trial.outcome().empty()) ended.push_back(&trial);
  }
  std::ranges::stable_sort(ended, [](const v1::TuningTrial* a, const v1::TuningTrial* b) {
    return a->elapsed_ns() < b->elapsed_ns();
  });
  return ended;
}

// The first line, cut at the start of a character.
std::string FirstLine(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  if (line.size() <= kReasonBytes) return line;
  size_t end = kReasonBytes;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;
  return line.substr(0, end) + "…";
}

// Outcomes by name, "ok" before the others, those in the order of their first trial.
class Outcomes {
 public:
  Outcomes() { NumberOf("ok"); }

  int Count(const v1::TuningTrial& trial) {
    const int number = NumberOf(trial.outcome());
    ++outcomes_[number].trials;
    if (!trial.reason().empty()) ++outcomes_[number].reasons[FirstLine(trial.reason())];
    return number;
  }

  json Data() const {
    json data = json::array();
    for (const Outcome& outcome : outcomes_) {
      data.push_back({{"name", outcome.name},
                      {"trials", outcome.trials},
                      {"reasons", MostFrequent(outcome.reasons)}});
    }
    return data;
  }

 private:
  struct Outcome {
    std::string name;
    int64_t trials = 0;
    std::map<std::string, int64_t> reasons;
  };

  int NumberOf(const std::string& name) {
    const auto [place, is_new] = numbers_.try_emplace(name, static_cast<int>(outcomes_.size()));
    if (is_new) outcomes_.push_back({name, 0, {}});
    return place->second;
  }

  static json MostFrequent(const std::map<std::string, int64_t>& reasons) {
    std::vector<std::pair<std::string, int64_t>> sorted(reasons.begin(), reasons.end());
    std::ranges::stable_sort(sorted,
                             [](const auto& a, const auto& b) { return a.second > b.second; });
    json data = json::array();
    for (size_t n = 0; n < std::min(sorted.size(), kMostReasons); ++n) {
      data.push_back({{"text", sorted[n].first}, {"trials", sorted[n].second}});
    }
    return data;
  }

  std::vector<Outcome> outcomes_;
  std::map<std::string, int> numbers_;
};

json RunData(const JobRun& run, const std::vector<const v1::TuningTrial*>& ended,
             Outcomes& outcomes) {
  json number = json::array(), elapsed = json::array(), time = json::array(),
       outcome = json::array();
  int64_t best_ns = 0;
  for (const v1::TuningTrial* trial : ended) {
    number.push_back(trial->number());
    elapsed.push_back(trial->elapsed_ns() / 1000);
    time.push_back(trial->time_ns());
    outcome.push_back(outcomes.Count(*trial));
    if (trial->time_ns() > 0 && (best_ns == 0 || trial->time_ns() < best_ns)) {
      best_ns = trial->time_ns();
    }
  }
  std::string state = v1::TuningJobState_Name(run.job.state());
  state = state.substr(std::min(state.size(), sizeof("TUNING_JOB_STATE")));
  return {{"name", run.job.name()},
          {"seed", run.job.options().seed()},
          {"state", absl::AsciiStrToLower(state)},
          {"best_ns", best_ns},
          {"number", std::move(number)},
          {"elapsed_us", std::move(elapsed)},
          {"time_ns", std::move(time)},
          {"outcome", std::move(outcome)}};
}

void AddParameters(const std::vector<const v1::TuningTrial*>& ended, const ParameterNames& names,
                   json& data) {
  std::vector<std::string> texts;
  std::vector<int64_t> times_ns;
  int64_t best = -1;
  for (const v1::TuningTrial* trial : ended) {
    const auto number = static_cast<int64_t>(texts.size());
    const bool is_better = trial->time_ns() > 0 && (best < 0 || trial->time_ns() < times_ns[best]);
    if (is_better) best = number;
    texts.push_back(trial->parameters());
    times_ns.push_back(trial->time_ns());
  }
  const std::vector<ParameterColumn> columns = SplitParameters(texts, names);
  data["best_trial"] = best;
  data["parameters"] = json::array();
  for (const ParameterColumn& column : columns) {
    data["parameters"].push_back(
        {{"name", column.name}, {"values", column.values}, {"cells", column.cells}});
  }
  data["importance"] = json::array();
  for (const ParameterImportance& entry : RankParameters(columns, times_ns)) {
    json groups = json::array();
    for (const ParameterGroup& group : entry.groups) {
      groups.push_back(
          {{"values", group.values}, {"trials", group.trials}, {"median_ns", group.median_ns}});
    }
    data["importance"].push_back(
        {{"column", entry.column}, {"share", entry.share}, {"groups", std::move(groups)}});
  }
}

}  // namespace

void AddTrials(const std::vector<JobRun>& runs, const ParameterNames& names, json& data) {
  Outcomes outcomes;
  size_t not_ended = 0;
  data["runs"] = json::array();
  for (size_t r = 0; r < runs.size(); ++r) {
    const std::vector<const v1::TuningTrial*> ended = EndedTrials(runs[r]);
    not_ended += runs[r].trials.size() - ended.size();
    data["runs"].push_back(RunData(runs[r], ended, outcomes));
    if (r == 0) AddParameters(ended, names, data);
  }
  data["not_ended"] = not_ended;
  data["outcomes"] = outcomes.Data();
}

}  // namespace mdh
