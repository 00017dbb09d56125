#include "codegen/passes/pass_double_buffer.h"

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/passes/copy_ahead.h"
#include "codegen/passes/iterations.h"
#include "codegen/passes/prefetch_region.h"

namespace mdh {
namespace {

using Regions = std::map<std::string, CopyRegion>;  // by array

// Whether all threads wait for each other before any of them accesses memory: where other copies
// have a pipeline of their own.
bool BeginsWithBarrier(const Block& block) {
  for (const Statement& statement : block) {
    if (std::holds_alternative<Barrier>(statement.form)) return true;
    if (!IsPassive(statement) && !std::holds_alternative<WaitForCopies>(statement.form)) break;
  }
  return false;
}

class DoubleBufferer : public LoopPipeliner {
 public:
  DoubleBufferer(const Block& body, const DoubleBufferOptions& options)
      : LoopPipeliner(body), options_(options) {}

 protected:
  Block Pipelined(const For& loop) override {
    const Regions regions = RegionsToPrefetch(loop);
    return regions.empty() ? Block() : Around(loop, regions);
  }

 private:
  Regions RegionsToPrefetch(const For& loop) const {
    const bool ends_with_barrier =
        !loop.body->empty() && std::holds_alternative<Barrier>(loop.body->back().form);
    if (loop.unroll || KnownIterations(loop).value_or(2) < 2 || !ends_with_barrier) return {};
    Regions regions;
    int64_t bytes = 0;
    for (const Statement& statement : *loop.body) {
      const auto* region = std::get_if<CopyRegion>(&statement.form);
      if (region == nullptr || region->stages != 2 || region->is_asynchronous) continue;
      const std::optional<CopyRegion> ahead = CopyAhead(*region, loop, body_, arrays_);
      if (!ahead.has_value()) continue;
      const std::optional<int64_t> elements = PrefetchedElements(*ahead);
      if (!elements.has_value()) continue;
      bytes += *elements * SizeBytes(arrays_.at(region->array).type);
      if (bytes > options_.private_bytes) return {};
      regions.insert_or_assign(region->array, *ahead);
    }
    return regions;
  }

  // The loop and what is in front of it.
  Block Around(const For& loop, const Regions& regions) {
    Block out;
    const Index v = Index::Variable(loop.variable), next = v + Index(loop.step);
    const std::string half = names_.Unique(loop.variable + "_half");
    std::map<std::string, int64_t> elements;
    std::set<std::string> arrays;
    for (const auto& entry : regions) arrays.insert(entry.first);
    const Block rest = WithoutRegions(*loop.body, arrays);
    // Then that barrier also lies between the stores of a part and its computation, and between
    // that and the next stores to its half.
    const bool shares_barrier = BeginsWithBarrier(rest);
    Block firsts, loads, stores;
    Block body = {{DeclareIndex{half, (v - loop.begin) / loop.step % 2}}};
    out.push_back({Comment{absl::StrCat("Copies for the first ", loop.variable, ".")}});
    for (const auto& entry : regions) {
      const std::string& array = entry.first;
      const DeclareArray& declared = arrays_.at(array);
      elements[array] = declared.elements;
      parts_[array] = 2;
      const std::string carrier = names_.Unique(array + "_next");
      const Prefetch prefetch = MakePrefetch(
          entry.second, carrier, (Index(1) - Index::Variable(half)) * declared.elements, names_);
      body.push_back(
          {DeclareArray{carrier, declared.type, prefetch.elements, MemorySpace::kPrivate}});
      AppendAt(prefetch.copy, loop.variable, loop.begin, firsts);
      AppendAt(prefetch.load, loop.variable, next, loads);
      AppendAt(prefetch.store, loop.variable, next, stores);
    }
    const auto exists = [&](const Index& at) {
      return Less(loop.whole_steps ? at + Index(loop.step - 1) : at, loop.end);
    };
    if (!KnownIterations(loop).has_value())
      firsts = {When({exists(loop.begin)}, std::move(firsts))};
    Append(std::move(firsts), &out);
    if (!shares_barrier) out.push_back({Barrier{}});
    const Condition has_next = exists(next);
    body.push_back({Comment{
        absl::StrCat("Load for the next ", loop.variable, " while this one is computed.")}});
    body.push_back(When({has_next}, std::move(loads)));
    const Index at_half = Index::Variable(half);
    const Block computation = PartSelector(elements, at_half).RewriteBlock(rest);
    body.insert(body.end(), computation.begin(), computation.end());
    body.push_back(When({has_next}, std::move(stores)));
    if (!shares_barrier) body.push_back({Barrier{}});
    out.push_back({For{loop.variable, loop.begin, loop.end, loop.step, loop.whole_steps,
                       std::make_shared<const Block>(std::move(body)), loop.unroll}});
    if (shares_barrier) out.push_back({Barrier{}});
    return out;
  }

  static void AppendAt(const Block& block, const std::string& variable, const Index& value,
                       Block& out) {
    const Block at = AtPart(block, variable, value);
    out.insert(out.end(), at.begin(), at.end());
  }

  const DoubleBufferOptions& options_;
};

}  // namespace

LoopProgram DoubleBuffer(LoopProgram program, const DoubleBufferOptions& options) {
  for (Stage& stage : program.stages) stage.body = DoubleBufferer(stage.body, options).Rewrite();
  return program;
}

}  // namespace mdh
