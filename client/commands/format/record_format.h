// A record for people: what was found, and what to do with it.
#pragma once

#include <string>
#include <vector>

#include "client/text/text_table.h"
#include "mdh/v1/record.pb.h"

namespace mdh {

// Four lines: expression, device and time; speed and share of the bound; how much faster than
// others; the parts of all layers in short form (core/decomposition/low_level_summary.h). Further
// lines where something is to be known, such as that others used the machine; and last, of records
// with a certificate, what no kernel can be faster than.
std::string FormatRecord(const v1::TuningRecord& record);

// What `--table` adds: the search, what each resource takes at least, the record's name, and the
// low-level expression as a table with its legend.
std::string FormatRecordDetails(const v1::TuningRecord& record, int columns);

// "next:" and one command per line, with their words, quoted for a shell where they need it, in
// lines of at most so many characters.
std::string FormatNextCommands(const std::vector<std::vector<std::string>>& commands, int columns);

// A table of records, and a row of it.
const std::vector<TextColumn>& RecordTable();
std::vector<std::string> RecordRow(const v1::TuningRecord& record);

}  // namespace mdh
