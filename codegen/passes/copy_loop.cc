#include "codegen/passes/copy_loop.h"

namespace mdh {
namespace {

// The index without the terms of the variable; their common factor in `coefficient`.
std::optional<Index> WithoutVariable(const Index& index, const std::string& variable,
                                     int64_t* coefficient) {
  IndexSum rest = index.Sum();
  *coefficient = 0;
  for (auto term = rest.terms.begin(); term != rest.terms.end(); ++term) {
    if (!(term->factor == Index::Variable(variable))) continue;
    *coefficient = term->coefficient;
    rest.terms.erase(term);
    break;
  }
  Index result = rest.ToIndex();
  if (result.Uses(variable)) return std::nullopt;
  return result;
}

bool IsMultipleFactor(const Index& factor, int64_t divisor,
                      const std::map<std::string, Index>& definitions, int64_t coefficient) {
  switch (factor.kind()) {
    case Index::Kind::kVariable: {
      const auto definition = definitions.find(factor.name());
      return definition != definitions.end() &&
             IsMultiple(definition->second, divisor, definitions, coefficient);
    }
    case Index::Kind::kMod:
      return factor.right().constant() * coefficient % divisor == 0 &&
             IsMultiple(factor.left(), divisor, definitions, coefficient);
    case Index::Kind::kMin:
      return IsMultiple(factor.left(), divisor, definitions, coefficient) &&
             IsMultiple(factor.right(), divisor, definitions, coefficient);
    default:
      return false;
  }
}

// The load for the variable 0, whose lanes are those for the next values of the variable; nullopt
// unless these are neighbours along one dimension, and not one element several times, as they are
// beyond a border where the nearest element is meant.
std::optional<LoadInside> LanesOf(LoadInside load, const std::string& variable) {
  int moving = 0;
  for (LoadInside::Dimension& d : load.dimensions) {
    const auto first = WithoutVariable(d.index, variable, &d.lane_step);
    if (!first.has_value()) return std::nullopt;
    d.index = *first;
    if (d.lane_step == 0) continue;
    const bool repeats = !load.outside.has_value() && !d.is_inside;
    if (d.lane_step != 1 || d.stride != 1 || repeats) return std::nullopt;
    ++moving;
  }
  if (moving != 1) return std::nullopt;
  return load;
}

// What an addition adds is stored, too.
std::optional<StoreElements> StoreOf(const Statement& statement) {
  if (const auto* store = std::get_if<StoreElements>(&statement.form)) return *store;
  const auto* add = std::get_if<AddElements>(&statement.form);
  if (add == nullptr) return std::nullopt;
  return StoreElements{add->pointer, add->offset, add->value, 1};
}

}  // namespace

std::optional<CopyLoop> CopyLoopOf(const For& loop) {
  if (loop.body->size() != 1 || !loop.begin.IsZero() || !loop.end.is_constant() || loop.step != 1) {
    return std::nullopt;
  }
  const std::optional<StoreElements> store = StoreOf((*loop.body)[0]);
  if (!store.has_value() || store->value->type.lanes != 1) return std::nullopt;
  int64_t stride;
  const auto to = WithoutVariable(store->offset, loop.variable, &stride);
  if (!to.has_value() || stride == 0) return std::nullopt;
  CopyLoop copy{loop.end.constant(),
                store->value->type.scalar,
                store->pointer,
                "",
                *to,
                Index(0),
                stride,
                std::holds_alternative<AddElements>((*loop.body)[0].form)};
  if (const auto* load = std::get_if<LoadElements>(&store->value->form)) {
    int64_t source_stride;
    const auto from = WithoutVariable(load->offset, loop.variable, &source_stride);
    if (!from.has_value() || source_stride != 1) return std::nullopt;
    copy.source = load->pointer;
    copy.from = *from;
  } else if (const auto* inside = std::get_if<LoadInside>(&store->value->form)) {
    if (!inside->loads_always) return std::nullopt;  // which would be a branch for every lane
    copy.inside = LanesOf(*inside, loop.variable);
    if (!copy.inside.has_value()) return std::nullopt;
    copy.source = inside->pointer;
    copy.from = PlaceOf(*copy.inside);
  } else {
    return std::nullopt;
  }
  return copy;
}

LoopValue CopyLoop::Load(const Index& x, int64_t lanes) const {
  const LoopValueType loaded{type, static_cast<int>(lanes)};
  if (!inside.has_value()) return MakeLoad(source, from + x, loaded, 1);
  LoadInside load = *inside;
  for (LoadInside::Dimension& d : load.dimensions) d.index = d.index + x * d.lane_step;
  return std::make_shared<const ValueNode>(ValueNode{loaded, std::move(load)});
}

Index PlaceOf(const LoadInside& load) {
  Index place(load.constant);
  for (const LoadInside::Dimension& d : load.dimensions) place = place + d.index * d.stride;
  return place;
}

std::vector<Condition> InsideConditions(const LoadInside& load) {
  std::vector<Condition> conditions;
  for (const LoadInside::Dimension& d : load.dimensions) {
    if (d.is_inside) continue;
    conditions.push_back(Less(Index(-1), d.index));
    conditions.push_back(Less(d.index, Index(d.extent)));
  }
  return conditions;
}

bool IsMultiple(const Index& index, int64_t divisor,
                const std::map<std::string, Index>& definitions, int64_t coefficient) {
  const IndexSum sum = index.Sum();
  if (sum.constant * coefficient % divisor != 0) return false;
  for (const IndexTerm& term : sum.terms) {
    const int64_t factor = term.coefficient * coefficient;
    if (factor % divisor != 0 && !IsMultipleFactor(term.factor, divisor, definitions, factor)) {
      return false;
    }
  }
  return true;
}

}  // namespace mdh
