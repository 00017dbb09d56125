#include "codegen/lower/units/unit_values.h"

#include <algorithm>
#include <utility>

namespace mdh {

std::vector<Condition> InsideOf(const Expression& expression, Expression::AccessRef access,
                                const UnitContext::Point& point) {
  const Buffer& buffer = expression.inputs()[access.buffer];
  std::vector<Condition> conditions;
  if (buffer.boundary.kind == Boundary::Kind::kNone) return conditions;
  const std::vector<AffineIndex>& indices = buffer.accesses[access.access].indices;
  for (size_t x = 0; x < indices.size(); ++x) {
    int64_t low = indices[x].constant, high = indices[x].constant;
    for (size_t d = 0; d < point.size(); ++d) {
      const int64_t most = expression.dimensions()[d].size - 1;
      const int64_t coefficient = indices[x].coefficients[d];
      (coefficient < 0 ? low : high) += coefficient * most;
    }
    const Index at = At(indices[x], point);
    if (low < 0) conditions.push_back(Less(Index(-1), at));
    if (high >= buffer.extents[x]) conditions.push_back(Less(at, Index(buffer.extents[x])));
  }
  return conditions;
}

UnitValues::UnitValues(UnitContext& context, bool is_a)
    : context_(context),
      operand_(is_a ? context.plan().form.a : context.plan().form.b),
      in_memory_(is_a ? context.plan().a_in_memory : context.plan().b_in_memory),
      own_(is_a ? context.plan().form.m : context.plan().form.n),
      pointers_(context.views().InputPointers(context.expression(), context.kernel_names().inputs)),
      name_(context.kernel_names()
                .inputs[context.expression().input_access(in_memory_.parameter).buffer]) {}

void UnitValues::EmitElements(const LoopValueType& type, const std::string& from, const Index& at,
                              const std::string& target, const Index& to,
                              std::vector<Condition> conditions, Block* block) {
  Block copy = {{StoreElements{target, to, MakeLoad(from, at, type, 1), 1}}};
  if (conditions.empty()) return Append(std::move(copy), block);
  const ScalarType in_register = RegisterType(type.scalar);
  const LoopValue zero = StoredValue(MakeLiteral(ScalarValue::Zero(in_register)), type.scalar);
  Block clear;
  for (int lane = 0; lane < type.lanes; ++lane) {
    clear.push_back({StoreElements{target, to + Index(lane), zero, 1}});
  }
  block->push_back(
      {If{std::move(conditions), ShareBlock(std::move(copy)), ShareBlock(std::move(clear))}});
}

std::vector<UnitValues::Loaded> UnitValues::Declare(int64_t count, bool is_across,
                                                    Block* block) const {
  const Expression& e = context_.expression();
  std::vector<Loaded> all;
  for (const int p : operand_.parameters) {
    if (e.is_index(p)) continue;
    const Expression::AccessRef access = e.input_access(p);
    const Buffer& buffer = e.inputs()[access.buffer];
    const bool fits_vectors = buffer.boundary.kind == Boundary::Kind::kNone ||
                              (buffer.boundary.kind == Boundary::Kind::kConstant &&
                               buffer.boundary.values[0].as_double() == 0);
    const int64_t width = fits_vectors ? UnitLoadWidth(e, p, Along(is_across)) : 1;
    const ScalarType type = buffer.type.fields()[access.field].type;
    const std::string name = context_.kernel_names().inputs[access.buffer];
    all.push_back({p, access, &buffer, type, static_cast<int>(std::min(width, count)),
                   context_.names().Unique(name + "_values")});
    block->push_back({DeclareArray{all.back().array, type, count, MemorySpace::kPrivate}});
  }
  return all;
}

int64_t UnitValues::RunOf(const std::vector<Loaded>& loaded) {
  int64_t run = 1;
  for (const Loaded& one : loaded) run = std::max<int64_t>(run, one.width);
  return run;
}

UnitValues::Neighbours UnitValues::RunAt(const Neighbours& neighbours, const Index& at,
                                         int64_t run) {
  return {neighbours.is_across ? neighbours.own + at : neighbours.own,
          neighbours.is_across ? neighbours.along_k : neighbours.along_k + at, neighbours.is_across,
          run};
}

int UnitValues::Along(bool is_across) const {
  return is_across ? own_.back() : context_.k().dimensions.back();
}

UnitContext::Point UnitValues::PointOf(const Neighbours& run, UnitContext::Point point,
                                       Block* block) const {
  context_.SetPoint({own_, 0, 1, 0}, run.own, name_ + "_point", &point, block);
  context_.SetPoint(context_.k(), run.along_k, name_ + "_k", &point, block);
  return point;
}

LoopValue UnitValues::LoadAt(const Loaded& loaded, const UnitContext::Point& point) const {
  const Buffer& buffer = *loaded.buffer;
  const auto& [number, access, field] = loaded.access;
  const std::string& pointer = pointers_[loaded.parameter];
  if (buffer.boundary.kind == Boundary::Kind::kNone) {
    return MakeLoad(pointer, At(buffer.Linearized(access, field), point), {loaded.type, 1}, 1);
  }
  std::vector<Index> indices;
  for (const AffineIndex& index : buffer.accesses[access].indices) {
    indices.push_back(At(index, point));
  }
  return LoadInsideElement(buffer, pointer, field, indices);
}

void UnitValues::EmitRunOfLoads(const Loaded& loaded, const UnitContext::Point& first, int along,
                                int64_t run, const Index& at, Block* block) const {
  if (loaded.width == 1) {
    const std::string element = context_.names().Unique("element");
    const Index in_run = run == 1 ? Index(0) : Index::Variable(element);
    UnitContext::Point point = first;
    point[along] = point[along] + in_run;
    Block body = {{StoreElements{loaded.array, at + in_run, LoadAt(loaded, point), 1}}};
    if (run == 1) return Append(std::move(body), block);
    block->push_back(Unrolled(element, run, std::move(body)));
    return;
  }
  const AffineIndex offset = loaded.buffer->Linearized(loaded.access.access);
  for (int64_t in_run = 0; in_run < run; in_run += loaded.width) {
    UnitContext::Point point = first;
    point[along] = point[along] + Index(in_run);
    EmitElements({loaded.type, loaded.width}, pointers_[loaded.parameter], At(offset, point),
                 loaded.array, at + Index(in_run),
                 InsideOf(context_.expression(), loaded.access, point), block);
  }
}

void UnitValues::EmitLoads(const std::vector<Loaded>& loaded, const Neighbours& neighbours,
                           const UnitContext::Point& batch, const Exists& exists,
                           Block* block) const {
  const int64_t run = RunOf(loaded);
  const std::string number = context_.names().Unique("run");
  const Index at = Index::Variable(number) * run;
  const Neighbours here = RunAt(neighbours, at, run);
  Block loads;
  const UnitContext::Point first = PointOf(here, batch, &loads);
  for (const Loaded& one : loaded) {
    EmitRunOfLoads(one, first, Along(neighbours.is_across), run, at, &loads);
  }
  std::vector<Condition> conditions = exists(here.own, here.along_k);
  if (!conditions.empty()) loads = {When(std::move(conditions), std::move(loads))};
  block->push_back(Unrolled(number, neighbours.count / run, std::move(loads)));
}

std::string UnitValues::EmitValues(const std::vector<Loaded>& loaded, const Neighbours& neighbours,
                                   const UnitContext::Point& batch, const Exists& exists,
                                   Block* block) const {
  const Expression& e = context_.expression();
  const ScalarType held = in_memory_.held;
  const int64_t run = RunOf(loaded);
  const std::string values = context_.names().Unique("values"),
                    number = context_.names().Unique("run"),
                    element = context_.names().Unique("element");
  block->push_back({DeclareArray{values, held, neighbours.count, MemorySpace::kPrivate}});
  const Index at = Index::Variable(number) * run, in_run = Index::Variable(element);
  const Neighbours here = RunAt(neighbours, at, run);
  Block compute, one;
  UnitContext::Point point = PointOf(here, batch, &compute);
  const int along = Along(neighbours.is_across);
  point[along] = point[along] + in_run;
  LoopValue value;
  if (operand_.loaded >= 0 && loaded[0].type == held) {
    value = MakeLoad(loaded[0].array, at + in_run, {held, 1}, 1);
  } else {
    std::vector<LoopValue> results = EmitFunction(
        operand_.function,
        [&](int p) {
          if (e.is_index(p)) return MakeIndexValue(point[e.index_dimension(p)], 1, 0);
          const Loaded& of = *std::ranges::find(loaded, p, &Loaded::parameter);
          return LoadValue(of.array, at + in_run, {of.type, 1}, 1);
        },
        context_.names(), one);
    value = StoredValue(std::move(results[0]), held);
  }
  one.push_back({StoreElements{values, at + in_run, std::move(value), 1}});
  compute.push_back(Unrolled(element, run, std::move(one)));
  std::vector<Condition> conditions = exists(here.own, here.along_k);
  if (!conditions.empty()) {
    const LoopValue zero = StoredValue(MakeLiteral(ScalarValue::Zero(RegisterType(held))), held);
    Block clear;
    for (int64_t lane = 0; lane < run; ++lane) {
      clear.push_back({StoreElements{values, at + Index(lane), zero, 1}});
    }
    compute = {
        {If{std::move(conditions), ShareBlock(std::move(compute)), ShareBlock(std::move(clear))}}};
  }
  block->push_back(Unrolled(number, neighbours.count / run, std::move(compute)));
  return values;
}

}  // namespace mdh
