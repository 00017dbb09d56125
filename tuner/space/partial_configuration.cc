#include "tuner/space/partial_configuration.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tuner/space/diagram/nearest.h"
#include "tuner/space/diagram/restricted_counts.h"
#include "tuner/space/named_decision.h"
#include "tuner/space/random_number.h"
#include "tuner/space/search_space_implementation.h"

namespace mdh {

std::string RestrictionText(const TuningParameter& parameter, const Domain& domain,
                            const ValueNames& names) {
  constexpr size_t kShown = 8;
  std::vector<std::string> values;
  for (uint64_t n = 0; n < domain.count(); ++n) {
    if (values.size() == kShown) {
      values.push_back("...");
      break;
    }
    values.push_back(ValueText(parameter, parameter.range.CodeAt(domain.At(0, n)), names));
  }
  return absl::StrCat("'", parameter.name, "' to {", absl::StrJoin(values, ", "), "}");
}

namespace {

// The plan with the values that are left; false if a parameter has none.
bool Restrict(const Domains& domains, SpacePlan& plan) {
  for (int number = 0; number < plan.level_count(); ++number) {
    LevelPlan& level = plan.levels[number];
    std::vector<PositionRun> left;
    for (const PositionRun& run : level.domain) domains[number].AppendPartOf(run, left);
    if (left.empty()) return false;
    level.domain = std::move(left);
  }
  return true;
}

}  // namespace

// The counts refer to the diagram and to the domains beside them.
class PartialConfiguration::State {
 public:
  using Names = std::shared_ptr<const std::vector<ValueNames>>;

  State(SearchSpace space, Names names, Domains domains)
      : space(std::move(space)), names(std::move(names)), domains(std::move(domains)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // `like`: differs in the domain of that level at most. nullptr: nothing remains, or of lazy
  // spaces, nothing was found.
  static std::shared_ptr<const State> Create(SearchSpace space, Names names, Domains domains,
                                             const State* like, int level) {
    auto state = std::make_shared<State>(std::move(space), std::move(names), std::move(domains));
    const SearchSpace::Implementation& of = state->implementation();
    if (of.lazy != nullptr) return FindLazy(*of.lazy, like, *state) ? state : nullptr;
    state->counts = RestrictedCounts::Create(of.diagram, state->domains,
                                             like == nullptr ? nullptr : like->counts.get(), level);
    state->count = state->counts->count();
    return state->count == 0 ? nullptr : state;
  }

  const SearchSpace::Implementation& implementation() const { return *space.implementation_; }
  int LevelOf(int parameter) const { return implementation().level_of_parameter[parameter]; }
  const PositionCodes& CodesOf(int parameter) const { return implementation().codes[parameter]; }
  Domain DomainOf(int parameter) const { return domains[LevelOf(parameter)]; }

  // The same but for the parameter's domain; nullptr as of Create.
  std::shared_ptr<const State> With(int parameter, Domain domain) const {
    const int level = LevelOf(parameter);
    Domains changed = domains;
    changed.Set(level, std::move(domain));
    return Create(space, names, std::move(changed), this, level);
  }

  // Errors: InvalidArgument for codes that the range does not have.
  Result<Domain> DomainWith(int parameter, absl::Span<const int64_t> wanted) const {
    const TuningParameter& of = space.parameters()[parameter];
    std::vector<uint32_t> positions;
    for (int64_t code : wanted) {
      positions.push_back(CodesOf(parameter).PositionOf(code));
      if (positions.back() != PositionCodes::kNone) continue;
      return InvalidArgument("the range of '", of.name, "' (", of.range.ToText(),
                             ") has no value with code ", code);
    }
    return Domain(CodesOf(parameter).size(), std::move(positions));
  }

  std::vector<int> Decided() const {
    std::vector<int> decided;
    for (int parameter = 0; parameter < implementation().depth(); ++parameter) {
      if (!DomainOf(parameter).is_all()) decided.push_back(parameter);
    }
    return decided;
  }

  // Those that were decided of which none can be left out if none is to be in `domain` of the
  // parameter: each is left out that can be.
  std::vector<int> Contradicted(int parameter, const Domain& domain) const {
    std::vector<int> needed = Decided();
    std::erase(needed, parameter);
    const auto is_empty = [&](const std::vector<int>& decided) {
      Domains some = implementation().AllPositions();
      for (int other : decided) some.Set(LevelOf(other), DomainOf(other));
      some.Set(LevelOf(parameter), domain);
      return Create(space, names, std::move(some), nullptr, 0) == nullptr;
    };
    for (size_t n = needed.size(); n-- > 0;) {
      std::vector<int> fewer = needed;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(n));
      if (is_empty(fewer)) needed = std::move(fewer);
    }
    return needed;
  }

  // Configurations of the parameter's values.
  std::vector<CountedRun> RunsOf(int parameter) const {
    const int level = LevelOf(parameter);
    if (lazy == nullptr) return counts->PositionsAt(level);
    std::vector<CountedRun> runs;
    for (const PositionRun& run : lazy->plan().levels[level].domain) {
      runs.push_back({run.first, run.last, 0});
    }
    return runs;
  }

  const SearchSpace space;
  const Names names;
  const Domains domains;  // by level
  // One of the two.
  std::shared_ptr<const RestrictedCounts> counts;
  std::shared_ptr<const LazySpace> lazy;
  Count count;

 private:
  static bool FindLazy(const LazySpace& whole, const State* like, State& state) {
    SpacePlan plan = whole.plan();
    if (!Restrict(state.domains, plan)) return false;
    // One that is known may still be there.
    const std::vector<uint32_t>& known = like == nullptr ? whole.first() : like->lazy->first();
    bool is_left = true;
    for (size_t level = 0; level < known.size(); ++level) {
      is_left = is_left && state.domains[level].Contains(known[level]);
    }
    auto lazy = std::make_shared<LazySpace>(std::move(plan), whole.max_bytes(),
                                            is_left ? known : std::vector<uint32_t>());
    bool is_empty = false;
    if (!is_left && !lazy->FindFirst(is_empty)) return false;
    state.lazy = std::move(lazy);
    return true;
  }
};

PartialConfiguration::PartialConfiguration(SearchSpace space, std::vector<ValueNames> names) {
  Domains all = space.implementation_->AllPositions();
  names.resize(space.parameters().size());
  state_ = State::Create(std::move(space),
                         std::make_shared<const std::vector<ValueNames>>(std::move(names)),
                         std::move(all), nullptr, 0);
}

const SearchSpace& PartialConfiguration::space() const { return state_->space; }

Result<PartialConfiguration> PartialConfiguration::Narrowed(int parameter,
                                                            const Domain& with) const {
  const Domain domain = with.Intersected(state_->DomainOf(parameter));
  if (domain == state_->DomainOf(parameter)) return *this;
  auto narrower = state_->With(parameter, domain);
  if (narrower != nullptr) return PartialConfiguration(std::move(narrower));
  std::string text = absl::StrCat("no configuration remains after restricting ",
                                  RestrictionText(space().parameters()[parameter], domain));
  if (is_lazy()) return FailedPrecondition(text);
  std::vector<std::string> others;
  for (int other : state_->Contradicted(parameter, domain)) others.push_back(DecisionText(other));
  if (!others.empty()) {
    absl::StrAppend(&text, ", as that contradicts ", absl::StrJoin(others, ", "));
  }
  return FailedPrecondition(text);
}

Result<PartialConfiguration> PartialConfiguration::Decide(int parameter,
                                                          absl::Span<const int64_t> keep) const {
  MDH_ASSIGN_OR_RETURN(const Domain domain, state_->DomainWith(parameter, keep));
  return Narrowed(parameter, domain);
}

Result<PartialConfiguration> PartialConfiguration::With(
    absl::Span<const Decision> decisions) const {
  std::vector<Domain> kept;
  for (const auto& [parameter, codes, is_forbidden] : decisions) {
    MDH_ASSIGN_OR_RETURN(Domain domain, state_->DomainWith(parameter, codes));
    kept.push_back(is_forbidden ? domain.Complement() : std::move(domain));
  }
  // After the first ones; nullptr: nothing remains.
  const auto after = [&](size_t count) {
    Domains domains = state_->domains;
    for (size_t n = 0; n < count; ++n) {
      const int level = state_->LevelOf(decisions[n].parameter);
      domains.Set(level, domains[level].Intersected(kept[n]));
    }
    return State::Create(space(), state_->names, std::move(domains), nullptr, 0);
  };
  auto all = after(kept.size());
  if (all != nullptr) return PartialConfiguration(std::move(all));
  size_t some = 0, none = kept.size();  // so many leave something, so many nothing
  while (none - some > 1) {
    const size_t middle = some + (none - some) / 2;
    (after(middle) == nullptr ? none : some) = middle;
  }
  return PartialConfiguration(after(some)).Narrowed(decisions[some].parameter, kept[some]);
}

PartialConfiguration PartialConfiguration::Undo(int parameter) const {
  const Domain domain = state_->DomainOf(parameter);
  if (domain.is_all()) return *this;
  return PartialConfiguration(state_->With(parameter, Domain(domain.size())));
}

std::vector<int> PartialConfiguration::Decided() const { return state_->Decided(); }

bool PartialConfiguration::Allows(int parameter, int64_t code) const {
  const uint32_t position = state_->CodesOf(parameter).PositionOf(code);
  return position != PositionCodes::kNone && state_->DomainOf(parameter).Contains(position);
}

std::string PartialConfiguration::DecisionText(int parameter) const {
  return RestrictionText(space().parameters()[parameter], state_->DomainOf(parameter),
                         (*state_->names)[parameter]);
}

std::vector<int> PartialConfiguration::WhyNot(int parameter,
                                              absl::Span<const int64_t> codes) const {
  Result<Domain> domain = state_->DomainWith(parameter, codes);
  if (!domain.ok()) return {};
  const Domain own = domain->Intersected(state_->DomainOf(parameter));
  if (own.empty()) return {parameter};
  return state_->Contradicted(parameter, own);
}

const Count& PartialConfiguration::count() const { return state_->count; }

std::vector<ValueCount> PartialConfiguration::Remaining(int parameter, size_t most) const {
  std::vector<ValueCount> values;
  for (const CountedRun& run : state_->RunsOf(parameter)) {
    for (uint64_t position = run.first; position <= run.last; ++position) {
      if (values.size() == most) return values;
      const auto at = static_cast<uint32_t>(position);
      values.push_back({state_->CodesOf(parameter).CodeAt(at), run.count});
    }
  }
  return values;
}

uint64_t PartialConfiguration::RemainingValues(int parameter) const {
  uint64_t values = 0;
  for (const CountedRun& run : state_->RunsOf(parameter)) {
    values += uint64_t{run.last} - run.first + 1;
  }
  return values;
}

std::vector<int> PartialConfiguration::Open() const {
  std::vector<int> open;
  for (int parameter = 0; parameter < state_->implementation().depth(); ++parameter) {
    if (RemainingValues(parameter) > 1) open.push_back(parameter);
  }
  return open;
}

bool PartialConfiguration::is_complete() const {
  return is_lazy() ? Open().empty() : state_->count == 1;
}

bool PartialConfiguration::Contains(absl::Span<const int64_t> configuration) const {
  if (!space().Contains(configuration)) return false;
  for (int parameter = 0; parameter < state_->implementation().depth(); ++parameter) {
    if (!Allows(parameter, configuration[parameter])) return false;
  }
  return true;
}

Configuration PartialConfiguration::Sample(Rng& rng) const {
  const SearchSpace::Implementation& of = state_->implementation();
  if (is_lazy()) return of.ToConfiguration(state_->lazy->Sample(rng));
  std::vector<uint32_t> positions(of.parameters.size());
  state_->counts->At(RandomBelow(rng, state_->count), absl::MakeSpan(positions));
  return of.ToConfiguration(positions);
}

Configuration PartialConfiguration::Nearest(absl::Span<const int64_t> wanted) const {
  if (Contains(wanted)) return Configuration(wanted.begin(), wanted.end());
  const SearchSpace::Implementation& of = state_->implementation();
  const std::vector<uint32_t> positions = of.WantedPositions(wanted);
  return of.ToConfiguration(is_lazy() ? state_->lazy->Nearest(positions)
                                      : NearestPositions(of.diagram, state_->domains, positions));
}

SearchSpace PartialConfiguration::AsSpace() const {
  auto space = std::make_shared<SearchSpace::Implementation>(state_->implementation());
  if (space->restricted.size() == 0) space->restricted = space->AllPositions();
  for (int level = 0; level < space->depth(); ++level) {
    const Domain left = space->restricted[level].Intersected(state_->domains[level]);
    space->restricted.Set(level, left);
  }
  space->lazy = state_->lazy;
  if (!is_lazy()) space->diagram = *Diagram::Build(space->diagram.Restricted(state_->domains));
  return SearchSpace(std::move(space));
}

size_t PartialConfiguration::bytes() const {
  return sizeof(State) - sizeof(Domains) + state_->domains.bytes();
}

bool operator==(const PartialConfiguration& a, const PartialConfiguration& b) {
  return &a.state_->implementation() == &b.state_->implementation() &&
         a.state_->domains == b.state_->domains;
}

}  // namespace mdh
