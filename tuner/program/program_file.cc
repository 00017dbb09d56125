#include "tuner/program/program_file.h"

#include <filesystem>
#include <system_error>

#include "tuner/program/file_contents.h"
#include "tuner/program/spec_text.h"

namespace mdh {

Result<ProgramFile> ReadProgramFile(const std::string& path) {
  const Result<std::string> text = ReadFileContents(path);
  if (!text.ok()) return NotFound("cannot read ", path, ": ", text.status().message());
  ProgramFile file;
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  file.folder = absolute.lexically_normal().parent_path().string();
  MDH_ASSIGN_OR_RETURN(const SpecLines lines, ReadSpecText(path, *text, file.spec));
  Result<TunableProgram> program = TunableProgram::Create(file.spec, file.folder);
  if (!program.ok()) return WithLine(program.status(), path, lines);
  file.program = *std::move(program);
  return file;
}

}  // namespace mdh
