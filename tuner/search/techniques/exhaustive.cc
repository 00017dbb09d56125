// Exhaustive search: every configuration, in the order of the space.
#include <algorithm>
#include <deque>

#include "tuner/search/techniques/technique_makers.h"

namespace mdh {
namespace {

class Exhaustive final : public SearchTechnique {
 public:
  void Initialize(const SearchSpace& space, uint64_t /*seed*/) override {
    space_.emplace(space);
    next_ = 0;
    batch_.clear();
  }

  std::optional<Configuration> Next() override {
    if (space_->is_lazy()) return NextEnumerated();
    if (next_ >= space_->count()) return std::nullopt;
    Configuration configuration = space_->At(next_);
    ++next_;
    return configuration;
  }

  void Report(const Configuration& /*configuration*/, Cost /*cost*/) override {}
  void Inform(const Configuration& /*configuration*/, Cost /*cost*/) override {}

 private:
  // A space without indices is enumerated from its start in batches that double.
  std::optional<Configuration> NextEnumerated() {
    if (batch_.empty()) {
      Count position = 0;
      const size_t size = std::max<size_t>(1024, next_.get_ui());
      space_->Enumerate([this, &position, size](const Configuration& at) {
        if (position++ >= next_) batch_.push_back(at);
        return batch_.size() < size;
      });
      next_ += static_cast<unsigned long>(batch_.size());
      if (batch_.empty()) return std::nullopt;
    }
    Configuration configuration = std::move(batch_.front());
    batch_.pop_front();
    return configuration;
  }

  std::optional<SearchSpace> space_;
  Count next_ = 0;
  std::deque<Configuration> batch_;
};

}  // namespace

std::unique_ptr<SearchTechnique> MakeExhaustive() { return std::make_unique<Exhaustive>(); }

}  // namespace mdh
