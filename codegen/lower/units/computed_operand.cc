#include "codegen/lower/units/computed_operand.h"

#include "codegen/lower/units/unit_context.h"

namespace mdh {
namespace {

LoopValue Argument(const Expression& e, int parameter, const std::vector<std::string>& pointers,
                   const std::vector<Index>& point) {
  if (e.is_index(parameter)) return MakeIndexValue(point[e.index_dimension(parameter)], 1, 0);
  const Expression::AccessRef ref = e.input_access(parameter);
  const Buffer& buffer = e.inputs()[ref.buffer];
  const std::string& pointer = pointers[parameter];
  if (buffer.boundary.kind == Boundary::Kind::kNone) {
    const LoopValueType type{buffer.type.fields()[ref.field].type, 1};
    return LoadValue(pointer, At(buffer.Linearized(ref.access, ref.field), point), type, 1);
  }
  std::vector<Index> indices;
  for (const AffineIndex& index : buffer.accesses[ref.access].indices) {
    indices.push_back(At(index, point));
  }
  const std::vector<int64_t> steps(indices.size(), 0);
  return LoadInsideValue(buffer, pointer, ref.field, indices, steps, /*lanes=*/1);
}

}  // namespace

LoopValue EmitOperand(const Expression& expression, const ContractionOperand& operand,
                      const std::vector<std::string>& pointers, const std::vector<Index>& point,
                      NameAllocator& names, Block* block) {
  const auto argument = [&](int parameter) {
    return Argument(expression, parameter, pointers, point);
  };
  return EmitFunction(operand.function, argument, names, *block)[0];
}

}  // namespace mdh
