#include "tuner/measure/trial/output_copies.h"

#include <utility>

namespace mdh {
namespace {

bool HasSizes(const OutputCopies& copies, absl::Span<const int64_t> sizes) {
  if (copies.first.size() != sizes.size()) return false;
  for (size_t b = 0; b < sizes.size(); ++b) {
    if (copies.first[b].size() != sizes[b]) return false;
  }
  return true;
}

}  // namespace

Result<std::shared_ptr<const OutputCopies>> KeptCopies::Get(absl::Span<const int64_t> sizes) {
  if (kept_ != nullptr && kept_.use_count() == 1 && HasSizes(*kept_, sizes)) return kept_;
  kept_.reset();  // frees memory before new memory is needed
  OutputCopies made;
  for (const int64_t size : sizes) {
    for (std::vector<GuardedMemory>* copies : {&made.first, &made.last}) {
      MDH_ASSIGN_OR_RETURN(GuardedMemory copy,
                           GuardedMemory::Create(size, GuardedMemory::Zones::kNone,
                                                 GuardedMemory::Sharing::kShared));
      copies->push_back(std::move(copy));
    }
  }
  kept_ = std::make_shared<const OutputCopies>(std::move(made));
  return kept_;
}

}  // namespace mdh
