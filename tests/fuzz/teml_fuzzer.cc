// Any bytes as a TeML program: it is refused, or its pipeline is printed and read again as it was,
// and small loops over integers compute what the pipeline means.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/pipeline/pipeline_canonical.h"
#include "core/schedule/schedule.h"
#include "core/teml/teml.h"
#include "core/teml/to_schedule.h"
#include "core/text/pipeline_parser.h"
#include "core/text/pipeline_printer.h"
#include "tests/core/pipeline/interpreted_pipeline.h"
#include "tests/core/teml/loop_interpreter.h"

namespace mdh {
namespace {

void Require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

// Whether it is interpreted in no time, and every order of computation gives the same.
bool IsSmallAndExact(const TemlProgram& program) {
  static constexpr int64_t kMost = 4096;
  const auto is_small = [](const auto& factors, const auto& factor_of) {
    int64_t product = 1;
    for (const auto& factor : factors) product = std::min(kMost, product) * factor_of(factor);
    return product < kMost;
  };
  // Factors are at most 2^40, so that these products fit.
  return std::all_of(program.tensors.begin(), program.tensors.end(),
                     [&](const TensorPointer& tensor) {
                       return IsInteger(tensor->type) &&
                              is_small(tensor->shape, [](int64_t extent) { return extent; });
                     }) &&
         std::all_of(program.assignments.begin(), program.assignments.end(),
                     [&](const AssignmentPointer& assignment) {
                       return is_small(assignment->ranges, [](const auto& r) { return r.second; });
                     }) &&
         program.assignments.size() < 64;
}

void CheckLoops(const TemlProgram& program, const Pipeline& pipeline) {
  TensorContents contents;
  for (const TensorPointer& tensor : program.tensors) {
    int64_t bytes = SizeBytes(tensor->type);
    for (const int64_t extent : tensor->shape) bytes *= extent;
    BufferBytes& content = contents[tensor->name];
    for (int64_t n = 0; n < bytes; ++n) content.push_back(static_cast<std::byte>(n * 37 % 251));
  }
  std::vector<BufferBytes> inputs;
  for (const int b : pipeline.BuffersOf(PipelineBuffer::Role::kInput)) {
    inputs.push_back(contents.at(pipeline.buffers()[b].name));
  }
  const Result<std::vector<BufferBytes>> expected = InterpretPipeline(pipeline, inputs);
  const Result<TensorContents> loops = InterpretLoops(program, contents);
  Require(expected.ok() && loops.ok(), "not interpreted:\n" + ToText(program));
  const std::vector<int> outputs = pipeline.BuffersOf(PipelineBuffer::Role::kOutput);
  for (size_t n = 0; n < outputs.size(); ++n) {
    Require(loops->at(pipeline.buffers()[outputs[n]].name) == (*expected)[n],
            "the loops compute something else:\n" + ToText(program) + ToText(pipeline));
  }
}

// What the loops say of the steps is read; words of schedules as names of iterators are refused.
void CheckSchedules(const TemlProgram& program) {
  const SystemModel model = OpenMpSimdRegistersModel();
  for (const ScheduleDetail detail : {ScheduleDetail::kWhatIsSaid, ScheduleDetail::kNothingElse}) {
    const Result<TemlSchedules> made = ToSchedules(program, "fuzzed", model, detail);
    if (!made.ok()) return;
    for (size_t s = 0; s < made->schedules.size(); ++s) {
      const Expression& step = made->pipeline.steps()[s].expression;
      const Result<Schedule> schedule = Schedule::Parse(made->schedules[s], step, model);
      if (!schedule.ok()) continue;
      const std::string text = schedule->CanonicalText();
      const Result<Schedule> again = Schedule::Parse(text, step, model);
      Require(again.ok() && again->CanonicalText() == text,
              "it reads back to another one:\n" + text);
    }
  }
}

void Check(std::string_view text) {
  const Result<TemlProgram> program = ParseTemlProgram(text);
  if (!program.ok()) return;
  const std::string loops = ToText(*program);
  Require(!loops.empty(), "nothing is printed");
  const Result<Pipeline> pipeline = ToPipeline(*program, "fuzzed");
  if (!pipeline.ok()) return;
  const std::string printed = ToText(*pipeline);
  const Result<Pipeline> again = ParsePipeline(printed);
  Require(again.ok(), "the printed text is refused: " + again.status().ToString() + printed);
  Require(Digest(*again) == Digest(*pipeline), "it means something else:\n" + printed);
  CheckSchedules(*program);
  if (IsSmallAndExact(*program)) CheckLoops(*program, *pipeline);
}

}  // namespace
}  // namespace mdh

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mdh::Check(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
