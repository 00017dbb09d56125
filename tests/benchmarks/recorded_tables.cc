#include "tests/benchmarks/recorded_tables.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

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

int RunOnTables(
    int argc, char** argv, const char* name,
    const std::function<Result<TableFigures>(const std::vector<RecordedCosts>& tables)>& run,
    const std::vector<TableOption>& more) {
  std::string folder, pattern = "*", file,
                      usage = "--tables FOLDER [--json FILE] [--cases PATTERN]";
  std::map<std::string, std::string*> values = {
      {"--tables", &folder}, {"--cases", &pattern}, {"--json", &file}};
  for (const TableOption& option : more) {
    values.emplace(option.name, option.value);
    absl::StrAppend(&usage, " [", option.name, " ", option.form, "]");
  }
  for (int i = 1; i < argc; i += 2) {
    const auto value = values.find(argv[i]);
    if (value == values.end() || i + 1 == argc) {
      std::fprintf(stderr, "usage: %s %s\n", name, usage.c_str());
      return 2;
    }
    *value->second = argv[i + 1];
  }
  const auto fail = [&](const std::string& why) {
    std::fprintf(stderr, "%s: error: %s\n", name, why.c_str());
    return 1;
  };
  const Result<std::vector<RecordedCosts>> tables = ReadTables(folder, pattern);
  if (!tables.ok()) return fail(std::string(tables.status().message()));
  const Result<TableFigures> figures = run(*tables);
  if (!figures.ok()) return fail(std::string(figures.status().message()));
  if (!file.empty()) {
    std::ofstream out(file);
    out << figures->json;
    if (!out.flush()) return fail("cannot write " + file);
  }
  return figures->is_met ? 0 : 1;
}

}  // namespace mdh
