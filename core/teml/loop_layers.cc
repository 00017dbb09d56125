#include "core/teml/loop_layers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

bool Has(const std::vector<PathLoop>& loops, int iterator) {
  return std::ranges::any_of(loops,
                             [&](const PathLoop& loop) { return loop.iterator == iterator; });
}

class LoopSorter {
 public:
  LoopSorter(const std::vector<PathLoop>& path, const std::vector<std::string>& names,
             const LoopNotice& notice)
      : path_(path), names_(names), notice_(notice) {}

  LoopLayers Sort() {
    for (size_t n = 0; n < path_.size(); ++n) Add(path_[n], IsInnermost(n));
    return std::move(layers_);
  }

 private:
  // Whether there are only unrolled loops inside.
  bool IsInnermost(size_t n) const {
    return std::all_of(path_.begin() + n + 1, path_.end(),
                       [](const PathLoop& loop) { return loop.kind == PathLoopKind::kUnrolled; });
  }

  void Add(const PathLoop& loop, bool is_innermost) {
    switch (loop.kind) {
      case PathLoopKind::kParallel:
        return AddParallel(loop);
      case PathLoopKind::kUnrolled:
        if (is_innermost) {
          layers_.registers.push_back(loop);
          return;
        }
        Notice(loop, "is unrolled around other loops; it is a loop again, with the same result");
        break;
      case PathLoopKind::kVector:
        AddVector(loop);
        break;
      case PathLoopKind::kSequential:
        break;
    }
    AddSequential(loop);
  }

  void AddParallel(const PathLoop& loop) {
    const bool is_cut = std::ranges::any_of(
        layers_.groups, [&](const auto& group) { return Has(group, loop.iterator); });
    if (Has(layers_.cores, loop.iterator) || is_cut) {
      Notice(loop, is_cut ? "is parallel inside of the loop over its blocks; one thread runs it"
                          : "is parallel twice; one thread runs the inner one");
      return AddSequential(loop);
    }
    if (!layers_.groups.empty()) {
      Notice(loop,
             "is parallel inside of a sequential loop; it is moved out, with the same result");
    }
    layers_.cores.push_back(loop);
  }

  void AddVector(const PathLoop& loop) {
    if (loop.points > 1) {
      Notice(loop, "is vectorized over blocks; vectors are along single points");
    } else if (layers_.lanes.has_value()) {
      Notice(loop, absl::StrCat("is vectorized inside of '", names_[*layers_.lanes],
                                "'; vectors are along one loop, the innermost one"));
    }
    if (loop.points == 1) layers_.lanes = loop.iterator;
  }

  // A new group begins where the iterator occurs already.
  void AddSequential(const PathLoop& loop) {
    if (layers_.groups.empty() || Has(layers_.groups.back(), loop.iterator)) {
      layers_.groups.emplace_back();
    }
    layers_.groups.back().push_back(loop);
  }

  void Notice(const PathLoop& loop, absl::string_view message) const {
    notice_(loop.token, absl::StrCat("the loop over '", names_[loop.iterator], "' ", message));
  }

  const std::vector<PathLoop>& path_;
  const std::vector<std::string>& names_;
  const LoopNotice& notice_;
  LoopLayers layers_;
};

}  // namespace

LoopLayers SortLoops(const std::vector<PathLoop>& path, const std::vector<std::string>& names,
                     const LoopNotice& notice) {
  return LoopSorter(path, names, notice).Sort();
}

}  // namespace mdh
