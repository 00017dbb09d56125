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
  const auto* load = std::get_if<LoadElements>(&store->value->form);
  if (load == nullptr) return std::nullopt;
  int64_t source_stride, stride;
  const auto from = WithoutVariable(load->offset, loop.variable, &source_stride);
  const auto to = WithoutVariable(store->offset, loop.variable, &stride);
  if (!from.has_value() || !to.has_value() || source_stride != 1 || stride == 0) {
    return std::nullopt;
  }
  return CopyLoop{loop.end.constant(),
                  store->value->type.scalar,
                  store->pointer,
                  load->pointer,
                  *to,
                  *from,
                  stride,
                  std::holds_alternative<AddElements>((*loop.body)[0].form)};
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
