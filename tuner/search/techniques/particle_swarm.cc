// Particle swarm optimisation (Kennedy and Eberhart 1995; weights of Clerc and Kennedy 2002) on
// leaf-weighted coordinates. A particle moves as soon as its last result is known.
#include <algorithm>
#include <deque>

#include "tuner/search/techniques/batch_technique.h"
#include "tuner/search/techniques/history.h"
#include "tuner/search/techniques/technique_makers.h"

namespace mdh {
namespace {

constexpr size_t kParticles = 12;
constexpr double kInertia = 0.7298;
constexpr double kAttraction = 1.4962;  // to the particle's best, and to the swarm's
constexpr double kMaxVelocity = 0.5;

class ParticleSwarm final : public SearchTechnique {
 public:
  void Initialize(const SearchSpace& space, uint64_t seed) override {
    *this = ParticleSwarm();
    space_.emplace(space);
    rng_.seed(seed);
    for (size_t n = 0; n < kParticles; ++n) particles_.push_back(RandomParticle());
  }

  std::optional<Configuration> Next() override {
    Particle& particle = particles_[next_];
    if (particle.is_moving) return std::nullopt;
    if (particle.has_result) Move(particle);
    particle.is_moving = true;
    moving_.push_back(next_);
    next_ = (next_ + 1) % kParticles;
    return space_->AtCoordinates(particle.at);
  }

  void Report(const Configuration& /*configuration*/, Cost cost) override {
    Particle& particle = particles_[moving_.front()];
    moving_.pop_front();
    particle.is_moving = false;
    particle.has_result = true;
    if (IsBetter(cost, particle.best.cost)) particle.best = {.at = particle.at, .cost = cost};
    if (IsBetter(cost, best_.cost)) best_ = {.at = particle.at, .cost = cost};
  }

  void Inform(const Configuration& configuration, Cost cost) override {
    if (!IsBetter(cost, best_.cost)) return;
    best_ = {.at = space_->CoordinatesOf(configuration), .cost = cost};
  }

 private:
  struct Particle {
    Coordinates at;
    Coordinates velocity;
    Point best;
    bool is_moving = false;
    bool has_result = false;
  };

  Particle RandomParticle() {
    Particle particle;
    for (size_t i = 0; i < space_->parameters().size(); ++i) {
      particle.at.push_back(RandomUnit(rng_));
      particle.velocity.push_back(RandomBetween(rng_, -0.25, 0.25));
    }
    particle.best.at = particle.at;
    return particle;
  }

  void Move(Particle& particle) {
    if (best_.cost && Distance(particle) < 1e-3) particle = RandomParticle();
    for (size_t i = 0; i < particle.at.size(); ++i) {
      double& velocity = particle.velocity[i];
      velocity *= kInertia;
      velocity += kAttraction * RandomUnit(rng_) * (particle.best.at[i] - particle.at[i]);
      if (best_.cost) velocity += kAttraction * RandomUnit(rng_) * (best_.at[i] - particle.at[i]);
      velocity = std::clamp(velocity, -kMaxVelocity, kMaxVelocity);
      particle.at[i] += velocity;
      if (particle.at[i] >= 0 && particle.at[i] < 1) continue;
      particle.at[i] = std::clamp(particle.at[i], 0.0, 0x1.fffffffffffffp-1);
      velocity = -velocity / 2;
    }
  }

  // How far the particle is from the swarm's best, and how fast.
  double Distance(const Particle& particle) const {
    double distance = 0;
    for (size_t i = 0; i < particle.at.size(); ++i) {
      distance = std::max(
          {distance, std::abs(particle.at[i] - best_.at[i]), std::abs(particle.velocity[i])});
    }
    return distance;
  }

  std::optional<SearchSpace> space_;
  Rng rng_;
  std::vector<Particle> particles_;
  std::deque<size_t> moving_;
  Point best_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<SearchTechnique> MakeParticleSwarm() { return std::make_unique<ParticleSwarm>(); }

}  // namespace mdh
