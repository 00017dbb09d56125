#include "codegen/backends/joint_lanes.h"

#include <algorithm>
#include <vector>

#include "codegen/backends/row_lanes.h"
#include "codegen/backends/stage_on_part.h"
#include "core/base/round.h"

namespace mdh {
namespace {

bool IsStreamed(const JointStageParts& parts, size_t k) {
  return parts.body > 0 && k == static_cast<size_t>(parts.common);
}

}  // namespace

int64_t ThreadsOfBlock(const JointStageParts& parts) {
  int64_t threads = 1;
  for (const JointStageParts::Step& step : parts.steps) {
    for (const Stage& stage : step.built.program.stages) {
      threads = std::max(threads, NumberedThreads(stage));
    }
  }
  return threads;
}

int MostThreads(const JointStageParts& parts) {
  int most = 1;
  for (const JointStageParts::Step& step : parts.steps) {
    if (step.threads == TuningParameters::kAllThreads) return 0;
    most = std::max(most, step.threads);
  }
  return most;
}

std::set<std::string> ConstantsOf(const JointStageParts& parts) {
  std::set<std::string> constants, written;
  for (const JointStageParts::Step& step : parts.steps) {
    for (size_t n = 0; n < step.buffers.size(); ++n) {
      const PartBuffer& place = step.buffers[n];
      if (place.kind != PartBuffer::Kind::kWhole) continue;
      const bool is_output = step.built.arguments[n].is_output;
      (is_output ? written : constants).insert(parts.buffers[place.buffer]);
    }
  }
  std::erase_if(constants, [&](const std::string& name) { return written.contains(name); });
  return constants;
}

int64_t NumberOfParts(const JointStageParts& parts) {
  int64_t count = 1;
  for (size_t k = 0; k < parts.extents.size(); ++k) {
    if (!IsStreamed(parts, k)) count *= parts.extents[k] / parts.part[k];
  }
  return count;
}

bool Moves(const JointStageParts& parts, const PartBuffer& place) {
  if (place.kind != PartBuffer::Kind::kWhole) return false;
  for (size_t k = 0; k < place.moves.size(); ++k) {
    if (place.moves[k] != 0 && parts.extents[k] > parts.part[k]) return true;
  }
  return false;
}

PartsOfThread PartsSeenBy(const JointStageParts& parts, const JointStageParts::Step& step,
                          const std::vector<std::string>& names, const Index& part,
                          const Index& point, const DeviceDescription& device) {
  PartsOfThread seen{
      .constants = ConstantsOf(parts),
      .part = part,
      .in_turn = CeilDivide(NumberOfParts(parts), std::max<int64_t>(device.cores, 1)),
      .most_bytes = MostBytesKept(device)};
  if (&step - parts.steps.data() < parts.body) {
    const int64_t points = parts.part[parts.common];
    seen.chunk = point / points;
    seen.chunks = parts.extents[parts.common] / points;
  }
  std::vector<int64_t> counts;
  for (size_t k = 0; k < parts.extents.size(); ++k) {
    counts.push_back(IsStreamed(parts, k) ? 1 : parts.extents[k] / parts.part[k]);
  }
  for (size_t n = 0; n < step.buffers.size(); ++n) {
    const PartBuffer& place = step.buffers[n];
    if (!Moves(parts, place) || !seen.constants.contains(parts.buffers[place.buffer])) continue;
    const bool is_of_chunk = seen.chunks > 1 && place.moves[parts.common] != 0;
    seen.pointers[names[n]] = {PartsAlike(place, counts), is_of_chunk};
  }
  return seen;
}

JointLanes LanesOf(const JointStageParts& parts, const DeviceDescription& device) {
  std::vector<const Stage*> of_chunks, all;
  bool commutes = true;
  for (size_t s = 0; s < parts.steps.size(); ++s) {
    commutes &= parts.steps[s].commutes;
    for (const Stage& stage : parts.steps[s].built.program.stages) {
      all.push_back(&stage);
      if (static_cast<int>(s) < parts.body) of_chunks.push_back(&stage);
    }
  }
  const int64_t threads = ThreadsOfBlock(parts), lanes = LanesOfRows(of_chunks);
  if (lanes == 1 || of_chunks[0]->launch.threads_per_block() != threads) return {};
  const int64_t warp = device.blocks.warp_size;
  const bool fit = warp >= 2 * lanes && warp % (2 * lanes) == 0 && threads / lanes % 2 == 0;
  return {lanes, fit && commutes && ShufflesAreOfLanes(all, lanes)};
}

}  // namespace mdh
