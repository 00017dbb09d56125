#include "tests/benchmarks/recorded_tables.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"

namespace mdh {
namespace {

// "layout_A_0", "layout_A_1": "layout_A".
std::string DecisionOf(const std::string& parameter) {
  const bool is_digit =
      absl::StartsWith(parameter, "layout_") || absl::StartsWith(parameter, "order_");
  return is_digit ? parameter.substr(0, parameter.rfind('_')) : parameter;
}

Configuration FastestOf(const RecordedCosts& table) {
  Configuration fastest;
  table.space().Enumerate([&](const Configuration& configuration) {
    if (table.CostOf(configuration) == table.best()) fastest = configuration;
    return fastest.empty();
  });
  return fastest;
}

}  // namespace

Result<std::vector<RecordedCosts>> ReadTables(const std::string& folder,
                                              const std::string& pattern) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".costs") continue;
    if (fnmatch(pattern.c_str(), entry.path().stem().c_str(), 0) == 0) {
      paths.push_back(entry.path());
    }
  }
  if (paths.empty()) return absl::NotFoundError("no recorded costs in " + folder + " match");
  std::sort(paths.begin(), paths.end());
  std::vector<RecordedCosts> tables;
  for (const std::string& path : paths) {
    MDH_ASSIGN_OR_RETURN(RecordedCosts table, RecordedCosts::Read(path));
    tables.push_back(std::move(table));
  }
  return tables;
}

std::vector<std::vector<size_t>> DecisionsOf(const RecordedCosts& table) {
  std::vector<std::vector<size_t>> decisions;
  std::vector<std::string> names;
  const std::vector<TuningParameter>& parameters = table.space().parameters();
  for (size_t p = 0; p < parameters.size(); ++p) {
    const std::string name = DecisionOf(parameters[p].name);
    const auto known = std::find(names.begin(), names.end(), name);
    if (known == names.end()) {
      names.push_back(name);
      decisions.push_back({p});
    } else {
      decisions[static_cast<size_t>(known - names.begin())].push_back(p);
    }
  }
  return decisions;
}

Result<RecordedCosts> WithPinned(const RecordedCosts& table,
                                 const std::vector<size_t>& parameters) {
  const Configuration fastest = FastestOf(table);
  std::vector<size_t> free;
  std::vector<TuningParameter> kept;
  for (size_t p = 0; p < fastest.size(); ++p) {
    if (std::find(parameters.begin(), parameters.end(), p) != parameters.end()) continue;
    free.push_back(p);
    kept.push_back(table.space().parameters()[p]);
  }
  MDH_ASSIGN_OR_RETURN(
      const SearchSpace space,
      SearchSpace::Create(std::move(kept), {}, {.order = ParameterOrder::kDeclared}));
  std::vector<RecordedCosts::Row> rows;
  table.space().Enumerate([&](const Configuration& configuration) {
    const bool is_left = std::all_of(parameters.begin(), parameters.end(),
                                     [&](size_t p) { return configuration[p] == fastest[p]; });
    if (!is_left) return true;
    RecordedCosts::Row row{{}, table.CostOf(configuration)};
    for (const size_t p : free) row.configuration.push_back(configuration[p]);
    rows.push_back(std::move(row));
    return true;
  });
  return RecordedCosts::Create(table.name(), space, std::move(rows));
}

}  // namespace mdh
