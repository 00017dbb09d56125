#include "codegen/lower/keyed/numbered_values.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "codegen/program/scalar_code.h"

namespace mdh {
namespace {

constexpr int64_t kRunBytes = 16;

// Neighbouring dimensions along which an index goes in even steps, as one.
struct Steps {
  int64_t size;
  int64_t step;
  bool is_outermost;
};

// The innermost first.
std::vector<Steps> StepsOf(const Expression& expression, const std::vector<int>& dimensions,
                           const AffineIndex& index) {
  std::vector<Steps> all;
  for (size_t n = dimensions.size(); n-- > 0;) {
    const int64_t size = expression.dimensions()[dimensions[n]].size;
    const int64_t step = index.coefficients[dimensions[n]];
    if (!all.empty() && step == all.back().step * all.back().size) {
      all.back().size *= size;
    } else {
      all.push_back({size, step, false});
    }
  }
  if (!all.empty()) all.back().is_outermost = true;
  return all;
}

bool IsAlongPoints(const NumberedPoints& points, int d) {
  return std::ranges::find(points.dimensions, d) != points.dimensions.end();
}

std::vector<int> UsedParameters(const ScalarFunction& function) {
  std::vector<int> used;
  for (const ScalarInstruction& instruction : function.instructions()) {
    if (instruction.op == ScalarOp::kParameter) used.push_back(instruction.parameter);
  }
  return used;
}

}  // namespace

Index IndexAtPoint(const Expression& expression, const NumberedPoints& points,
                   const AffineIndex& index, const Index& number) {
  Index sum(index.constant);
  for (int d = 0; d < expression.rank(); ++d) {
    if (!IsAlongPoints(points, d)) sum = points.at[d] * index.coefficients[d] + sum;
  }
  int64_t inside = 1;
  for (const Steps& steps : StepsOf(expression, points.dimensions, index)) {
    const Index rest = number / inside;
    sum = (steps.is_outermost ? rest : rest % steps.size) * steps.step + sum;
    inside *= steps.size;
  }
  return sum;
}

bool HasAlignedRuns(const Expression& expression, const NumberedPoints& points,
                    const AffineIndex& index, int64_t run) {
  if (index.constant % run != 0) return false;
  for (int d = 0; d < expression.rank(); ++d) {
    const bool is_fixed = IsAlongPoints(points, d) || points.at[d].IsZero();
    if (!is_fixed && index.coefficients[d] % run != 0) return false;
  }
  const std::vector<Steps> all = StepsOf(expression, points.dimensions, index);
  if (all.empty() || all[0].step != 1) return false;
  if (!all[0].is_outermost && all[0].size % run != 0) return false;
  return std::all_of(all.begin() + 1, all.end(),
                     [&](const Steps& steps) { return steps.step % run == 0; });
}

std::vector<int> InMemoryOrder(const Expression& expression, const ScalarFunction& function,
                               std::vector<int> dimensions) {
  for (const int parameter : UsedParameters(function)) {
    if (expression.is_index(parameter)) continue;
    const Expression::AccessRef ref = expression.input_access(parameter);
    const AffineIndex index = expression.inputs()[ref.buffer].Linearized(ref.access);
    std::ranges::stable_sort(dimensions, [&](int a, int b) {
      return std::abs(index.coefficients[a]) > std::abs(index.coefficients[b]);
    });
    break;
  }
  return dimensions;
}

NumberedValues::NumberedValues(NestContext& context, const ScalarFunction& function,
                               NumberedPoints points)
    : context_(context),
      function_(function),
      points_(std::move(points)),
      parameters_(UsedParameters(function)) {}

bool NumberedValues::MovesRuns(int64_t run) const {
  return run > 1 && std::ranges::any_of(parameters_, [&](int p) { return MovesRun(p, run); });
}

bool NumberedValues::MovesRun(int parameter, int64_t run) const {
  const Expression& expression = context_.expression();
  if (run == 1 || expression.is_index(parameter)) return false;
  const Expression::AccessRef ref = expression.input_access(parameter);
  const Buffer& buffer = expression.inputs()[ref.buffer];
  // How a field's view is aligned is not known.
  if (buffer.type.is_record() || buffer.boundary.kind != Boundary::Kind::kNone) return false;
  return run * buffer.type.size_bytes() <= kRunBytes &&
         HasAlignedRuns(expression, points_, buffer.Linearized(ref.access), run);
}

NumberedValues::Run NumberedValues::LoadRun(const Index& first, int64_t run, Block* block) const {
  const Expression& expression = context_.expression();
  Run vectors(function_.parameters().size());
  for (const int p : parameters_) {
    if (!MovesRun(p, run)) continue;
    const Expression::AccessRef ref = expression.input_access(p);
    const Buffer& buffer = expression.inputs()[ref.buffer];
    const std::string& pointer = context_.input_name(ref.buffer);
    const LoopValueType type{buffer.type.fields()[0].type, static_cast<int>(run)};
    const std::string name = context_.names().Unique(absl::StrCat(pointer, "_run"));
    const Index offset = IndexAtPoint(expression, points_, buffer.Linearized(ref.access), first);
    block->push_back({DeclareValue{name, MakeLoad(pointer, offset, type, 1)}});
    vectors[p] = MakeNamed(name, type);
  }
  return vectors;
}

LoopValue NumberedValues::Value(int parameter, const Index& number) {
  const Expression& expression = context_.expression();
  if (expression.is_index(parameter)) {
    AffineIndex index{std::vector<int64_t>(expression.rank(), 0), 0};
    index.coefficients[expression.index_dimension(parameter)] = 1;
    return MakeIndexValue(IndexAtPoint(expression, points_, index, number), 1, 0);
  }
  const Expression::AccessRef ref = expression.input_access(parameter);
  const Buffer& buffer = expression.inputs()[ref.buffer];
  const ScalarType type = buffer.type.fields()[ref.field].type;
  const std::string pointer =
      context_.views().PointerTo(buffer, context_.input_name(ref.buffer), type, /*is_const=*/true);
  if (buffer.boundary.kind == Boundary::Kind::kNone) {
    const Index offset =
        IndexAtPoint(expression, points_, buffer.Linearized(ref.access, ref.field), number);
    return LoadValue(pointer, offset, {type, 1}, 1);
  }
  std::vector<Index> indices;
  for (const AffineIndex& index : buffer.accesses[ref.access].indices) {
    indices.push_back(IndexAtPoint(expression, points_, index, number));
  }
  return LoadInsideValue(buffer, pointer, ref.field, indices);
}

std::vector<LoopValue> NumberedValues::At(const Run& run, const Index& first, int lane,
                                          Block* block) {
  return EmitFunction(
      function_,
      [&](int p) {
        return run[p] == nullptr ? Value(p, first + Index(lane))
                                 : AsComputed(MakeLane(run[p], lane));
      },
      context_.names(), *block);
}

std::vector<LoopValue> NumberedValues::At(const Index& number, Block* block) {
  return EmitFunction(
      function_, [&](int p) { return Value(p, number); }, context_.names(), *block);
}

}  // namespace mdh
