// Whether samples of spaces of decompositions are uniform: shares of values among samples, against
// counts that never look at a diagram.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/source_path.h"
#include "tests/tuner/decompositions/space_problems.h"
#include "tuner/decompositions/mdh_space.h"

namespace mdh::mdh_space_uniformity_test {
namespace {

constexpr int kSamples = 20000;
constexpr int64_t kMostConfigurations = 50000;  // of a part that is enumerated

// ---- Counts ----

// Per parameter, how many configurations have which code.
using Shares = std::vector<std::map<int64_t, int64_t>>;

// Counts configurations by nested loops over the codes of all parameters, in declared order. Each
// constraint is evaluated as soon as the last of its parameters that has a choice has a value.
class NestedLoops {
 public:
  NestedLoops(const SearchSpace& space, const std::vector<std::vector<int64_t>>& codes)
      : parameters_(space.parameters()), codes_(codes), shares_(codes.size()) {
    due_.resize(codes.size() + 1);
    for (const std::vector<int64_t>& of_parameter : codes) {
      configuration_.push_back(of_parameter.front());
    }
    for (const Constraint& constraint : space.constraints()) {
      size_t due = 0;  // before the first loop
      for (const std::string& name : constraint.formula.Parameters()) {
        const auto p = static_cast<size_t>(space.ParameterNamed(name));
        if (codes[p].size() > 1) due = std::max(due, p + 1);
      }
      due_[due].push_back(&constraint);
    }
  }

  // Fills shares(). Returns how many configurations there are.
  int64_t Count() { return Completions(0); }
  const Shares& shares() const { return shares_; }

 private:
  // Of the first `loops` values.
  int64_t Completions(size_t loops) {
    for (const Constraint* constraint : due_[loops]) {
      const Result<Value> holds = Evaluate(constraint->formula, parameters_, configuration_);
      EXPECT_FALSE(absl::IsOutOfRange(holds.status())) << holds.status();
      if (!holds.ok() || !std::get<bool>(*holds)) return 0;
    }
    if (loops == codes_.size()) return 1;
    int64_t total = 0;
    for (const int64_t code : codes_[loops]) {
      configuration_[loops] = code;
      const int64_t completions = Completions(loops + 1);
      shares_[loops][code] += completions;
      total += completions;
    }
    return total;
  }

  const std::vector<TuningParameter>& parameters_;
  const std::vector<std::vector<int64_t>>& codes_;
  std::vector<std::vector<const Constraint*>> due_;  // by the number of loops that are entered
  Configuration configuration_;
  Shares shares_;
};

// ---- Parts of spaces ----

// A space whose parameters have only some of their codes.
struct Part {
  SearchSpace space;
  std::vector<std::vector<int64_t>> codes;
};

std::vector<int64_t> AllCodes(const Range& range) {
  std::vector<int64_t> codes;
  for (uint32_t n = 0; n < range.size(); ++n) codes.push_back(range.CodeAt(n));
  return codes;
}

// The configurations around a random one: parameters in random order become free as long as few
// enough configurations remain.
Part RandomPart(const SearchSpace& space, Rng& rng) {
  const std::vector<TuningParameter>& parameters = space.parameters();
  Part part{space, {}};
  std::vector<SearchSpace::Restriction> fixed;
  for (const int64_t code : space.Sample(rng)) {
    fixed.push_back({parameters[fixed.size()].name, {code}});
  }
  std::vector<size_t> turn(parameters.size());
  std::iota(turn.begin(), turn.end(), size_t{0});
  for (size_t n = turn.size(); n > 1; --n) std::swap(turn[n - 1], turn[rng() % n]);
  for (const size_t p : turn) {
    const std::vector<int64_t> code = fixed[p].codes;
    fixed[p].codes = AllCodes(parameters[p].range);
    const auto larger = space.Restrict(fixed);
    EXPECT_TRUE(larger.ok()) << larger.status();
    if (larger.ok() && larger->count() <= kMostConfigurations) {
      part.space = *larger;
    } else {
      fixed[p].codes = code;
    }
  }
  for (SearchSpace::Restriction& restriction : fixed) {
    part.codes.push_back(std::move(restriction.codes));
  }
  return part;
}

// ---- Judgement ----

// The value that a chi-square statistic exceeds with a probability of 0.0001 (Wilson, Hilferty).
double LargestChiSquare(int degrees) {
  constexpr double kQuantile = 3.719;  // of the normal distribution
  const double ninth = 2.0 / (9.0 * degrees);
  return degrees * std::pow(1 - ninth + kQuantile * std::sqrt(ninth), 3);
}

// What is wrong with the values of one parameter; empty if nothing is. The rarest values are taken
// together until at least five are expected.
std::string JudgeValues(const std::map<int64_t, int64_t>& counts, int64_t total,
                        std::map<int64_t, int64_t> sampled) {
  std::vector<std::pair<double, double>> classes;  // expected and sampled
  for (const auto& [code, count] : counts) {
    if (count == 0) continue;
    const double expected = static_cast<double>(count) / static_cast<double>(total) * kSamples;
    classes.emplace_back(expected, static_cast<double>(sampled[code]));
    sampled.erase(code);
  }
  for (const auto& [code, observed] : sampled) {
    if (observed > 0) return absl::StrCat("no configuration has ", code);
  }
  std::sort(classes.begin(), classes.end(), std::greater<>());
  while (classes.size() > 1 && classes.back().first < 5) {
    const auto [expected, observed] = classes.back();
    classes.pop_back();
    classes.back().first += expected;
    classes.back().second += observed;
  }
  double statistic = 0;
  for (const auto& [expected, observed] : classes) {
    statistic += (observed - expected) * (observed - expected) / expected;
  }
  const int degrees = static_cast<int>(classes.size()) - 1;
  if (degrees < 1 || statistic < LargestChiSquare(degrees)) return "";
  return absl::StrCat("chi-square ", statistic, ", degrees of freedom ", degrees);
}

// The same for all parameters of a space, a line for each that is wrong.
std::string Judge(const SearchSpace& space, const NestedLoops& counter, int64_t total,
                  const std::vector<Configuration>& samples) {
  Shares sampled(space.parameters().size());
  for (const Configuration& sample : samples) {
    for (size_t p = 0; p < sample.size(); ++p) ++sampled[p][sample[p]];
  }
  std::string wrong;
  for (size_t p = 0; p < sampled.size(); ++p) {
    const std::string what = JudgeValues(counter.shares()[p], total, sampled[p]);
    if (!what.empty()) absl::StrAppend(&wrong, space.parameters()[p].name, ": ", what, "\n");
  }
  return wrong;
}

std::vector<Configuration> SamplesOf(const SearchSpace& space, Rng& rng) {
  std::vector<Configuration> samples;
  for (int n = 0; n < kSamples; ++n) samples.push_back(space.Sample(rng));
  return samples;
}

Result<MdhSpace> CudaSpace(const std::string& name, int64_t largest_size) {
  MDH_ASSIGN_OR_RETURN(Expression expression, ShippedExpression(SourcePath(), name, largest_size));
  return MdhSpace::Create(std::move(expression), CudaModel(), *DescribeCudaArchitecture(90));
}

void ExpectUniform(const std::string& name, int64_t largest_size, int parts) {
  const Result<MdhSpace> whole = CudaSpace(name, largest_size);
  ASSERT_TRUE(whole.ok()) << whole.status();
  Rng rng(static_cast<uint64_t>(largest_size));
  for (int n = 0; n < parts; ++n) {
    const Part part = RandomPart(whole->space(), rng);
    NestedLoops counter(part.space, part.codes);
    const int64_t total = counter.Count();
    EXPECT_EQ(part.space.count(), total) << "part " << n;
    EXPECT_EQ(Judge(part.space, counter, total, SamplesOf(part.space, rng)), "") << "part " << n;
  }
}

// ---- Tests ----

TEST(MdhSpaceUniformityTest, SamplesOfMatrixMultiplications) {
  for (const int64_t largest_size : {1, 2, 3}) ExpectUniform("matmul", largest_size, 2);
}

TEST(MdhSpaceUniformityTest, SamplesOfConvolutionsOfCapsules) {
  for (const int64_t largest_size : {1, 2, 3}) ExpectUniform("mcc_capsule", largest_size, 1);
}

TEST(MdhSpaceUniformityTest, TheJudgeSeesOneConfigurationThatIsTooFrequent) {
  const Result<MdhSpace> whole = CudaSpace("matmul", 2);
  ASSERT_TRUE(whole.ok()) << whole.status();
  Rng rng(5);
  const Part part = RandomPart(whole->space(), rng);
  NestedLoops counter(part.space, part.codes);
  const int64_t total = counter.Count();
  std::vector<Configuration> samples = SamplesOf(part.space, rng);
  for (size_t n = 0; n < samples.size(); n += 20) samples[n] = samples[0];
  EXPECT_NE(Judge(part.space, counter, total, samples), "");
}

}  // namespace
}  // namespace mdh::mdh_space_uniformity_test
