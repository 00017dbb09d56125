#include "codegen/lower/finish/scan_in_blocks.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/program/c_names.h"
#include "codegen/program/result_tuples.h"
#include "codegen/program/scalar_code.h"
#include "core/base/round.h"
#include "core/device/warp_accesses.h"

namespace mdh {
namespace {

constexpr int64_t kThreads = 256;           // of a block
constexpr int64_t kFewestThreads = 32;      // that share a line
constexpr int64_t kMostElements = 8;        // of a thread
constexpr int64_t kSharedBytes = 16 << 10;  // of a block

using Values = std::vector<LoopValue>;

// Threads read neighbours of their own, that many elements after those of the thread before them:
// without a gap after as many as there are banks, they would wait for each other.
Index InShared(const Index& element) { return element + element / kBanks; }

int64_t RegisterBytes(const ResultArrays& results) {
  int64_t bytes = 0;
  for (const ResultTarget& array : results.arrays) bytes += SizeBytes(RegisterType(array.type));
  return bytes;
}

class BlockScan {
 public:
  BlockScan(const Expression& expression, const ResultArrays& results, int d, bool is_last)
      : expression_(expression),
        results_(results),
        d_(d),
        is_last_(is_last),
        size_(expression.dimensions()[d].size),
        lines_(ResultArrayElements(expression) / size_),
        cut_(CutForScan(lines_, size_, RegisterBytes(results), results.scan_threads)) {
    for (const std::string& name : results.index_names) names_.Reserve(name);
    for (const auto* targets : {&results.arrays, &results.outputs}) {
      for (const ResultTarget& target : *targets) names_.Reserve(target.pointer);
    }
    for (const Buffer& input : expression.passed_inputs()) names_.Reserve(CIdentifier(input.name));
    for (std::string* name : {&block_, &lane_, &row_, &line_, &tile_, &step_, &own_}) {
      *name = names_.Unique(*name);
    }
    for (const ResultTarget& array : results.arrays) {
      totals_.push_back(
          names_.Unique(absl::StrCat(array.pointer, "_", results.index_names[d], "_total")));
      elements_.push_back(names_.Unique(absl::StrCat(array.pointer, "_tile")));
      exchanges_.push_back(names_.Unique(absl::StrCat(array.pointer, "_exchange")));
    }
  }

  void AppendTo(LoopProgram* program) {
    const std::string& name = expression_.dimensions()[d_].name;
    if (cut_.tiles > 1) {
      for (int r = 0; r < count(); ++r) {
        program->scratch.push_back(
            {totals_[r], results_.arrays[r].type, lines_ * cut_.tiles, /*per_thread=*/false});
      }
      program->stages.push_back(SumTiles(absl::StrCat("Sum up every tile along ", name, ".")));
      program->stages.push_back(
          SumTotals(absl::StrCat("What comes before every tile along ", name, ".")));
    }
    program->stages.push_back(
        ScanTile(absl::StrCat("Prefix sums of every tile along ", name, ".")));
  }

 private:
  int count() const { return static_cast<int>(results_.arrays.size()); }
  LoopValueType TypeOf(int r) const { return {RegisterType(results_.arrays[r].type), 1}; }
  Index Lane() const { return Index::Variable(lane_); }
  Index Row() const { return cut_.rows == 1 ? Index(0) : Index::Variable(row_); }
  Index Line() const { return lines_ == 1 ? Index(0) : Index::Variable(line_); }
  Index Tile() const { return cut_.tiles == 1 ? Index(0) : Index::Variable(tile_); }

  // ---- Values ----

  // Named, so that they are read once.
  Values Load(const std::vector<std::string>& pointers, const Index& at, bool is_stored,
              const std::string& stem, Block* block) {
    Values values;
    for (int r = 0; r < count(); ++r) {
      const LoopValueType stored{results_.arrays[r].type, 1};
      values.push_back(is_stored ? LoadValue(pointers[r], at, stored, 1)
                                 : MakeLoad(pointers[r], at, TypeOf(r), 1));
    }
    return tuples_.Named(std::move(values), stem, block);
  }
  Values LoadShared(const std::vector<std::string>& arrays, const Index& at,
                    const std::string& stem, Block* block) {
    return Load(arrays, at, /*is_stored=*/false, stem, block);
  }
  void StoreShared(const std::vector<std::string>& arrays, const Index& at, const Values& values,
                   Block* block) const {
    for (int r = 0; r < count(); ++r) {
      block->push_back({StoreElements{arrays[r], at, values[r], 1}});
    }
  }
  Values LoadTotals(const Index& at, const std::string& stem, Block* block) {
    return Load(totals_, at, /*is_stored=*/true, stem, block);
  }
  void StoreTotals(const Index& at, const Values& values, Block* block) const {
    for (int r = 0; r < count(); ++r) {
      block->push_back(
          {StoreElements{totals_[r], at, StoredValue(values[r], results_.arrays[r].type), 1}});
    }
  }
  // ---- Threads ----

  // The block's number among those of the stage.
  Index BlockNumber() const {
    const bool has_blocks = lines_ > cut_.rows || cut_.tiles > 1;
    return has_blocks ? Index::Variable(block_) : Index(0);
  }
  Index RowNumber() const { return BlockNumber() / cut_.tiles * cut_.rows + Row(); }
  // A row beyond the last line reads the last one, too, and stores nothing.
  bool HasIdleRows() const { return lines_ % cut_.rows != 0; }
  void DeclareThreads(Block* block) const {
    using Kind = HardwareIndex::Kind;
    if (!BlockNumber().is_constant()) block->push_back({HardwareIndex{block_, Kind::kBlock, 0}});
    block->push_back({HardwareIndex{lane_, Kind::kThread, 0}});
    if (cut_.rows > 1) block->push_back({HardwareIndex{row_, Kind::kThread, 1}});
    if (cut_.tiles > 1) block->push_back({DeclareIndex{tile_, BlockNumber() % cut_.tiles}});
    if (lines_ == 1) return;
    block->push_back(
        {DeclareIndex{line_, HasIdleRows() ? Min(RowNumber(), Index(lines_ - 1)) : RowNumber()}});
  }
  std::vector<Condition> HasLine() const {
    if (!HasIdleRows()) return {};
    return {Less(RowNumber(), Index(lines_))};
  }
  void DeclareShared(const std::vector<std::string>& names, int64_t elements, Block* block) const {
    for (int r = 0; r < count(); ++r) {
      block->push_back({DeclareArray{names[r], TypeOf(r).scalar, elements, MemorySpace::kShared}});
    }
  }
  // Inclusive prefix sums of the threads' totals of every row, in exchanges_: element
  // Exchanged(lane).
  struct Team {
    int64_t threads, rows;
  };
  Team WholeTeam() const { return {cut_.threads, cut_.rows}; }
  Index Exchanged(const Team& team, const Index& lane) const {
    return team.rows == 1 ? lane : Index::Variable(row_) * team.threads + lane;
  }
  void ScanThreads(const Team& team, const Values& total, Block* block) {
    const Values sum = tuples_.Variables(total, "before", block);
    StoreShared(exchanges_, Exchanged(team, Lane()), sum, block);
    for (int64_t distance = 1; distance < team.threads; distance *= 2) {
      block->push_back({Barrier{}});
      const std::vector<Condition> has_left = {Less(Index(distance - 1), Lane())};
      Block step;
      const Values left =
          LoadShared(exchanges_, Exchanged(team, Lane() - Index(distance)), "left", &step);
      ResultTuples::Assign(sum, tuples_.NamedSum(left, sum, &step), &step);
      block->push_back(When(has_left, std::move(step)));
      block->push_back({Barrier{}});
      Block exchange;
      StoreShared(exchanges_, Exchanged(team, Lane()), sum, &exchange);
      block->push_back(When(has_left, std::move(exchange)));
    }
    block->push_back({Barrier{}});
  }

  // ---- Tiles of a line ----

  LaunchGeometry TileLaunch() const {
    return {{cut_.tiles * CeilDivide(lines_, cut_.rows), 1, 1}, {cut_.threads, cut_.rows, 1}};
  }
  // Places in shared memory of a row's elements.
  Index Place(const Index& element) const {
    return Row() * InShared(Index(cut_.tile())).constant() + InShared(element);
  }
  // The element of the line that a thread moves in one step: neighbours of the threads beside it.
  Index Moved() const { return Index::Variable(step_) * cut_.threads + Lane(); }
  Index Position() const { return Tile() * cut_.tile() + Moved(); }
  void ForSteps(Block body, Block* block) const {
    block->push_back(
        {For{step_, Index(0), Index(cut_.elements), 1, false, ShareBlock(std::move(body)),
             /*unroll=*/true}});
  }

  // From the arrays of results to shared memory; elements beyond the end are copies of the last.
  void LoadTile(Block* block) {
    const bool is_exact = size_ % cut_.tile() == 0;
    const Index position = is_exact ? Position() : Min(Position(), Index(size_ - 1));
    std::vector<std::string> pointers;
    for (const ResultTarget& array : results_.arrays) pointers.push_back(array.pointer);
    Block body;
    const Values values =
        Load(pointers, Line() * size_ + position, /*is_stored=*/true, "element", &body);
    StoreShared(elements_, Place(Moved()), values, &body);
    ForSteps(std::move(body), block);
    block->push_back({Barrier{}});
  }

  // Sums the thread's own neighbours; `keeps`: each is replaced by the sum up to it.
  Values SumOwn(bool keeps, Block* block) {
    const Index first = Lane() * cut_.elements;
    const Values sum =
        tuples_.Variables(LoadShared(elements_, Place(first), "first", block), "total", block);
    if (cut_.elements == 1) return sum;
    Block body;
    const Index place = Place(first + Index::Variable(own_));
    const Values next = LoadShared(elements_, place, "next", &body);
    ResultTuples::Assign(sum, tuples_.NamedSum(sum, next, &body), &body);
    if (keeps) StoreShared(elements_, place, sum, &body);
    block->push_back(
        {For{own_, Index(1), Index(cut_.elements), 1, false, ShareBlock(std::move(body)),
             /*unroll=*/true}});
    return sum;
  }

  Stage StartTileStage(std::string comment) {
    Stage stage{std::move(comment), {}, TileLaunch()};
    DeclareShared(elements_, cut_.rows * InShared(Index(cut_.tile())).constant(), &stage.body);
    DeclareShared(exchanges_, cut_.rows * cut_.threads, &stage.body);
    DeclareThreads(&stage.body);
    LoadTile(&stage.body);
    return stage;
  }

  Stage SumTiles(std::string comment) {
    Stage stage = StartTileStage(std::move(comment));
    ScanThreads(WholeTeam(), SumOwn(/*keeps=*/false, &stage.body), &stage.body);
    Block store;
    const Values total = LoadShared(exchanges_, Exchanged(WholeTeam(), Lane()), "total", &store);
    StoreTotals(Line() * cut_.tiles + Tile(), total, &store);
    std::vector<Condition> stores = HasLine();
    stores.push_back(Equal(Lane(), Index(cut_.threads - 1)));
    stage.body.push_back(When(stores, std::move(store)));
    return stage;
  }

  Stage ScanTile(std::string comment) {
    Stage stage = StartTileStage(std::move(comment));
    Block& body = stage.body;
    ScanThreads(WholeTeam(), SumOwn(/*keeps=*/true, &body), &body);
    AddWhatIsBefore(&body);
    body.push_back({Barrier{}});
    Block store;
    const Values sums = LoadShared(elements_, Place(Moved()), "sum", &store);
    Store(sums, &store);
    std::vector<Condition> stores = HasLine();
    if (size_ % cut_.tile() != 0) stores.push_back(Less(Position(), Index(size_)));
    Block moved;
    if (stores.empty()) {
      moved = std::move(store);
    } else {
      moved.push_back(When(stores, std::move(store)));
    }
    ForSteps(std::move(moved), &body);
    return stage;
  }

  // The sums of the threads and tiles to the left, where there are any. There need not be anything
  // that changes nothing.
  void AddWhatIsBefore(Block* block) {
    const auto add = [&](const Values& before, Block* to) {
      Block body;
      const Index place = Place(Lane() * cut_.elements + Index::Variable(own_));
      const Values here = LoadShared(elements_, place, "here", &body);
      StoreShared(elements_, place, tuples_.NamedSum(before, here, &body), &body);
      to->push_back(
          {For{own_, Index(0), Index(cut_.elements), 1, false, ShareBlock(std::move(body)),
               /*unroll=*/true}});
    };
    Block beside;  // in the line's first tile
    const Values left =
        LoadShared(exchanges_, Exchanged(WholeTeam(), Lane() - Index(1)), "left", &beside);
    add(left, &beside);
    Block first;
    first.push_back(When({Less(Index(0), Lane())}, std::move(beside)));
    if (cut_.tiles == 1) return Append(std::move(first), block);
    Block others;
    const Values before = tuples_.Variables(
        LoadTotals(Line() * cut_.tiles + Tile(), "carry", &others), "before", &others);
    Block joined;
    const Values threads =
        LoadShared(exchanges_, Exchanged(WholeTeam(), Lane() - Index(1)), "left", &joined);
    ResultTuples::Assign(before, tuples_.NamedSum(before, threads, &joined), &joined);
    others.push_back(When({Less(Index(0), Lane())}, std::move(joined)));
    add(before, &others);
    block->push_back(
        {If{{IsZero(Tile())}, ShareBlock(std::move(first)), ShareBlock(std::move(others))}});
  }

  void Store(const Values& values, Block* block) {
    std::vector<Index> at(static_cast<size_t>(expression_.rank()), Index(0));
    Index rest = Line();
    int64_t left = lines_;
    for (int d = expression_.rank(); d-- > 0;) {
      const int64_t size = expression_.dimensions()[d].size;
      if (d == d_ || expression_.is_reduction(d) || size == 1) continue;
      left /= size;
      at[d] = left == 1 ? rest : rest % size;
      rest = rest / size;
    }
    at[d_] = Position();
    if (is_last_) return EmitFinalResults(expression_, results_, at, values, names_, block);
    StoreResults(results_.arrays, at, values, block);
  }

  // ---- Totals of tiles ----

  // Every total becomes what comes before its tile; that of the first tile means nothing.
  Stage SumTotals(std::string comment) {
    const int64_t threads =
        std::min(cut_.threads, RoundUpToPowerOfTwo(CeilDivide(cut_.tiles, kMostElements)));
    const int64_t each = CeilDivide(cut_.tiles, threads);
    Stage stage{std::move(comment), {}, {{lines_, 1, 1}, {threads, 1, 1}}};
    Block& body = stage.body;
    if (threads > 1) DeclareShared(exchanges_, threads, &body);
    using Kind = HardwareIndex::Kind;
    if (lines_ > 1) body.push_back({HardwareIndex{line_, Kind::kBlock, 0}});
    body.push_back({HardwareIndex{lane_, Kind::kThread, 0}});
    const Index own = Index::Variable(own_), start = Line() * cut_.tiles;
    const std::string end = names_.Unique("end");
    body.push_back({DeclareIndex{end, Min(Lane() * each + Index(each), Index(cut_.tiles))}});
    if (threads > 1) {
      // A thread without totals of its own has the last one, which nobody after it needs.
      const std::string first = names_.Unique("first");
      body.push_back({DeclareIndex{first, Min(Lane() * each, Index(cut_.tiles - 1))}});
      const Values sum = tuples_.Variables(
          LoadTotals(start + Index::Variable(first), "first_total", &body), "total", &body);
      Block loop;
      const Values next = LoadTotals(start + own, "next", &loop);
      ResultTuples::Assign(sum, tuples_.NamedSum(sum, next, &loop), &loop);
      body.push_back({For{own_, Index::Variable(first) + Index(1), Index::Variable(end), 1, false,
                          ShareBlock(std::move(loop))}});
      ScanThreads({threads, 1}, sum, &body);
    }
    // From the left to the right: what was there is read before it is replaced.
    Block begins, goes_on;
    const auto replace = [&](const Values& before, const Index& from, Block* to) {
      Block step;
      const Values here = LoadTotals(start + own, "here", &step);
      StoreTotals(start + own, before, &step);
      ResultTuples::Assign(before, tuples_.NamedSum(before, here, &step), &step);
      to->push_back({For{own_, from, Index::Variable(end), 1, false, ShareBlock(std::move(step))}});
    };
    const Values zeroth =
        tuples_.Variables(LoadTotals(start, "first_total", &begins), "before", &begins);
    replace(zeroth, Index(1), &begins);
    if (threads == 1) {
      Append(std::move(begins), &body);
      return stage;
    }
    const Values before = tuples_.Variables(
        LoadShared(exchanges_, Lane() - Index(1), "left", &goes_on), "before", &goes_on);
    replace(before, Lane() * each, &goes_on);
    body.push_back(
        {If{{IsZero(Lane())}, ShareBlock(std::move(begins)), ShareBlock(std::move(goes_on))}});
    return stage;
  }

  const Expression& expression_;
  const ResultArrays& results_;
  const int d_;
  const bool is_last_;
  const int64_t size_, lines_;
  const ScanTiles cut_;
  NameAllocator names_;
  ResultTuples tuples_{expression_, names_};
  std::string block_ = "block", lane_ = "lane", row_ = "row", line_ = "line", tile_ = "tile",
              step_ = "step", own_ = "own";
  std::vector<std::string> totals_, elements_, exchanges_;  // one per result
};

}  // namespace

ScanTiles CutForScan(int64_t lines, int64_t size, int64_t bytes, int64_t most) {
  // Half of the memory for elements, half for the threads' totals.
  ScanTiles cut = {std::min(kThreads, RoundDownToPowerOfTwo(most)), 1, kMostElements, 1};
  const auto exceeds = [&] { return cut.tile() * bytes > kSharedBytes / 2; };
  while (cut.elements > 1 && exceeds()) cut.elements /= 2;
  while (cut.threads > kFewestThreads && exceeds()) cut.threads /= 2;
  const int64_t most_threads = cut.threads;
  while (cut.threads > kFewestThreads && cut.tile() / 2 >= size) cut.threads /= 2;
  while (cut.elements > 1 && cut.tile() / 2 >= size) cut.elements /= 2;
  cut.rows = std::min(most_threads / cut.threads, RoundUpToPowerOfTwo(lines));
  cut.tiles = CeilDivide(size, cut.tile());
  return cut;
}

bool CanScanInBlocks(const Expression& expression, int d) {
  for (int inner = d + 1; inner < expression.rank(); ++inner) {
    if (!expression.is_reduction(inner) && expression.dimensions()[inner].size > 1) return false;
  }
  return true;
}

void AppendBlockScan(const Expression& expression, const ResultArrays& results, int d, bool is_last,
                     LoopProgram* program) {
  BlockScan(expression, results, d, is_last).AppendTo(program);
}

}  // namespace mdh
