#include "codegen/program/store_function.h"

#include <iterator>
#include <utility>

namespace mdh {
namespace {

class StoreFunctionCode {
 public:
  StoreFunctionCode(const Expression& expression, const StorePointers& pointers,
                    const StoredPoint& point)
      : e_(expression), pointers_(pointers), point_(point) {}

  LoopValue Argument(int parameter, const std::vector<LoopValue>& results) const {
    switch (e_.store_parameter(parameter)) {
      case Expression::StoreParameter::kResult:
        return results[parameter];
      case Expression::StoreParameter::kAccess:
        return Load(parameter);
      case Expression::StoreParameter::kIndex:
        break;
    }
    const int d = e_.store_index_dimension(parameter);
    const int64_t step = StepOf(d);
    return MakeIndexValue(point_.at[d], step == 0 ? 1 : point_.lanes, step);
  }

 private:
  int64_t StepOf(int d) const { return point_.lane_steps.empty() ? 0 : point_.lane_steps[d]; }

  // An affine function of lane 0's indices, and what the next lane adds.
  std::pair<Index, int64_t> At(const AffineIndex& affine) const {
    Index at(affine.constant);
    int64_t step = 0;
    for (int d = 0; d < e_.rank(); ++d) {
      if (affine.coefficients[d] == 0) continue;
      at = point_.at[d] * affine.coefficients[d] + at;
      step += affine.coefficients[d] * StepOf(d);
    }
    return {at, step};
  }

  LoopValue Load(int parameter) const {
    const Expression::AccessRef ref = e_.store_access(parameter);
    const Buffer& buffer = e_.store()->inputs[ref.buffer];
    const std::string& pointer = pointers_[parameter - e_.function().results().size()];
    const ScalarType type = buffer.type.fields()[ref.field].type;
    if (buffer.boundary.kind == Boundary::Kind::kNone) {
      const auto [at, step] = At(buffer.Linearized(ref.access, ref.field));
      if (step == 0) return LoadValue(pointer, at, {type, 1}, 1);
      return LoadValue(pointer, at, {type, point_.lanes}, step, point_.off);
    }
    std::vector<Index> indices;
    std::vector<int64_t> steps;
    int lanes = 1;
    for (const AffineIndex& index : buffer.accesses[ref.access].indices) {
      const auto [at, step] = At(index);
      indices.push_back(at);
      steps.push_back(step);
      if (step != 0) lanes = point_.lanes;
    }
    return LoadInsideValue(buffer, pointer, ref.field, indices, steps, lanes);
  }

  const Expression& e_;
  const StorePointers& pointers_;
  const StoredPoint& point_;
};

}  // namespace

StorePointers PointersOfStore(const Expression& expression, const std::vector<std::string>& inputs,
                              RecordViews& views) {
  StorePointers pointers;
  if (expression.store() == nullptr) return pointers;
  for (int p = 0; p < std::ssize(expression.store()->function.parameters()); ++p) {
    if (expression.store_parameter(p) != Expression::StoreParameter::kAccess) continue;
    const Expression::AccessRef ref = expression.store_access(p);
    const Buffer& buffer = expression.store()->inputs[ref.buffer];
    const std::string& base = inputs[expression.passed_store_input(ref.buffer)];
    pointers.push_back(views.PointerTo(buffer, base, buffer.type.fields()[ref.field].type,
                                       /*is_const=*/true));
  }
  return pointers;
}

std::vector<LoopValue> EmitStoreFunction(const Expression& expression,
                                         const StorePointers& pointers, const StoredPoint& point,
                                         const std::vector<LoopValue>& results,
                                         NameAllocator& names, Block& block) {
  if (expression.store() == nullptr) return results;
  const StoreFunctionCode code(expression, pointers, point);
  std::vector<LoopValue> stored = EmitFunction(
      expression.store()->function, [&](int p) { return code.Argument(p, results); }, names, block);
  for (LoopValue& value : stored) {
    if (value->type.lanes != point.lanes) value = MakeSplat(std::move(value), point.lanes);
  }
  return stored;
}

}  // namespace mdh
