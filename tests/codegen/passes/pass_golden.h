// Golden files of passes: the program before and after, one under the other. MDH_UPDATE_GOLDEN=1 in
// the environment rewrites them; review their diff like code.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "codegen/program/loop_program_text.h"
#include "tests/codegen/golden_file.h"
#include "tests/codegen/index_variable.h"
#include "tests/codegen/passes/pass_evaluator.h"

namespace mdh {

inline void ExpectGoldenPass(const std::string& name, const LoopProgram& before,
                             const LoopProgram& after) {
  ExpectGoldenFile("passes/" + name + ".txt",
                   "---- before ----\n" + ToText(before) + "---- after ----\n" + ToText(after));
}

// A buffer of int32 with different values.
inline std::vector<std::optional<ScalarValue>> Numbered(int64_t elements) {
  std::vector<std::optional<ScalarValue>> values;
  for (int64_t n = 0; n < elements; ++n) {
    values.push_back(ScalarValue::Integer(ScalarType::kInt32, n * n % 97 - 20));
  }
  return values;
}

inline void ExpectSameResults(const LoopProgram& before, const LoopProgram& after,
                              const ProgramMemory& memory) {
  const ProgramMemory expected = Execute(before, memory);
  const ProgramMemory result = Execute(after, memory);
  EXPECT_EQ(expected, result) << ToText(before) << "---- after ----\n" << ToText(after);
}

// ---- Programs written briefly ----

inline std::shared_ptr<const Block> Body(Block block) {
  return std::make_shared<const Block>(std::move(block));
}
inline Statement Loop(const std::string& variable, const Index& end, Block body) {
  return {For{variable, Index(0), end, 1, false, Body(std::move(body))}};
}
inline Statement UnrolledLoop(const std::string& variable, const Index& end, Block body) {
  return {For{variable, Index(0), end, 1, false, Body(std::move(body)), /*unroll=*/true}};
}
inline Statement Guard(const Index& a, const Index& b, Block body, Block otherwise = {}) {
  return {If{{{Condition::Kind::kLess, a, b, ""}},
             Body(std::move(body)),
             otherwise.empty() ? nullptr : Body(std::move(otherwise))}};
}
inline LoopValue Element(const std::string& pointer, const Index& offset) {
  return MakeLoad(pointer, offset, {ScalarType::kInt32, 1}, 1);
}
// Of int32, with such a value outside of the buffer, or the nearest element.
inline LoopValue ElementInside(const std::string& pointer,
                               std::vector<LoadInside::Dimension> dimensions,
                               std::optional<int64_t> outside) {
  LoadInside load{pointer, std::move(dimensions), 0, std::nullopt, /*loads_always=*/true};
  if (outside.has_value()) load.outside = ScalarValue::Integer(ScalarType::kInt32, *outside);
  return std::make_shared<const ValueNode>(ValueNode{{ScalarType::kInt32, 1}, std::move(load)});
}
inline LoopValue Sum(LoopValue a, LoopValue b) {
  return MakeOperation(ScalarOp::kAdd, ScalarType::kInt32, {std::move(a), std::move(b)});
}
inline LoopValue Number(int64_t n) {
  return MakeLiteral(ScalarValue::Integer(ScalarType::kInt32, n));
}
inline Statement Set(const std::string& pointer, const Index& offset, LoopValue value) {
  return {StoreElements{pointer, offset, std::move(value), 1}};
}
inline Statement Shared(const std::string& name, int64_t elements) {
  return {DeclareArray{name, ScalarType::kInt32, elements, MemorySpace::kShared}};
}
inline Statement Private(const std::string& name, int64_t elements) {
  return {DeclareArray{name, ScalarType::kInt32, elements, MemorySpace::kPrivate}};
}
inline Statement BlockNumber(const std::string& name, int axis = 0) {
  return {HardwareIndex{name, HardwareIndex::Kind::kBlock, axis}};
}
inline Statement ThreadNumber(const std::string& name, int axis = 0) {
  return {HardwareIndex{name, HardwareIndex::Kind::kThread, axis}};
}
inline LoopProgram Program(Block body, LaunchGeometry launch = {}) {
  LoopProgram program;
  program.stages.push_back({"", std::move(body), launch});
  return program;
}

}  // namespace mdh
