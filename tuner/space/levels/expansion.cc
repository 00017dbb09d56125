#include "tuner/space/levels/expansion.h"

#include <algorithm>
#include <bit>

namespace mdh {
namespace {

// Shorter ranges are looked at value by value.
constexpr double kManyPositions = 16;

// Shorter runs are looked at value by value if their values are kept anyway.
constexpr uint32_t kShortRun = 8;

}  // namespace

Expander::Expander(const SpacePlan& plan, size_t max_edges)
    : plan_(plan), evaluator_(plan), max_edges_(max_edges) {}

void Expander::Enter(int number, const LevelPlan& level, const Cut& before, const Cut& after) {
  if (&level == level_) return;
  level_number_ = number;
  level_ = &level;
  before_ = &before;
  after_ = &after;
  evaluator_.Enter(level, before);
  child_.Enter(level, before, after);
  has_tables_ = !level.tables.empty() && columns_ != nullptr &&
                tables_.Enter(level, before, after, *columns_);
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
      const bool is_own = std::ranges::find(leaves, operation.operands[i]) != leaves.end();
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
      calls_[root].codes[i] = evaluator_.CodeOf(operation.operands[i]);
    }
  }
}

uint8_t Expander::EvaluatePredicate(size_t root) {
  PredicateCall& call = calls_[root];
  const std::vector<int>& operands =
      plan_.graph.operations()[level_->roots[root].operation].operands;
  for (size_t place : call.own) call.codes[place] = evaluator_.CodeOf(operands[place]);
  return (*call.condition)(call.codes);
}

void Expander::NoteUndefined(const LevelRoot& root, uint8_t can, uint32_t position) {
  if (!root.is_complete && (can & kCanBeFalse) != 0) return;
  const Incident incident{root.constraint, level_number_, prefix_, position};
  if ((can & kCanOverflow) != 0) {
    if (root.is_complete && overflow_.constraint < 0) overflow_ = incident;
  } else if ((can & kCanDivideByZero) != 0) {
    const bool is_known = std::ranges::any_of(divisions_by_zero_, [&](const Incident& known) {
      return known.constraint == incident.constraint;
    });
    if (!is_known) divisions_by_zero_.push_back(incident);
  }
}

bool Expander::HoldsAt(uint32_t position) {
  for (size_t number = 0; number < level_->roots.size(); ++number) {
    const LevelRoot& root = level_->roots[number];
    if ((root.gate & evaluator_.decided()) != 0) {
      evaluator_.value(root.operation).can = kCanBeTrue;
      continue;
    }
    if (root.is_predicate) {
      evaluator_.value(root.operation).can = EvaluatePredicate(number);
    } else {
      evaluator_.Run(root.steps, false);
    }
    const uint8_t can = evaluator_.value(root.operation).can;
    if ((can & kCanBeTrue) != 0) continue;
    if ((can & kCanBeUndefined) != 0) NoteUndefined(root, can, position);
    NoteObstacle(root.constraint);
    return false;
  }
  return true;
}

bool Expander::WriteChild() {
  GateValues own;
  for (const int bit : child_.own_gates()) {
    const uint8_t can = evaluator_.value(after_->gates[bit].operation).can;
    own.decided |= uint64_t{can == kCanBeTrue || can == kCanBeFalse} << bit;
    own.are_true |= uint64_t{can == kCanBeTrue} << bit;
  }
  for (const int slot : child_.own_slots()) {
    child_.word(slot) = evaluator_.WordOf(after_->slots[slot].operation);
  }
  child_.Write(own);
  return child_.is_same_for_all();
}

void Expander::AddEdge(uint32_t first, uint32_t last) {
  if (!level_->is_uniform || uniform_child_ < 0) {
    if (level_->is_uniform && !is_tabulated_) WriteChild();
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
  evaluator_.SetParameter(position, position);
  if (!HoldsAt(position)) return;
  if (!level_->is_uniform) WriteChild();
  AddEdge(position, position);
}

Expander::Verdict Expander::EvaluateRun(PositionRun run) {
  evaluator_.SetParameter(run.first, run.last);
  bool is_clear = true;
  for (const LevelRoot& root : level_->roots) {
    if ((root.gate & evaluator_.decided()) != 0) {
      evaluator_.value(root.operation).can = kCanBeTrue;
      continue;
    }
    evaluator_.Run(root.steps, true);
    const uint8_t can = evaluator_.value(root.operation).can;
    if ((can & kCanBeTrue) == 0) {
      // What is undefined is looked at value by value, to tell the user.
      if ((can & kCanBeUndefined) != 0 && (can & kCanBeFalse) == 0) return Verdict::kUnclear;
      NoteObstacle(root.constraint);
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
    if ((root.gate & evaluator_.decided()) != 0) continue;
    for (const Factor& factor : root.factors) {
      std::optional<std::vector<uint32_t>> found = factor_positions_.Of(
          factor, plan_.graph.operations()[factor.of].kind, evaluator_.value(factor.of),
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
  state_ = state;
  child_.Begin(state);
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

bool Expander::ExpandTables() {
  is_tabulated_ = has_tables_ && tables_.Find(state_, prefix_, evaluator_);
  if (!is_tabulated_) return false;
  if (tables_.holds() == 0) {
    is_obstacle_pending_ = true;
    pending_state_ = state_;
    return true;
  }
  for (uint64_t left = tables_.holds(); left != 0; left &= left - 1) {
    has_stopped_ |= edges_->size() >= max_edges_;
    if (has_stopped_) return true;
    const int place = std::countr_zero(left);
    tables_.WriteChild(place, child_);
    const uint32_t position = tables_.positions()[place];
    AddEdge(position, position);
  }
  return true;
}

int Expander::last_obstacle() {
  if (!is_obstacle_pending_) return last_obstacle_;
  // The last position of that state is ruled out by one of the conditions.
  evaluator_.LoadState(pending_state_);
  evaluator_.Run(level_->prelude, true);
  const uint32_t position = level_->domain.back().last;
  evaluator_.SetParameter(position, position);
  HoldsAt(position);
  return last_obstacle_;
}

void Expander::ExpandDomain() {
  if (ExpandTables()) return;
  evaluator_.LoadState(state_);
  bool is_free = true;
  bool is_opaque = true;
  for (const LevelRoot& root : level_->roots) {
    is_free &= (root.gate & evaluator_.decided()) != 0;
    is_opaque &= root.is_predicate;
  }
  evaluator_.Run(level_->prelude, true);
  GatherCodes();
  if (is_free) {
    for (const LevelRoot& root : level_->roots) evaluator_.value(root.operation).can = kCanBeTrue;
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
