// A TeML program run by both interpreters.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/teml/teml.h"
#include "tests/core/buffer_values.h"
#include "tests/core/pipeline/interpreted_pipeline.h"
#include "tests/core/teml/loop_interpreter.h"

namespace mdh {

// Values of fp64 tensors by their names.
using TensorValues = std::map<std::string, std::vector<double>>;

inline TemlProgram TemlOf(const std::string& text, const Bindings& bindings = {}) {
  Result<TemlProgram> program = ParseTemlProgram(text, bindings, "test.teml");
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *std::move(program) : TemlProgram();
}

// Small integers for every input of a program, different from place to place.
inline TensorValues InputsOf(const Pipeline& pipeline) {
  TensorValues inputs;
  int64_t next = 1;
  for (const int b : pipeline.BuffersOf(PipelineBuffer::Role::kInput)) {
    std::vector<double>& values = inputs[pipeline.buffers()[b].name];
    for (int64_t e = 0; e < pipeline.buffers()[b].elements(); ++e) {
      values.push_back(static_cast<double>((next = (next * 7 + 3) % 19) - 9));
    }
  }
  return inputs;
}

// The outputs by the interpreter of pipelines. Expects that the loops give the same, and all values
// are finite.
inline TensorValues RunTeml(const TemlProgram& program, const TensorValues& inputs) {
  const Result<Pipeline> pipeline = ToPipeline(program, "test");
  EXPECT_TRUE(pipeline.ok()) << pipeline.status() << "\n" << ToText(program);
  TensorValues outputs;
  if (!pipeline.ok()) return outputs;
  std::vector<BufferBytes> given;
  TensorContents contents;
  for (const int b : pipeline->BuffersOf(PipelineBuffer::Role::kInput)) {
    const std::string& name = pipeline->buffers()[b].name;
    given.push_back(BytesOfValues(inputs.at(name)));
    contents.emplace(name, given.back());
  }
  const Result<std::vector<BufferBytes>> results = InterpretPipeline(*pipeline, given);
  const Result<TensorContents> loops = InterpretLoops(program, contents);
  EXPECT_TRUE(results.ok()) << results.status();
  EXPECT_TRUE(loops.ok()) << loops.status();
  if (!results.ok() || !loops.ok()) return outputs;
  const std::vector<int> buffers = pipeline->BuffersOf(PipelineBuffer::Role::kOutput);
  for (size_t n = 0; n < buffers.size(); ++n) {
    const std::string& name = pipeline->buffers()[buffers[n]].name;
    outputs[name] = ValuesOfBytes<double>((*results)[n]);
    EXPECT_EQ(ValuesOfBytes<double>(loops->at(name)), outputs[name]) << name << "\n"
                                                                     << ToText(program);
  }
  return outputs;
}

}  // namespace mdh
