// Every scalar operation on every type as a loop program: what printers must spell, compilers
// accept, and devices compute as core/scalar/scalar_function.h says.
#pragma once

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/print/c_block_unit.h"
#include "codegen/program/loop_program.h"
#include "core/scalar/scalar_function.h"

namespace mdh {

struct ScalarCase {
  ScalarOp op;
  ScalarType result;
  std::string text;  // "min of fp32"
};

// Operations on operands of that type, casts to all types included. Halves are only converted, to
// and from fp32.
inline std::vector<ScalarCase> ScalarCases(ScalarType type) {
  std::vector<ScalarCase> cases;
  for (const ScalarOpInfo& info : AllScalarOps()) {
    if (IsStorageOnly(type)) break;
    std::vector<ScalarType> operands(info.operands, type);
    if (info.op == ScalarOp::kSelect) operands[0] = ScalarType::kBool;
    const Result<ScalarType> result = ResultType(info.op, operands);
    if (!result.ok()) continue;
    cases.push_back({info.op, *result, absl::StrCat(info.name, " of ", Name(type))});
  }
  for (const ScalarTypeInfo& to : AllScalarTypes()) {
    const bool halves = IsStorageOnly(to.type) || IsStorageOnly(type);
    const bool reals = to.type == ScalarType::kFloat32 || type == ScalarType::kFloat32;
    if (to.type == type || (halves && !reals) || (IsStorageOnly(to.type) && IsStorageOnly(type)))
      continue;
    cases.push_back({ScalarOp::kCast, to.type, absl::StrCat(Name(type), " to ", Name(to.type))});
  }
  return cases;
}

// Values at which operations differ between languages: limits, halves, nan, infinities, subnormal
// numbers.
inline std::vector<ScalarValue> InterestingValues(ScalarType type) {
  std::vector<ScalarValue> values;
  if (type == ScalarType::kBool) return {ScalarValue::Bool(false), ScalarValue::Bool(true)};
  if (IsStorageOnly(type)) {
    for (uint32_t bits = 0; bits < uint32_t{1} << 8 * SizeBytes(type); ++bits) {
      values.push_back(ScalarValue::Load(type, &bits));
    }
    return values;
  }
  if (IsFloatingPoint(type)) {
    const double inf = std::numeric_limits<double>::infinity();
    for (const double x :
         {0.0,    0.5,    1.0,          1.5,          2.5,          0.1,     3.7,
          7.0,    100.25, 127.9,        128.5,        255.5,        65519.9, 65520.0,
          1e-5,   2e-8,   2147483647.0, 2147483648.0, 4294967296.0, 9.2e18,  9223372036854775808.0,
          1.9e19, 1e30,   inf}) {
      values.push_back(ScalarValue::Real(type, x));
      values.push_back(ScalarValue::Real(type, -x));
    }
    values.push_back(ScalarValue::Real(type, std::nan("")));
    // Subnormal numbers, the smallest normal one, the largest.
    const bool is_single = type == ScalarType::kFloat32;
    const int smallest = is_single ? -149 : -1074, digits = is_single ? 24 : 53;
    for (const double x : {std::ldexp(1.0, smallest), std::ldexp(1.5, smallest + digits / 2),
                           std::ldexp(1.0, smallest + digits - 1),
                           is_single ? double{std::numeric_limits<float>::max()}
                                     : std::numeric_limits<double>::max()}) {
      values.push_back(ScalarValue::Real(type, x));
      values.push_back(ScalarValue::Real(type, -x));
    }
    return values;
  }
  for (const int64_t x : {0, 1, 2, 3, 7, 13, 100}) {
    values.push_back(ScalarValue::Integer(type, x));
    values.push_back(ScalarValue::Integer(type, -x));
  }
  const int bits = 8 * SizeBytes(type);
  const int64_t minimum = IsSigned(type) ? std::numeric_limits<int64_t>::min() >> (64 - bits) : 0;
  for (const int64_t x : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{1} << (bits / 2)}) {
    const uint64_t largest = static_cast<uint64_t>(minimum) - 1;  // wraps to the other end
    values.push_back(ScalarValue::Integer(type, minimum + x));
    values.push_back(
        ScalarValue::Integer(type, static_cast<int64_t>(largest - static_cast<uint64_t>(x))));
  }
  return values;
}

// Values of fp32 at which rounding to shorter types is decided: those of fp16 and of bf16, the
// middles between neighbours of `type`, and what is next to them.
inline std::vector<float> FloatsToRound(ScalarType type) {
  std::vector<float> floats;
  for (const ScalarType from : {ScalarType::kFloat16, ScalarType::kBfloat16}) {
    for (const ScalarValue& value : InterestingValues(from)) {
      floats.push_back(static_cast<float>(value.as_double()));
    }
  }
  for (uint32_t bits = 0; bits < FirstSpecialPattern(Info(type).format); ++bits) {
    const uint32_t next = bits + 1;
    const double low = ScalarValue::Load(type, &bits).as_double();
    const double high = ScalarValue::Load(type, &next).as_double();
    const auto middle =
        static_cast<float>(std::isfinite(high) ? (low + high) / 2 : low + low * Epsilon(type) / 4);
    for (const float x : {middle, std::nextafterf(middle, 0), std::nextafterf(middle, INFINITY)}) {
      floats.push_back(x);
      floats.push_back(-x);
    }
  }
  uint32_t random = 1;
  for (int n = 0; n < 40000; ++n) {
    random = random * 1664525 + 1013904223;
    floats.push_back(std::bit_cast<float>(random));
  }
  return floats;
}

// r0[i], r1[i], ... = the cases of (a[i], b[i]); the boolean operand of ?: is m[i].
inline Block ScalarStatements(ScalarType type) {
  const Index i = Index::Variable("i");
  const LoopValue a = MakeLoad("a", i, {type, 1}, 1), b = MakeLoad("b", i, {type, 1}, 1);
  const LoopValue m = MakeLoad("m", i, {ScalarType::kBool, 1}, 1);
  Block body;
  int number = 0;
  for (const ScalarCase& c : ScalarCases(type)) {
    std::vector<LoopValue> operands = {a};
    if (c.op == ScalarOp::kSelect) operands = {m, a, b};
    if (Info(c.op).operands == 2) operands = {a, b};
    body.push_back({Comment{c.text}});
    body.push_back({StoreElements{absl::StrCat("r", number++), i,
                                  MakeOperation(c.op, c.result, operands), 1}});
  }
  return body;
}

// One stage that applies all cases of `type` to `elements` pairs of operands.
inline LoopProgram ScalarProgram(ScalarType type, int64_t elements) {
  LoopProgram program;
  Stage stage{absl::StrCat("Operations on ", Name(type)), {}, {{4, 1, 1}, {32, 1, 1}}};
  stage.body.push_back(
      {ShareLoop{"i", elements, std::make_shared<const Block>(ScalarStatements(type))}});
  program.stages.push_back(std::move(stage));
  return program;
}

inline std::vector<KernelArgument> ScalarArguments(ScalarType type, int64_t elements) {
  std::vector<KernelArgument> arguments = {{"a", type, elements, false},
                                           {"b", type, elements, false},
                                           {"m", ScalarType::kBool, elements, false}};
  int number = 0;
  for (const ScalarCase& c : ScalarCases(type)) {
    arguments.push_back({absl::StrCat("r", number++), c.result, elements, true});
  }
  return arguments;
}

inline Kernel OneStageKernel(const CDialect& dialect, const std::string& name,
                             std::vector<KernelArgument> arguments, Block body, int64_t items) {
  LoopProgram program;
  Stage stage{name, {}, {{4, 1, 1}, {32, 1, 1}}};
  stage.body.push_back({ShareLoop{"i", items, std::make_shared<const Block>(std::move(body))}});
  program.stages.push_back(std::move(stage));
  BlockUnitOptions options{&dialect, "mdh_" + name, name + ".", std::move(arguments)};
  options.wide_indices = false;
  return PrintBlockKernel(program, options);
}

// r[n] = interesting value n, as a literal.
inline Kernel LiteralKernel(const CDialect& dialect, ScalarType type) {
  Block body;
  int64_t n = 0;
  for (const ScalarValue& value : InterestingValues(type)) {
    body.push_back({StoreElements{"r", n++, MakeLiteral(value), 1}});
  }
  return OneStageKernel(dialect, "literals", {{"r", type, n, true}}, std::move(body), 1);
}

inline std::vector<ScalarValue> TableValues() {
  std::vector<ScalarValue> table;
  for (const double x : {0.5, -HUGE_VAL, std::nan(""), 1e30}) {
    table.push_back(ScalarValue::Real(ScalarType::kFloat64, x));
  }
  return table;
}

// r[i] = table[a[i]].
inline Kernel TableKernel(const CDialect& dialect, ScalarType index, int64_t elements) {
  const Index i = Index::Variable("i");
  Block body;
  body.push_back(
      {StoreElements{"r", i, MakeTableElement(TableValues(), MakeLoad("a", i, {index, 1}, 1)), 1}});
  return OneStageKernel(
      dialect, "table",
      {{"a", index, elements, false}, {"r", ScalarType::kFloat64, elements, true}}, std::move(body),
      elements);
}

// Products and sums are kept apart: every operation rounds by itself.
inline Kernel ScalarKernel(const CDialect& dialect, ScalarType type, int64_t elements) {
  BlockUnitOptions options{&dialect, absl::StrCat("mdh_scalar_", Name(type)),
                           absl::StrCat("All operations on ", Name(type), "."),
                           ScalarArguments(type, elements)};
  options.wide_indices = false;
  return PrintBlockKernel(ScalarProgram(type, elements), options);
}

}  // namespace mdh
