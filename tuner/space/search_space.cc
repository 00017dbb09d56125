#include "tuner/space/search_space.h"

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "tuner/space/diagram/diagram_queries.h"
#include "tuner/space/diagram/nearest.h"
#include "tuner/space/random_number.h"
#include "tuner/space/search_space_implementation.h"

namespace mdh {

namespace {

// Positions of one configuration; most spaces have fewer parameters.
using Positions = absl::InlinedVector<uint32_t, 32>;

}  // namespace

const std::vector<TuningParameter>& SearchSpace::parameters() const {
  return implementation_->parameters;
}

const std::vector<Constraint>& SearchSpace::constraints() const {
  return implementation_->constraints;
}

int SearchSpace::ParameterNamed(std::string_view name) const {
  for (size_t i = 0; i < parameters().size(); ++i) {
    if (parameters()[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

const std::vector<std::string>& SearchSpace::notices() const { return implementation_->notices; }

bool SearchSpace::is_lazy() const { return implementation_->lazy != nullptr; }

SpaceSize SearchSpace::size() const {
  if (is_lazy()) {
    const LazySpace& lazy = *implementation_->lazy;
    return {lazy.cached_nodes(), lazy.cached_edges(), lazy.cached_bytes()};
  }
  const Diagram& diagram = implementation_->diagram;
  return {diagram.nodes(), diagram.edges(), diagram.bytes()};
}

const Count& SearchSpace::count() const { return implementation_->diagram.count(); }

Configuration SearchSpace::At(const Count& index) const {
  Positions positions(parameters().size());
  implementation_->diagram.At(index, absl::MakeSpan(positions));
  return implementation_->ToConfiguration(positions);
}

void SearchSpace::At(uint64_t index, absl::Span<int64_t> configuration) const {
  Positions positions(parameters().size());
  implementation_->diagram.At(index, absl::MakeSpan(positions));
  implementation_->ToCodes(positions, configuration);
}

std::optional<Count> SearchSpace::IndexOf(absl::Span<const int64_t> configuration) const {
  Positions positions(parameters().size());
  if (!implementation_->ToPositions(configuration, absl::MakeSpan(positions))) return std::nullopt;
  return implementation_->diagram.IndexOf(positions);
}

std::optional<uint64_t> SearchSpace::SmallIndexOf(absl::Span<const int64_t> configuration) const {
  Positions positions(parameters().size());
  if (!implementation_->ToPositions(configuration, absl::MakeSpan(positions))) return std::nullopt;
  return implementation_->diagram.IndexOf64(positions);
}

bool SearchSpace::Contains(absl::Span<const int64_t> configuration) const {
  if (configuration.size() != parameters().size()) return false;
  Positions positions(parameters().size());
  if (!implementation_->ToPositions(configuration, absl::MakeSpan(positions))) return false;
  return is_lazy() ? implementation_->lazy->Contains(positions)
                   : implementation_->diagram.Contains(positions);
}

Configuration SearchSpace::Sample(Rng& rng) const {
  Configuration configuration(parameters().size());
  Sample(rng, absl::MakeSpan(configuration));
  return configuration;
}

void SearchSpace::Sample(Rng& rng, absl::Span<int64_t> configuration) const {
  if (is_lazy()) {
    implementation_->ToCodes(implementation_->lazy->Sample(rng), configuration);
    return;
  }
  const Diagram& diagram = implementation_->diagram;
  if (diagram.is_small()) return At(RandomBelow(rng, diagram.count64()), configuration);
  Positions positions(parameters().size());
  diagram.At(RandomBelow(rng, diagram.count()), absl::MakeSpan(positions));
  implementation_->ToCodes(positions, configuration);
}

Configuration SearchSpace::AtCoordinates(absl::Span<const double> coordinates) const {
  if (is_lazy()) {
    return implementation_->ToConfiguration(implementation_->lazy->AtCoordinates(coordinates));
  }
  return implementation_->ToConfiguration(
      PositionsAtCoordinates(implementation_->diagram, coordinates));
}

std::vector<double> SearchSpace::CoordinatesOf(absl::Span<const int64_t> configuration) const {
  Positions positions(parameters().size());
  if (!implementation_->ToPositions(configuration, absl::MakeSpan(positions))) {
    return std::vector<double>(parameters().size(), 0.5);
  }
  return is_lazy() ? implementation_->lazy->CoordinatesOf(positions)
                   : CoordinatesOfPositions(implementation_->diagram, positions);
}

Configuration SearchSpace::Nearest(absl::Span<const int64_t> wanted) const {
  if (Contains(wanted)) return Configuration(wanted.begin(), wanted.end());
  const std::vector<uint32_t> positions = implementation_->WantedPositions(wanted);
  return implementation_->ToConfiguration(
      is_lazy()
          ? implementation_->lazy->Nearest(positions)
          : NearestPositions(implementation_->diagram, implementation_->AllPositions(), positions));
}

std::string SearchSpace::ToText(absl::Span<const int64_t> configuration) const {
  std::string text;
  for (size_t i = 0; i < parameters().size(); ++i) {
    const TuningParameter& parameter = parameters()[i];
    absl::StrAppend(&text, i == 0 ? "" : ", ", parameter.name, "=",
                    mdh::ToText(parameter.range.ValueOf(configuration[i])));
  }
  return text;
}

void SearchSpace::Enumerate(const std::function<bool(const Configuration&)>& visit) const {
  Configuration configuration(parameters().size());
  const auto visit_positions = [&](absl::Span<const uint32_t> positions) {
    implementation_->ToCodes(positions, absl::MakeSpan(configuration));
    return visit(configuration);
  };
  if (is_lazy()) return implementation_->lazy->Enumerate(visit_positions);
  EnumeratePositions(implementation_->diagram, visit_positions);
}

}  // namespace mdh
