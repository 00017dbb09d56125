// Contractions on matrix units, executed thread by thread (tests/codegen/passes/pass_evaluator.h):
// the results of the interpreter, without races, with copies and multiplications that are waited
// for, and fences where the unit reads what threads wrote.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/substitute.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/lower/units/unit_program.h"
#include "codegen/passes/passes.h"
#include "codegen/program/kernel_names.h"
#include "codegen/program/loop_program_text.h"
#include "core/expression/interpreter.h"
#include "core/text/parser.h"
#include "tests/codegen/passes/pass_evaluator.h"

namespace mdh::unit_program_test {

struct Case {
  std::string name, text;
  UnitParameters unit;
  int swizzle = 1;
  CombineBlocks combine = CombineBlocks::kPartials;
};
inline constexpr CombineBlocks kCluster = CombineBlocks::kCluster;
inline constexpr UnitOperands kNoOperand = UnitOperands::kNone;

// Small, so that sums are exact in all types.
inline ScalarValue InputElement(ScalarType type, int64_t n) {
  return ScalarValue::Real(type, static_cast<double>(n * 7 % 11 % 3 - 1));
}

inline std::string MatMul(const std::string& type, const std::string& sum, const std::string& sizes,
                          const std::string& a, const std::string& b, const std::string& c = "i,j",
                          const std::string& out = "T") {
  return absl::Substitute(
      "e<T = $0 | $2> := out_view<$6>( C: (i,j,k) -> ($5) ) o md_hom<I,J,K>( f, (++, ++, +) ) o\n"
      "inp_view<T,T>( A: (i,j,k) -> ($3), B: (i,j,k) -> ($4) )\n"
      "where f(A, B) -> (C: $1) { C = $1(A) * $1(B) }\n",
      type, sum, sizes, a, b, c, out);
}

// fp32 of A[i,k] and B[k,j], or of B[j,k], by any function of these.
inline std::string Computed(const std::string& a, const std::string& b, const std::string& sizes,
                            const std::string& product, const std::string& at_b = "k,j") {
  return absl::Substitute(
      "e<T = fp32 | $0> := out_view<fp32>( C: (i,j,k) -> (i,j) ) o md_hom<I,J,K>( f, (++, ++, +) ) "
      "o\n"
      "inp_view<$1,$2>( A: (i,j,k) -> (i,k), B: (i,j,k) -> ($3) )\n"
      "where f(A, B) -> (C: fp32) { C = $4 }\n",
      sizes, a, b, at_b, product);
}

// In fp32, where a policy says what becomes of the products.
inline NumericsPolicy PolicyOf(const Expression& expression) {
  for (const NumericsPolicy policy : {NumericsPolicy::kTf32, NumericsPolicy::kFp8}) {
    if (ProductsObstacle(expression, policy).empty()) return policy;
  }
  return NumericsPolicy::kReassociate;
}

inline LowLevelExpression Lowered(const Case& c) {
  const Expression expression = *ParseExpression(c.text);
  const DeviceDescription device = *DescribeCudaArchitecture(90);
  TuningParameters p = DefaultParameters(expression, CudaModel(), device, PolicyOf(expression));
  p.unit = c.unit;
  p.swizzle = c.swizzle;
  p.combine_blocks = c.combine;
  p.resident_blocks = 0;
  p.mirrors = false;
  p.early_launches = EarlyLaunches::kStages;
  Result<LowLevelExpression> low_level = Lower(expression, CudaModel(), device, p);
  EXPECT_TRUE(low_level.ok()) << c.name << ": " << low_level.status();
  return *std::move(low_level);
}

inline UnitParameters Warps(int rows, int columns, UnitWarps warps, int stages = 4, int parts = 1,
                            UnitOperands packed = UnitOperands::kNone) {
  return {.rows = rows,
          .columns = columns,
          .stages = stages,
          .parts = parts,
          .packed = packed,
          .warps = warps};
}

inline UnitParameters Computing(UnitOperands computed, UnitParameters unit) {
  unit.computed = computed;
  return unit;
}

// What a program is executed on: elements of its inputs, room for outputs and scratch memory.
struct UnitMemory {
  std::vector<KernelArgument> arguments;
  ProgramMemory memory;
  std::vector<BufferBytes> inputs;  // the same for the interpreter
};
using InputFunction = std::function<ScalarValue(ScalarType type, int64_t n)>;
inline UnitMemory MemoryOf(const LowLevelExpression& low_level, const LoopProgram& program,
                           const InputFunction& element) {
  NameAllocator names;
  UnitMemory made{ArgumentsOf(low_level.given(), NamesOf(low_level.expression(), names)), {}, {}};
  for (const KernelArgument& argument : made.arguments) {
    auto& elements = made.memory[argument.name];
    elements.resize(static_cast<size_t>(argument.elements));
    if (argument.is_output) continue;
    const ScalarType type = argument.type.scalar();
    BufferBytes bytes(static_cast<size_t>(argument.elements * SizeBytes(type)));
    for (int64_t n = 0; n < argument.elements; ++n) {
      const ScalarValue value = element(type, n);
      elements[static_cast<size_t>(n)] = value;
      value.Store(bytes.data() + n * SizeBytes(type));
    }
    made.inputs.push_back(std::move(bytes));
  }
  for (const ScratchBuffer& buffer : program.scratch) {
    made.memory[buffer.name].resize(static_cast<size_t>(buffer.elements));
  }
  return made;
}

inline void ExpectWhatTheInterpreterComputes(const Case& c) {
  const LowLevelExpression low_level = Lowered(c);
  const Expression& e = low_level.expression();
  const Result<LoopProgram> lowered = BuildUnitProgram(low_level);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const LoopProgram program = Optimize(*lowered, {.unroll = low_level.parameters().unroll});
  const auto [arguments, memory, inputs] = MemoryOf(low_level, program, InputElement);
  // Warps load fragments behind the last stage, which nobody uses.
  const ProgramMemory result = Execute(program, memory, /*may_read_unwritten=*/c.unit.has_warps());
  const Result<std::vector<BufferBytes>> expected = Interpret(e, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  size_t output = 0;
  for (const KernelArgument& argument : arguments) {
    if (!argument.is_output) continue;
    const BufferBytes& bytes = (*expected)[output++];
    const ScalarType type = argument.type.scalar();
    int wrong = 0;
    for (int64_t n = 0; n < argument.elements; ++n) {
      const auto& element = result.at(argument.name)[static_cast<size_t>(n)];
      const double right = ScalarValue::Load(type, bytes.data() + n * SizeBytes(type)).as_double();
      const double here = element.has_value() ? element->as_double() : -1e9;
      if (here != right && ++wrong < 5) {
        ADD_FAILURE() << argument.name << "[" << n << "] is " << here << ", not " << right;
      }
    }
    EXPECT_EQ(wrong, 0) << ToText(program);
  }
}

}  // namespace mdh::unit_program_test
