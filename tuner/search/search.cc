// Order and bookkeeping of a search: what was asked, what is known, what the technique may know by
// then.
#include "tuner/search/search.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "tuner/space/sample_without_replacement.h"

namespace mdh {
namespace {

// A technique that proposes so many known configurations in a row is stuck; then a new one is
// drawn.
constexpr int kMaxRepeats = 200;
// So many rejected ones a technique hears of in a row, as to learn takes time, and so many are
// drawn before one is proposed though it was rejected.
constexpr int kMaxRejected = 8;
constexpr int kMaxDrawn = 2000;
// Draws from a space that is not counted, before it is enumerated.
constexpr int kMaxAttempts = 200;
// Techniques that draw with the same seed shall not draw the same.
constexpr uint64_t kSaltOfUntried = 0x9e3779b97f4a7c15;

}  // namespace

// Configurations that were not tried yet, in random order.
class Untried {
 public:
  Untried(const SearchSpace& space, uint64_t seed) : space_(space), rng_(seed ^ kSaltOfUntried) {
    if (!space_.is_lazy()) sample_.emplace(space_, seed ^ kSaltOfUntried);
  }

  // Whether so many different configurations are all of the space; false if it is not counted.
  bool AllTried(int64_t tried) const {
    return !space_.is_lazy() && Count(static_cast<signed long>(tried)) >= space_.count();
  }
  // One that was not tried, nor returned before and then tried; nullopt if there is none. Expects
  // that what was tried once stays tried.
  std::optional<Configuration> Draw(const std::function<bool(const Configuration&)>& is_tried) {
    if (sample_) {
      while (std::optional<Configuration> drawn = sample_->Next()) {
        if (!is_tried(*drawn)) return drawn;
      }
      return std::nullopt;
    }
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      Configuration drawn = space_.Sample(rng_);
      if (!is_tried(drawn)) return drawn;
    }
    std::optional<Configuration> found;
    space_.Enumerate([&found, &is_tried](const Configuration& at) {
      if (is_tried(at)) return true;
      found = at;
      return false;
    });
    return found;
  }

 private:
  SearchSpace space_;
  Rng rng_;
  std::optional<SampleWithoutReplacement> sample_;  // unless lazy
};

struct Search::State {
  // One evaluation. Numbers are positions in `trials` plus one.
  struct Trial {
    Configuration configuration;
    bool is_technique = false;  // else the technique is informed
    bool is_told = false;
    Cost cost = std::nullopt;
  };

  State(SearchSpace s, SearchOptions o, std::unique_ptr<SearchTechnique> t)
      : space(std::move(s)),
        options(std::move(o)),
        technique(std::move(t)),
        untried(space, options.seed),
        cut(space, options.bound, options.gap, options.incumbent) {}

  void AddStart();
  bool Prepare();
  bool Propose();
  void DeliverUpTo(int64_t number);
  void AnswerCalls();
  void InitializeTechnique(std::shared_ptr<const CostBound> bound);
  void Add(Configuration configuration, bool is_technique);
  bool HasAll() const;
  int64_t told_in_order();

  SearchSpace space;
  SearchOptions options;
  std::unique_ptr<SearchTechnique> technique;
  Untried untried;

  std::deque<Configuration> start;
  std::vector<Trial> trials;
  absl::flat_hash_map<Configuration, int64_t> numbers;  // of trials
  int64_t asked = 0;        // trials given out; at most one more is prepared
  int64_t told_prefix = 0;  // all up to this number are told
  int64_t delivered = 0;    // results up to this number are known to the technique
  // Calls of Next() that were not reported: numbers of the trials that answer them, or 0 for what
  // was rejected.
  struct Call {
    int64_t number;
    Configuration rejected = {};
    double cost = 0;  // of that
  };
  std::deque<Call> calls;
  SearchCut cut;
  std::set<int64_t> outstanding;
  bool is_done = false;
  int64_t evaluations = 0;
  int64_t valid_evaluations = 0;
  std::optional<Evaluation> best;
};

void Search::State::InitializeTechnique(std::shared_ptr<const CostBound> bound) {
  technique->SetBound({std::move(bound), options.gap, options.incumbent, options.estimate});
  technique->Initialize(space, options.seed);
}

void Search::State::AddStart() {
  for (const Configuration& wanted : options.start) {
    start.push_back(space.Contains(wanted) ? wanted : space.Nearest(wanted));
  }
}

void Search::State::Add(Configuration configuration, bool is_technique) {
  cut.Forget(configuration);
  numbers.emplace(configuration, static_cast<int64_t>(trials.size()) + 1);
  trials.push_back({.configuration = std::move(configuration), .is_technique = is_technique});
  if (is_technique) calls.push_back({static_cast<int64_t>(trials.size())});
}

int64_t Search::State::told_in_order() {
  while (told_prefix < static_cast<int64_t>(trials.size()) &&
         trials[static_cast<size_t>(told_prefix)].is_told) {
    ++told_prefix;
  }
  return told_prefix;
}

// Makes the next trial, unless there is one that was not given out. False if it cannot be made now
// (more must be told) or ever (is_done).
bool Search::State::Prepare() {
  if (asked < static_cast<int64_t>(trials.size())) return true;
  if (is_done) return false;
  const int64_t needed = asked + 1 - options.lookahead;
  if (needed > told_in_order()) return false;
  DeliverUpTo(needed);
  if (!cut.is_within_gap() && Propose()) return true;
  is_done = true;
  return false;
}

bool Search::State::Propose() {
  while (!start.empty()) {
    Configuration configuration = std::move(start.front());
    start.pop_front();
    if (numbers.contains(configuration)) continue;
    Add(std::move(configuration), false);
    return true;
  }
  if (HasAll() || technique->HasProvenAll()) return false;
  int rejected = 0;
  for (int repeats = 0; repeats < kMaxRepeats && rejected < kMaxRejected; ++repeats) {
    std::optional<Configuration> next = technique->Next();
    if (!next) {
      if (calls.empty()) return false;
      break;
    }
    const auto known = numbers.find(*next);
    if (known != numbers.end()) {
      calls.push_back({known->second});
    } else if (const std::optional<double> cost = cut.Reject(*next)) {
      ++rejected;
      calls.push_back({.number = 0, .rejected = *std::move(next), .cost = *cost});
    } else {
      Add(*std::move(next), true);
      return true;
    }
    AnswerCalls();
  }
  int drawn_rejected = 0;
  std::optional<Configuration> drawn = untried.Draw([&](const Configuration& at) {
    if (numbers.contains(at)) return true;
    return cut.Reject(at).has_value() && ++drawn_rejected < kMaxDrawn;
  });
  if (!drawn) return false;
  Add(*std::move(drawn), false);
  return true;
}

// Whether nothing is left that was neither tried nor rejected.
bool Search::State::HasAll() const {
  return untried.AllTried(static_cast<int64_t>(trials.size()) + cut.rejected());
}

void Search::State::DeliverUpTo(int64_t number) {
  while (delivered < number) {
    const Trial& trial = trials[static_cast<size_t>(delivered)];
    ++delivered;
    const bool was_on = cut.is_on();
    cut.Learn(trial.configuration, trial.cost);
    // What was rejected may be drawn again.
    if (was_on && !cut.is_on()) {
      untried = Untried(space, options.seed);
      technique->SetBound({.estimate = options.estimate});
    }
    if (!trial.is_technique) technique->Inform(trial.configuration, trial.cost);
    AnswerCalls();
  }
}

void Search::State::AnswerCalls() {
  while (!calls.empty() && calls.front().number <= delivered) {
    const Call call = std::move(calls.front());
    calls.pop_front();
    if (call.number == 0) {
      technique->Skip(call.rejected, call.cost);
      continue;
    }
    const Trial& trial = trials[static_cast<size_t>(call.number - 1)];
    technique->Report(trial.configuration, trial.cost);
  }
}

Result<Search> Search::Create(SearchSpace space, SearchOptions options) {
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<SearchTechnique> technique,
                       SearchTechniqueNamed(options.technique));
  if (options.lookahead < 1) {
    return InvalidArgument("lookahead must be at least 1, not ", options.lookahead);
  }
  if (!(options.gap >= 0 && options.gap < 1)) {
    return InvalidArgument("the gap must be at least 0 and less than 1, not ", options.gap);
  }
  const size_t size = space.parameters().size();
  for (size_t i = 0; i < options.start.size(); ++i) {
    if (options.start[i].size() == size) continue;
    return InvalidArgument("start configuration ", i, " has ", options.start[i].size(),
                           " values, the space has ", size, " parameters");
  }
  auto state = std::make_unique<State>(std::move(space), std::move(options), std::move(technique));
  state->InitializeTechnique(state->options.bound);
  state->AddStart();
  return Search(std::move(state));
}

Search::Search(std::unique_ptr<State> state) : state_(std::move(state)) {}
Search::Search(Search&&) noexcept = default;
Search& Search::operator=(Search&&) noexcept = default;
Search::~Search() = default;

const SearchSpace& Search::space() const { return state_->space; }
const SearchOptions& Search::options() const { return state_->options; }
int64_t Search::evaluations() const { return state_->evaluations; }
int64_t Search::valid_evaluations() const { return state_->valid_evaluations; }
const std::optional<Evaluation>& Search::best() const { return state_->best; }

int64_t Search::left_out() const { return state_->cut.rejected(); }

CutFigures Search::cut() const {
  const SearchCut& cut = state_->cut;
  CutFigures figures;
  if (!space().is_lazy()) figures.space_count = space().count();
  figures.is_contradicted = cut.is_contradicted();
  if (!cut.is_on()) return figures;
  const SearchTechnique& technique = *state_->technique;
  double least = std::max(cut.space_bound(), technique.ProvenBound().value_or(0));
  bool is_all_told = true;
  int64_t others = 0;  // that the technique did not propose, but may count
  for (const State::Trial& trial : state_->trials) {
    others += trial.is_technique ? 0 : 1;
    if (trial.is_told && trial.cost.has_value() && *trial.cost < cut.BoundOf(trial.configuration)) {
      figures.is_contradicted = true;
      return figures;
    }
    if (trial.is_told) continue;
    is_all_told = false;
    least = std::min(least, cut.BoundOf(trial.configuration));
  }
  if (best().has_value()) least = std::min(least, *best()->cost);
  const bool is_known = best().has_value();
  const bool is_cut_whole =
      cut.is_within_gap() || (is_known && cut.IsWithinGap(cut.space_bound(), *best()->cost));
  const bool is_cut_left = technique.HasProvenAll() || is_cut_whole;
  figures.space_bound = least;
  figures.proven_worse = static_cast<long>(cut.rejected());
  figures.is_whole = is_cut_whole || ((is_cut_left || state_->HasAll()) && is_all_told);
  figures.is_within_gap = is_cut_whole || (is_known && cut.IsWithinGap(least, *best()->cost));
  if (space().is_lazy()) return figures;
  const Count tried = static_cast<long>(state_->trials.size());
  const Count worse = is_cut_left ? Count(space().count() - tried)
                                  : Count(technique.ProvenWorse() - static_cast<long>(others));
  if (worse > figures.proven_worse) figures.proven_worse = worse;
  return figures;
}

std::vector<Proposal> Search::Ask(int count) {
  std::vector<Proposal> proposals;
  while (static_cast<int>(proposals.size()) < count && state_->Prepare()) {
    const State::Trial& trial = state_->trials[static_cast<size_t>(state_->asked)];
    ++state_->asked;
    state_->outstanding.insert(state_->asked);
    proposals.push_back({.number = state_->asked, .configuration = trial.configuration});
  }
  return proposals;
}

Status Search::Tell(int64_t number, Cost cost) {
  if (number < 1 || number > state_->asked) {
    return NotFound("proposal ", number, " was not asked for");
  }
  State::Trial& trial = state_->trials[static_cast<size_t>(number - 1)];
  if (trial.is_told) return AlreadyExists("the cost of proposal ", number, " is known");
  if (cost && !std::isfinite(*cost)) {
    return InvalidArgument("the cost of proposal ", number, " is not finite");
  }
  trial.is_told = true;
  trial.cost = cost;
  state_->outstanding.erase(number);
  ++state_->evaluations;
  if (!cost) return absl::OkStatus();
  ++state_->valid_evaluations;
  std::optional<Evaluation>& best = state_->best;
  if (!best || *cost < *best->cost || (*cost == *best->cost && number < best->number)) {
    best = Evaluation{.number = number, .configuration = trial.configuration, .cost = cost};
  }
  return absl::OkStatus();
}

std::vector<Proposal> Search::outstanding() const {
  std::vector<Proposal> proposals;
  for (const int64_t number : state_->outstanding) {
    proposals.push_back(
        {.number = number,
         .configuration = state_->trials[static_cast<size_t>(number - 1)].configuration});
  }
  return proposals;
}

bool Search::is_exhausted() { return state_->outstanding.empty() && !state_->Prepare(); }

}  // namespace mdh
