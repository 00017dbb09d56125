// Files that describe programs to tune, as JSON or YAML of ProgramSpec.
#pragma once

#include <string>

#include "core/base/status.h"
#include "mdh/v1/program.pb.h"
#include "tuner/program/program.h"

namespace mdh {

struct ProgramFile {
  v1::ProgramSpec spec;
  std::string folder;      // absolute; what files in the specification are relative to
  TunableProgram program;  // the same, checked
};

// Errors: NotFound if the file cannot be read; InvalidArgument for what is wrong in it, with file,
// line and field.
Result<ProgramFile> ReadProgramFile(const std::string& path);

}  // namespace mdh
