#include "tuner/space/expansion.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "tuner/space/integer_bounds.h"

namespace mdh {
namespace {

// What no value of a slot looks like.
constexpr uint64_t kDividedByZeroWord = 0x8000000000000000;
constexpr uint64_t kOverflowWord = 0x8000000000000001;
constexpr uint64_t kRealDividedByZeroWord = 0x7ff8000000000001;
constexpr uint64_t kRealOverflowWord = 0x7ff8000000000002;

uint64_t PackWord(ValueKind kind, const Bounds& bounds) {
  if (kind == ValueKind::kCondition) return bounds.can;
  const bool is_real = kind == ValueKind::kReal;
  if ((bounds.can & kCanOverflow) != 0) return is_real ? kRealOverflowWord : kOverflowWord;
  if ((bounds.can & kCanDivideByZero) != 0) {
    return is_real ? kRealDividedByZeroWord : kDividedByZeroWord;
  }
  return static_cast<uint64_t>(bounds.lo.i);
}

Bounds UnpackWord(ValueKind kind, uint64_t word) {
  Bounds bounds;
  if (kind == ValueKind::kCondition) {
    bounds.can = static_cast<uint8_t>(word);
    return bounds;
  }
  const bool is_real = kind == ValueKind::kReal;
  bounds.lo.i = bounds.hi.i = static_cast<int64_t>(word);
  bounds.can = kCanBeDefined;
  if (word == (is_real ? kRealDividedByZeroWord : kDividedByZeroWord)) {
    bounds.can = kCanDivideByZero;
  } else if (word == (is_real ? kRealOverflowWord : kOverflowWord)) {
    bounds.can = kCanOverflow;
  }
  return bounds;
}

bool IsNeeded(const GatePaths& paths, uint64_t decided) {
  for (uint64_t path : paths) {
    if ((path & decided) == 0) return true;
  }
  return false;
}

// A sum that does not overflow.
void AddRest(const Bounds& a, const Bounds& rest, Bounds& result) {
  result.can = static_cast<uint8_t>((a.can | rest.can) & kCanBeUndefined);
  if ((a.can & rest.can & kCanBeDefined) == 0) return;
  result.lo.i = a.lo.i + rest.lo.i;
  result.hi.i = a.hi.i + rest.hi.i;
  result.can |= kCanBeDefined;
}

// Shorter ranges are looked at value by value.
constexpr double kManyPositions = 16;

// Shorter runs are looked at value by value if their values are kept anyway.
constexpr uint32_t kShortRun = 8;

}  // namespace

Expander::Expander(const SpacePlan& plan, size_t max_edges)
    : plan_(plan), values_(plan.graph.bounds()), max_edges_(max_edges) {
  int words = 1;
  for (const Cut& cut : plan.cuts) words = std::max(words, cut.words());
  child_.resize(words);
}

void Expander::Enter(int number, const LevelPlan& level, const Cut& before, const Cut& after) {
  if (&level == level_) return;
  level_number_ = number;
  level_ = &level;
  before_ = &before;
  after_ = &after;
  for (int operation : level.unknown) values_[operation] = plan_.graph.bounds()[operation];
  decided_before_ = StateTable(static_cast<int>(level.deciding_words.size()), false);
  runs_before_.clear();
  calls_.assign(level.roots.size(), {});
  for (size_t root = 0; root < level.roots.size(); ++root) {
    if (!level.roots[root].is_predicate) continue;
    const Operation& operation = plan_.graph.operations()[level.roots[root].operation];
    PredicateCall& call = calls_[root];
    call.condition = &plan_.graph.predicates()[operation.number];
    call.codes.resize(operation.operands.size());
    for (size_t i = 0; i < operation.operands.size(); ++i) {
      const auto& leaves = level.leaves;
      const bool is_own =
          std::find(leaves.begin(), leaves.end(), operation.operands[i]) != leaves.end();
      if (is_own) call.own.push_back(i);
    }
  }
}

// What predicates look at, but for the level's parameter.
void Expander::GatherCodes() {
  for (size_t root = 0; root < calls_.size(); ++root) {
    if (calls_[root].condition == nullptr) continue;
    const Operation& operation = plan_.graph.operations()[level_->roots[root].operation];
    for (size_t i = 0; i < operation.operands.size(); ++i) {
      calls_[root].codes[i] = CodeOf(operation.operands[i]);
    }
  }
}

// As predicates see a parameter; see OperationCode::kCode.
int64_t Expander::CodeOf(int operand) const {
  const bool is_condition = plan_.graph.operations()[operand].kind == ValueKind::kCondition;
  const Bounds& value = values_[operand];
  return is_condition ? static_cast<int64_t>(value.can == kCanBeTrue) : value.lo.i;
}

uint8_t Expander::EvaluatePredicate(size_t root) {
  PredicateCall& call = calls_[root];
  const std::vector<int>& operands =
      plan_.graph.operations()[level_->roots[root].operation].operands;
  for (size_t place : call.own) call.codes[place] = CodeOf(operands[place]);
  return (*call.condition)(call.codes);
}

void Expander::LoadState(const uint64_t* state) {
  state_ = state;
  const Cut& cut = *before_;
  decided_ = true_ = 0;
  const int gate_words = cut.gate_words();
  if (gate_words == 1) {
    decided_ = state[0] & 0xffffffff;
    true_ = state[0] >> 32;
  } else if (gate_words == 2) {
    decided_ = state[0];
    true_ = state[1];
  }
  const uint64_t* word = state + gate_words;
  for (const Slot& slot : cut.slots) {
    values_[slot.operation] = UnpackWord(plan_.graph.operations()[slot.operation].kind, *word++);
  }
}

void Expander::EvaluatePredicate(const Operation& operation, Bounds& result) const {
  absl::InlinedVector<int64_t, 16> codes;
  for (int operand : operation.operands) codes.push_back(CodeOf(operand));
  result.can = plan_.graph.predicates()[operation.number](codes);
}

void Expander::RunStep(const Step& step, bool is_block) {
  Bounds& result = values_[step.operation];
  if ((step.gate & decided_) != 0) {
    result.can = (step.gate & true_) != 0 ? kCanBeTrue : kCanBeFalse;
    return;
  }
  if (step.is_integer && step.is_point && !is_block) {
    const Bounds& a = values_[step.a];
    const Bounds& b = values_[step.b];
    if ((a.can & b.can) == kCanBeDefined) {
      return EvaluateIntegerPoint(step.code, a.lo.i, b.lo.i, result);
    }
  }
  if (step.rest >= 0) return AddRest(values_[step.a], plan_.rests[step.rest], result);
  const Operation& operation = plan_.graph.operations()[step.operation];
  if (operation.code == OperationCode::kPredicate) {
    if (step.is_point && !is_block) {
      EvaluatePredicate(operation, result);
    } else {
      result.can = kCanBeFalse | kCanBeTrue | kCanBeUndefined;
    }
  } else if (step.is_point && !is_block) {
    EvaluatePoint(operation, values_.data(), result);
  } else {
    EvaluateBounds(operation, values_.data(), result);
  }
}

void Expander::RunSteps(const std::vector<Step>& steps, bool is_block) {
  for (const Step& step : steps) RunStep(step, is_block);
}

void Expander::SetParameter(uint32_t first, uint32_t last) {
  for (int leaf : level_->leaves) {
    if (plan_.graph.operations()[leaf].code == OperationCode::kCode) {
      values_[leaf] = Bounds::Integers(first, last);
    } else {
      const ParameterValues& values = plan_.values[level_->parameter];
      values_[leaf] = first == last ? values.BoundsAt(first) : values.BoundsOf(first, last);
    }
  }
}

void Expander::NoteUndefined(const LevelRoot& root, uint8_t can, uint32_t position) {
  if (!root.is_complete && (can & kCanBeFalse) != 0) return;
  const Incident incident{root.constraint, level_number_, prefix_, position};
  if ((can & kCanOverflow) != 0) {
    if (root.is_complete && overflow_.constraint < 0) overflow_ = incident;
  } else if ((can & kCanDivideByZero) != 0) {
    const bool is_known =
        std::any_of(divisions_by_zero_.begin(), divisions_by_zero_.end(),
                    [&](const Incident& known) { return known.constraint == incident.constraint; });
    if (!is_known) divisions_by_zero_.push_back(incident);
  }
}

bool Expander::HoldsAt(uint32_t position) {
  for (size_t number = 0; number < level_->roots.size(); ++number) {
    const LevelRoot& root = level_->roots[number];
    if ((root.gate & decided_) != 0) {
      values_[root.operation].can = kCanBeTrue;
      continue;
    }
    if (root.is_predicate) {
      values_[root.operation].can = EvaluatePredicate(number);
    } else {
      RunSteps(root.steps, false);
    }
    const uint8_t can = values_[root.operation].can;
    if ((can & kCanBeTrue) != 0) continue;
    if ((can & kCanBeUndefined) != 0) NoteUndefined(root, can, position);
    last_obstacle_ = root.constraint;
    return false;
  }
  return true;
}

uint64_t Expander::WordOf(const SlotSource& source) const {
  if (source.word >= 0) return state_[source.word];
  return PackWord(plan_.graph.operations()[source.operation].kind, values_[source.operation]);
}

bool Expander::WriteChild() {
  const Cut& cut = *after_;
  uint64_t decided = 0;
  uint64_t are_true = 0;
  for (size_t bit = 0; bit < cut.gates.size(); ++bit) {
    const uint64_t mask = uint64_t{1} << bit;
    if (!IsNeeded(cut.gates[bit].paths, decided)) {
      decided |= mask;
      continue;
    }
    const GateSource& source = level_->gate_sources[bit];
    if (source.bit >= 0) {
      decided |= (decided_ >> source.bit & 1) << bit;
      are_true |= (true_ >> source.bit & 1) << bit;
    } else if (source.operation >= 0) {
      const uint8_t can = values_[source.operation].can;
      if (can == kCanBeTrue || can == kCanBeFalse) decided |= mask;
      if (can == kCanBeTrue) are_true |= mask;
    }
  }
  const int gate_words = cut.gate_words();
  if (gate_words == 1) child_[0] = decided | are_true << 32;
  if (gate_words == 2) {
    child_[0] = decided;
    child_[1] = are_true;
  }
  bool is_same_for_all = true;
  for (size_t slot = 0; slot < cut.slots.size(); ++slot) {
    const SlotSource& source = level_->slot_sources[slot];
    uint64_t& word = child_[gate_words + slot];
    word = 0;
    if (!IsNeeded(cut.slots[slot].paths, decided)) continue;
    if (source.operation >= 0) is_same_for_all = false;
    word = WordOf(source);
  }
  return is_same_for_all;
}

void Expander::AddEdge(uint32_t first, uint32_t last) {
  if (!level_->is_uniform || uniform_child_ < 0) {
    if (level_->is_uniform) WriteChild();
    uniform_child_ = children_->NumberOf(child_.data());
  }
  const auto child = static_cast<uint32_t>(uniform_child_);
  if (edges_->size() > first_edge_) {
    RawEdge& before = edges_->back();
    if (before.child == child && before.last + 1 == first) {
      before.last = last;
      return;
    }
  }
  edges_->push_back({first, last, child});
}

void Expander::ExpandPoint(uint32_t position) {
  has_stopped_ |= edges_->size() >= max_edges_;
  if (has_stopped_) return;
  SetParameter(position, position);
  if (!HoldsAt(position)) return;
  if (!level_->is_uniform) WriteChild();
  AddEdge(position, position);
}

Expander::Verdict Expander::EvaluateRun(PositionRun run) {
  SetParameter(run.first, run.last);
  bool is_clear = true;
  for (const LevelRoot& root : level_->roots) {
    if ((root.gate & decided_) != 0) {
      values_[root.operation].can = kCanBeTrue;
      continue;
    }
    RunSteps(root.steps, true);
    const uint8_t can = values_[root.operation].can;
    if ((can & kCanBeTrue) == 0) {
      // What is undefined is looked at value by value, to tell the user.
      if ((can & kCanBeUndefined) != 0 && (can & kCanBeFalse) == 0) return Verdict::kUnclear;
      last_obstacle_ = root.constraint;
      return Verdict::kNone;
    }
    is_clear &= !root.is_complete || can == kCanBeTrue;
  }
  return is_clear && (level_->is_uniform || WriteChild()) ? Verdict::kAll : Verdict::kUnclear;
}

void Expander::ExpandRun(PositionRun run) {
  if (has_stopped_) return;
  const uint32_t size = run.last - run.first + 1;
  if (size <= 2 || (size <= kShortRun && level_->keeps_parameter)) {
    for (uint32_t position = run.first; position <= run.last && !has_stopped_; ++position) {
      ExpandPoint(position);
    }
    return;
  }
  switch (EvaluateRun(run)) {
    case Verdict::kNone:
      return;
    case Verdict::kAll:
      return AddEdge(run.first, run.last);
    case Verdict::kUnclear:
      const uint32_t middle = run.first + (run.last - run.first) / 2;
      ExpandRun({run.first, middle});
      ExpandRun({middle + 1, run.last});
  }
}

bool Expander::ExpandFactors() {
  double positions = 0;
  for (const PositionRun& run : level_->domain) positions += run.last - run.first + 1.0;
  if (positions < kManyPositions) return false;
  std::optional<std::vector<uint32_t>> fewest;
  for (const LevelRoot& root : level_->roots) {
    if ((root.gate & decided_) != 0) continue;
    for (const Factor& factor : root.factors) {
      std::optional<std::vector<uint32_t>> found =
          factor_positions_.Of(factor, plan_.graph.operations()[factor.of].kind, values_[factor.of],
                               plan_.values[level_->parameter], positions);
      if (found && (!fewest || found->size() < fewest->size())) fewest = std::move(found);
    }
  }
  if (!fewest) return false;
  auto run = level_->domain.begin();
  for (uint32_t position : *fewest) {
    while (run != level_->domain.end() && run->last < position) ++run;
    if (run == level_->domain.end()) break;
    if (run->first <= position) ExpandPoint(position);
  }
  return true;
}

void Expander::Expand(int level, const uint64_t* state, uint32_t prefix, StateTable& children,
                      std::vector<RawEdge>& edges) {
  Enter(level, plan_.levels[level], plan_.cuts[level], plan_.cuts[level + 1]);
  ExpandLevel(state, prefix, children, edges);
}

std::vector<PositionRun> Expander::Filter(const LevelPlan& level, uint32_t prefix) {
  const Cut nothing;
  StateTable children(0, false);
  std::vector<RawEdge> edges;
  level_ = nullptr;
  Enter(0, level, nothing, nothing);
  ExpandLevel(nullptr, prefix, children, edges);
  level_ = nullptr;
  std::vector<PositionRun> runs;
  for (const RawEdge& edge : edges) runs.push_back({edge.first, edge.last});
  return runs;
}

void Expander::ExpandLevel(const uint64_t* state, uint32_t prefix, StateTable& children,
                           std::vector<RawEdge>& edges) {
  LoadState(state);
  prefix_ = prefix;
  children_ = &children;
  edges_ = &edges;
  first_edge_ = edges.size();
  uniform_child_ = -1;
  if (level_->has_deciding_words) return ExpandAsBefore();
  ExpandDomain();
}

void Expander::ExpandAsBefore() {
  // More are not remembered.
  constexpr uint32_t kMaxRemembered = 1 << 14;
  words_.clear();
  for (int word : level_->deciding_words) words_.push_back(state_[word]);
  const uint32_t known = decided_before_.count();
  if (known >= kMaxRemembered) return ExpandDomain();
  const uint32_t number = decided_before_.NumberOf(words_.data());
  if (number < runs_before_.size()) {
    for (const PositionRun& run : runs_before_[number]) AddEdge(run.first, run.last);
    return;
  }
  ExpandDomain();
  std::vector<PositionRun>& runs = runs_before_.emplace_back();
  for (size_t edge = first_edge_; edge < edges_->size(); ++edge) {
    runs.push_back({(*edges_)[edge].first, (*edges_)[edge].last});
  }
}

void Expander::ExpandDomain() {
  bool is_free = true;
  bool is_opaque = true;
  for (const LevelRoot& root : level_->roots) {
    is_free &= (root.gate & decided_) != 0;
    is_opaque &= root.is_predicate;
  }
  RunSteps(level_->prelude, true);
  GatherCodes();
  if (is_free) {
    for (const LevelRoot& root : level_->roots) values_[root.operation].can = kCanBeTrue;
    if (WriteChild()) {
      for (const PositionRun& run : level_->domain) AddEdge(run.first, run.last);
      return;
    }
  }
  const bool has_order = plan_.values[level_->parameter].is_increasing() && !is_opaque;
  if (has_order && ExpandFactors()) return;
  for (const PositionRun& run : level_->domain) {
    if (has_order) {
      ExpandRun(run);
      continue;
    }
    for (uint32_t position = run.first; position <= run.last && !has_stopped_; ++position) {
      ExpandPoint(position);
    }
  }
}

}  // namespace mdh
