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
  Vectorizer(const Block& body, const VectorizeOptions& options) : options_(options) {
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
    if (const auto* pointer = std::get_if<DeclarePointer>(&statement.form)) {
      pointers_.insert_or_assign(pointer->name, *pointer);
    }
    if (const auto* view = std::get_if<DeclareView>(&statement.form)) views_.insert(view->name);
    if (const auto* array = std::get_if<DeclareArray>(&statement.form)) {
      if (array->space == MemorySpace::kPrivate) private_arrays_.insert(array->name);
    }
    const auto* loop = std::get_if<For>(&statement.form);
    if (loop == nullptr) return Rewriter::RewriteStatement(statement, out);
    definitions_.erase(loop->variable);
    const std::optional<Copy> copy = CopyOf(*loop);
    const bool is_lanes = absl::StartsWith(loop->variable, options_.lane_prefix);
    if (copy.has_value() && (is_lanes ? MakeLanes(*copy, out) : MakeWide(*loop, *copy, out))) {
      return;
    }
    Rewriter::RewriteStatement(statement, out);
  }

 private:
  // for x = 0 .. iterations:  target[to + stride * x] = source[from + x], or += if it adds
  struct Copy {
    int64_t iterations;
    ScalarType type;
    std::string target, source;
    Index to, from;
    int64_t stride;
    bool adds;  // atomically
  };

  // What an addition adds is stored, too.
  static std::optional<StoreElements> StoreOf(const Statement& statement) {
    if (const auto* store = std::get_if<StoreElements>(&statement.form)) return *store;
    const auto* add = std::get_if<AddElements>(&statement.form);
    if (add == nullptr) return std::nullopt;
    return StoreElements{add->pointer, add->offset, add->value, 1};
  }

  static std::optional<Copy> CopyOf(const For& loop) {
    if (loop.body->size() != 1 || !loop.begin.IsZero() || !loop.end.is_constant() ||
        loop.step != 1) {
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
    return Copy{loop.end.constant(),
                store->value->type.scalar,
                store->pointer,
                load->pointer,
                *to,
                *from,
                stride,
                std::holds_alternative<AddElements>((*loop.body)[0].form)};
  }

  static LoopValue WideLoad(const Copy& copy, const Index& from, int64_t lanes) {
    return MakeLoad(copy.source, from, {copy.type, static_cast<int>(lanes)}, 1);
  }

  bool MakeLanes(const Copy& copy, Block& out) {
    const int64_t lanes = copy.iterations;
    if (copy.adds) return false;
    if (lanes != 2 && lanes != 4 && lanes != 8 && lanes != 16) return false;
    if (SizeBytes(copy.type) * lanes > kVectorBytes) return false;
    Store(copy.target, copy.to, copy.stride, WideLoad(copy, copy.from, lanes), out);
    return true;
  }

  bool MakeWide(const For& loop, const Copy& copy, Block& out) {
    const bool from_registers = private_arrays_.contains(copy.source);
    const bool moves = options_.private_arrays && copy.stride == 1 &&
                       from_registers != private_arrays_.contains(copy.target) &&
                       (from_registers || !copy.adds);
    if (!moves) return false;
    int64_t lanes = kVectorBytes / SizeBytes(copy.type);
    const auto fits = [&] {
      return copy.iterations % lanes == 0 && IsMultiple(copy.to, lanes) &&
             IsMultiple(copy.from, lanes) &&
             IsAligned(from_registers ? copy.target : copy.source, lanes);
    };
    while (lanes > 1 && !fits()) lanes /= 2;
    if (lanes == 1) return false;
    const auto store = [&](const Index& x) {
      LoopValue value = WideLoad(copy, copy.from + x, lanes);
      if (copy.adds) return Statement{AddElements{copy.target, copy.to + x, std::move(value)}};
      return Statement{StoreElements{copy.target, copy.to + x, std::move(value), 1}};
    };
    if (lanes == copy.iterations) {
      out.push_back(store(Index(0)));
    } else {
      out.push_back(
          {For{loop.variable, Index(0), loop.end, lanes, false,
               std::make_shared<const Block>(Block{store(Index::Variable(loop.variable))}),
               loop.unroll}});
    }
    return true;
  }

  void Store(const std::string& pointer, const Index& to, int64_t stride, LoopValue value,
             Block& out) {
    const int lanes = value->type.lanes;
    if (stride == 1 && IsMultiple(to, lanes)) {
      out.push_back({StoreElements{pointer, to, std::move(value), 1}});
      return;
    }
    const std::string name = names_.Unique(absl::StrCat(pointer, "_lanes"));
    const LoopValue named = MakeNamed(name, value->type);
    out.push_back({DeclareValue{name, std::move(value)}});
    if (stride != 1) {
      out.push_back({StoreElements{pointer, to, named, stride}});
      return;
    }
    for (int l = 0; l < lanes; ++l) {
      out.push_back({StoreElements{pointer, to + Index(l), MakeLane(named, l), 1}});
    }
  }

  // Whether the pointer is known to be aligned to as many elements of its type.
  bool IsAligned(const std::string& name, int64_t elements) const {
    if (views_.contains(name)) return false;
    const auto pointer = pointers_.find(name);
    return pointer == pointers_.end() || (IsMultiple(pointer->second.offset, elements) &&
                                          IsAligned(pointer->second.base, elements));
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

  const VectorizeOptions& options_;
  NameAllocator names_;
  std::set<std::string> private_arrays_;
  std::set<std::string> views_;  // their alignment is not known
  std::map<std::string, DeclarePointer> pointers_;
  std::map<std::string, Index> definitions_;  // of index variables
};

}  // namespace

LoopProgram VectorizeCopies(LoopProgram program, const VectorizeOptions& options) {
  return RewriteBodies(std::move(program), [&](const Block& body) {
    return Vectorizer(body, options).RewriteBlock(body);
  });
}

}  // namespace mdh
