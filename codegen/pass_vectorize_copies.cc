#include "codegen/pass_vectorize_copies.h"

#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/loop_program_walk.h"
#include "codegen/scalar_code.h"

namespace mdh {
namespace {

constexpr int64_t kVectorBytes = 16;

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

class Vectorizer : public Rewriter {
 public:
  Vectorizer(const Block& body, const std::string& lane_prefix) : lane_prefix_(lane_prefix) {
    std::set<std::string> names;
    CollectDeclaredNames(body, names);
    CollectUsedNames(body, names);
    for (const std::string& name : names) names_.Reserve(name);
  }

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    if (const auto* index = std::get_if<DeclareIndex>(&statement.form)) {
      definitions_.insert_or_assign(index->name, index->value);
    }
    const auto* loop = std::get_if<For>(&statement.form);
    if (loop != nullptr) definitions_.erase(loop->variable);
    if (loop == nullptr || !RewriteCopy(*loop, out)) Rewriter::RewriteStatement(statement, out);
  }

 private:
  bool RewriteCopy(const For& loop, Block& out) {
    if (!absl::StartsWith(loop.variable, lane_prefix_) || loop.body->size() != 1) return false;
    if (!loop.begin.IsZero() || !loop.end.is_constant() || loop.step != 1) return false;
    const int64_t lanes = loop.end.constant();
    if (lanes != 2 && lanes != 4 && lanes != 8 && lanes != 16) return false;
    const auto* store = std::get_if<StoreElements>(&(*loop.body)[0].form);
    if (store == nullptr || store->value->type.lanes != 1) return false;
    const auto* load = std::get_if<LoadElements>(&store->value->form);
    if (load == nullptr || SizeBytes(store->value->type.scalar) * lanes > kVectorBytes) {
      return false;
    }
    int64_t source_stride, stride;
    const auto from = WithoutVariable(load->offset, loop.variable, &source_stride);
    const auto to = WithoutVariable(store->offset, loop.variable, &stride);
    if (!from.has_value() || !to.has_value() || source_stride != 1 || stride == 0) return false;
    const ValueType type{store->value->type.scalar, static_cast<int>(lanes)};
    Store(store->pointer, *to, stride, MakeLoad(load->pointer, *from, type, 1), out);
    return true;
  }

  void Store(const std::string& pointer, const Index& to, int64_t stride, Value value, Block& out) {
    const int lanes = value->type.lanes;
    if (stride == 1 && IsMultiple(to, lanes)) {
      out.push_back({StoreElements{pointer, to, std::move(value), 1}});
      return;
    }
    const std::string name = names_.Unique(absl::StrCat(pointer, "_lanes"));
    const Value named = MakeNamed(name, value->type);
    out.push_back({DeclareValue{name, std::move(value)}});
    if (stride != 1) {
      out.push_back({StoreElements{pointer, to, named, stride}});
      return;
    }
    for (int l = 0; l < lanes; ++l) {
      out.push_back({StoreElements{pointer, to + Index(l), MakeLane(named, l), 1}});
    }
  }

  // Whether all values of coefficient * index are known to be multiples of `divisor`.
  bool IsMultiple(const Index& index, int64_t divisor, int64_t coefficient = 1) const {
    const IndexSum sum = index.Sum();
    if (sum.constant * coefficient % divisor != 0) return false;
    for (const IndexTerm& term : sum.terms) {
      const int64_t factor = term.coefficient * coefficient;
      if (factor % divisor != 0 && !IsMultipleFactor(term.factor, divisor, factor)) return false;
    }
    return true;
  }

  bool IsMultipleFactor(const Index& factor, int64_t divisor, int64_t coefficient) const {
    switch (factor.kind()) {
      case Index::Kind::kVariable: {
        const auto definition = definitions_.find(factor.name());
        return definition != definitions_.end() &&
               IsMultiple(definition->second, divisor, coefficient);
      }
      case Index::Kind::kMod:
        return factor.right().constant() * coefficient % divisor == 0 &&
               IsMultiple(factor.left(), divisor, coefficient);
      case Index::Kind::kMin:
        return IsMultiple(factor.left(), divisor, coefficient) &&
               IsMultiple(factor.right(), divisor, coefficient);
      default:
        return false;
    }
  }

  const std::string& lane_prefix_;
  NameAllocator names_;
  std::map<std::string, Index> definitions_;  // of index variables
};

}  // namespace

LoopProgram VectorizeCopies(LoopProgram program, const std::string& lane_prefix) {
  return RewriteBodies(std::move(program), [&](const Block& body) {
    return Vectorizer(body, lane_prefix).RewriteBlock(body);
  });
}

}  // namespace mdh
