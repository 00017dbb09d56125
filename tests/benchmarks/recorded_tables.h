// Recorded costs of cases, whole or with some decisions made already.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tuner/search/recorded_costs.h"

namespace mdh {

// Those in a folder whose names match a shell pattern, by name. Errors: NotFound if there are none,
// and as RecordedCosts::Read.
Result<std::vector<RecordedCosts>> ReadTables(const std::string& folder,
                                              const std::string& pattern);

// The decisions of a table: its parameters, of which those that a schedule says in one line, such
// as the layout of an input or the order of a layer's loops, are one. Positions of parameters.
std::vector<std::vector<size_t>> DecisionsOf(const RecordedCosts& table);

// What is left of a table if these parameters are as in its fastest row: a table of the other
// parameters.
Result<RecordedCosts> WithPinned(const RecordedCosts& table, const std::vector<size_t>& parameters);

// What a benchmark on recorded tables prints and says.
struct TableFigures {
  bool is_met;       // what is asked of them
  std::string json;  // the same for programs
};

// An option of one program more, "--bounds GHZ".
struct TableOption {
  std::string name, form;
  std::string* value;
};

// The main function of a program "NAME --tables FOLDER [--json FILE] [--cases PATTERN]": calls
// `run` with the tables, and writes its JSON. Exit status: 0, all is met; 1, it is not, or an
// error; 2, wrong usage.
int RunOnTables(
    int argc, char** argv, const char* name,
    const std::function<Result<TableFigures>(const std::vector<RecordedCosts>& tables)>& run,
    const std::vector<TableOption>& more = {});

}  // namespace mdh
