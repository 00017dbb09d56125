#include "codegen/backends/joint_stage.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/backends/chunk_bounds.h"
#include "codegen/backends/copies_ahead.h"
#include "codegen/backends/invariant_copies.h"
#include "codegen/backends/joint_lanes.h"
#include "codegen/backends/own_elements.h"
#include "codegen/backends/row_lanes.h"
#include "codegen/backends/shared_arrays.h"
#include "codegen/backends/stage_names.h"
#include "codegen/backends/stage_on_part.h"
#include "codegen/backends/stores_behind_loads.h"
#include "codegen/passes/needed_barriers.h"
#include "codegen/program/loop_program_walk.h"
#include "codegen/program/scalar_code.h"
#include "core/base/round.h"
#include "core/decomposition/validate.h"
#include "core/device/backends.h"

namespace mdh {
namespace {

constexpr int kPointerAlignment = 16;
constexpr int64_t kSharedAlignment = 16;
// Blocks of a multiprocessor that have device memory of their own for a part.
constexpr int64_t kBlocksWithScratch = 4;

int64_t RoundedBytes(int64_t elements, ScalarType type) {
  return RoundUp(elements * SizeBytes(type), kSharedAlignment);
}

// How memory of a part is declared: records as their bytes, and at least one element, so that what
// has a pointer has memory, too.
ScratchBuffer PartMemory(std::string name, const ElementType& type, int64_t elements) {
  const bool is_record = type.is_record();
  return {.name = std::move(name),
          .type = is_record ? ScalarType::kUint8 : type.scalar(),
          .elements = std::max<int64_t>(is_record ? elements * type.size_bytes() : elements, 1),
          .per_thread = true};
}

class JointStageBuilder {
 public:
  JointStageBuilder(JointStageParts parts, const DeviceDescription& device, NameAllocator* names,
                    std::set<std::string>* shared)
      : parts_(std::move(parts)),
        device_(device),
        has_blocks_(BackendOf(device.kind).has_blocks),
        runs_loops_(has_blocks_ && RunsOnHost(device)),
        names_(*names),
        shared_(*shared) {}

  Result<JointStage> Build() {
    part_ = NewName("joint_part");
    if (has_blocks_ && is_streamed()) lanes_ = LanesOf(parts_, device_);
    for (size_t k = 0; k < parts_.extents.size(); ++k) {
      origins_.push_back(NewName(absl::StrCat("joint_origin", k)));
    }
    if (parts_.has_origins) {
      origin_memory_ = NewName("joint_origins");
      memory_.push_back(PartMemory(origin_memory_, ScalarType::kInt64, std::ssize(parts_.extents)));
    }
    for (const StreamedSteps::Carried& own : parts_.carried) {
      if (!has_blocks_) carried_memory_[own.after] = NewName(parts_.buffers[own.after] + "_both");
      if (has_blocks_) parts_.buffers[own.before] = parts_.buffers[own.after];
    }
    for (const auto& [written, read] : parts_.in_place) {
      if (!has_blocks_ || has_lanes()) break;
      parts_.buffers[written] = parts_.buffers[read];
      parts_.part_elements.erase(written);
    }
    for (const auto& [buffer, elements] : parts_.part_elements) {
      if (carried_memory_.contains(buffer)) {
        memory_.push_back(PartMemory(carried_memory_.at(buffer), parts_.types[buffer],
                                     2 * CarriedStride(buffer)));
        continue;
      }
      memory_.push_back(PartMemory(parts_.buffers[buffer], parts_.types[buffer], elements));
    }
    joint_.stage.comment = absl::StrCat("Part after part: ", Labels(), ".");
    if (has_blocks_) {
      MDH_RETURN_IF_ERROR(BuildForBlocks());
    } else {
      BuildForThreads();
    }
    return std::move(joint_);
  }

 private:
  // ---- CPUs ----

  void BuildForThreads() {
    Block body = BeginPart();
    std::vector<Block> bodies;
    for (const JointStageParts::Step& step : parts_.steps) {
      Block inside = PointersOf(step);
      std::vector<ScratchBuffer> scratch = step.built.program.scratch;
      for (const Stage& stage : step.built.program.stages) {
        Block own = OfOneThread(StageBody(step, stage));
        if (stage.only_packs) own = Packed(step, stage.comment, own, &scratch, &inside);
        if (!own.empty()) AppendScope(stage.comment, std::move(own), &inside);
      }
      bodies.push_back(std::move(inside));
      for (ScratchBuffer& buffer : scratch) {
        buffer.per_thread = true;
        joint_.scratch.push_back(std::move(buffer));
      }
    }
    AppendSteps(std::move(bodies), Index(0), 1, &body);
    for (ScratchBuffer& buffer : memory_) joint_.scratch.push_back(std::move(buffer));
    joint_.stage.body.push_back({ShareLoop{part_, Parts(), ShareBlock(std::move(body))}});
    joint_.stage.most_threads = MostThreads(parts_);
  }

  // Of a stage that packs: what each part does. `inside`: of the step.
  Block Packed(const JointStageParts::Step& step, const std::string& comment, const Block& body,
               std::vector<ScratchBuffer>* scratch, Block* inside) {
    std::vector<std::string> names;
    for (size_t n = 0; n < step.buffers.size(); ++n) names.push_back(NameOf(step, n));
    const Index point = is_streamed() ? Index::Variable(origins_[streamed()]) : Index(0);
    PackedForParts packed =
        PackForParts(body, std::move(*scratch),
                     PartsSeenBy(parts_, step, names, Index::Variable(part_), point, device_),
                     [&](const std::string& name) { return NewName(name); });
    Block& before = joint_.stage.body;
    if (!packed.before_parts.empty()) AppendScope(comment, std::move(packed.before_parts), &before);
    Append(std::move(packed.no_copies), &before);
    Append(std::move(packed.pointers), inside);
    *scratch = std::move(packed.memory);
    return std::move(packed.body);
  }

  // ---- Blocks ----

  Status BuildForBlocks() {
    const std::string block = NewName("joint_block"), thread = NewName("joint_thread"),
                      round = NewName("joint_round");
    const int64_t threads = ThreadsOfBlock(parts_);
    const BlockOfPart who = {.threads = threads,
                             .thread = thread,
                             .round = round,
                             .warp = std::max(device_.blocks.warp_size, 1)};
    if (has_lanes()) lane_ = NewName("joint_lane");
    std::vector<Block> bodies(parts_.steps.size());
    for (size_t s = 0; s < parts_.steps.size(); ++s) {
      MDH_ASSIGN_OR_RETURN(bodies[s], BodyOfStep(parts_.steps[s], who, s + 1 == bodies.size()));
    }
    Block body = BeginPart();
    if (parts_.has_origins && threads > 1) body.push_back({Barrier{true}});
    AppendSteps(std::move(bodies), Index::Variable(thread), threads, &body);
    KeepOwn({thread, threads, lanes_.lanes, lane_}, &body);
    body = WithNeededBarriers(body, chunk_);
    if (has_lanes()) {
      const std::set<std::string> constants = ConstantsOf(parts_);
      body = WithCopiesAhead(body, {chunk_, constants, device_.features.async_copies});
    }
    MDH_RETURN_IF_ERROR(PlaceMemory(body));

    const bool has_own_memory = !own_memory_.empty();
    int64_t grid = std::min(Parts(), device_.blocks.max_grid[0]);
    if (has_own_memory) {
      grid = std::min(grid, kBlocksWithScratch * std::max(device_.blocks.multiprocessors, 1));
    }
    joint_.stage.launch = {{grid, 1, 1}, {threads, 1, 1}};
    joint_.stage.exchanges = threads > 1;
    Block& all = joint_.stage.body;
    for (const DeclareArray& array : arrays_.all()) all.push_back({array});
    const bool is_loop = grid < Parts();
    all.push_back({HardwareIndex{is_loop ? block : part_, HardwareIndex::Kind::kBlock, 0}});
    if (lanes_.in_turns) {
      const std::string number = NewName("joint_number");
      all.push_back({HardwareIndex{number, HardwareIndex::Kind::kThread, 0}});
      all.push_back({DeclareIndex{thread, InTurns(Index::Variable(number), lanes_.lanes)}});
    } else if (threads > 1) {
      all.push_back({HardwareIndex{thread, HardwareIndex::Kind::kThread, 0}});
    } else {
      all.push_back({DeclareIndex{thread, Index(0)}});
    }
    if (has_lanes()) {
      all.push_back({DeclareIndex{lane_, Index::Variable(thread) % lanes_.lanes}});
    }
    for (const ScratchBuffer& buffer : own_memory_) {
      const int64_t elements = RoundUp(buffer.elements, kPointerAlignment);
      const std::string whole = NewName(buffer.name + "_blocks");
      joint_.scratch.push_back({whole, buffer.type, elements * grid, /*per_thread=*/false});
      all.push_back({DeclarePointer{buffer.name, buffer.type, false, whole,
                                    Index::Variable(is_loop ? block : part_) * elements}});
    }
    if (!is_loop) {
      Append(std::move(body), &all);
    } else {
      if (threads > 1) body.push_back({Barrier{true}});
      all.push_back({For{part_, Index::Variable(block), Index(Parts()), grid, false,
                         ShareBlock(std::move(body)), false, 0, runs_loops_}});
    }
    return absl::OkStatus();
  }

  // With barriers behind all stages but the last one of the group.
  Result<Block> BodyOfStep(const JointStageParts::Step& step, const BlockOfPart& who,
                           bool is_last) {
    Block inside = PointersOf(step);
    const std::vector<Stage>& stages = step.built.program.stages;
    for (size_t n = 0; n < stages.size(); ++n) {
      Stage stage = stages[n];
      stage.body = StageBody(step, stage);
      stage.body =
          arrays_.Hoist(stage.body, !has_lanes(), [&](const auto& name) { return NewName(name); });
      if (is_streamed()) stage.body = StoresBehindLoads(stage.body, NamesOfPart(), &names_);
      Result<Block> body = OfOneBlock(stage, who);
      if (has_lanes() && stage.launch.threads_per_block() * lanes_.lanes == who.threads) {
        body = OfRows(stage, who, lanes_.lanes, NewName("joint_row"));
      }
      if (!body.ok()) return InvalidArgument(step.label, ": ", body.status().message());
      if (has_lanes() && step.commutes) {
        body = WithResultsInAllLanes(*body, who.thread, lanes_.lanes, lane_, lanes_.in_turns);
      }
      AppendScope(stage.comment, *std::move(body), &inside);
      const bool waits = who.threads > 1 && !(is_last && n + 1 == stages.size());
      if (waits) inside.push_back({Barrier{/*of_device_memory=*/true}});
    }
    for (const ScratchBuffer& buffer : step.built.program.scratch) own_memory_.push_back(buffer);
    // Passes know by a name what is a thread's own: shared arrays of later steps have other ones.
    ReserveNamesIn(inside, names_);
    return inside;
  }

  bool has_lanes() const { return lanes_.lanes > 1; }

  // What each thread has of memory of the part for itself is in its registers.
  void KeepOwn(const ThreadsOfBody& who, Block* body) {
    if (!has_lanes()) return;
    OwnElements own = KeepOwnElements(*body, memory_, who, &names_);
    *body = std::move(own.body);
    std::erase_if(memory_,
                  [&](const ScratchBuffer& buffer) { return own.replaced.contains(buffer.name); });
  }

  std::set<std::string> NamesOfPart() const {
    std::set<std::string> names;
    for (const auto& [buffer, elements] : parts_.part_elements) {
      names.insert(parts_.buffers[buffer]);
    }
    return names;
  }

  // Temporaries in shared memory, the smallest first.
  Status PlaceMemory(const Block& body) {
    int64_t bytes = 0;
    for (const auto& array : arrays_.all()) bytes += RoundedBytes(array.elements, array.type);
    const int64_t limit = device_.blocks.shared_bytes_per_block;
    if (bytes > limit) {
      return InvalidParameters("joint_shared_bytes (shared memory of a block): ", bytes, " > ",
                               limit);
    }
    std::set<std::string> only_device;
    CollectDeviceOnly(body, &only_device);
    std::ranges::stable_sort(memory_, [](const ScratchBuffer& a, const ScratchBuffer& b) {
      return RoundedBytes(a.elements, a.type) < RoundedBytes(b.elements, b.type);
    });
    for (ScratchBuffer& buffer : memory_) {
      const int64_t own = RoundedBytes(buffer.elements, buffer.type);
      if (bytes + own > limit || only_device.contains(buffer.name)) {
        own_memory_.push_back(std::move(buffer));
        continue;
      }
      bytes += own;
      arrays_.Add({buffer.name, buffer.type, buffer.elements, MemorySpace::kShared});
    }
    return absl::OkStatus();
  }

  // ---- Both ----

  std::string NewName(const std::string& name) {
    return *shared_.insert(names_.Unique(name)).first;
  }

  std::string Labels() const {
    return absl::StrJoin(parts_.steps, "; ",
                         [](std::string* out, const auto& step) { out->append(step.label); });
  }

  bool is_streamed() const { return parts_.body > 0; }
  size_t streamed() const { return static_cast<size_t>(parts_.common); }
  bool IsStreamed(size_t k) const { return is_streamed() && k == streamed(); }

  int64_t Parts() const { return NumberOfParts(parts_); }

  // Where the part begins. Threads of a CPU have parts that follow each other: these are mixed.
  Block BeginPart() const {
    Block block;
    std::vector<size_t> order;
    for (size_t k = 0; k < origins_.size(); ++k) {
      if (!IsStreamed(k)) order.push_back(k);
    }
    int64_t inside = Parts();
    for (const size_t k : has_blocks_ ? LongestFirst(order, parts_.bounds) : order) {
      const int64_t parts = parts_.extents[k] / parts_.part[k];
      Index number = Index::Variable(part_);
      if (inside < Parts()) number = number % inside;
      inside /= parts;
      if (parts == 1) number = Index(0);
      Index digit = number / inside;
      if (parts > 1 && NeedMoreBehind(parts_.bounds, k)) digit = Index(parts - 1) - digit;
      block.push_back({DeclareIndex{origins_[k], digit * parts_.part[k]}});
    }
    for (size_t k = 0; parts_.has_origins && k < origins_.size(); ++k) {
      if (!IsStreamed(k)) block.push_back(StoreOrigin(k));
    }
    return block;
  }
  Statement StoreOrigin(size_t k) const {
    return {StoreElements{origin_memory_, Index(static_cast<int64_t>(k)),
                          MakeIndexValue(Index::Variable(origins_[k]), 1, 0), 1}};
  }

  // The steps of a part, by thread number `thread` of `threads`.
  void AppendSteps(std::vector<Block> bodies, const Index& thread, int64_t threads, Block* block) {
    const auto append = [&](size_t from, size_t to, Block* into) {
      for (size_t s = from; s < to; ++s) {
        AppendScope(absl::StrCat("Of ", parts_.steps[s].label, "."), std::move(bodies[s]), into);
      }
    };
    const auto body = static_cast<size_t>(parts_.body);
    if (is_streamed()) {
      const int64_t chunk = parts_.part[streamed()];
      Index begin(0), end(parts_.extents[streamed()] / chunk);
      if (streamed() + 1 < parts_.extents.size()) {
        const int64_t chunks = parts_.extents[streamed()] / parts_.extents.back() / chunk;
        begin = Index::Variable(origins_.back()) * chunks;
        end = begin + Index(chunks);
      }
      if (!parts_.bounds.empty()) {
        const PartBounds bounds{parts_.bounds, origins_, parts_.part, chunk, runs_loops_};
        const std::string first = NewName("joint_first"), last = NewName("joint_end");
        block->push_back({DeclareIndex{first, FirstChunk(bounds, begin, end)}});
        begin = Index::Variable(first);
        block->push_back({DeclareIndex{last, EndOfChunks(bounds, begin, end)}});
        end = Index::Variable(last);
      }
      const std::string number = chunk_ = NewName("joint_chunk");
      AppendNeutral(begin, thread, threads, block);
      for (size_t s = 0; has_lanes() && s < body; ++s) {
        HoistedCopies copies = HoistCopies(bodies[s], {origins_[streamed()]}, ConstantsOf(parts_));
        if (!copies.before.empty()) block->push_back(When({}, std::move(copies.before)));
        bodies[s] = std::move(copies.inside);
      }
      Block inside;
      inside.push_back({DeclareIndex{origins_[streamed()], Index::Variable(number) * chunk}});
      if (parts_.has_origins) inside.push_back(StoreOrigin(streamed()));
      if (parts_.has_origins && threads > 1) inside.push_back({Barrier{true}});
      DeclareCarried(Index::Variable(number), /*has_both=*/true, &inside);
      append(0, body, &inside);
      block->push_back({For{number, begin, end, 1, false, ShareBlock(std::move(inside)), false, 0,
                            runs_loops_ && !parts_.bounds.empty()}});
      Block behind;
      DeclareCarried(end - Index(1), /*has_both=*/false, &behind);
      append(body, bodies.size(), &behind);
      block->push_back({If{{}, ShareBlock(std::move(behind)), nullptr}});
      return;
    }
    append(0, bodies.size(), block);
  }

  // ---- What is carried from chunk to chunk ----

  // Elements from one place of it to the other.
  int64_t CarriedStride(int after) const {
    return RoundUp(parts_.part_elements.at(after), kPointerAlignment);
  }
  // Where chunk number `chunk` finds it.
  Index PlaceBefore(int after, const Index& chunk) const {
    return chunk % 2 * CarriedStride(after);
  }

  // As in front of the chunk with that number.
  void AppendNeutral(const Index& chunk, const Index& thread, int64_t threads, Block* block) {
    for (const auto& [before, after, neutral] : parts_.carried) {
      const std::string item = NewName("joint_item");
      Index offset = Index::Variable(item);
      if (!has_blocks_) offset = PlaceBefore(after, chunk) + offset;
      const std::string& name = has_blocks_ ? parts_.buffers[after] : carried_memory_.at(after);
      Block body;
      body.push_back({StoreElements{name, offset, MakeLiteral(neutral), 1}});
      block->push_back({For{item, thread, Index(parts_.part_elements.at(after)), threads, false,
                            ShareBlock(std::move(body))}});
    }
    if (threads > 1) block->push_back({Barrier{true}});
  }

  // On CPUs pointers to both places of the chunk with that number, or behind it.
  void DeclareCarried(const Index& chunk, bool has_both, Block* block) const {
    if (has_blocks_) return;
    for (const auto& carried : parts_.carried) {
      const auto declare = [&](int buffer, const Index& number) {
        block->push_back({DeclarePointer{parts_.buffers[buffer], parts_.types[buffer].scalar(),
                                         false, carried_memory_.at(carried.after),
                                         PlaceBefore(carried.after, number)}});
      };
      if (has_both) declare(carried.before, chunk);
      declare(carried.after, chunk + Index(1));
    }
  }

  // What the step calls an argument.
  std::string NameOf(const JointStageParts::Step& step, size_t argument) const {
    const PartBuffer& place = step.buffers[argument];
    if (place.kind == PartBuffer::Kind::kOrigins) return origin_memory_;
    const std::string& name = parts_.buffers[place.buffer];
    return Moves(parts_, place) ? moved_names_.at({&step, argument}) : name;
  }

  // Pointers to what the step has of buffers that are not only the part's. Those to records go
  // through their bytes.
  Block PointersOf(const JointStageParts::Step& step) {
    Block block;
    for (size_t n = 0; n < step.buffers.size(); ++n) {
      const PartBuffer& place = step.buffers[n];
      if (!Moves(parts_, place)) continue;
      const std::string& whole = parts_.buffers[place.buffer];
      const std::string name = moved_names_[{&step, n}] = NewName(whole + "_of_part");
      const ElementType& type = parts_.types[place.buffer];
      const int64_t unit = type.is_record() ? type.size_bytes() : 1;
      const bool is_const = !step.built.arguments[n].is_output;
      Index offset(0);
      int64_t alignment = kPointerAlignment;
      for (size_t k = 0; k < place.moves.size(); ++k) {
        offset = offset + Index::Variable(origins_[k]) * (place.moves[k] * unit);
        if (parts_.extents[k] == parts_.part[k]) continue;
        alignment =
            std::gcd(alignment, place.moves[k] * parts_.part[k] * int64_t{type.size_bytes()});
      }
      std::string base = whole;
      if (type.is_record()) {
        base = NewName(whole + "_bytes");
        block.push_back({DeclareView{base, ScalarType::kUint8, is_const, whole}});
      }
      block.push_back({DeclarePointer{name, type.is_record() ? ScalarType::kUint8 : type.scalar(),
                                      is_const, base, offset, static_cast<int>(alignment)}});
    }
    return block;
  }

  Block StageBody(const JointStageParts::Step& step, const Stage& stage) {
    std::map<std::string, std::string> renamed;
    for (size_t n = 0; n < step.buffers.size(); ++n) {
      renamed[step.built.arguments[n].name] = NameOf(step, n);
    }
    for (const ScratchBuffer& buffer : step.built.program.scratch) {
      renamed[buffer.name] = buffer.name;
    }
    return WithOwnPointers(step.built.program.stages, stage.body, renamed, shared_, &pointers_);
  }

  static void AppendScope(const std::string& comment, Block inside, Block* block) {
    for (const If* only; inside.size() == 1 &&
                         (only = std::get_if<If>(&inside[0].form)) != nullptr &&
                         only->all_of.empty();) {
      inside = Block(*only->then_block);
    }
    block->push_back({Comment{comment}});
    block->push_back({If{{}, ShareBlock(std::move(inside)), nullptr}});
  }

  JointStageParts parts_;
  const DeviceDescription& device_;
  const bool has_blocks_;
  const bool runs_loops_;  // on CPUs under OpenCL no loop with barriers may look empty: see For
  NameAllocator& names_;
  std::set<std::string>& shared_;
  std::set<std::string> pointers_;  // of all steps
  JointLanes lanes_;
  std::string part_, origin_memory_, chunk_, lane_;
  std::vector<std::string> origins_;
  std::map<std::pair<const JointStageParts::Step*, size_t>, std::string> moved_names_;
  std::map<int, std::string> carried_memory_;  // of CPUs, by the buffer behind a chunk
  std::vector<ScratchBuffer> memory_;          // of the part, of CPUs in scratch memory
  SharedArrays arrays_;
  std::vector<ScratchBuffer> own_memory_;  // of blocks, in device memory
  JointStage joint_;
};

}  // namespace

Result<JointStage> BuildJointStage(JointStageParts parts, const DeviceDescription& device,
                                   NameAllocator* names, std::set<std::string>* shared) {
  return JointStageBuilder(std::move(parts), device, names, shared).Build();
}

}  // namespace mdh
