#include "tests/codegen/passes/pass_evaluator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <thread>
#include <utility>

#include "core/base/status.h"
#include "tests/codegen/passes/block_memory.h"
#include "tests/codegen/passes/index_value.h"
#include "tests/codegen/passes/packed_registers.h"
#include "tests/codegen/passes/tensor_boxes.h"
#include "tests/core/device/fragment_layouts.h"

namespace mdh {
namespace {

// One thread of a stage.
class ThreadOfStage {
 public:
  ThreadOfStage(BlockMemory& memory, const LaunchGeometry& launch, std::array<int64_t, 3> block,
                std::array<int64_t, 3> thread)
      : memory_(memory), block_(block), thread_(thread) {
    const auto flat = [](const std::array<int64_t, 3>& at, const std::array<int64_t, 3>& extents) {
      return (at[2] * extents[1] + at[1]) * extents[0] + at[0];
    };
    const int64_t own = flat(thread, launch.block);
    number_ = own;
    indices_["thread"] = flat(block, launch.grid) * launch.threads_per_block() + own;
    indices_["threads"] =
        launch.grid[0] * launch.grid[1] * launch.grid[2] * launch.threads_per_block();
  }

  void Run(const Block& block) {
    for (const Statement& statement : block) {
      std::visit([&](const auto& form) { Run(form); }, statement.form);
    }
  }
  // At the end of the stage.
  void ExpectAllCopiesArrived() const {
    EXPECT_TRUE(begun_.empty()) << "copies belong to no group";
    for (const Copies& group : groups_) EXPECT_TRUE(group.empty()) << "nobody waits for copies";
    EXPECT_TRUE(bundles_.empty() && open_bundle_.empty()) << "nobody waits for multiplications";
    memory_.ExpectNotReadSince(epoch_);
  }

 private:
  using Lanes = std::vector<ScalarValue>;

  int64_t At(const Index& index) const { return ValueOf(index, indices_); }
  bool Holds(const std::vector<Condition>& conditions) const {
    for (const Condition& c : conditions) {
      if (c.kind == Condition::Kind::kLess && At(c.a) >= At(c.b)) return false;
      if (c.kind == Condition::Kind::kEqual && At(c.a) != At(c.b)) return false;
      if (c.kind == Condition::Kind::kFlag && !flags_.at(c.flag)) return false;
      if (c.kind == Condition::Kind::kNotFlag && flags_.at(c.flag)) return false;
    }
    return true;
  }

  ScalarValue Load(const std::string& name, int64_t at) {
    if (const auto pointer = pointers_.find(name); pointer != pointers_.end()) {
      const PointedElements& to = pointer->second;
      return to.constant.has_value() ? to.ConstantAt(at) : Load(to.base, to.At(at));
    }
    const auto own = private_.find(name);
    if (own == private_.end()) return memory_.Load(name, at, number_, epoch_);
    if (at < 0 || at >= static_cast<int64_t>(own->second.size())) {
      ADD_FAILURE() << "there is no " << name << "[" << at << "]";
      return ScalarValue::Zero(ScalarType::kInt32);
    }
    return memory_.Read(own->second[static_cast<size_t>(at)], name, at);
  }

  ScalarValue LoadOfOther(const std::string& name, int64_t at, int64_t block) {
    if (const auto pointer = pointers_.find(name); pointer != pointers_.end()) {
      return LoadOfOther(pointer->second.base, pointer->second.At(at), block);
    }
    return memory_.LoadOfBlock(block, name, at, number_, epoch_);
  }

  static void CheckAligned(int64_t offset, size_t lanes, int64_t stride) {
    if (lanes == 1 || stride != 1) return;
    EXPECT_EQ(offset % static_cast<int64_t>(lanes), 0) << "wide access is not aligned";
  }

  Lanes Evaluate(const ValueNode& node) {
    const auto lanes = static_cast<size_t>(node.type.lanes);
    Lanes result;
    std::visit(
        Overloaded{
            [&](const Literal& v) { result = {v.value}; },
            [&](const NamedValue& v) { result = values_.at(v.name); },
            [&](const LoadOfBlock& v) {
              result = {LoadOfOther(v.array, At(v.offset), At(v.block))};
            },
            [&](const LoadElements& v) {
              const int64_t offset = At(v.offset);
              CheckAligned(offset, lanes, v.stride);
              for (size_t l = 0; l < lanes; ++l) {
                result.push_back(Load(v.pointer, offset + static_cast<int64_t>(l) * v.stride));
              }
            },
            [&](const LoadInside& v) {
              for (size_t l = 0; l < lanes; ++l) {
                result.push_back(LoadAround(v, static_cast<int64_t>(l)));
              }
            },
            [&](const LoopOperation& v) {
              std::vector<Lanes> operands;
              for (const LoopValue& operand : v.operands) {
                operands.push_back(Evaluate(*operand));
                if (operands.back().size() < lanes) {
                  operands.back().resize(lanes, operands.back()[0]);
                }
              }
              for (size_t l = 0; l < lanes; ++l) {
                Lanes scalars;
                for (const Lanes& operand : operands) scalars.push_back(operand[l]);
                result.push_back(Apply(v.op, node.type.scalar, scalars));
              }
            },
            [&](const Splat& v) { result.assign(lanes, Evaluate(*v.scalar)[0]); },
            [&](const Lane& v) { result = {Evaluate(*v.vector)[static_cast<size_t>(v.lane)]}; },
            [&](const GroupHalves& v) {
              result = LanesOfHalves(v, Evaluate(*v.first),
                                     v.second == nullptr ? Lanes() : Evaluate(*v.second));
            },
            [&](const JoinLanes& v) {
              for (const LoopValue& scalar : v.scalars) result.push_back(Evaluate(*scalar)[0]);
            },
            [&](const IndexValue& v) {
              for (size_t l = 0; l < lanes; ++l) {
                result.push_back(ScalarValue::Integer(
                    ScalarType::kInt64, At(v.index) + static_cast<int64_t>(l) * v.lane_step));
              }
            },
            [&](const auto&) { ADD_FAILURE() << "no test uses this form of value"; }},
        node.form);
    return result;
  }

  ScalarValue LoadAround(const LoadInside& load, int64_t lane) {
    int64_t offset = load.constant;
    for (const LoadInside::Dimension& d : load.dimensions) {
      const int64_t first = At(d.index), at = first + lane * d.lane_step;
      const bool is_inside = at >= 0 && at < d.extent;
      EXPECT_TRUE(is_inside == (first >= 0 && first < d.extent) && (is_inside || !d.is_inside));
      if (load.outside.has_value() && !is_inside) return *load.outside;
      offset += std::clamp<int64_t>(at, 0, d.extent - 1) * d.stride;
    }
    return Load(load.pointer, offset);
  }

  void Run(const Comment&) {}
  void Run(const DeclareIndex& s) { indices_[s.name] = At(s.value); }
  void Run(const DeclareValue& s) { values_[s.name] = Evaluate(*s.value); }
  void Run(const Assign& s) { values_.at(s.name) = Evaluate(*s.value); }
  void Run(const StoreElements& s) {
    const Lanes value = Evaluate(*s.value);
    const int64_t offset = At(s.offset);
    CheckAligned(offset, value.size(), s.stride);
    for (size_t l = 0; l < value.size(); ++l) {
      StoreAt(s.pointer, offset + static_cast<int64_t>(l) * s.stride, value[l]);
    }
  }
  void StoreAt(const std::string& name, int64_t at, const ScalarValue& value) {
    if (const auto pointer = pointers_.find(name); pointer != pointers_.end()) {
      return StoreAt(pointer->second.base, pointer->second.At(at), value);
    }
    const auto own = private_.find(name);
    if (own == private_.end()) return memory_.Store(name, at, value, number_, epoch_);
    const bool exists = at >= 0 && at < static_cast<int64_t>(own->second.size());
    if (exists) own->second[static_cast<size_t>(at)] = value;
    EXPECT_TRUE(exists) << "there is no " << name << "[" << at << "]";
  }
  void Run(const AddElements& s) {
    const Lanes value = Evaluate(*s.value);
    const int64_t offset = At(s.offset);
    CheckAligned(offset, value.size(), 1);
    for (size_t l = 0; l < value.size(); ++l) {
      memory_.Add(s.pointer, offset + static_cast<int64_t>(l), value[l], number_);
    }
  }
  void Run(const AwaitStages&) {}
  void Run(const DeclarePointer& s) {
    pointers_.insert_or_assign(s.name, PointedBy(s, At(s.offset), flags_));
  }
  void Run(const DeclareView& s) {
    const int64_t elements = memory_.ElementsOf(s.base, s.type);
    pointers_.insert_or_assign(s.name, PointedElements{s.base, 0, elements});
  }
  void Run(const AdvancePointer& s) { pointers_.at(s.name).offset += At(s.by); }
  void Run(const DeclareArray& s) {
    if (s.space == MemorySpace::kShared) return memory_.Declare(s);
    private_[s.name].assign(static_cast<size_t>(s.elements), std::nullopt);
  }
  void Run(const HardwareIndex& s) {
    indices_[s.name] =
        (s.kind == HardwareIndex::Kind::kBlock ? block_ : thread_)[static_cast<size_t>(s.axis)];
  }
  void Run(const Barrier& s) {
    s.threads > 0 ? memory_.WaitFor(s.threads, number_) : memory_.Wait();
    ++epoch_;
  }
  void Run(const ClusterBarrier&) { epoch_ = memory_.WaitForCluster(epoch_); }
  void Run(const DeclareLast& s) {
    flags_[s.name] = memory_.IsLast(s.counter, At(s.offset), s.blocks, number_);
    ++epoch_;
  }
  void Run(const For& s) {
    for (int64_t i = At(s.begin); s.whole_steps ? i + s.step <= At(s.end) : i < At(s.end);
         i += s.step) {
      indices_[s.variable] = i;
      Run(*s.body);
    }
  }
  void Run(const ShareLoop& s) {
    for (int64_t i = indices_["thread"]; i < s.items; i += indices_["threads"]) {
      indices_[s.variable] = i;
      Run(*s.body);
    }
  }
  void Run(const IfAny& s) {
    if (std::ranges::any_of(Evaluate(*s.condition), &ScalarValue::as_bool)) Run(*s.then_block);
  }
  void Run(const If& s) {
    const auto& taken = Holds(s.all_of) ? s.then_block : s.else_block;
    if (taken != nullptr) Run(*taken);
  }
  void Run(const DeclareFlag& s) { flags_[s.name] = Holds(s.all_of); }
  void Run(const ClearFlag& s) { flags_[s.name] = false; }
  void Run(const KeepInRegister&) {}
  void Run(const PrefetchElement&) {}
  void Run(const CopyRegion& s) { Run(*s.body); }
  void Run(const AsyncCopy& s) {
    const auto found = pointers_.find(s.target);
    const PointedElements of = found == pointers_.end() ? PointedElements{s.target} : found->second;
    const int64_t to = of.At(At(s.to)), from = At(s.from), lanes = s.type.lanes;
    const int64_t bytes = SizeBytes(s.type.scalar) * lanes;
    EXPECT_TRUE(bytes == 4 || bytes == 8 || bytes == 16) << bytes;
    for (const int64_t at : {to, from}) CheckAligned(at, static_cast<size_t>(lanes), 1);
    for (int64_t l = 0; l < s.type.lanes; ++l) {
      begun_.push_back({of.base, to + l, ScalarValue::Zero(s.type.scalar)});
      if (Holds(s.all_of)) begun_.back().value = Load(s.source, from + l);
      memory_.BeginCopy(of.base, to + l, number_, epoch_);
    }
  }
  void Run(const CommitCopies&) { groups_.push_back(std::exchange(begun_, {})); }
  void Run(const WaitForCopies& s) {
    for (; static_cast<int64_t>(groups_.size()) > s.groups; groups_.pop_front()) {
      for (const OneCopy& copy : groups_.front()) {
        memory_.EndCopy(copy.name, copy.at, copy.value, number_, epoch_);
      }
    }
  }

  // ---- Matrix units: multiplications are done as late as they may ----
  void Run(const DeclareOperand& s) {
    const int64_t start = At(s.offset) * memory_.ElementBytes(s.array);
    EXPECT_EQ(start % OperandTile::kTileAlignment, 0) << s.name << " is not aligned";
    operands_[s.name] = {s.array, {start, s.leading_bytes, s.stride_bytes, Swizzle::k128}};
  }
  void Run(const GroupFence&) { is_fenced_ = true; }
  void Run(const TakeRegisters&) {}
  void Run(const UnitFence&) { memory_.FenceUnit(number_); }
  void Run(const DeclareTensorMap& s) { ExpectEncodable(s), maps_[s.name] = s; }
  void Run(const StartBarriers& s) { memory_.StartBarriers(s.array, s.count, s.arrivals); }
  void Run(const ArriveAtBarrier& s) {
    for (int n = 0; n < s.blocks; ++n) {
      memory_.OneOf(s.blocks, n).Arrive(s.array, At(s.number), s.bytes, s.is_of_group());
    }
  }
  // What groups have read before they arrive may be copied to from here on, an epoch of no group.
  void Run(const AwaitBarrier& s) {
    if (memory_.AwaitPhase(s.array, At(s.number), At(s.parity))) epoch_ += 1'000'000;
  }
  void Run(const TensorCopy& s) {
    const DeclareTensorMap& map = maps_.at(s.map);
    std::vector<int64_t> first;
    for (const Index& coordinate : s.coordinates) first.push_back(At(coordinate));
    std::vector<BlockMemory::OneCopy> copies;
    ForBox(map, first, At(s.to), [&](std::optional<int64_t> from, int64_t to) {
      copies.push_back(
          {s.array, to, from.has_value() ? Load(map.base, *from) : ScalarValue::Zero(map.type)});
    });
    for (int n = 0; n < s.blocks; ++n) {
      BlockMemory& block = memory_.OneOf(s.blocks, At(s.first_block) + n * s.step);
      block.AddCopies(s.barriers, At(s.barrier), copies, SizeBytes(map.type), number_, epoch_);
    }
  }
  void Run(const GroupMultiply& s) {
    EXPECT_TRUE(is_fenced_) << "no fence in front of multiplications";
    const auto count = static_cast<size_t>(s.columns / 2), first = static_cast<size_t>(s.first);
    auto& own = private_.at(s.sums);
    auto& sums = in_flight_[s.sums];
    sums.resize(own.size());
    for (size_t r = first; r < first + count; ++r) {
      if (own[r].has_value()) sums[r] = std::exchange(own[r], std::nullopt);
    }
    Multiplication begun{s, At(s.keeps) != 0, operands_.at(s.a.name), operands_.at(s.b.name)};
    begun.a.second.start += s.a.offset_bytes;
    begun.b.second.start += s.b.offset_bytes;
    open_bundle_.push_back(std::move(begun));
  }
  void Run(const CommitMultiplies&) {
    bundles_.push_back(std::exchange(open_bundle_, {}));
    is_fenced_ = false;
  }
  void Run(const WaitForMultiplies& s) {
    for (; static_cast<int64_t>(bundles_.size()) > s.bundles; bundles_.pop_front()) {
      for (const Multiplication& one : bundles_.front()) Multiply(one);
    }
    for (auto& [name, sums] : in_flight_) {
      for (size_t r = 0; r < sums.size(); ++r) {
        if (!sums[r].has_value() || AddTo(bundles_, name, r)) continue;
        private_.at(name)[r] = std::exchange(sums[r], std::nullopt);
      }
    }
  }
  void Run(const StoreMatrices& s) {
    BlockMemory::Shown own{At(s.offset), {}};
    EXPECT_EQ(own.at % 8, 0) << "a row of a matrix is not aligned";
    for (const LoopValue& value : s.values) own.values.push_back(Evaluate(*value)[0]);
    const std::vector<BlockMemory::Shown>& shown = memory_.Show(number_, own);
    const int64_t lane = number_ % 32;
    for (int64_t matrix = 0; matrix < 4; ++matrix) {
      const int64_t at = shown[static_cast<size_t>(8 * matrix + lane / 4)].at + 2 * (lane % 4);
      for (int64_t side = 0; side < 2; ++side) {
        const ScalarValue& value = own.values[static_cast<size_t>(2 * matrix + side)];
        StoreAt(s.array, at + side, Apply(ScalarOp::kCast, s.type, {value}));
      }
    }
    memory_.EndShow(number_);
  }

  // Lanes show each other the rows they point to, and load what is theirs.
  void Run(const LoadMatrices& s) {
    const std::vector<BlockMemory::Shown>& shown = memory_.Show(number_, {At(s.offset), {}});
    const int64_t lane = number_ % 32, bytes = SizeBytes(s.type), packed = 4 / bytes;
    EXPECT_EQ(shown[static_cast<size_t>(lane)].at * bytes % 16, 0) << "a row is not aligned";
    for (int64_t matrix = 0; matrix < s.matrices; ++matrix) {
      std::vector<ScalarValue> values;
      for (int64_t e = 0; e < packed; ++e) {
        int64_t row = lane / 4, column = packed * (lane % 4) + e;
        if (s.is_transposed) std::swap(row, column);
        const int64_t at = shown[static_cast<size_t>(8 * matrix + row)].at + column;
        values.push_back(Apply(ScalarOp::kCast, s.type, {Load(s.array, at)}));  // may have none
      }
      StoreAt(s.to.array, At(s.to.first) + matrix, Packed(values));
    }
    memory_.EndShow(number_);
  }
  void Run(const RoundToTf32& s) {
    for (int64_t at = At(s.values.first), n = 0; n < s.count; ++n, ++at) {
      StoreAt(s.values.array, at, RoundedToTf32(Load(s.values.array, at)));
    }
  }
  void Run(const AwaitSums&) {}
  // Lanes show each other their fragments; every one adds up its own sums, by the digits of
  // layouts.
  void Run(const WarpMultiply& s) {
    const MatrixInstruction& row = *s.instruction;
    const int64_t of_a = row.a_layout.Count(DigitPlace::kRegister);
    BlockMemory::Shown own;
    for (const auto& [held, layout] : {std::pair(&s.a, &row.a_layout), {&s.b, &row.b_layout}}) {
      const int64_t first = At(held->first), count = layout->Count(DigitPlace::kRegister);
      for (int64_t r = first; r < first + count; ++r) own.values.push_back(Load(held->array, r));
    }
    const std::vector<BlockMemory::Shown>& shown = memory_.Show(number_, own);
    const auto element = [&](const FragmentLayout& layout, int64_t first, ScalarType type,
                             const MatrixPoint& at) {
      const HeldAt held = Holding(layout, at).value();
      const BlockMemory::Shown& lane = shown[static_cast<size_t>(held.lane)];
      const ScalarValue value =
          Unpacked(lane.values[static_cast<size_t>(first + held.reg)], type, held.packed);
      return Apply(ScalarOp::kCast, row.accumulator, {CutToTf32(value)});
    };
    for (int64_t r = 0; r < row.c_layout.Count(DigitPlace::kRegister); ++r) {
      const MatrixPoint at = row.c_layout.At({.lane = number_ % 32, .reg = r});
      ScalarValue sum = Load(s.sums.array, At(s.sums.first) + r);
      for (int64_t k = 0; k < row.k; ++k) {
        const ScalarValue a = element(row.a_layout, 0, row.a, {at[0], 0, k}),
                          b = element(row.b_layout, of_a, row.b, {0, at[1], k});
        sum = Apply(ScalarOp::kAdd, row.accumulator,
                    {sum, Apply(ScalarOp::kMul, row.accumulator, {a, b})});
      }
      StoreAt(s.sums.array, At(s.sums.first) + r, sum);
    }
    memory_.EndShow(number_);
  }

  struct Multiplication {
    GroupMultiply what;
    bool keeps;
    std::pair<std::string, MatrixDescriptor> a, b;
  };
  // Neighbours along k of row or column `point` of an operand: 32 bytes of them.
  auto AlongK(ScalarType type, const std::pair<std::string, MatrixDescriptor>& operand,
              int64_t point, bool is_across) {
    return memory_.LoadForUnit(operand.first, PlacesAlongK(operand.second, type, point, is_across),
                               number_, epoch_);
  }
  void Multiply(const Multiplication& one) {
    const int64_t in_group = number_ % kGroupThreads, lane = in_group % 32;
    auto& sums = in_flight_.at(one.what.sums);
    std::vector<std::vector<ScalarValue>> rows;
    for (int64_t half = 0; half < 2; ++half) {
      rows.push_back(AlongK(one.what.a.type, one.a, in_group / 32 * 16 + lane / 4 + 8 * half,
                            one.what.a.is_across));
    }
    for (int64_t eight = 0; eight < one.what.columns / 8; ++eight) {
      for (int64_t side = 0; side < 2; ++side) {
        const auto column =
            AlongK(one.what.b.type, one.b, 8 * eight + 2 * (lane % 4) + side, one.what.b.is_across);
        for (int64_t half = 0; half < 2; ++half) {
          auto& sum = sums[static_cast<size_t>(one.what.first + 4 * eight + 2 * half + side)];
          double total = one.keeps && sum.has_value() ? sum->as_double() : 0;
          EXPECT_TRUE(!one.keeps || sum.has_value()) << "nothing was summed up before";
          total += ProductOf(rows[static_cast<size_t>(half)], column);
          sum = SumOfUnit(one.what.a.type, total);
        }
      }
    }
  }

  template <typename Form>
  void Run(const Form&) {
    ADD_FAILURE() << "no test uses this form of statement";
  }
  using OneCopy = BlockMemory::OneCopy;
  using Copies = std::vector<OneCopy>;

  BlockMemory& memory_;
  const std::array<int64_t, 3> block_, thread_;
  int64_t number_ = 0;  // in the block
  int64_t epoch_ = 0;   // barriers up to now
  std::map<std::string, int64_t> indices_;
  std::map<std::string, Lanes> values_;
  std::map<std::string, bool> flags_;
  std::map<std::string, PointedElements> pointers_;
  ProgramMemory private_;
  std::map<std::string, std::pair<std::string, MatrixDescriptor>> operands_;
  std::map<std::string, DeclareTensorMap> maps_;
  bool is_fenced_ = false;
  ProgramMemory in_flight_;  // sums that the unit has
  std::vector<Multiplication> open_bundle_;
  std::deque<std::vector<Multiplication>> bundles_;
  Copies begun_;  // since the last group
  std::deque<Copies> groups_;
};

}  // namespace

ProgramMemory Execute(const LoopProgram& program, ProgramMemory memory, bool may_read_unwritten) {
  for (const Stage& stage : program.stages) {
    const auto& grid = stage.launch.grid;
    const auto& block = stage.launch.block;
    const auto at = [](int64_t n, const std::array<int64_t, 3>& extents) {
      return std::array<int64_t, 3>{n % extents[0], n / extents[0] % extents[1],
                                    n / extents[0] / extents[1]};
    };
    const auto& cluster = stage.cluster;
    const int64_t threads_per_block = stage.launch.threads_per_block();
    const int64_t blocks_per_cluster = cluster[0] * cluster[1] * cluster[2];
    const std::array<int64_t, 3> clusters = {grid[0] / cluster[0], grid[1] / cluster[1],
                                             grid[2] / cluster[2]};
    for (int64_t c = 0; c < clusters[0] * clusters[1] * clusters[2]; ++c) {
      BlockCluster members(threads_per_block * blocks_per_cluster);
      std::deque<BlockMemory> memories;
      for (int64_t b = 0; b < blocks_per_cluster; ++b) {
        memories.emplace_back(memory, members, threads_per_block, may_read_unwritten);
      }
      std::vector<std::thread> threads;
      for (int64_t b = 0; b < blocks_per_cluster; ++b) {
        std::array<int64_t, 3> place = at(b, cluster), first = at(c, clusters);
        for (size_t axis = 0; axis < 3; ++axis) place[axis] += first[axis] * cluster[axis];
        for (int64_t t = 0; t < threads_per_block; ++t) {
          threads.emplace_back([&, b, place, t] {
            const std::lock_guard turn(members.turn);
            BlockMemory& own = memories[static_cast<size_t>(b)];
            ThreadOfStage thread(own, stage.launch, place, at(t, block));
            thread.Run(stage.body);
            thread.ExpectAllCopiesArrived();
            own.Leave();
          });
        }
      }
      for (std::thread& thread : threads) thread.join();
      for (BlockMemory& own : memories) own.ExpectNoCopies(), own.End();
    }
  }
  return memory;
}

}  // namespace mdh
