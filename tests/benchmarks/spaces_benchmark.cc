// Published search spaces: how long construction and queries take, and how large the diagrams are:
//   spaces_benchmark [--json FILE] [--cases PATTERN]
// Times of one thread are that thread's CPU time, medians of many.
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/tuner/space/published_spaces.h"
#include "tuner/space/search_space.h"

namespace mdh {
namespace {

double ThreadMs() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

double WallMs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

// The median time of `run`, which is repeated for about a quarter of a second.
double MedianMs(double (*clock)(), const std::function<void()>& run) {
  constexpr double kBudgetMs = 250;
  constexpr size_t kAtLeast = 5;
  std::vector<double> times;
  const double start = WallMs();
  while (times.size() < kAtLeast || WallMs() - start < kBudgetMs) {
    const double before = clock();
    run();
    times.push_back(clock() - before);
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

SearchSpace OrFail(Result<SearchSpace> space) {
  if (space.ok()) return *std::move(space);
  std::fprintf(stderr, "spaces_benchmark: error: %s\n",
               std::string(space.status().message()).c_str());
  std::exit(1);
}

// What people write by hand: a loop for every parameter, in declared order, and every predicate as
// soon as its operands have values. Counts, and keeps nothing.
class LoopNest {
 public:
  explicit LoopNest(const PublishedSpace& space) : codes_(space.parameters.size()) {
    checks_.resize(space.parameters.size());
    for (const Constraint& constraint : space.predicates) {
      Check check{&constraint.formula.predicate().holds, {}};
      for (const Formula& operand : constraint.formula.operands()) {
        for (size_t i = 0; i < space.parameters.size(); ++i) {
          if (space.parameters[i].name == operand.parameter()) check.operands.push_back(i);
        }
      }
      checks_[*std::max_element(check.operands.begin(), check.operands.end())].push_back(check);
    }
    for (const TuningParameter& parameter : space.parameters) {
      std::vector<int64_t>& values = values_.emplace_back();
      for (uint32_t i = 0; i < parameter.range.size(); ++i) {
        values.push_back(parameter.range.CodeAt(i));
      }
    }
  }

  uint64_t Count() {
    count_ = 0;
    Loop(0);
    return count_;
  }

 private:
  struct Check {
    const std::function<bool(absl::Span<const int64_t>)>* holds;
    std::vector<size_t> operands;
  };

  void Loop(size_t depth) {
    if (depth == values_.size()) {
      ++count_;
      return;
    }
    for (int64_t value : values_[depth]) {
      codes_[depth] = value;
      if (Holds(depth)) Loop(depth + 1);
    }
  }

  bool Holds(size_t depth) const {
    int64_t operands[8];
    for (const Check& check : checks_[depth]) {
      for (size_t i = 0; i < check.operands.size(); ++i) operands[i] = codes_[check.operands[i]];
      if (!(*check.holds)(absl::MakeConstSpan(operands, check.operands.size()))) return false;
    }
    return true;
  }

  std::vector<int64_t> codes_;
  std::vector<std::vector<Check>> checks_;
  std::vector<std::vector<int64_t>> values_;
  uint64_t count_ = 0;
};

struct Figures {
  std::string name;
  std::string count;
  bool is_count_right = false;
  SpaceSize size;
  double construction_ms = 0;
  double two_threads_ms = 0;
  double predicates_ms = 0;
  double loop_nest_ms = 0;  // 0: would take too long
  double index_ns = 0;      // index to configuration and back
  double sample_ns = 0;
  double neighbours_us = 0;
};

// Larger spaces are not enumerated by loops.
constexpr double kMostLooped = 1e6;

void MeasureQueries(const SearchSpace& space, Figures& figures) {
  constexpr int kTimes = 10000;
  Rng rng(1);
  Configuration configuration(space.parameters().size());
  std::vector<Configuration> some;
  for (int i = 0; i < kTimes; ++i) some.push_back(space.Sample(rng));
  const double sample = MedianMs(ThreadMs, [&] {
    for (int i = 0; i < kTimes; ++i) space.Sample(rng, absl::MakeSpan(configuration));
  });
  figures.sample_ns = sample * 1e6 / kTimes;
  uint64_t sum = 0;
  std::vector<uint64_t> indices;
  for (const Configuration& one : some) indices.push_back(*space.SmallIndexOf(one));
  const double index = MedianMs(ThreadMs, [&] {
    for (uint64_t wanted : indices) {
      space.At(wanted, absl::MakeSpan(configuration));
      sum += *space.SmallIndexOf(configuration) - wanted;
    }
  });
  if (sum != 0) std::printf("an index is wrong\n");
  figures.index_ns = index * 1e6 / kTimes;
  const double neighbours = MedianMs(ThreadMs, [&] {
    for (int i = 0; i < kTimes / 10; ++i) sum += space.Neighbours(some[i]).size();
  });
  figures.neighbours_us = neighbours * 1e3 / (kTimes / 10);
}

Figures Measure(const PublishedSpace& published) {
  const std::vector<Constraint> constraints = ConstraintsOf(published);
  const auto create = [&](const std::vector<Constraint>& some, int threads) {
    return OrFail(SearchSpace::Create(published.parameters, some, {.threads = threads}));
  };
  const SearchSpace space = create(constraints, 1);
  Figures figures{.name = published.name, .count = space.count().get_str(), .size = space.size()};
  figures.is_count_right = figures.count == published.count;
  figures.construction_ms = MedianMs(ThreadMs, [&] { create(constraints, 1); });
  figures.two_threads_ms = MedianMs(WallMs, [&] { create(constraints, 2); });
  figures.predicates_ms = MedianMs(ThreadMs, [&] { create(published.predicates, 1); });
  if (space.count() <= kMostLooped) {
    LoopNest loops(published);
    figures.is_count_right &= loops.Count() == space.count();
    figures.loop_nest_ms = MedianMs(ThreadMs, [&] { loops.Count(); });
  }
  MeasureQueries(space, figures);
  return figures;
}

void Print(const Figures& f) {
  std::printf("%-13s %13s%s %6lld %7lld %8.1f %9.3f %9.3f %9.3f ", f.name.c_str(), f.count.c_str(),
              f.is_count_right ? " " : "!", static_cast<long long>(f.size.nodes),
              static_cast<long long>(f.size.edges), static_cast<double>(f.size.bytes) / 1024,
              f.construction_ms, f.two_threads_ms, f.predicates_ms);
  if (f.loop_nest_ms > 0) {
    std::printf("%9.3f", f.loop_nest_ms);
  } else {
    std::printf("%9s", "-");
  }
  std::printf(" %8.0f %8.0f %9.2f\n", f.index_ns, f.sample_ns, f.neighbours_us);
}

bool Expect(const char* what, double value, double limit) {
  std::printf("  %-58s %9.3f   at most %8.3f  %s\n", what, value, limit,
              value <= limit ? "yes" : "NO");
  return value <= limit;
}

// Whether all targets are met.
bool CompareWithTargets(const std::vector<Figures>& all) {
  bool is_met = true;
  double small_ms = 0;
  std::printf("\nTargets\n");
  for (const Figures& f : all) {
    const std::string name = f.name;
    const bool is_large = name == "PRL 1024" || name == "GEMM 2048^3";
    if (!is_large) small_ms += f.construction_ms;
    const double kib = static_cast<double>(f.size.bytes) / 1024;
    if (is_large || name == "Hotspot") {
      is_met &= Expect((name + ": construction, ms").c_str(), f.construction_ms, is_large ? 5 : 3);
      is_met &= Expect((name + ": KiB").c_str(), kib, is_large ? 1024 : 128);
    }
    if (name == "Hotspot") {
      is_met &= Expect("Hotspot: index to configuration and back, ns", f.index_ns, 250);
      is_met &= Expect("Hotspot: one sample, ns", f.sample_ns, 250);
    }
    is_met &= Expect((name + ": neighbours, us").c_str(), f.neighbours_us, 10);
    if (f.loop_nest_ms > 0) {
      is_met &= Expect((name + ": predicates, ms, beside the loop nest").c_str(), f.predicates_ms,
                       f.loop_nest_ms);
    }
    is_met &= f.is_count_right;
  }
  return Expect("all but the two large ones together, ms", small_ms, 8) && is_met;
}

void WriteJson(const std::vector<Figures>& all, const std::string& path) {
  nlohmann::json list = nlohmann::json::array();
  for (const Figures& f : all) {
    list.push_back({{"space", f.name},
                    {"count", f.count},
                    {"nodes", f.size.nodes},
                    {"edges", f.size.edges},
                    {"bytes", f.size.bytes},
                    {"construction_ms", f.construction_ms},
                    {"two_threads_ms", f.two_threads_ms},
                    {"predicates_ms", f.predicates_ms},
                    {"loop_nest_ms", f.loop_nest_ms},
                    {"index_ns", f.index_ns},
                    {"sample_ns", f.sample_ns},
                    {"neighbours_us", f.neighbours_us}});
  }
  std::ofstream(path) << list.dump(2) << "\n";
}

int Run(int argc, char** argv) {
  std::string json;
  std::string pattern = "*";
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--json") json = argv[i + 1];
    if (option == "--cases") pattern = argv[i + 1];
  }
  std::printf("%-13s %13s  %6s %7s %8s %9s %9s %9s %9s %8s %8s %9s\n", "space", "count", "nodes",
              "edges", "KiB", "build ms", "2 thr. ms", "opaque ms", "loops ms", "index ns",
              "sample ns", "neighb. us");
  std::vector<Figures> all;
  for (const PublishedSpace& space : PublishedSpaces()) {
    if (fnmatch(pattern.c_str(), space.name.c_str(), 0) != 0) continue;
    all.push_back(Measure(space));
    Print(all.back());
    std::fflush(stdout);
  }
  if (!json.empty()) WriteJson(all, json);
  return CompareWithTargets(all) ? 0 : 1;
}

}  // namespace
}  // namespace mdh

int main(int argc, char** argv) { return mdh::Run(argc, argv); }
