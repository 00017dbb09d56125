#include "tests/benchmarks/bounds/recorded_bounds.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "codegen/choose/default_parameters.h"
#include "core/text/parser.h"
#include "tests/benchmarks/benchmark_case.h"
#include "tests/benchmarks/recorded_tables.h"
#include "tuner/decompositions/mdh_bound.h"
#include "tuner/decompositions/mdh_estimate.h"

namespace mdh {
namespace {

DeviceDescription RecordedProcessor(double clock_hz) {
  DeviceDescription device;
  device.name = "a processor with AVX-512";
  device.cores = 2;
  device.isa = "x86-64 avx2 fma avx512f";
  device.simd_bytes = 64;
  device.vector_registers = 32;
  device.limits.clock_hz = clock_hz;
  device.l1_bytes = int64_t{48} << 10;
  device.l2_bytes = int64_t{2} << 20;
  return device;
}

using Codes = std::vector<std::vector<int64_t>>;

// With the parameters that the row has, whose places `numbers` says; those beyond the space's are
// none of it.
Configuration With(Configuration whole, const Configuration& row,
                   const std::vector<size_t>& numbers) {
  for (size_t p = 0; p < row.size(); ++p) {
    if (numbers[p] < whole.size()) whole[numbers[p]] = row[p];
  }
  return whole;
}

// What parameters are that a table has not: all of its rows have the same. The defaults, changed by
// one or two parameters at a time as long as more rows are in the space.
Configuration UsualOf(const RecordedCosts& table, const SearchSpace& space, Configuration usual,
                      const std::vector<size_t>& numbers) {
  constexpr int kAskedRows = 60;
  constexpr size_t kFarthest = 3;  // of two that are changed together
  Rng rng(1);
  std::vector<Configuration> rows;
  for (int n = 0; n < kAskedRows; ++n) rows.push_back(table.space().Sample(rng));
  const auto possible = [&](const Configuration& one) {
    return std::ranges::count_if(
        rows, [&](const Configuration& row) { return space.Contains(With(one, row, numbers)); });
  };
  std::vector<size_t> missing;
  for (size_t p = 0; p < usual.size(); ++p) {
    if (std::ranges::find(numbers, p) == numbers.end()) missing.push_back(p);
  }
  const Codes codes = AllCodes(space);
  int64_t most = possible(usual);
  for (int64_t before = -1; most > before && most < kAskedRows;) {
    before = most;
    Configuration best = usual;
    const auto consider = [&](const Configuration& changed) {
      const int64_t rows_with_it = possible(changed);
      if (rows_with_it <= most) return;
      most = rows_with_it;
      best = changed;
    };
    for (size_t n = 0; n < missing.size(); ++n) {
      for (const int64_t code : codes[missing[n]]) {
        Configuration changed = usual;
        changed[missing[n]] = code;
        consider(changed);
        for (size_t m = n + 1; m < std::min(missing.size(), n + 1 + kFarthest); ++m) {
          for (const int64_t other : codes[missing[m]]) {
            changed[missing[m]] = other;
            consider(changed);
          }
          changed[missing[m]] = usual[missing[m]];
        }
      }
    }
    usual = std::move(best);
  }
  return usual;
}

// What the same parameters may be where a row is not in the space with these: the default's where
// all rows that are asked are possible with it, else whatever is possible for all of them.
Codes CodesOf(const RecordedCosts& table, const SearchSpace& space, const Configuration& usual,
              const std::vector<size_t>& numbers) {
  constexpr int kAskedRows = 30;  // which take a millisecond for each parameter
  Codes codes = AllCodes(space);
  Rng rng(1);
  for (int n = 0; n < kAskedRows; ++n) {
    const Configuration row = table.space().Sample(rng);
    Result<PartialConfiguration> partial = PartialConfiguration(space);
    for (size_t p = 0; p < row.size() && partial.ok(); ++p) {
      if (numbers[p] < codes.size()) {
        partial = partial->Decide(static_cast<int>(numbers[p]), {row[p]});
      }
    }
    // The space does not have it any more.
    if (!partial.ok()) continue;
    const Codes remaining = RemainingCodes(*partial);
    for (size_t p = 0; p < codes.size(); ++p) {
      if (std::ranges::find(numbers, p) != numbers.end()) continue;
      std::vector<int64_t> both;
      std::ranges::copy_if(codes[p], std::back_inserter(both), [&](int64_t code) {
        return std::ranges::find(remaining[p], code) != remaining[p].end();
      });
      if (!both.empty()) codes[p] = std::move(both);
    }
  }
  for (size_t p = 0; p < codes.size(); ++p) {
    if (std::ranges::find(numbers, p) != numbers.end()) continue;
    if (std::ranges::find(codes[p], usual[p]) != codes[p].end()) codes[p] = {usual[p]};
  }
  return codes;
}

// Bounds of a table's rows, as configurations of the space of its case.
class RowBounds : public CostBound {
 public:
  static Result<RowBounds> Of(const std::string& source_path, const RecordedCosts& table,
                              double clock_hz) {
    MDH_ASSIGN_OR_RETURN(const std::vector<BenchmarkCase> cases,
                         LoadCases(source_path + "/tests/benchmarks/cases.json", table.name()));
    MDH_ASSIGN_OR_RETURN(const Expression expression, ExpressionOfCase(source_path, cases.front()));
    const DeviceDescription device = RecordedProcessor(clock_hz);
    const SystemModel model = OpenMpSimdRegistersModel();
    MDH_ASSIGN_OR_RETURN(MdhSpace space, MdhSpace::Create(expression, model, device));
    Configuration usual = space.EncodeNearest(DefaultParameters(expression, model, device));
    MdhBound bound(space, expression, {device, RatesOf(device, {}), {.calls = 1}});
    std::vector<size_t> numbers;
    const std::vector<TuningParameter>& all = space.space().parameters();
    for (const TuningParameter& of_table : table.space().parameters()) {
      const auto same = std::ranges::find(all, of_table.name, &TuningParameter::name);
      numbers.push_back(static_cast<size_t>(same - all.begin()));
    }
    Codes codes = CodesOf(table, space.space(), usual, numbers);
    usual = UsualOf(table, space.space(), std::move(usual), numbers);
    return RowBounds(std::move(space), std::move(bound), std::move(usual), std::move(numbers),
                     std::move(codes));
  }

  // What the table does not say may be anything that its rows allow.
  double Of(OpenCodes open) const override {
    std::vector<absl::Span<const int64_t>> whole = SpansOf(all_);
    for (size_t p = 0; p < open.size(); ++p) {
      if (numbers_[p] < whole.size()) whole[numbers_[p]] = open[p];
    }
    return bound_.Of(whole);
  }

  // The configuration that a row is; what is not in the space is taken for what is nearest to it.
  Configuration WholeOf(const Configuration& row) const {
    const Configuration whole = With(usual_, row, numbers_);
    return space_.space().Contains(whole) ? whole : space_.space().Nearest(whole);
  }
  const MdhSpace& space() const { return space_; }

  struct Row {
    double bound_ns;
    bool is_pinned;
  };
  Row OfRow(const Configuration& row) const {
    const Configuration whole = With(usual_, row, numbers_);
    if (space_.space().Contains(whole)) return {bound_.OfOne(whole), true};
    return {OfOne(row), false};
  }

 private:
  RowBounds(MdhSpace space, MdhBound bound, Configuration usual, std::vector<size_t> numbers,
            Codes codes)
      : space_(std::move(space)),
        bound_(std::move(bound)),
        usual_(std::move(usual)),
        numbers_(std::move(numbers)),
        all_(std::move(codes)) {}

  MdhSpace space_;
  MdhBound bound_;
  Configuration usual_;
  std::vector<size_t> numbers_;  // of the table's parameters; beyond all others: the space has none
  Codes all_;
};

RecordedBounds Judge(const RecordedCosts& table, const RowBounds& bounds) {
  RecordedBounds judged{.name = table.name()};
  std::vector<std::pair<double, double>> rows;  // cost, bound / cost
  table.space().Enumerate([&](const Configuration& row) {
    const Cost cost = table.CostOf(row);
    if (!cost.has_value()) return true;
    const RowBounds::Row bound = bounds.OfRow(row);
    judged.pinned += bound.is_pinned ? 1 : 0;
    judged.violations += bound.bound_ns > *cost ? 1 : 0;
    judged.left += bound.bound_ns < *table.best() ? 1 : 0;
    rows.emplace_back(*cost, bound.bound_ns / *cost);
    return true;
  });
  judged.rows = static_cast<int>(rows.size());
  std::sort(rows.begin(), rows.end());
  const size_t best = std::max<size_t>(1, rows.size() / 100);
  double logs = 0;
  for (size_t n = 0; n < best; ++n) logs += std::log(rows[n].second);
  judged.of_best = std::exp(logs / static_cast<double>(best));
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  judged.median = rows[rows.size() / 2].second;
  return judged;
}

}  // namespace

Result<std::vector<RecordedBounds>> ReadRecordedBounds(const std::string& source_path,
                                                       const std::string& folder, double clock_hz) {
  MDH_ASSIGN_OR_RETURN(const std::vector<RecordedCosts> tables,
                       ReadTables(source_path + "/" + folder, "*"));
  std::vector<RecordedBounds> judged;
  for (const RecordedCosts& table : tables) {
    MDH_ASSIGN_OR_RETURN(const RowBounds bounds, RowBounds::Of(source_path, table, clock_hz));
    judged.push_back(Judge(table, bounds));
  }
  return judged;
}

Result<std::shared_ptr<const CostBound>> BoundOfTable(const std::string& source_path,
                                                      const RecordedCosts& table, double clock_hz) {
  MDH_ASSIGN_OR_RETURN(RowBounds bounds, RowBounds::Of(source_path, table, clock_hz));
  return std::make_shared<const RowBounds>(std::move(bounds));
}

namespace {

// By row, made once.
class RowEstimates : public CostEstimate {
 public:
  RowEstimates(const RecordedCosts& table, const RowBounds& bounds) {
    const std::shared_ptr<const CostEstimate> estimate = MdhEstimateOf(bounds.space());
    table.space().Enumerate([&](const Configuration& row) {
      estimates_[row] = estimate->Of(bounds.WholeOf(row));
      return true;
    });
  }

  double Of(absl::Span<const int64_t> row) const override {
    return estimates_.at(Configuration(row.begin(), row.end()));
  }

 private:
  absl::flat_hash_map<Configuration, double> estimates_;
};

}  // namespace

Result<std::shared_ptr<const CostEstimate>> EstimateOfTable(const std::string& source_path,
                                                            const RecordedCosts& table,
                                                            double clock_hz) {
  MDH_ASSIGN_OR_RETURN(const RowBounds bounds, RowBounds::Of(source_path, table, clock_hz));
  return std::make_shared<const RowEstimates>(table, bounds);
}

std::string RecordedBoundsPage(const std::vector<RecordedBounds>& tables) {
  std::string page =
      "| recorded table | rows | all known | faster than the bound | bound / time, median | of the "
      "best 1 % | left given the best |\n|---|--:|--:|--:|--:|--:|--:|\n";
  double logs = 0;
  for (const RecordedBounds& one : tables) {
    absl::StrAppendFormat(&page, "| %s | %d | %d | %d | %.3f | %.2f | %.1f %% |\n", one.name,
                          one.rows, one.pinned, one.violations, one.median, one.of_best,
                          100 * one.share_left());
    logs += std::log(std::max(one.share_left(), 1e-9));
  }
  if (!tables.empty()) {
    absl::StrAppendFormat(&page, "\nLeft of recorded tables, geometric mean: %.1f %%.\n",
                          100 * std::exp(logs / static_cast<double>(tables.size())));
  }
  return page;
}

}  // namespace mdh
