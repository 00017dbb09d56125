#include "codegen/lower/scan/scan_tile.h"

#include "codegen/program/digits.h"
#include "codegen/program/result_targets.h"
#include "core/base/round.h"

namespace mdh {

ScanNames::ScanNames(NestContext& context)
    : number("number"),
      block("block"),
      thread("local_id"),
      line("line"),
      tile("tile"),
      lane("warp_lane"),
      group("group"),
      other("other_group"),
      round("of_round"),
      at("from"),
      to("to"),
      own_number("own"),
      sum_number("of_sum") {
  NameAllocator& names = context.names();
  for (std::string* name : {&number, &block, &thread, &line, &tile, &lane, &group, &other, &round,
                            &at, &to, &own_number, &sum_number}) {
    *name = names.Unique(*name);
  }
  const Expression& expression = context.expression();
  for (int r = 0; r < static_cast<int>(expression.function().results().size()); ++r) {
    const std::string output = ResultName(expression, context.output_names(), r);
    own.push_back(names.Unique(output + "_own"));
    sums.push_back(names.Unique(output + "_sum"));
    exchanges.push_back(names.Unique(output + "_exchange"));
    group_sums.push_back(names.Unique(output + "_group"));
    round_sums.push_back(names.Unique(output + "_rounds"));
  }
}

ScanTile::ScanTile(NestContext& context, const ScanNames& names, const Options& options)
    : context_(context),
      tuples_(context.sums(), context.names()),
      names_(names),
      lines_(options.lines),
      cut_(options.cut),
      from_end_(options.from_end),
      shuffles_(context.features().shuffles_up),
      threads_(cut_.lines * cut_.line_threads()) {}

// ---- Threads ----

int64_t ScanTile::Blocks() const { return CeilDivide(lines_.count, cut_.lines) * cut_.tiles; }

// Lines that are beside each other go to neighbouring threads.
Index ScanTile::LineInBlock() const {
  const Index thread = Index::Variable(names_.thread);
  if (cut_.lines == 1) return Index(0);
  return lines_.are_beside ? thread % cut_.lines : thread / cut_.line_threads();
}

Index ScanTile::LineNumber() const {
  const Index block = Blocks() == 1 ? Index(0) : Index::Variable(names_.block);
  return block / cut_.tiles * cut_.lines + LineInBlock();
}

std::vector<Condition> ScanTile::HasLine() const {
  if (lines_.count % cut_.lines == 0) return {};
  return {Less(LineNumber(), Index(lines_.count))};
}

void ScanTile::DeclareThreads() {
  using Kind = HardwareIndex::Kind;
  const auto declare = [&](const std::string& name, const Index& value) {
    body_.push_back({DeclareIndex{name, value}});
  };
  if (Blocks() > 1 && from_end_) {
    body_.push_back({HardwareIndex{names_.number, Kind::kBlock, 0}});
    declare(names_.block, Index(Blocks() - 1) - Index::Variable(names_.number));
  } else if (Blocks() > 1) {
    body_.push_back({HardwareIndex{names_.block, Kind::kBlock, 0}});
  }
  body_.push_back({HardwareIndex{names_.thread, Kind::kThread, 0}});
  if (cut_.tiles > 1) declare(names_.tile, Index::Variable(names_.block) % cut_.tiles);
  if (lines_.count > 1) {
    declare(names_.line,
            HasLine().empty() ? LineNumber() : Min(LineNumber(), Index(lines_.count - 1)));
  }
  const Index thread = Index::Variable(names_.thread);
  if (cut_.lanes > 1) declare(names_.lane, thread % cut_.lanes);
  if (cut_.groups > 1) {
    declare(names_.group,
            lines_.are_beside ? thread / cut_.lines : thread % cut_.line_threads() / cut_.lanes);
  }
}

std::vector<Index> ScanTile::DeclarePoint(int d) {
  const Expression& expression = context_.expression();
  std::vector<int> others;
  for (int k = 0; k < expression.rank(); ++k) {
    if (k != d && !expression.is_reduction(k)) others.push_back(k);
  }
  return mdh::DeclarePoint(expression, others, line(), context_.index_names(), &body_);
}

void ScanTile::When(const std::vector<Condition>& conditions, Block then, Block* block) {
  if (conditions.empty()) return Append(std::move(then), block);
  block->push_back(mdh::When(conditions, std::move(then)));
}

// ---- Loops ----

// Unrolled: arrays of a thread are registers.
void ScanTile::ForAll(const std::string& variable, const Index& begin, int64_t count, Block body,
                      Block* block) const {
  block->push_back({For{variable, begin, Index(count), 1, false, ShareBlock(std::move(body)),
                        /*unroll=*/true}});
}

void ScanTile::ForRounds(Block body, Block* block) const {
  if (cut_.rounds == 1) return Append(std::move(body), block);
  ForAll(names_.round, Index(0), cut_.rounds, std::move(body), block);
}

// ---- Elements in memory ----

Index ScanTile::First() const {
  return tile() * cut_.tile() + Group() * (cut_.rounds * cut_.strip()) + Round() * cut_.strip() +
         Lane() * cut_.run;
}

void ScanTile::LoadOwn(LineValues values) {
  Declare(names_.own, cut_.points(), MemorySpace::kPrivate);
  const bool is_exact = lines_.size % cut_.tile() == 0, has_runs = lines_.size % cut_.run == 0;
  Block round;
  const bool clamps_run = !is_exact && has_runs;
  round.push_back({DeclareIndex{
      names_.at, clamps_run ? Min(First(), Index(lines_.size - cut_.run)) : First()}});
  const auto load = [&](const Index& in_run, int number, Block* block) {
    const Index element = Index::Variable(names_.at) + in_run;
    const Index existing = is_exact || has_runs ? element : Min(element, Index(lines_.size - 1));
    Store(names_.own, Number(in_run), values.At(existing, number, block), block);
  };
  if (has_runs && values.LoadRun(Index::Variable(names_.at), cut_.run, &round)) {
    for (int n = 0; n < cut_.run; ++n) load(Index(n), n, &round);
  } else if (cut_.run == 1) {
    load(Index(0), 0, &round);
  } else {
    Block body;
    load(Index::Variable(names_.own_number), -1, &body);
    ForAll(names_.own_number, Index(0), cut_.run, std::move(body), &round);
  }
  ForRounds(std::move(round), &body_);
}

void ScanTile::WaitForLoads() {
  if (!HasLine().empty()) body_.push_back({Barrier{}});
}

void ScanTile::StoreOwn(const std::vector<LineElements>& arrays, bool is_streaming,
                        const FinishLine& finish) {
  const bool is_exact = lines_.size % cut_.tile() == 0, has_runs = lines_.size % cut_.run == 0;
  Block runs, singles;
  const Index first = Index::Variable(names_.to), own = Index::Variable(names_.own_number);
  const Index in_run = cut_.run == 1 ? Index(0) : own;
  Values values = Load(names_.own, Number(in_run));
  if (finish) values = finish(first + in_run, values, &singles);
  for (int r = 0; r < std::ssize(arrays); ++r) {
    const LineElements& array = arrays[r];
    if (!finish && has_runs && array.MovesRun(cut_.run) && array.type == tuples_.type(r)) {
      const LoopValueType type{tuples_.type(r), static_cast<int>(cut_.run)};
      runs.push_back(
          {StoreElements{array.pointer, array.offset.At(first),
                         MakeLoad(names_.own[r], Number(Index(0)), type, 1), 1, is_streaming}});
    } else {
      singles.push_back({StoreElements{array.pointer, array.offset.At(first + in_run),
                                       StoredValue(values[r], array.type), 1, is_streaming}});
    }
  }
  if (!singles.empty()) {
    if (!has_runs) {
      Block guarded;
      When({Less(first + in_run, Index(lines_.size))}, std::move(singles), &guarded);
      singles = std::move(guarded);
    }
    cut_.run == 1 ? Append(std::move(singles), &runs)
                  : ForAll(names_.own_number, Index(0), cut_.run, std::move(singles), &runs);
  }
  std::vector<Condition> exists = HasLine();
  if (!is_exact && has_runs) exists.push_back(Less(first, Index(lines_.size)));
  Block round;
  round.push_back({DeclareIndex{names_.to, First()}});
  When(exists, std::move(runs), &round);
  ForRounds(std::move(round), &body_);
}

Stage ScanTile::Finish(std::string comment) && {
  Stage stage{std::move(comment), std::move(shared_), {{Blocks(), 1, 1}, {threads_, 1, 1}}};
  Append(std::move(body_), &stage.body);
  return stage;
}

}  // namespace mdh
