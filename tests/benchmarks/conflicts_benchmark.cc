// How long contradictions of schedules take to explain, per kind of model:
//   conflicts_benchmark [--json FILE] [--cases PATTERN] [--records N]
// N (100) schedules of lines of two or three configurations of the shipped expressions, for every
// model; PATTERN matches its name. Where it is not known whether anything is left, nothing was
// shown to be minimal. Times are of CheckSchedule, from the text's lines to the minimal set and its
// counts: one thread's CPU time.
#include <fnmatch.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/source_path.h"
#include "tests/tuner/decompositions/space_problems.h"
#include "tuner/decompositions/mdh_space.h"
#include "tuner/decompositions/schedule_check.h"

namespace mdh {
namespace {

constexpr double kMost95Ms = 200;
constexpr double kLeastMinimal = 0.99;
constexpr int64_t kMostMs = 2000;  // then the set is not shown to be minimal

double ThreadMs() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

// Ends the program with the message of an error.
template <typename T>
T OrFail(Result<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "conflicts_benchmark: error: %s\n",
               std::string(result.status().message()).c_str());
  std::exit(1);
}

struct Figures {
  std::string backend;
  std::vector<double> ms = {};
  int minimal = 0, lines = 0;

  double Quantile(double quantile) const {
    std::vector<double> sorted = ms;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0 : sorted[static_cast<size_t>(quantile * (std::ssize(sorted) - 1))];
  }
  double minimal_share() const { return ms.empty() ? 1 : 1.0 * minimal / std::ssize(ms); }
  bool is_met() const { return Quantile(0.95) <= kMost95Ms && minimal_share() >= kLeastMinimal; }
};

// Lines of several configurations, of which some contradict each other as a rule.
Schedule Mixed(const MdhSpace& space, const Expression& expression, const SystemModel& model,
               Rng& rng) {
  constexpr size_t kMostLines = 12;
  std::vector<Decision> decisions;
  const size_t configurations = 2 + rng() % 2;
  for (size_t n = 0; n < configurations; ++n) {
    const Schedule whole = Schedule::Of(space.Decode(space.space().Sample(rng)), expression, model);
    for (const Decision& decision : whole.decisions()) {
      const bool is_fused =
          decision.kind == Decision::Kind::kFuse || decision.kind == Decision::Kind::kSeparate;
      if (!is_fused && rng() % 4 == 0) decisions.push_back(decision);
    }
  }
  std::shuffle(decisions.begin(), decisions.end(), rng);
  if (decisions.size() > kMostLines) decisions.resize(kMostLines);
  for (size_t n = 0; n < decisions.size(); ++n) decisions[n].line = static_cast<int>(n) + 1;
  return OrFail(Schedule::Parse("", expression, model)).With(std::move(decisions));
}

Figures Measure(const SpaceBackend& backend, int count) {
  Figures figures{.backend = backend.name};
  Rng rng(1);
  const std::vector<std::string> names = ShippedExpressionNames(SourcePath());
  while (std::ssize(figures.ms) < count) {
    const std::string& name = names[rng() % names.size()];
    const Expression expression = OrFail(ShippedExpression(SourcePath(), name));
    const MdhSpace space = OrFail(MdhSpace::Create(expression, backend.model, backend.device));
    for (int n = 0; n < 4 && std::ssize(figures.ms) < count; ++n) {
      const Schedule mixed = Mixed(space, expression, backend.model, rng);
      const double before = ThreadMs();
      const ScheduleCheck check =
          OrFail(CheckSchedule(backend.device, mixed, NumericsPolicy::kReassociate, kMostMs));
      const bool is_unknown = check.count == 0 && check.conflicts.empty() && check.example.empty();
      if (check.conflicts.empty() && !is_unknown) continue;
      figures.ms.push_back(ThreadMs() - before);
      if (is_unknown) continue;
      figures.minimal += check.conflicts[0].is_minimal ? 1 : 0;
      figures.lines += static_cast<int>(check.conflicts[0].lines.size());
    }
  }
  return figures;
}

void Print(const Figures& f) {
  std::printf("%-14s %9zu %9.1f %9.1f %9.1f %9.1f %9.2f  %s\n", f.backend.c_str(), f.ms.size(),
              f.Quantile(0.5), f.Quantile(0.95), f.Quantile(1), 100 * f.minimal_share(),
              1.0 * f.lines / static_cast<double>(f.ms.size()), f.is_met() ? "" : "NO");
  std::fflush(stdout);
}

int Run(int argc, char** argv) {
  std::string json, pattern = "*";
  int count = 100;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--json") json = argv[i + 1];
    if (option == "--cases") pattern = argv[i + 1];
    if (option == "--records") count = std::atoi(argv[i + 1]);
  }
  std::printf("%-14s %9s %9s %9s %9s %9s %9s\n", "backend", "conflicts", "median ms", "95 % ms",
              "most ms", "minimal %", "lines");
  nlohmann::json list = nlohmann::json::array();
  bool is_met = true;
  for (const SpaceBackend& backend : SpaceBackends()) {
    if (fnmatch(pattern.c_str(), backend.name.c_str(), 0) != 0) continue;
    const Figures f = Measure(backend, count);
    Print(f);
    is_met = is_met && f.is_met();
    list.push_back({{"backend", f.backend},
                    {"conflicts", f.ms.size()},
                    {"median_ms", f.Quantile(0.5)},
                    {"ms_95", f.Quantile(0.95)},
                    {"most_ms", f.Quantile(1)},
                    {"minimal", f.minimal_share()}});
  }
  if (!json.empty()) std::ofstream(json) << list.dump(2) << "\n";
  std::printf(
      "\nTargets: at most %.0f ms at the 95th percentile, %.0f %% shown to be minimal: %s\n",
      kMost95Ms, 100 * kLeastMinimal, is_met ? "yes" : "NO");
  return is_met ? 0 : 1;
}

}  // namespace
}  // namespace mdh

int main(int argc, char** argv) { return mdh::Run(argc, argv); }
