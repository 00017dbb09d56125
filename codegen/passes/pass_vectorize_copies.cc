#include "codegen/passes/pass_vectorize_copies.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/passes/copy_loop.h"
#include "codegen/program/loop_program_walk.h"
#include "codegen/program/scalar_code.h"

namespace mdh {
namespace {

constexpr int64_t kVectorBytes = 16;

class Vectorizer : public Rewriter {
 public:
  Vectorizer(const Block& body, const VectorizeOptions& options) : options_(options) {
    ReserveNamesIn(body, names_);
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
    const std::optional<CopyLoop> copy = CopyLoopOf(*loop);
    const bool is_lanes = absl::StartsWith(loop->variable, options_.lane_prefix);
    if (copy.has_value() && (is_lanes ? MakeLanes(*copy, out) : MakeWide(*loop, *copy, out))) {
      return;
    }
    Rewriter::RewriteStatement(statement, out);
  }

 private:
  bool MakeLanes(const CopyLoop& copy, Block& out) {
    const int64_t lanes = copy.iterations;
    if (copy.adds) return false;
    if (lanes != 2 && lanes != 4 && lanes != 8 && lanes != 16) return false;
    if (SizeBytes(copy.type) * lanes > kVectorBytes) return false;
    Store(copy.target, copy.to, copy.stride, copy.Load(Index(0), lanes), out);
    return true;
  }

  bool MakeWide(const For& loop, const CopyLoop& copy, Block& out) {
    const bool from_registers = private_arrays_.contains(copy.source);
    const bool moves = options_.private_arrays && copy.stride == 1 &&
                       from_registers != private_arrays_.contains(copy.target) &&
                       (from_registers || !copy.adds);
    if (!moves) return false;
    int64_t lanes = kVectorBytes / SizeBytes(copy.type);
    const auto fits = [&] {
      return copy.iterations % lanes == 0 && IsMultiple(copy.to, lanes) &&
             IsMultiple(copy.from, lanes) && AreWhole(copy, lanes) &&
             IsAligned(from_registers ? copy.target : copy.source, lanes);
    };
    while (lanes > 1 && !fits()) lanes /= 2;
    if (lanes == 1) return false;
    const auto store = [&](const Index& x) {
      LoopValue value = copy.Load(x, lanes);
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

  // Whether so many neighbours of a source with a boundary are inside of it or not, all of them,
  // and those that are read in their place are as aligned. Expects `from` to be a multiple.
  bool AreWhole(const CopyLoop& copy, int64_t lanes) const {
    if (!copy.inside.has_value()) return true;
    return std::ranges::all_of(copy.inside->dimensions, [&](const LoadInside::Dimension& d) {
      if (d.extent == 0) return false;
      return d.lane_step == 0 ? d.stride % lanes == 0
                              : d.extent % lanes == 0 && IsMultiple(d.index, lanes);
    });
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

  bool IsMultiple(const Index& index, int64_t divisor) const {
    return mdh::IsMultiple(index, divisor, definitions_);
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
