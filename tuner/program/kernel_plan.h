// A kernel of a specification with its arguments and launch geometry, checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "mdh/v1/program.pb.h"
#include "tuner/program/argument_type.h"
#include "tuner/program/text_template.h"
#include "tuner/study/study_spec.h"

namespace mdh {

enum class ArgumentContent : uint8_t { kValue, kRandom, kZeros, kBytes };

struct PlannedArgument {
  std::string name;  // "argument 2" if the specification has none
  ArgumentType type;
  ArgumentContent content;
  // The value; or number of elements, of kRandom and kZeros.
  std::optional<Formula> formula;
  std::vector<std::byte> bytes;  // of kBytes

  bool is_buffer() const { return content != ArgumentContent::kValue; }
};

struct PlannedExpectation {
  size_t argument;  // its position
  double tolerance;
  // Element by element, over names of arguments; or the bytes.
  std::optional<Formula> elements = std::nullopt;
  std::vector<std::byte> bytes = {};
};

struct KernelPlan {
  v1::KernelLanguage language;
  std::string source;
  std::string function;
  std::vector<PlannedArgument> arguments;
  std::vector<Formula> global_size;  // 1..3
  std::vector<Formula> local_size;   // as many; OpenCL: or none
  std::optional<Formula> shared_bytes;
  std::vector<TextTemplate> options;
  std::vector<PlannedExpectation> expected;
  std::string device;
  int repetitions = 5;
  int64_t time_limit_ns = 0;
};

// Reads the files that it names. Errors: InvalidArgument, beginning with the field.
Result<KernelPlan> PlanKernel(const v1::KernelProgram& kernel, const StudyDefinition& study,
                              const std::string& folder);

}  // namespace mdh
