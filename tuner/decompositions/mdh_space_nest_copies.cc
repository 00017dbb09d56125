// The limits of devices on copies of inputs, of configurations that are lowered level by level.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/decomposition/constraints.h"
#include "tuner/decompositions/mdh_space_nest.h"

namespace mdh {
namespace {

constexpr int64_t kCountedPadding = 4;    // at most, as rows are rarely one element long
constexpr int64_t kFewestAsyncBytes = 4;  // that an asynchronous copy moves

}  // namespace

// What threads may need to combine their results; every array is padded to 16 bytes.
double NestDecompositions::SharedBytesForCombining() const {
  const auto all = static_cast<double>(p_.device.blocks.shared_bytes_per_block);
  if (builder_.Largest(combine_) == kCombineInDevice) return 0;
  const double needed = p_.device.blocks.max_threads_per_block * ResultBytes();
  const auto exchange = static_cast<double>(kExchangeBytes);
  return std::max(std::min(all / 2, needed), std::min(all, exchange));
}

double NestDecompositions::SharedBytesForCopies(int64_t resident_blocks) const {
  constexpr double kAlignment = 16;
  const auto arrays =
      static_cast<double>(views_.inputs().size() + 2 * e_.function().results().size());
  const int64_t all = p_.device.blocks.shared_bytes_per_block + kReservedSharedBytes;
  const int64_t share = all / std::max<int64_t>(1, resident_blocks) - kReservedSharedBytes;
  return static_cast<double>(share) - kAlignment * arrays - SharedBytesForCombining();
}

// Powers of two by which several blocks on a multiprocessor reduce the registers of one.
Formula NestDecompositions::ResidencyBits() const {
  if (!has_choice("resident")) return 0;
  std::vector<int64_t> bits;
  for (int64_t count = 0; count <= builder_.Largest(choice("resident")); ++count) {
    bits.push_back(FloorLog(2 * static_cast<double>(std::max<int64_t>(1, count)) - 1, 1));
  }
  return Lookup(ChoiceCode("resident"), bits);
}

// The same of shared memory beside that for combining.
int64_t NestDecompositions::SharedBitsOf(int64_t resident_blocks) const {
  const double quotient = SharedBytesForCopies() / SharedBytesForCopies(resident_blocks);
  return static_cast<int64_t>(std::ceil(std::log2(quotient)));
}

Formula NestDecompositions::SharedResidencyBits() const {
  if (!has_choice("resident")) return 0;
  std::vector<int64_t> bits;
  for (int64_t count = 0; count <= builder_.Largest(choice("resident")); ++count) {
    bits.push_back(SharedBitsOf(count));
  }
  return Lookup(ChoiceCode("resident"), bits);
}

// Sum of the logarithms of the part counts of some layers of a dimension: the one that other limits
// use, too, so that few different sums come together.
Formula NestDecompositions::LogOfParts(int d, const std::vector<int>& layers) const {
  std::vector<Formula> terms;
  for (const int l : layers) {
    if (l >= 0) terms.push_back(CeilLog(Parts(l, d), MostParts(l, d), 1));
  }
  return Sum(terms);
}

// The logarithm of the extent of a shared copy in dimension x of a buffer. Where several dimensions
// move in it, all but the longest are counted as a whole.
Formula NestDecompositions::LogOfExtent(int v, int x) const {
  const Buffer& buffer = views_.inputs()[v];
  const std::vector<int64_t>& coefficients = buffer.accesses[0].indices[x].coefficients;
  const ConstantRange constants = ConstantsOf(buffer, x);
  int longest = -1;
  for (int d = 0; d < p_.rank(); ++d) {
    if (coefficients[d] == 0 || p_.size(d) == 1) continue;
    const bool is_longer =
        longest < 0 || coefficients[d] * p_.size(d) > coefficients[longest] * p_.size(longest);
    if (is_longer) longest = d;
  }
  int64_t beside = constants.high - constants.low + 1;
  for (int d = 0; d < p_.rank(); ++d) {
    // Parts that are not whole can reach beyond the size, by less than it.
    if (d != longest) beside += coefficients[d] * 2 * (p_.size(d) - 1);
  }
  const int64_t width = x + 1 == std::ssize(buffer.extents) ? CopyWidth(OwnerOf(views_, v)) : 1;
  const auto log_of = [&](int64_t points) {
    const int64_t extent = coefficients[longest < 0 ? 0 : longest] * (points - 1) + beside;
    const int64_t rounded = (extent + width - 1) / width * width;
    return FloorLog(2.0 * static_cast<double>(rounded) - 1, 1);
  };
  if (longest < 0) return FloorLog(2.0 * static_cast<double>(beside + width) - 1, 1);
  std::vector<int> layers;
  for (int l = outer_ + 1; l < layers_; ++l) layers.push_back(l);
  Formula points = LogOfParts(longest, layers);
  if (IsKept(longest)) points = points + If(IsInnermost(), LogOfParts(longest, {outer_}), 0);
  if (coefficients[longest] == 1 && beside == 1 && width == 1) return points;
  std::vector<int64_t> logs;
  for (int64_t e = 0; e <= FloorLog(2.0 * static_cast<double>(p_.size(longest)), 1) + 4; ++e) {
    logs.push_back(log_of(int64_t{1} << e));
  }
  return Lookup(points, logs);
}

// The logarithm of the elements of the largest copy of an input. Extents that all copies have are
// counted once: few different sums come together.
Formula NestDecompositions::LogOfBox(int b) const {
  std::vector<int> views;
  for (int v = 0; v < std::ssize(views_.inputs()); ++v) {
    if (OwnerOf(views_, v) == b) views.push_back(v);
  }
  const auto are_alike = [&](int v, int w, int x) {
    const Buffer &one = views_.inputs()[v], &other = views_.inputs()[w];
    const ConstantRange range = ConstantsOf(one, x), of_other = ConstantsOf(other, x);
    return one.accesses[0].indices[x].coefficients == other.accesses[0].indices[x].coefficients &&
           range.high - range.low == of_other.high - of_other.low;
  };
  std::vector<Formula> common;
  std::vector<std::vector<Formula>> others(views.size());
  for (int x = 0; x < std::ssize(e_.inputs()[b].extents); ++x) {
    const bool is_common =
        std::ranges::all_of(views, [&](int v) { return are_alike(v, views[0], x); });
    if (is_common) common.push_back(LogOfExtent(views[0], x));
    for (size_t n = 0; n < views.size() && !is_common; ++n) {
      others[n].push_back(LogOfExtent(views[n], x));
    }
  }
  std::vector<Formula> boxes;
  for (std::vector<Formula>& extents : others) boxes.push_back(Sum(std::move(extents)));
  return Sum(std::move(common)) + Max(std::move(boxes));
}

void NestDecompositions::LimitCopies(int b) {
  const Buffer& buffer = e_.inputs()[b];
  const InputChoices& input = inputs_[b];
  const double elements = SharedBytesForCopies() / static_cast<double>(views_.inputs().size()) /
                          static_cast<double>(buffer.type.size_bytes());
  const Formula box = LogOfBox(b);
  const Formula copy = builder_.At(input.copy), padding = builder_.At(input.padding);
  const Formula is_shared = copy == kShared || copy == kSharedAndPrivate;
  // Bits that padding can add, of rows of one element, and further stages.
  const auto bits = [](int64_t pad) { return FloorLog(2.0 * static_cast<double>(pad) + 1, 1); };
  const bool has_many = builder_.Largest(input.stages) > 2;
  const Formula stages = builder_.At(input.stages), second = stages - 1;
  const Formula more = If(padding == 0, 0, If(padding == 1, bits(1), bits(kCountedPadding))) +
                       (has_many ? If(stages <= 2, second, 2) : second) + SharedResidencyBits();
  const int64_t most = FloorLog(elements, 1);
  if (is_wide()) {  // room for any padding and stages
    builder_.Require(absl::StrCat("bytes of the copy of ", buffer.name),
                     !is_shared || box <= most - bits(1) - 1);
    return;
  }
  const int64_t most_bits =
      bits(kCountedPadding) + (has_many ? 2 : 1) +
      (has_choice("resident") ? SharedBitsOf(builder_.Largest(choice("resident"))) : 0);
  for (int64_t extra = 0; extra <= most_bits; ++extra) {
    builder_.Require(absl::StrCat("bytes of the copy of ", buffer.name),
                     !is_shared || more < extra || box <= most - extra);
  }
}

// Some elements that can be copied at once have as many bytes as an asynchronous copy moves.
bool NestDecompositions::MayBeAsynchronous(int b) const {
  const Buffer& buffer = e_.inputs()[b];
  return HasAsyncCopies(p_.device) && buffer.boundary.kind == Boundary::Kind::kNone &&
         CopyWidth(b) * buffer.type.size_bytes() >= kFewestAsyncBytes;
}

// Wide ones are of neighbours in both memories.
void NestDecompositions::LimitAsyncCopies(int b) {
  const Buffer& buffer = e_.inputs()[b];
  const InputChoices& input = inputs_[b];
  const Formula is_asynchronous =
      builder_.At(input.mode) == static_cast<int64_t>(CopyMode::kAsynchronous);
  const Formula stages = builder_.At(input.stages);
  builder_.Require(absl::StrCat("stages of an asynchronous copy of ", buffer.name),
                   If(is_asynchronous, stages >= 2, stages <= 2));
  const int width = CopyWidth(b);
  Formula can_move = buffer.type.size_bytes() >= kFewestAsyncBytes;
  if (width > 1) {
    const Formula are_neighbours =
        builder_.At(input.padding) % width == 0 && input.layout.KeepsLast(builder_);
    can_move = If(builder_.At(input.width) == 1, can_move, are_neighbours);
  }
  builder_.Require(absl::StrCat("elements of an asynchronous copy of ", buffer.name),
                   !is_asynchronous || can_move);
}

void NestDecompositions::LimitPrivateCopies(int v) {
  const double reductions = is_wide() ? UnrolledReductions() : std::min(4.0, UnrolledReductions());
  const Buffer& buffer = views_.inputs()[v];
  const Formula is_private = builder_.At(inputs_[OwnerOf(views_, v)].copy) >= kPrivate;
  const double words = static_cast<double>(MostPrivateWords(p_.device.blocks)) / 2 /
                       static_cast<double>(views_.inputs().size());
  double most = 1, spread = 1;          // elements of all parts; of a part, per point
  std::vector<int> indices(p_.rank());  // in how many a dimension is: diagonals are filled
  for (int x = 0; x < std::ssize(buffer.extents); ++x) {
    const ConstantRange constants = ConstantsOf(buffer, x);
    auto largest = static_cast<double>(constants.high - constants.low + 1);
    spread *= largest;
    for (const int d : turn_) {
      const int64_t coefficient = buffer.accesses[0].indices[x].coefficients[d];
      if (coefficient == 0) continue;
      largest += 2 * static_cast<double>(p_.size(d) * coefficient);
      spread *= static_cast<double>(coefficient);
      if (p_.size(d) > 1) ++indices[d];
    }
    most *= largest;
  }
  const int power = std::max(1, *std::ranges::max_element(indices));
  // A thread's part has at most as many points as it has results, and those of reductions.
  const double boxes = words / spread / static_cast<double>(Words(buffer.type.size_bytes()));
  const double results = std::pow(boxes, 1.0 / power) / reductions;
  const std::string name = absl::StrCat("copy of ", buffer.name, " in registers");
  if (most > static_cast<double>(kMaxCopiedElements) || results < 1) {
    builder_.Require(name, !is_private);
    return;
  }
  builder_.Require(name, !is_private || (IsOutside() && results_of_thread_.IsAtMost(results) &&
                                         (is_wide() || unrolled_.IsAtMost(reductions))));
}

// The most elements that can be copied at once if parts begin at multiples of them.
int NestDecompositions::CopyWidth(int b) const {
  int width = WidthOf(b);
  for (int v = 0; v < std::ssize(views_.inputs()); ++v) {
    if (OwnerOf(views_, v) == b) width = std::min(width, WidthOf(v));
  }
  return width;
}

int NestDecompositions::WidthOf(int v) const {
  const Buffer& buffer = views_.inputs()[v];
  if (buffer.type.is_record() || buffer.boundary.kind != Boundary::Kind::kNone) return 1;
  const std::vector<int64_t> strides = buffer.strides();
  const int last = static_cast<int>(buffer.extents.size()) - 1;
  if (last < 0 || strides[last] != 1) return 1;
  const auto& coefficients = buffer.accesses[0].indices[last].coefficients;
  // Others are copied in steps; so are rows whose elements only accesses tell apart.
  int64_t step = 0;
  for (const IndexFunction& access : buffer.accesses) {
    step = std::gcd(step, access.indices[last].constant - ConstantsOf(buffer, last).low);
  }
  for (int d = 0; d < p_.rank(); ++d) {
    if (coefficients[d] > 1) return 1;
    if (p_.size(d) > 1) step = std::gcd(step, coefficients[d]);
  }
  if (step > 1) return 1;
  int best = 1;
  for (int width = 2; width * buffer.type.size_bytes() <= kMaxCopyBytes; width *= 2) {
    const bool is_aligned = buffer.extents[last] % width == 0 &&
                            ConstantsOf(buffer, last).low % width == 0 &&
                            std::all_of(strides.begin(), strides.end() - 1,
                                        [&](int64_t stride) { return stride % width == 0; });
    if (is_aligned) best = width;
  }
  return best;
}

// Parts outside of the box begin at multiples of the width.
Formula NestDecompositions::WidthFits(int b, int64_t width) const {
  const auto is_along_row = [&](int d) {
    for (int v = 0; v < std::ssize(views_.inputs()); ++v) {
      const Buffer& buffer = views_.inputs()[v];
      const bool moves =
          OwnerOf(views_, v) == b && buffer.accesses[0].indices.back().coefficients[d] != 0;
      if (moves) return true;
    }
    return false;
  };
  Formula fits = true;
  for (const int d : turn_) {
    if (p_.size(d) == 1 || !is_along_row(d)) continue;
    fits = fits && (Parts(0, d) == 1 || Tile(0, d) % width == 0);
    const Formula is_inside = IsKept(d) ? IsInnermost() : Formula(false);
    fits = fits && (is_inside || Parts(outer_, d) == 1 || Tile(outer_, d) % width == 0);
  }
  return fits;
}

}  // namespace mdh
