#include "codegen/lower/scan/scan_in_registers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "codegen/lower/scan/scan_cut.h"
#include "codegen/lower/scan/scan_elements.h"
#include "codegen/lower/scan/scan_tile.h"

namespace mdh {
namespace {

std::vector<int> PrefixSums(const Expression& expression) {
  std::vector<int> dimensions;
  for (int d = 0; d < expression.rank(); ++d) {
    if (expression.is_prefix_sum(d)) dimensions.push_back(d);
  }
  return dimensions;
}

// User's functions in one prefix sum alone need not commute (core/expression/combine_operator.h).
bool Commutes(const Expression& expression) {
  const std::vector<PointWiseKind>& kinds = expression.reduction().kinds();
  return expression.has_reduction() || PrefixSums(expression).size() > 1 ||
         std::ranges::find(kinds, PointWiseKind::kCustom) == kinds.end();
}

class RegisterScan {
 public:
  struct Options {
    ScanParameters scan;
    int d;
    bool evaluates;  // elements are the values of f; else those of the arrays
    bool is_last;    // prefix sums go to the outputs; else to the arrays
  };
  RegisterScan(NestContext& context, const ScanNames& names, const ResultArrays& results,
               const Options& options)
      : context_(context), names_(names), results_(results), options_(options) {
    int64_t inside = 1, count = 1;
    for (int k = 0; k < expression().rank(); ++k) {
      if (k == options.d || expression().is_reduction(k)) continue;
      count *= expression().dimensions()[k].size;
      if (k > options.d) inside *= expression().dimensions()[k].size;
    }
    ScanLines lines{count, expression().dimensions()[options.d].size, inside > 1};
    do {
      AddLevel(lines);
      lines.size = levels_.back().cut.tiles;
    } while (lines.size > 1);
  }

  void AppendTo(LoopProgram* program) {
    const int top = static_cast<int>(levels_.size()) - 1;
    for (int n = 0; n < top; ++n) {
      for (size_t r = 0; r < levels_[n].totals.size(); ++r) {
        const ScalarType type = RegisterType(expression().function().results()[r].type);
        program->scratch.push_back({levels_[n].totals[r], type,
                                    levels_[n].lines.count * levels_[n].cut.tiles,
                                    /*per_thread=*/false});
      }
      program->stages.push_back(Sum(n));
    }
    for (int n = top; n >= 0; --n) program->stages.push_back(Scan(n));
  }

 private:
  // Elements of level 0 are those of the dimension, of level n + 1 the sums of the tiles of n.
  struct Level {
    ScanLines lines;
    ScanCut cut;
    std::vector<std::string> totals;  // of its tiles: arrays, one per result
  };

  const Expression& expression() const { return context_.expression(); }
  const std::string& name() const { return expression().dimensions()[options_.d].name; }

  void AddLevel(const ScanLines& lines) {
    const ScanParameters& scan = options_.scan;
    const int n = static_cast<int>(levels_.size());
    Level level{lines, {}, {}};
    levels_.push_back(level);
    // Where the line is decides on nothing here.
    std::vector<LineElements> stored =
        n == 0 ? Targets(std::vector<Index>(expression().rank(), Index(0))) : Totals(n, Index(0));
    bool moves_runs = lines.size % scan.run == 0 && !(n == 0 && Finishes());
    for (size_t r = 0; moves_runs && r < stored.size(); ++r) {
      const ScalarType type = RegisterType(expression().function().results()[r].type);
      moves_runs = stored[r].type == type && stored[r].MovesRun(scan.run);
    }
    levels_[n].cut = CutLines(lines, scan, moves_runs);
    for (const ResultTarget& array : results_.arrays) {
      levels_[n].totals.push_back(context_.names().Unique(
          absl::StrCat(array.pointer, "_", results_.index_names[options_.d], "_total")));
    }
  }

  std::vector<LineElements> ElementsOfAll(const std::vector<ResultTarget>& targets,
                                          const std::vector<Index>& at) const {
    std::vector<LineElements> elements;
    for (const ResultTarget& target : targets) {
      elements.push_back(ElementsOf(expression(), target, at, options_.d));
    }
    return elements;
  }
  std::vector<LineElements> Targets(const std::vector<Index>& at) const {
    return ElementsOfAll(options_.is_last ? results_.outputs : results_.arrays, at);
  }

  // The sum of tile `tile` of level n: those of lines that are beside each other are, too.
  Index Total(int n, const Index& line, const Index& tile) const {
    const Level& level = levels_[n];
    return level.lines.are_beside ? tile * level.lines.count + line : line * level.cut.tiles + tile;
  }
  // Elements of level n, which are sums of the level before.
  std::vector<LineElements> Totals(int n, const Index& line) const {
    const Level& before = levels_[n - 1];
    const bool are_beside = before.lines.are_beside && before.lines.count > 1;
    std::vector<LineElements> elements;
    for (size_t r = 0; r < before.totals.size(); ++r) {
      elements.push_back({before.totals[r],
                          RegisterType(expression().function().results()[r].type),
                          {Total(n - 1, line, Index(0)), are_beside ? before.lines.count : 1},
                          are_beside               ? 1
                          : before.lines.count > 1 ? before.cut.tiles
                                                   : 0});
    }
    return elements;
  }

  // Whether a store function makes outputs of the prefix sums.
  bool Finishes() const { return options_.is_last && expression().store() != nullptr; }

  // A tile of level n with its elements loaded; `stored`: where they are to go; `at`: the line's
  // point.
  ScanTile Load(int n, bool from_end, std::vector<LineElements>* stored, std::vector<Index>* at) {
    ScanTile tile(context_, names_, {levels_[n].lines, levels_[n].cut, from_end});
    tile.DeclareThreads();
    if (n > 0) {
      *stored = Totals(n, tile.line());
      tile.LoadOwn(LineValues(context_, *stored));
      return tile;
    }
    *at = tile.DeclarePoint(options_.d);
    *stored = Targets(*at);
    tile.LoadOwn(options_.evaluates ? LineValues(context_, *at, options_.d)
                                    : LineValues(context_, ElementsOfAll(results_.arrays, *at)));
    return tile;
  }

  Stage Sum(int n) {
    std::vector<LineElements> stored;
    std::vector<Index> at;
    ScanTile tile = Load(n, /*from_end=*/false, &stored, &at);
    tile.StoreTotal(levels_[n].totals, Total(n, tile.line(), tile.tile()), Commutes(expression()));
    return std::move(tile).Finish(n == 0 ? absl::StrCat("Sum up every tile along ", name(), ".")
                                         : absl::StrCat("Sum up every tile of ",
                                                        n == 1 ? "" : "sums of ",
                                                        "the sums of tiles along ", name(), "."));
  }

  Stage Scan(int n) {
    std::vector<LineElements> stored;
    std::vector<Index> at;
    const bool was_read = levels_[n].cut.tiles > 1;
    ScanTile tile = Load(n, /*from_end=*/was_read, &stored, &at);
    tile.ScanOwn(levels_[n].totals, Total(n, tile.line(), tile.tile() - Index(1)));
    if (n > 0 || !(options_.evaluates || options_.is_last)) tile.WaitForLoads();
    // What caches keep of the elements that the stage before has read is of more use.
    const auto finish = [&](const Index& element, const std::vector<LoopValue>& results,
                            Block* block) {
      at[options_.d] = element;
      return EmitStoreFunction(expression(), results_.store, {at}, results, context_.names(),
                               *block);
    };
    tile.StoreOwn(stored, /*is_streaming=*/n == 0 && was_read && options_.is_last,
                  n == 0 && Finishes() ? ScanTile::FinishLine(finish) : nullptr);
    return std::move(tile).Finish(
        n == 0 ? absl::StrCat("Prefix sums of every tile along ", name(), ".")
               : absl::StrCat("Prefix sums of ", n == 1 ? "" : "sums of ",
                              "the sums of tiles along ", name(), "."));
  }

  NestContext& context_;
  const ScanNames& names_;
  const ResultArrays& results_;
  const Options options_;
  std::vector<Level> levels_;
};

}  // namespace

bool ScansEvaluate(const Expression& expression) { return !expression.has_reduction(); }

bool ScansUseArrays(const Expression& expression) {
  return !ScansEvaluate(expression) || PrefixSums(expression).size() > 1;
}

void AppendRegisterScans(NestContext& context, const ScanParameters& scan,
                         const ResultArrays& results, LoopProgram* program) {
  const ScanNames names(context);
  const std::vector<int> dimensions = PrefixSums(context.expression());
  // The innermost first, as Definition 4 nests them.
  for (size_t n = dimensions.size(); n-- > 0;) {
    const bool is_first = n + 1 == dimensions.size();
    RegisterScan(context, names, results,
                 {.scan = scan,
                  .d = dimensions[n],
                  .evaluates = is_first && ScansEvaluate(context.expression()),
                  .is_last = n == 0})
        .AppendTo(program);
  }
}

}  // namespace mdh
