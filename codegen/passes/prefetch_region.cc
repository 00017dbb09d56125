#include "codegen/passes/prefetch_region.h"

#include "codegen/passes/copy_ahead.h"
#include "codegen/passes/iterations.h"
#include "core/base/status.h"

namespace mdh {
namespace {

constexpr int64_t kMaxElements = 1 << 20;

std::optional<int64_t> StoresPerRound(const Block& block, const std::string& array);

std::optional<int64_t> StoresPerRound(const Statement& statement, const std::string& array) {
  using Count = std::optional<int64_t>;
  return std::visit(Overloaded{[](const Comment&) -> Count { return 0; },
                               [](const DeclareIndex&) -> Count { return 0; },
                               [&](const StoreElements& s) -> Count {
                                 if (s.pointer != array || s.value->type.lanes != 1)
                                   return std::nullopt;
                                 return 1;
                               },
                               [&](const For& s) -> Count {
                                 const Count times = KnownIterations(s);
                                 if (!times.has_value()) return std::nullopt;
                                 const Count inside = StoresPerRound(*s.body, array);
                                 if (!inside.has_value() || *inside == 0) return inside;
                                 if (*times < 1 || *times > kMaxElements / *inside)
                                   return std::nullopt;
                                 return *inside * *times;
                               },
                               [&](const If& s) -> Count {
                                 const Count taken = StoresPerRound(*s.then_block, array);
                                 const Count other = s.else_block == nullptr
                                                         ? Count(0)
                                                         : StoresPerRound(*s.else_block, array);
                                 if (!taken.has_value() || !other.has_value()) return std::nullopt;
                                 for (const Condition& condition : s.all_of) {
                                   if (!condition.flag.empty()) return std::nullopt;
                                 }
                                 return *taken + *other;
                               },
                               [](const auto&) -> Count { return std::nullopt; }},
                    statement.form);
}

std::optional<int64_t> StoresPerRound(const Block& block, const std::string& array) {
  int64_t sum = 0;
  for (const Statement& statement : block) {
    const std::optional<int64_t> count = StoresPerRound(statement, array);
    if (!count.has_value() || sum > kMaxElements - *count) return std::nullopt;
    sum += *count;
  }
  return sum;
}

// Both halves of a prefetch: every store to the array has a place of its own in the carrier, for
// every iteration of the loops around it.
class Splitter : public Rewriter {
 public:
  enum class Half { kLoad, kStore };
  Splitter(Half half, const std::string& array, const std::string& carrier, const Index& offset)
      : half_(half), array_(array), carrier_(carrier), offset_(offset) {}

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    if (const auto* store = std::get_if<StoreElements>(&statement.form)) {
      const Index place = iteration_ + Index(next_);
      ++next_;
      if (half_ == Half::kLoad) {
        out.push_back({StoreElements{carrier_, place, store->value, 1}});
      } else {
        out.push_back({StoreElements{array_, store->offset + offset_,
                                     MakeLoad(carrier_, place, store->value->type, 1), 1}});
      }
      return;
    }
    const auto* loop = std::get_if<For>(&statement.form);
    if (loop == nullptr) return Rewriter::RewriteStatement(statement, out);
    const int64_t inside = StoresPerRound(*loop->body, array_).value_or(0);
    const Index iteration_before = iteration_;
    const int64_t next_before = next_;
    iteration_ = iteration_ + Number(*loop) * inside;
    Rewriter::RewriteStatement(statement, out);
    iteration_ = iteration_before;
    next_ = next_before + inside * *KnownIterations(*loop);
  }

 private:
  static Index Number(const For& loop) {
    return (Index::Variable(loop.variable) - loop.begin) / loop.step;
  }

  const Half half_;
  const std::string& array_;
  const std::string& carrier_;
  const Index& offset_;
  Index iteration_ = Index(0);  // the place of this iteration of the loops around
  int64_t next_ = 0;            // the next free place behind it
};

}  // namespace

std::optional<int64_t> PrefetchedElements(const CopyRegion& region) {
  const std::optional<int64_t> count = StoresPerRound(*region.body, region.array);
  if (!count.has_value() || *count == 0) return std::nullopt;
  return count;
}

Prefetch MakePrefetch(const CopyRegion& region, const std::string& carrier, const Index& offset,
                      NameAllocator& names) {
  const auto split = [&](Splitter::Half half) {
    return WithOwnNames(Splitter(half, region.array, carrier, offset).RewriteBlock(*region.body),
                        names);
  };
  return {PrefetchedElements(region).value_or(0), *region.body, split(Splitter::Half::kLoad),
          split(Splitter::Half::kStore)};
}

}  // namespace mdh
