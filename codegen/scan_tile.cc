#include "codegen/scan_tile.h"

#include "absl/strings/str_cat.h"
#include "core/round.h"

namespace mdh {
namespace {

Condition Less(const Index& a, const Index& b) { return {Condition::Kind::kLess, a, b, ""}; }
Condition Equal(const Index& a, const Index& b) { return {Condition::Kind::kEqual, a, b, ""}; }

void When(const std::vector<Condition>& conditions, Block then, Block* block) {
  if (conditions.empty()) return Append(std::move(then), block);
  block->push_back({If{conditions, ShareBlock(std::move(then)), nullptr}});
}

}  // namespace

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
    const std::string& output = context.output_names()[expression.output_access(r).buffer];
    own.push_back(names.Unique(output + "_own"));
    sums.push_back(names.Unique(output + "_sum"));
    exchanges.push_back(names.Unique(output + "_exchange"));
    group_sums.push_back(names.Unique(output + "_group"));
    round_sums.push_back(names.Unique(output + "_rounds"));
  }
}

ScanTile::ScanTile(NestContext& context, const ScanNames& names, const Options& options)
    : context_(context),
      names_(names),
      lines_(options.lines),
      cut_(options.cut),
      from_end_(options.from_end),
      shuffles_(DeviceKindOf(context.low_level().model()) == DeviceKind::kCuda),
      threads_(cut_.lines * cut_.line_threads()) {
  for (const TypedName& result : context.expression().function().results()) {
    types_.push_back(RegisterType(result.type));
  }
}

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
  std::vector<Index> at(expression.rank(), Index(0));
  Index rest = line();
  int64_t left = lines_.count;
  for (int k = expression.rank(); k-- > 0;) {
    const int64_t size = expression.dimensions()[k].size;
    if (k == d || expression.is_reduction(k) || size == 1) continue;
    left /= size;
    const std::string& name = context_.index_names()[k];
    body_.push_back({DeclareIndex{name, left == 1 ? rest : rest % size}});
    at[k] = Index::Variable(name);
    rest = rest / size;
  }
  return at;
}

// ---- Values ----

ScanTile::Values ScanTile::Load(const Names& arrays, const Index& at) const {
  Values values;
  for (int r = 0; r < count(); ++r) values.push_back(MakeLoad(arrays[r], at, {types_[r], 1}, 1));
  return values;
}

void ScanTile::Store(const Names& arrays, const Index& at, const Values& values,
                     Block* block) const {
  for (int r = 0; r < count(); ++r) block->push_back({StoreElements{arrays[r], at, values[r], 1}});
}

ScanTile::Values ScanTile::Named(const Values& values, const std::string& stem, Block* block) {
  Values named;
  for (const LoopValue& value : values) {
    const std::string name = context_.names().Unique(stem);
    block->push_back({DeclareValue{name, value}});
    named.push_back(MakeNamed(name, value->type));
  }
  return named;
}

// Named where there are several: all are computed before one of them is replaced.
ScanTile::Values ScanTile::Combine(const Values& left, const Values& right, Block* block) {
  Values sums =
      EmitCombination(context_.expression().reduction(), left, right, context_.names(), *block);
  return count() > 1 ? Named(sums, "sum", block) : sums;
}

ScanTile::Values ScanTile::VariablesOf(const Names& names) const {
  Values values;
  for (int r = 0; r < count(); ++r) values.push_back(MakeNamed(names[r], {types_[r], 1}));
  return values;
}

ScanTile::Names ScanTile::DeclareVariables(const std::string& stem, const Values& start,
                                           Block* block) {
  Names names;
  for (const LoopValue& value : start) {
    names.push_back(context_.names().Unique(stem));
    block->push_back({DeclareValue{names.back(), value, /*is_mutable=*/true}});
  }
  return names;
}

void ScanTile::CombineInto(const Names& variables, const Values& right, Block* block) {
  const Values sums = Combine(VariablesOf(variables), right, block);
  for (int r = 0; r < count(); ++r) block->push_back({Assign{variables[r], sums[r]}});
}

void ScanTile::Declare(const Names& arrays, int64_t elements, MemorySpace space) {
  Block* block = space == MemorySpace::kShared ? &shared_ : &body_;
  for (int r = 0; r < count(); ++r) {
    block->push_back({DeclareArray{arrays[r], types_[r], elements, space}});
  }
}

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

void ScanTile::StoreOwn(const std::vector<LineElements>& arrays, bool is_streaming) {
  const bool is_exact = lines_.size % cut_.tile() == 0, has_runs = lines_.size % cut_.run == 0;
  Block runs, singles;
  const Index first = Index::Variable(names_.to), own = Index::Variable(names_.own_number);
  for (int r = 0; r < count(); ++r) {
    const LineElements& array = arrays[r];
    if (has_runs && array.MovesRun(cut_.run) && array.type == types_[r]) {
      const LoopValueType type{types_[r], static_cast<int>(cut_.run)};
      runs.push_back(
          {StoreElements{array.pointer, array.offset.At(first),
                         MakeLoad(names_.own[r], Number(Index(0)), type, 1), 1, is_streaming}});
    } else {
      const Index in_run = cut_.run == 1 ? Index(0) : own;
      singles.push_back({StoreElements{array.pointer, array.offset.At(first + in_run),
                                       StoredValue(Load(names_.own, Number(in_run))[r], array.type),
                                       1, is_streaming}});
    }
  }
  if (!singles.empty()) {
    if (!has_runs) {
      Block guarded;
      When({Less(first + (cut_.run == 1 ? Index(0) : own), Index(lines_.size))}, std::move(singles),
           &guarded);
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

// ---- Sums ----

// The sums of the thread's runs; `keeps`: elements become prefix sums of their run.
void ScanTile::SumRuns(bool keeps) {
  Declare(names_.sums, cut_.rounds, MemorySpace::kPrivate);
  Block round;
  const Index own = Index::Variable(names_.own_number);
  if (keeps && cut_.run > 1) {
    Block step;
    Store(names_.own, Number(own),
          Combine(Load(names_.own, Number(own - Index(1))), Load(names_.own, Number(own)), &step),
          &step);
    ForAll(names_.own_number, Index(1), cut_.run, std::move(step), &round);
    Store(names_.sums, Round(), Load(names_.own, Number(Index(cut_.run - 1))), &round);
  } else {
    Store(names_.sums, Round(), Load(names_.own, Number(Index(0))), &round);
    Block step;
    Store(names_.sums, Round(),
          Combine(Load(names_.sums, Round()), Load(names_.own, Number(own)), &step), &step);
    if (cut_.run > 1) ForAll(names_.own_number, Index(1), cut_.run, std::move(step), &round);
  }
  ForRounds(std::move(round), &body_);
}

// The sum of all of the thread's elements.
void ScanTile::SumThread() {
  Declare(names_.sums, 1, MemorySpace::kPrivate);
  Store(names_.sums, Index(0), Load(names_.own, Index(0)), &body_);
  if (cut_.points() == 1) return;
  Block step;
  Store(names_.sums, Index(0),
        Combine(Load(names_.sums, Index(0)), Load(names_.own, Index::Variable(names_.own_number)),
                &step),
        &step);
  ForAll(names_.own_number, Index(1), cut_.points(), std::move(step), &body_);
}

// Every sum becomes the prefix sum over the lanes up to the thread's.
void ScanTile::ScanLanes(int64_t sums) {
  if (cut_.lanes == 1) return;
  shuffles_ ? ShuffleLanes(sums) : ExchangeLanes(sums);
}

void ScanTile::ShuffleLanes(int64_t sums) {
  const Index sum = sums == 1 ? Index(0) : Index::Variable(names_.sum_number);
  for (int64_t distance = 1; distance < cut_.lanes; distance *= 2) {
    Block step;
    Values left;
    for (const LoopValue& value : Load(names_.sums, sum)) {
      left.push_back(
          MakeShuffleUp(value, static_cast<int>(distance), static_cast<int>(cut_.lanes)));
    }
    left = Named(left, "left", &step);
    Block add;
    Store(names_.sums, sum, Combine(left, Load(names_.sums, sum), &add), &add);
    When({Less(Index(distance - 1), Lane())}, std::move(add), &step);
    sums == 1 ? Append(std::move(step), &body_)
              : ForAll(names_.sum_number, Index(0), sums, std::move(step), &body_);
  }
}

// Through shared memory: before what a thread has there is replaced, all must have read it.
void ScanTile::ExchangeLanes(int64_t sums) {
  Declare(names_.exchanges, sums * threads_, MemorySpace::kShared);
  const Index sum = sums == 1 ? Index(0) : Index::Variable(names_.sum_number);
  const Index own = sum * threads_ + Index::Variable(names_.thread);
  const auto for_sums = [&](Block body, Block* block) {
    sums == 1 ? Append(std::move(body), block)
              : ForAll(names_.sum_number, Index(0), sums, std::move(body), block);
  };
  Block exchange;
  Store(names_.exchanges, own, Load(names_.sums, sum), &exchange);
  for_sums(exchange, &body_);
  for (int64_t distance = 1; distance < cut_.lanes; distance *= 2) {
    const std::vector<Condition> has_left = {Less(Index(distance - 1), Lane())};
    body_.push_back({Barrier{}});
    Block step, add;
    Store(names_.sums, sum,
          Combine(Named(Load(names_.exchanges, own - Index(distance)), "left", &step),
                  Load(names_.sums, sum), &step),
          &step);
    for_sums(std::move(step), &add);
    When(has_left, std::move(add), &body_);
    body_.push_back({Barrier{}});
    Block replace;
    for_sums(exchange, &replace);
    When(has_left, std::move(replace), &body_);
  }
  body_.push_back({Barrier{}});
}

// What ScanLanes has made of the sum in the lane before the thread's, unless that is the first.
ScanTile::Values ScanTile::LeftLane(const Index& sum, Block* block) {
  if (!shuffles_)
    return Load(names_.exchanges, sum * threads_ + Index::Variable(names_.thread) - Index(1));
  Values left;
  for (const LoopValue& value : Load(names_.sums, sum)) {
    left.push_back(MakeShuffleUp(value, 1, static_cast<int>(cut_.lanes)));
  }
  return Named(left, "left", block);
}

Index ScanTile::OfRound() const {
  return (Group() * cut_.rounds + Round()) * cut_.lines + LineInBlock();
}

// The last lanes' sums, which are those of all lanes, to shared memory: of whole groups, and of
// their rounds.
void ScanTile::ShareSums(int64_t sums, bool with_rounds) {
  const bool has_rounds = with_rounds && cut_.rounds > 1;
  if (cut_.groups == 1 && !has_rounds) return;
  Block share;
  if (cut_.groups > 1) {
    Declare(names_.group_sums, cut_.groups * cut_.lines, MemorySpace::kShared);
    const Names total = DeclareVariables("total", Load(names_.sums, Index(0)), &share);
    Block step;
    CombineInto(total, Load(names_.sums, Index::Variable(names_.sum_number)), &step);
    if (sums > 1) ForAll(names_.sum_number, Index(1), sums, std::move(step), &share);
    Store(names_.group_sums, OfGroup(Group()), VariablesOf(total), &share);
  }
  if (has_rounds) {
    Declare(names_.round_sums, cut_.groups * cut_.rounds * cut_.lines, MemorySpace::kShared);
    Block round;
    Store(names_.round_sums, OfRound(), Load(names_.sums, Round()), &round);
    ForRounds(std::move(round), &share);
  }
  std::vector<Condition> is_last;
  if (cut_.lanes > 1) is_last.push_back(Equal(Lane(), Index(cut_.lanes - 1)));
  When(is_last, std::move(share), &body_);
  body_.push_back({Barrier{}});
}

void ScanTile::StoreTotal(const std::vector<std::string>& totals, const Index& at,
                          bool may_reorder) {
  const int64_t sums = may_reorder ? 1 : cut_.rounds;
  may_reorder ? SumThread() : SumRuns(/*keeps=*/false);
  ScanLanes(sums);
  ShareSums(sums, /*with_rounds=*/false);
  Block store;
  const bool is_shared = cut_.groups > 1;
  const Names total = DeclareVariables(
      "total", is_shared ? Load(names_.group_sums, OfGroup(Index(0))) : Load(names_.sums, Index(0)),
      &store);
  const std::string& part = is_shared ? names_.other : names_.sum_number;
  Block step;
  CombineInto(total,
              is_shared ? Load(names_.group_sums, OfGroup(Index::Variable(part)))
                        : Load(names_.sums, Index::Variable(part)),
              &step);
  const int64_t parts = is_shared ? cut_.groups : sums;
  if (parts > 1) ForAll(part, Index(1), parts, std::move(step), &store);
  Store(totals, at, VariablesOf(total), &store);
  std::vector<Condition> stores = HasLine();
  if (cut_.lanes > 1) stores.push_back(Equal(Lane(), Index(cut_.lanes - 1)));
  if (is_shared) stores.push_back(Equal(Group(), Index(0)));
  When(stores, std::move(store), &body_);
}

// ---- Prefix sums ----

// What is to the left of the thread's group; of the first group of the first tile, where there is
// nothing, anything.
ScanTile::Names ScanTile::SumBefore(const Names& totals, const Index& before) {
  const Names sum = DeclareVariables("before", Load(names_.sums, Index(0)), &body_);
  const bool has_tiles = cut_.tiles > 1;
  if (has_tiles) {
    Block carry;
    const Values total = Load(totals, before);
    for (int r = 0; r < count(); ++r) carry.push_back({Assign{sum[r], total[r]}});
    When({Less(Index(0), tile())}, std::move(carry), &body_);
  }
  if (cut_.groups == 1) return sum;
  const Index left = Index::Variable(names_.other);
  std::vector<Condition> is_first = {Equal(left, Index(0))};
  if (has_tiles) is_first.push_back(Equal(tile(), Index(0)));
  Block step, first, others;
  const Values total = Named(Load(names_.group_sums, OfGroup(left)), "total", &step);
  for (int r = 0; r < count(); ++r) first.push_back({Assign{sum[r], total[r]}});
  CombineInto(sum, total, &others);
  step.push_back({If{is_first, ShareBlock(std::move(first)), ShareBlock(std::move(others))}});
  Block guarded;
  When({Less(left, Group())}, std::move(step), &guarded);
  ForAll(names_.other, Index(0), cut_.groups - 1, std::move(guarded), &body_);
  return sum;
}

// Round by round: `before` is what is to the left of the group's round.
void ScanTile::AddBefore(const Names& before) {
  std::vector<Condition> is_first;  // there is nothing
  if (cut_.tiles > 1) is_first.push_back(Equal(tile(), Index(0)));
  if (cut_.groups > 1) is_first.push_back(Equal(Group(), Index(0)));
  if (cut_.rounds > 1) is_first.push_back(Equal(Round(), Index(0)));
  const std::vector<Condition> has_left = {Less(Index(0), Lane())};
  Block round;
  Values left;
  if (cut_.lanes > 1 && shuffles_) left = LeftLane(Round(), &round);
  const auto add = [&](const Values& sum, Block* block) {
    const Index at = Number(cut_.run == 1 ? Index(0) : Index::Variable(names_.own_number));
    Block step;
    Store(names_.own, at, Combine(sum, Load(names_.own, at), &step), &step);
    cut_.run == 1 ? Append(std::move(step), block)
                  : ForAll(names_.own_number, Index(0), cut_.run, std::move(step), block);
  };
  Block first, others;
  if (cut_.lanes > 1) {
    Block inside;
    add(shuffles_ ? left : Named(LeftLane(Round(), &inside), "left", &inside), &inside);
    When(has_left, std::move(inside), &first);
  }
  const Names sum = DeclareVariables("front", VariablesOf(before), &others);
  if (cut_.lanes > 1) {
    Block inside;
    CombineInto(sum, shuffles_ ? left : LeftLane(Round(), &inside), &inside);
    When(has_left, std::move(inside), &others);
  }
  add(VariablesOf(sum), &others);
  if (is_first.empty()) {
    Append(std::move(first), &round);
  } else if (first.empty()) {
    const std::string flag = context_.names().Unique("is_first");
    round.push_back({DeclareFlag{flag, is_first}});
    When({{Condition::Kind::kNotFlag, Index(0), Index(0), flag}}, std::move(others), &round);
  } else {
    round.push_back({If{is_first, ShareBlock(std::move(first)), ShareBlock(std::move(others))}});
  }
  if (cut_.rounds > 1) {
    Block begins, goes_on;
    const Values sums = Named(Load(names_.round_sums, OfRound()), "total", &round);
    for (int r = 0; r < count(); ++r) begins.push_back({Assign{before[r], sums[r]}});
    CombineInto(before, sums, &goes_on);
    round.push_back({If{is_first, ShareBlock(std::move(begins)), ShareBlock(std::move(goes_on))}});
  }
  ForRounds(std::move(round), &body_);
}

void ScanTile::ScanOwn(const std::vector<std::string>& totals, const Index& before) {
  SumRuns(/*keeps=*/true);
  ScanLanes(cut_.rounds);
  ShareSums(cut_.rounds, /*with_rounds=*/true);
  AddBefore(SumBefore(totals, before));
}

Stage ScanTile::Finish(std::string comment) && {
  Stage stage{std::move(comment), std::move(shared_), {{Blocks(), 1, 1}, {threads_, 1, 1}}};
  Append(std::move(body_), &stage.body);
  return stage;
}

}  // namespace mdh
