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

// Neighbours of which all are there, or none; the first one's place is that of all.
int64_t UnitValues::Run(const Neighbours& neighbours) const {
  int64_t run = 1;
  for (const Loaded& loaded : LoadedOf(neighbours)) run = std::max<int64_t>(run, loaded.width);
  return run;
}

std::vector<UnitValues::Loaded> UnitValues::LoadedOf(const Neighbours& neighbours) const {
  const Expression& e = context_.expression();
  const int along = neighbours.is_across ? own_.back() : context_.k().dimensions.back();
  std::vector<Loaded> all;
  for (const int p : operand_.parameters) {
    if (e.is_index(p)) continue;
    const Expression::AccessRef access = e.input_access(p);
    const Buffer& buffer = e.inputs()[access.buffer];
    const bool fits_vectors = buffer.boundary.kind == Boundary::Kind::kNone ||
                              (buffer.boundary.kind == Boundary::Kind::kConstant &&
                               buffer.boundary.values[0].as_double() == 0);
    const int64_t width = fits_vectors ? UnitLoadWidth(e, p, along) : 1;
    all.push_back({p, access, &buffer, buffer.type.fields()[access.field].type,
                   static_cast<int>(std::min(width, neighbours.count)), ""});
  }
  return all;
}

UnitContext::Point UnitValues::PointOf(const Neighbours& neighbours, const Index& at,
                                       UnitContext::Point point, Block* block) const {
  const Index own = neighbours.is_across ? neighbours.own + at : neighbours.own;
  const Index along_k = neighbours.is_across ? neighbours.along_k : neighbours.along_k + at;
  context_.SetPoint({own_, 0, 1}, own, name_ + "_point", &point, block);
  context_.SetPoint(context_.k(), along_k, name_ + "_k", &point, block);
  return point;
}

void UnitValues::EmitLoads(const Loaded& loaded, const UnitContext::Point& first, int along,
                           int64_t run, Block* block) const {
  block->push_back({DeclareArray{loaded.array, loaded.type, run, MemorySpace::kPrivate}});
  const AffineIndex offset = loaded.buffer->Linearized(loaded.access.access);
  for (int64_t at = 0; at < run; at += loaded.width) {
    UnitContext::Point point = first;
    point[along] = point[along] + Index(at);
    EmitElements({loaded.type, loaded.width}, pointers_[loaded.parameter], At(offset, point),
                 loaded.array, Index(at), InsideOf(context_.expression(), loaded.access, point),
                 block);
  }
}

LoopValue UnitValues::Argument(const std::vector<Loaded>& all, int parameter,
                               const UnitContext::Point& point, const Index& in_run) const {
  const Expression& e = context_.expression();
  if (e.is_index(parameter)) return MakeIndexValue(point[e.index_dimension(parameter)], 1, 0);
  const Loaded& loaded = *std::find_if(
      all.begin(), all.end(), [&](const Loaded& one) { return one.parameter == parameter; });
  if (!loaded.array.empty()) return LoadValue(loaded.array, in_run, {loaded.type, 1}, 1);
  const Buffer& buffer = *loaded.buffer;
  const Expression::AccessRef& access = loaded.access;
  if (buffer.boundary.kind == Boundary::Kind::kNone) {
    return LoadValue(pointers_[parameter],
                     At(buffer.Linearized(access.access, access.field), point), {loaded.type, 1},
                     1);
  }
  std::vector<Index> indices;
  for (const AffineIndex& index : buffer.accesses[access.access].indices) {
    indices.push_back(At(index, point));
  }
  return LoadInsideValue(buffer, pointers_[parameter], access.field, indices);
}

void UnitValues::EmitRun(const std::vector<Loaded>& loaded, const UnitContext::Point& first,
                         int along, int64_t run, const std::string& values, const Index& at,
                         Block* block) const {
  for (const Loaded& one : loaded) {
    if (!one.array.empty()) EmitLoads(one, first, along, run, block);
  }
  const std::string element = context_.names().Unique("element");
  const Index in_run = run == 1 ? Index(0) : Index::Variable(element);
  UnitContext::Point point = first;
  point[along] = point[along] + in_run;
  Block body;
  std::vector<LoopValue> results = EmitFunction(
      operand_.function, [&](int p) { return Argument(loaded, p, point, in_run); },
      context_.names(), body);
  body.push_back({StoreElements{values, at + in_run,
                                StoredValue(std::move(results[0]), context_.plan().held), 1}});
  if (run == 1) return Append(std::move(body), block);
  block->push_back(Unrolled(element, run, std::move(body)));
}

std::string UnitValues::Emit(const Neighbours& neighbours, const UnitContext::Point& batch,
                             const Exists& exists, Block* block) const {
  const ScalarType held = context_.plan().held;
  const std::string values = context_.names().Unique("values");
  block->push_back({DeclareArray{values, held, neighbours.count, MemorySpace::kPrivate}});
  std::vector<Loaded> loaded = LoadedOf(neighbours);
  const int64_t run = Run(neighbours);
  for (Loaded& one : loaded) {
    if (one.width > 1) one.array = context_.names().Unique(name_ + "_values");
  }
  const int along = neighbours.is_across ? own_.back() : context_.k().dimensions.back();
  const std::string number = context_.names().Unique("run");
  const Index at = Index::Variable(number) * run;
  const Index own = neighbours.is_across ? neighbours.own + at : neighbours.own;
  const Index along_k = neighbours.is_across ? neighbours.along_k : neighbours.along_k + at;
  Block compute, body;
  const UnitContext::Point first = PointOf(neighbours, at, batch, &compute);
  EmitRun(loaded, first, along, run, values, at, &compute);
  std::vector<Condition> conditions = exists(own, along_k);
  if (conditions.empty()) {
    body = std::move(compute);
  } else {
    const LoopValue zero = StoredValue(MakeLiteral(ScalarValue::Zero(RegisterType(held))), held);
    Block clear;
    for (int64_t lane = 0; lane < run; ++lane) {
      clear.push_back({StoreElements{values, at + Index(lane), zero, 1}});
    }
    body = {
        {If{std::move(conditions), ShareBlock(std::move(compute)), ShareBlock(std::move(clear))}}};
  }
  block->push_back(Unrolled(number, neighbours.count / run, std::move(body)));
  return values;
}

}  // namespace mdh
