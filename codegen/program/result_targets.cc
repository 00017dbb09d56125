#include "codegen/program/result_targets.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/program/c_names.h"

namespace mdh {

std::string ResultName(const Expression& expression, const std::vector<std::string>& outputs,
                       int r) {
  if (expression.store() == nullptr) return outputs[expression.output_access(r).buffer];
  return CIdentifier(absl::StrReplaceAll(expression.function().results()[r].name, {{".", "_"}}) +
                     "_result");
}

std::vector<ResultTarget> OutputTargets(const Expression& expression,
                                        const std::vector<std::string>& names, RecordViews& views) {
  std::vector<ResultTarget> targets;
  for (int r = 0; r < std::ssize(expression.stored()); ++r) {
    const Expression::AccessRef ref = expression.output_access(r);
    const Buffer& buffer = expression.outputs()[ref.buffer];
    const ScalarType type = expression.stored_type(r);
    ResultTarget target{views.PointerTo(buffer, names[ref.buffer], type, /*is_const=*/false), type,
                        buffer.Linearized(ref.access, ref.field)};
    for (int d = 0; d < expression.rank(); ++d) {
      if (expression.is_reduction(d)) target.offset.coefficients[d] = 0;  // accessed at index 0
    }
    targets.push_back(std::move(target));
  }
  return targets;
}

std::vector<ResultTarget> ArrayTargets(const Expression& expression,
                                       const std::vector<std::string>& outputs) {
  AffineIndex offset{std::vector<int64_t>(expression.rank(), 0), 0};
  int64_t stride = 1;
  for (int d = expression.rank(); d-- > 0;) {
    if (expression.is_reduction(d)) continue;
    offset.coefficients[d] = stride;
    stride *= expression.dimensions()[d].size;
  }
  std::vector<ResultTarget> targets;
  const std::vector<TypedName>& results = expression.function().results();
  const bool have_names = results.size() == outputs.size() || expression.store() != nullptr;
  for (int r = 0; r < static_cast<int>(results.size()); ++r) {
    const std::string name = ResultName(expression, outputs, r);
    targets.push_back({have_names ? name + "_partial" : absl::StrCat(name, r, "_partial"),
                       results[r].type, offset});
  }
  return targets;
}

bool UsesResultArrays(const Expression& expression, int64_t slots, bool adds_to_targets) {
  return expression.has_prefix_sum() || slots > 1 ||
         (adds_to_targets && expression.finishes_results());
}

bool AreArrays(const std::vector<ResultTarget>& outputs, const std::vector<ResultTarget>& arrays) {
  return std::ranges::equal(outputs, arrays, [](const ResultTarget& a, const ResultTarget& b) {
    return a.type == b.type && a.offset == b.offset;
  });
}

int64_t ResultArrayElements(const Expression& expression) { return expression.result_points(); }

void AppendResultArrays(const Expression& expression, const std::vector<ResultTarget>& arrays,
                        int64_t slots, LoopProgram* program) {
  for (const ResultTarget& array : arrays) {
    program->scratch.push_back({array.pointer, array.type, ResultArrayElements(expression) * slots,
                                /*per_thread=*/false});
  }
}

Index SlotNumber(const NestShape& shape, const std::function<Index(int place)>& part) {
  Index slot(0);
  for (const int n : shape.SlotPlaces()) slot = slot * shape.levels()[n].parts + part(n);
  return slot;
}

void DeclareSlot(const NestShape& shape, const std::vector<ResultTarget>& arrays,
                 const std::function<Index(int place)>& part, Block* block) {
  if (shape.Slots() == 1) return;
  block->push_back({DeclareIndex{"slot", SlotNumber(shape, part)}});
  const Index first = Index::Variable("slot") * ResultArrayElements(shape.expression());
  for (const ResultTarget& array : arrays) {
    block->push_back(
        {DeclarePointer{array.pointer + "_slot", array.type, false, array.pointer, first}});
  }
}

bool StartsFromIdentity(const Expression& expression, NumericsPolicy numerics) {
  const CombineOperator& combine = expression.reduction();
  if (!combine.identity().has_value()) return false;
  return Reassociates(numerics) || combine.kinds()[0] != PointWiseKind::kCustom;
}

}  // namespace mdh
