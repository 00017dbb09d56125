// Studies and their trials for people, spreadsheets and programs.
#pragma once

#include <string>
#include <vector>

#include "client/text/text_table.h"
#include "mdh/v1/study.pb.h"

namespace mdh {

// "active", "finished", "cancelled".
std::string FormatStudyState(v1::StudyState state);

// "WPT=4, order=["i","k"]", parameters in the order of `names`, values as in JSON.
std::string FormatConfiguration(const v1::NamedConfiguration& configuration,
                                const std::vector<std::string>& names);

// Several lines: state, space, technique, counts, best configuration, notices. `study` has its
// whole specification.
std::string FormatStudy(const v1::Study& study);

// A table of studies, and a row of it: number, state, counts, best cost, time, name for people.
const std::vector<TextColumn>& StudyTable();
std::vector<std::string> StudyRow(const v1::Study& study);

// One line: number, cost or failure, configuration.
std::string FormatTrialLine(const v1::StudyTrial& trial, const std::vector<std::string>& names);

// "number,cost,failure,<names>" and one line per trial, as RFC 4180 has them but with single line
// feeds. Numbers read back to the same; lists are JSON.
std::string CsvHeader(const std::vector<std::string>& names);
std::string CsvLine(const v1::StudyTrial& trial, const std::vector<std::string>& names);

// {"number": 1, "cost": 0.5, "failure": "", "configuration": {...}} on one line; the cost of a
// failed trial is null.
std::string JsonLine(const v1::StudyTrial& trial, const std::vector<std::string>& names);

// Names of the parameters of a specification, in its order.
std::vector<std::string> NamesOfParameters(const v1::StudySpec& spec);

}  // namespace mdh
