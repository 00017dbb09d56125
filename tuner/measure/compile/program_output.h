// Programs that are asked something, and how they are found and executed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tuner/process/child_process.h"

namespace mdh {

// Of every file that a compiler writes, also of what it prints: kernels take some 100 KiB.
inline constexpr int64_t kMostCompilerFileBytes = int64_t{64} << 20;

// All programs of that name, each once, in the order of the folders of `path` (as $PATH).
std::vector<std::string> FindPrograms(const std::string& path, const std::string& name);

enum class Streams { kAll, kOutput };

// Replaces the calling child by a program that prints to the file `output`; with kOutput what goes
// to standard error is dropped. Only returns, with 127, if that fails.
int ExecuteCompiler(const std::vector<std::string>& command, const std::string& output,
                    Streams streams, const std::string& temporary_directory);

// The first and the last 16 KiB of a file.
std::string ReadEnds(const std::string& path);

struct Question {
  std::vector<std::string> command;
  Streams streams = Streams::kOutput;
  const char* variable = nullptr;  // set to 1 for the program
};

// What a program prints; empty if it fails. `directory`: for its output, meanwhile. Errors:
// DeadlineExceeded if it does not end within ten seconds; ResourceExhausted if there is no process.
Result<std::string> AnswerTo(const Question& question, const std::string& directory,
                             Supervisor& supervisor);

}  // namespace mdh
