#include "codegen/lower/scan/scan_elements.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "codegen/program/scalar_code.h"
#include "core/base/status.h"

namespace mdh {
namespace {

constexpr int64_t kAccessBytes = 16;

// The index of the line's elements: `index` with the line's indices in all dimensions but d.
LineIndex AlongLine(const Expression& expression, const AffineIndex& index,
                    const std::vector<Index>& at, int d) {
  Index base(index.constant);
  for (int k = 0; k < expression.rank(); ++k) {
    if (k != d) base = at[k] * index.coefficients[k] + base;
  }
  return {base, expression.dimensions()[d].size == 1 ? 0 : index.coefficients[d]};
}

int64_t AlignmentOf(const Expression& expression, const AffineIndex& index, int d) {
  int64_t alignment = index.constant;
  for (int k = 0; k < expression.rank(); ++k) {
    if (k == d || expression.dimensions()[k].size == 1) continue;
    alignment = std::gcd(alignment, index.coefficients[k]);
  }
  return alignment;
}

}  // namespace

bool LineElements::MovesRun(int64_t run) const {
  return run > 1 && offset.step == 1 && alignment % run == 0 &&
         SizeBytes(type) * run <= kAccessBytes;
}

LineElements ElementsOf(const Expression& expression, const ResultTarget& target,
                        const std::vector<Index>& at, int d) {
  return {target.pointer, target.type, AlongLine(expression, target.offset, at, d),
          AlignmentOf(expression, target.offset, d)};
}

LineValues::LineValues(NestContext& context, std::vector<LineElements> arrays)
    : context_(context),
      is_function_(false),
      operands_(arrays.begin(), arrays.end()),
      vectors_(arrays.size()) {}

LineValues::LineValues(NestContext& context, const std::vector<Index>& at, int d)
    : context_(context), is_function_(true) {
  const ScalarFunction& function = context.expression().function();
  operands_.resize(function.parameters().size());
  vectors_.resize(operands_.size());
  for (const ScalarInstruction& instruction : function.instructions()) {
    if (instruction.op != ScalarOp::kParameter) continue;
    operands_[instruction.parameter] = OperandOf(instruction.parameter, at, d);
  }
}

LineValues::Operand LineValues::OperandOf(int parameter, const std::vector<Index>& at, int d) {
  const Expression& expression = context_.expression();
  if (expression.is_index(parameter)) {
    const int dimension = expression.index_dimension(parameter);
    return dimension == d ? LineIndex{Index(0), 1} : LineIndex{at[dimension], 0};
  }
  const Expression::AccessRef ref = expression.input_access(parameter);
  const Buffer& buffer = expression.inputs()[ref.buffer];
  const ScalarType type = buffer.type.fields()[ref.field].type;
  const std::string pointer =
      context_.views().PointerTo(buffer, context_.input_name(ref.buffer), type, /*is_const=*/true);
  if (buffer.boundary.kind != Boundary::Kind::kNone) {
    Inside inside{&buffer, pointer, ref.field, {}};
    for (const AffineIndex& index : buffer.accesses[ref.access].indices) {
      inside.indices.push_back(AlongLine(expression, index, at, d));
    }
    return inside;
  }
  const AffineIndex linear = buffer.Linearized(ref.access, ref.field);
  // How a field's view is aligned is not known.
  const int64_t alignment = buffer.type.is_record() ? 1 : AlignmentOf(expression, linear, d);
  return LineElements{pointer, type, AlongLine(expression, linear, at, d), alignment};
}

bool LineValues::LoadRun(const Index& first, int64_t run, Block* block) {
  bool has_vectors = false;
  for (size_t n = 0; n < operands_.size(); ++n) {
    vectors_[n] = nullptr;
    const auto* elements = std::get_if<LineElements>(&operands_[n]);
    if (elements == nullptr || !elements->MovesRun(run)) continue;
    const std::string name = context_.names().Unique(absl::StrCat(elements->pointer, "_run"));
    const LoopValueType type{elements->type, static_cast<int>(run)};
    block->push_back(
        {DeclareValue{name, MakeLoad(elements->pointer, elements->offset.At(first), type, 1)}});
    vectors_[n] = MakeNamed(name, type);
    has_vectors = true;
  }
  return has_vectors;
}

LoopValue LineValues::Value(size_t operand, const Index& element, int number) const {
  if (vectors_[operand] != nullptr) return AsComputed(MakeLane(vectors_[operand], number));
  return std::visit(
      Overloaded{
          [](const Unused&) { return LoopValue(); },
          [&](const LineElements& elements) {
            return LoadValue(elements.pointer, elements.offset.At(element), {elements.type, 1}, 1);
          },
          [&](const LineIndex& index) { return MakeIndexValue(index.At(element), 1, 1); },
          [&](const Inside& inside) {
            std::vector<Index> indices;
            for (const LineIndex& index : inside.indices) indices.push_back(index.At(element));
            return LoadInsideValue(*inside.buffer, inside.pointer, inside.field, indices);
          }},
      operands_[operand]);
}

std::vector<LoopValue> LineValues::At(const Index& element, int number, Block* block) {
  if (is_function_) {
    return EmitFunction(
        context_.sums().function(), [&](int p) { return Value(p, element, number); },
        context_.names(), *block);
  }
  std::vector<LoopValue> values;
  for (size_t n = 0; n < operands_.size(); ++n) values.push_back(Value(n, element, number));
  return values;
}

}  // namespace mdh
