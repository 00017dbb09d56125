#include "tests/codegen/passes/pass_evaluator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "core/base/status.h"

namespace mdh {
namespace {

class BlockMemory;

// The blocks of a cluster, in the order of their numbers there.
struct Cluster {
  explicit Cluster(int64_t threads) : barrier(static_cast<std::ptrdiff_t>(threads)) {}
  std::vector<BlockMemory*> blocks;
  std::barrier<> barrier;
};

// What the threads of one block share.
class BlockMemory {
 public:
  BlockMemory(ProgramMemory& global, Cluster& cluster, int64_t threads, bool may_read_unwritten)
      : global_(global),
        cluster_(cluster),
        may_read_unwritten_(may_read_unwritten),
        barrier_(static_cast<std::ptrdiff_t>(threads)) {
    cluster.blocks.push_back(this);
  }

  void Declare(const DeclareArray& array) {
    const std::lock_guard lock(mutex_);
    auto& elements = shared_[array.name];
    if (elements.empty()) elements.resize(static_cast<size_t>(array.elements));
  }
  void Wait() { barrier_.arrive_and_wait(); }
  void WaitForCluster() { cluster_.barrier.arrive_and_wait(); }
  void Leave() {
    barrier_.arrive_and_drop();
    cluster_.barrier.arrive_and_drop();
  }
  // An element of a shared array of block `number` in the cluster, for a thread of this one.
  ScalarValue LoadOfBlock(int64_t number, const std::string& name, int64_t at, int64_t thread,
                          int64_t epoch) {
    if (number < 0 || number >= std::ssize(cluster_.blocks)) {
      ADD_FAILURE() << "there is no block " << number << " in the cluster";
      return ScalarValue::Zero(ScalarType::kInt32);
    }
    BlockMemory& other = *cluster_.blocks[static_cast<size_t>(number)];
    const auto own = std::find(cluster_.blocks.begin(), cluster_.blocks.end(), this);
    {
      const std::lock_guard lock(other.mutex_);
      EXPECT_TRUE(other.shared_.contains(name)) << name << " is not in shared memory";
      other.last_read_ = std::max(other.last_read_, epoch);
    }
    // Numbers of threads that no block has.
    const int64_t reader = thread + (own - cluster_.blocks.begin() + 1) * 1'000'000;
    return other.Load(name, at, &other == this ? thread : reader, epoch);
  }
  // Whether others still read after the last barrier of this block.
  void ExpectNotReadSince(int64_t epoch) {
    const std::lock_guard lock(mutex_);
    EXPECT_LT(last_read_, epoch) << "a block ends that others of its cluster read";
  }
  // Counts the block; all of its threads learn whether it is the last one.
  bool IsLast(const std::string& counter, int64_t at, int64_t blocks, int64_t thread) {
    Wait();
    if (thread == 0) {
      const std::lock_guard lock(mutex_);
      if (std::optional<ScalarValue>* element = Find(counter, at); element != nullptr) {
        EXPECT_TRUE(element->has_value()) << "nothing was written to " << counter;
        const int64_t count = element->has_value() ? (*element)->as_int64() + 1 : 1;
        *element = ScalarValue::Integer(ScalarType::kInt32, count);
        is_last_ = count == blocks;
      }
    }
    Wait();
    return is_last_;
  }

  ScalarValue Load(const std::string& name, int64_t at, int64_t thread, int64_t epoch) {
    const std::lock_guard lock(mutex_);
    std::optional<ScalarValue>* element = Find(name, at);
    Access& access = accesses_[{name, at}];
    access.Enter(epoch);
    access.readers.insert(thread);
    Check(access, name, at);
    CheckArrived(name, at);
    return element == nullptr ? Unwritten(name, at) : Read(*element, name, at);
  }
  ScalarValue Read(const std::optional<ScalarValue>& element, const std::string& name,
                   int64_t at) const {
    return element.has_value() ? *element : Unwritten(name, at);
  }
  ScalarValue Unwritten(const std::string& name, int64_t at) const {
    EXPECT_TRUE(may_read_unwritten_) << "nothing was written to " << name << "[" << at << "]";
    return ScalarValue::Zero(ScalarType::kInt32);
  }
  void Store(const std::string& name, int64_t at, const ScalarValue& value, int64_t thread,
             int64_t epoch) {
    const std::lock_guard lock(mutex_);
    CheckArrived(name, at);
    Write(name, at, value, thread, epoch);
  }
  // A copy that has begun may write its element at any time until it arrives.
  void BeginCopy(const std::string& name, int64_t at, int64_t thread, int64_t epoch) {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(shared_.contains(name)) << name << " is not in shared memory";
    CheckArrived(name, at);
    Write(name, at, std::nullopt, thread, epoch);
    on_their_way_.insert({name, at});
  }
  void EndCopy(const std::string& name, int64_t at, const ScalarValue& value, int64_t thread,
               int64_t epoch) {
    const std::lock_guard lock(mutex_);
    on_their_way_.erase({name, at});
    Write(name, at, value, thread, epoch);
  }
  // Additions come into effect when the block has ended, in the order of its threads.
  void Add(const std::string& name, int64_t at, const ScalarValue& value, int64_t thread) {
    const std::lock_guard lock(mutex_);
    additions_[{name, at}].emplace(thread, value);
  }
  void End() {
    for (const auto& [place, values] : additions_) {
      std::optional<ScalarValue>* element = Find(place.first, place.second);
      if (element == nullptr) continue;
      EXPECT_FALSE(accesses_.contains(place)) << "others access what is added to";
      EXPECT_TRUE(element->has_value()) << "nothing was written to what is added to";
      if (!element->has_value()) continue;
      for (const auto& [thread, value] : values) {
        *element = Apply(ScalarOp::kAdd, value.type(), {**element, value});
      }
    }
  }

 private:
  // Who accesses an element between two barriers.
  struct Access {
    int64_t epoch = -1;
    std::set<int64_t> readers, writers;
    void Enter(int64_t at) {
      if (epoch != at) *this = {at, {}, {}};
    }
  };
  std::optional<ScalarValue>* Find(const std::string& name, int64_t at) {
    auto* elements = shared_.contains(name)   ? &shared_[name]
                     : global_.contains(name) ? &global_[name]
                                              : nullptr;
    if (elements == nullptr || at < 0 || at >= static_cast<int64_t>(elements->size())) {
      ADD_FAILURE() << "there is no " << name << "[" << at << "]";
      return nullptr;
    }
    return &(*elements)[static_cast<size_t>(at)];
  }
  void Write(const std::string& name, int64_t at, const std::optional<ScalarValue>& value,
             int64_t thread, int64_t epoch) {
    std::optional<ScalarValue>* element = Find(name, at);
    if (element == nullptr) return;
    Access& access = accesses_[{name, at}];
    access.Enter(epoch);
    access.writers.insert(thread);
    Check(access, name, at);
    *element = value;
  }
  void CheckArrived(const std::string& name, int64_t at) const {
    EXPECT_FALSE(on_their_way_.contains({name, at}))
        << "a copy to " << name << "[" << at << "] is on its way";
  }
  static void Check(const Access& access, const std::string& name, int64_t at) {
    std::set<int64_t> threads = access.readers;
    threads.insert(access.writers.begin(), access.writers.end());
    EXPECT_TRUE(access.writers.empty() || threads.size() == 1)
        << "threads race for " << name << "[" << at << "]";
  }

  ProgramMemory& global_;
  Cluster& cluster_;
  const bool may_read_unwritten_;
  bool is_last_ = false;
  int64_t last_read_ = -1;  // by a block of the cluster
  ProgramMemory shared_;
  std::map<std::pair<std::string, int64_t>, Access> accesses_;
  std::map<std::pair<std::string, int64_t>, std::multimap<int64_t, ScalarValue>> additions_;
  std::set<std::pair<std::string, int64_t>> on_their_way_;  // copies that have not arrived
  std::mutex mutex_;
  std::barrier<> barrier_;
};

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
    memory_.ExpectNotReadSince(epoch_);
  }

 private:
  using Lanes = std::vector<ScalarValue>;

  int64_t At(const Index& index) const {
    return index
        .Replace([&](const std::string& name) -> std::optional<Index> {
          const auto found = indices_.find(name);
          if (found != indices_.end()) return Index(found->second);
          ADD_FAILURE() << "no variable " << name;
          return Index(0);
        })
        .constant();
  }
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
      return Load(pointer->second.first, pointer->second.second + at);
    }
    const auto own = private_.find(name);
    if (own == private_.end()) return memory_.Load(name, at, number_, epoch_);
    if (at < 0 || at >= static_cast<int64_t>(own->second.size())) {
      ADD_FAILURE() << "there is no " << name << "[" << at << "]";
      return ScalarValue::Zero(ScalarType::kInt32);
    }
    return memory_.Read(own->second[static_cast<size_t>(at)], name, at);
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
              result = {memory_.LoadOfBlock(At(v.block), v.array, At(v.offset), number_, epoch_)};
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
            [&](const GroupHalves& v) { result = Halves(v); },
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

  Lanes Halves(const GroupHalves& v) {
    const auto group = static_cast<size_t>(v.group), part = static_cast<size_t>(v.part);
    const Lanes first = Evaluate(*v.first);
    const Lanes second = v.second == nullptr ? Lanes() : Evaluate(*v.second);
    Lanes result;
    for (size_t begin = 0; begin < first.size(); begin += part) {
      for (const Lanes* vector : {&first, &second}) {
        for (size_t l = begin; l < begin + part && l < vector->size(); ++l) {
          if ((l % group >= group / 2) == v.is_upper) result.push_back((*vector)[l]);
        }
      }
    }
    return result;
  }

  ScalarValue LoadAround(const LoadInside& load, int64_t lane) {
    int64_t offset = load.constant;
    for (const LoadInside::Dimension& d : load.dimensions) {
      const int64_t at = At(d.index) + lane * d.lane_step;
      if (load.outside.has_value() && (at < 0 || at >= d.extent)) return *load.outside;
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
      return StoreAt(pointer->second.first, pointer->second.second + at, value);
    }
    const auto own = private_.find(name);
    if (own == private_.end()) {
      memory_.Store(name, at, value, number_, epoch_);
    } else if (at < 0 || at >= static_cast<int64_t>(own->second.size())) {
      ADD_FAILURE() << "there is no " << name << "[" << at << "]";
    } else {
      own->second[static_cast<size_t>(at)] = value;
    }
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
    pointers_.insert_or_assign(s.name, std::pair(s.base, At(s.offset)));
  }
  void Run(const DeclareArray& s) {
    if (s.space == MemorySpace::kShared) return memory_.Declare(s);
    private_[s.name].assign(static_cast<size_t>(s.elements), std::nullopt);
  }
  void Run(const HardwareIndex& s) {
    indices_[s.name] =
        (s.kind == HardwareIndex::Kind::kBlock ? block_ : thread_)[static_cast<size_t>(s.axis)];
  }
  void Run(const Barrier&) {
    memory_.Wait();
    ++epoch_;
  }
  void Run(const ClusterBarrier&) {
    memory_.WaitForCluster();
    ++epoch_;
  }
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
    const Lanes condition = Evaluate(*s.condition);
    if (std::any_of(condition.begin(), condition.end(),
                    [](const ScalarValue& lane) { return lane.as_bool(); })) {
      Run(*s.then_block);
    }
  }
  void Run(const If& s) {
    if (Holds(s.all_of)) {
      Run(*s.then_block);
    } else if (s.else_block != nullptr) {
      Run(*s.else_block);
    }
  }
  void Run(const DeclareFlag& s) { flags_[s.name] = Holds(s.all_of); }
  void Run(const ClearFlag& s) { flags_[s.name] = false; }
  void Run(const KeepInRegister&) {}
  void Run(const PrefetchElement&) {}
  void Run(const CopyRegion& s) { Run(*s.body); }
  void Run(const AsyncCopy& s) {
    const auto lanes = static_cast<size_t>(s.type.lanes);
    const int64_t to = At(s.to), from = At(s.from), bytes = SizeBytes(s.type.scalar) * s.type.lanes;
    EXPECT_TRUE(bytes == 4 || bytes == 8 || bytes == 16) << "a copy of " << bytes << " bytes";
    CheckAligned(to, lanes, 1);
    CheckAligned(from, lanes, 1);
    for (int64_t l = 0; l < s.type.lanes; ++l) {
      begun_.push_back({s.target, to + l, Load(s.source, from + l)});
      memory_.BeginCopy(s.target, to + l, number_, epoch_);
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
  template <typename Form>
  void Run(const Form&) {
    ADD_FAILURE() << "no test uses this form of statement";
  }

  struct OneCopy {
    std::string name;
    int64_t at;
    ScalarValue value;
  };
  using Copies = std::vector<OneCopy>;

  BlockMemory& memory_;
  const std::array<int64_t, 3> block_, thread_;
  int64_t number_ = 0;  // in the block
  int64_t epoch_ = 0;   // barriers up to now
  std::map<std::string, int64_t> indices_;
  std::map<std::string, Lanes> values_;
  std::map<std::string, bool> flags_;
  std::map<std::string, std::pair<std::string, int64_t>> pointers_;  // bases and offsets
  ProgramMemory private_;
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
      Cluster members(threads_per_block * blocks_per_cluster);
      std::deque<BlockMemory> memories;
      for (int64_t b = 0; b < blocks_per_cluster; ++b) {
        memories.emplace_back(memory, members, threads_per_block, may_read_unwritten);
      }
      std::vector<std::thread> threads;
      for (int64_t b = 0; b < blocks_per_cluster; ++b) {
        std::array<int64_t, 3> place = at(b, cluster);
        for (size_t axis = 0; axis < 3; ++axis)
          place[axis] += at(c, clusters)[axis] * cluster[axis];
        for (int64_t t = 0; t < threads_per_block; ++t) {
          threads.emplace_back([&, b, place, t] {
            BlockMemory& own = memories[static_cast<size_t>(b)];
            ThreadOfStage thread(own, stage.launch, place, at(t, block));
            thread.Run(stage.body);
            thread.ExpectAllCopiesArrived();
            own.Leave();
          });
        }
      }
      for (std::thread& thread : threads) thread.join();
      for (BlockMemory& own : memories) own.End();
    }
  }
  return memory;
}

}  // namespace mdh
