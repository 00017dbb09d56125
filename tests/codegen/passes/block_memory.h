// The memory of a block of threads that pass_evaluator.cc runs: shared arrays, and who has read or
// written what since the last barrier.
#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/codegen/passes/pass_evaluator.h"

namespace mdh {

// What a pointer or a view points to: from one of its elements to the next `elements` of the base.
struct PointedElements {
  std::string base;
  int64_t offset = 0, elements = 1;
  // If it points to constants instead: which, and how many.
  std::optional<ScalarValue> constant = std::nullopt;
  int64_t constants = 0;
  int64_t At(int64_t at) const { return offset + at * elements; }
  ScalarValue ConstantAt(int64_t at) const {
    EXPECT_TRUE(at >= 0 && at < constants) << "there are no so many constants";
    return *constant;
  }
};
// What the statement declares, at that offset or, if its flag does not hold, outside.
inline PointedElements PointedBy(const DeclarePointer& pointer, int64_t offset,
                                 const std::map<std::string, bool>& flags) {
  if (pointer.flag.empty() || flags.at(pointer.flag)) return {pointer.base, offset};
  return {pointer.base, 0, 1, pointer.outside, pointer.elements};
}

class BlockMemory;

// The blocks of a cluster, in the order of their numbers there.
struct BlockCluster {
  explicit BlockCluster(int64_t threads) : barrier(static_cast<std::ptrdiff_t>(threads)) {}
  std::vector<BlockMemory*> blocks;
  std::barrier<> barrier;
  std::atomic<int64_t> epoch = 0;  // the latest of all threads
};

// What the threads of one block share.
class BlockMemory {
 public:
  BlockMemory(ProgramMemory& global, BlockCluster& cluster, int64_t threads,
              bool may_read_unwritten)
      : global_(global),
        cluster_(cluster),
        may_read_unwritten_(may_read_unwritten),
        barrier_(static_cast<std::ptrdiff_t>(threads)) {
    cluster.blocks.push_back(this);
    for (int64_t warp = 0; warp < threads / kWarp; ++warp) warps_.emplace_back();
  }

  void Declare(const DeclareArray& array) {
    const std::lock_guard lock(mutex_);
    auto& elements = shared_[array.name];
    if (elements.empty()) elements.resize(static_cast<size_t>(array.elements));
    element_bytes_[array.name] = SizeBytes(array.type);
  }
  int64_t ElementBytes(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return element_bytes_.at(name);
  }
  // Of a shared array, that one of a view of it is in; of other memory 1.
  int64_t ElementsOf(const std::string& name, ScalarType view) {
    const std::lock_guard lock(mutex_);
    const auto bytes = element_bytes_.find(name);
    return bytes == element_bytes_.end() ? 1
                                         : std::max<int64_t>(1, SizeBytes(view) / bytes->second);
  }
  void Wait() { barrier_.arrive_and_wait(); }
  // Of the first so many threads alone.
  void WaitFor(int64_t threads, int64_t thread) {
    EXPECT_TRUE(thread < threads && threads % kWarp == 0) << thread << " of " << threads;
    std::barrier<>* some = nullptr;
    {
      const std::lock_guard lock(mutex_);
      some = &some_.try_emplace(threads, static_cast<std::ptrdiff_t>(threads)).first->second;
    }
    some->arrive_and_wait();
  }
  // Blocks may have met at more barriers than others until then: the epoch of all from here on.
  int64_t WaitForCluster(int64_t epoch) {
    int64_t latest = cluster_.epoch;
    while (latest < epoch && !cluster_.epoch.compare_exchange_weak(latest, epoch)) {
    }
    cluster_.barrier.arrive_and_wait();
    latest = cluster_.epoch;
    cluster_.barrier.arrive_and_wait();
    return latest + 1;
  }
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
      if (std::optional<ScalarValue>* element = Find(counter, at).element; element != nullptr) {
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
    const Place place = Find(name, at);
    if (place.element == nullptr) return Unwritten(name, at);
    place.marks->access.Enter(epoch, thread);
    Check(*place.marks, name, at);
    return Read(*place.element, name, at);
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
    Write(name, at, value, thread, epoch);
  }
  // A copy that has begun may write its element at any time until it arrives.
  void BeginCopy(const std::string& name, int64_t at, int64_t thread, int64_t epoch) {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(shared_.contains(name)) << name << " is not in shared memory";
    Write(name, at, std::nullopt, thread, epoch);
    if (Marks* marks = Find(name, at).marks; marks != nullptr) marks->is_on_its_way = true;
  }
  // What a thread wrote to shared memory is there for the matrix unit from here on.
  void FenceUnit(int64_t thread) {
    const std::lock_guard lock(mutex_);
    for (Marks* place : written_by_[thread]) place->is_unfenced = false;
    written_by_[thread].clear();
  }
  // What the unit reads for a thread: all in one step.
  std::vector<ScalarValue> LoadForUnit(const std::string& name, const std::vector<int64_t>& places,
                                       int64_t thread, int64_t epoch) {
    std::vector<ScalarValue> values;
    for (const int64_t at : places) values.push_back(Load(name, at, thread, epoch));
    const std::lock_guard lock(mutex_);
    for (const int64_t at : places) {
      const Marks* marks = Find(name, at).marks;
      EXPECT_FALSE(marks != nullptr && marks->is_unfenced)
          << "the unit reads " << name << "[" << at << "], which nobody has fenced";
    }
    return values;
  }
  // What the threads of a warp show each other: an index and values each.
  struct Shown {
    int64_t at = 0;
    std::vector<ScalarValue> values;
  };
  const std::vector<Shown>& Show(int64_t thread, Shown shown) {
    Warp& warp = warps_[static_cast<size_t>(thread / kWarp)];
    warp.shown[static_cast<size_t>(thread % kWarp)] = std::move(shown);
    warp.barrier.arrive_and_wait();
    return warp.shown;
  }
  void EndShow(int64_t thread) {
    warps_[static_cast<size_t>(thread / kWarp)].barrier.arrive_and_wait();
  }
  void EndCopy(const std::string& name, int64_t at, const ScalarValue& value, int64_t thread,
               int64_t epoch) {
    const std::lock_guard lock(mutex_);
    if (Marks* marks = Find(name, at).marks; marks != nullptr) marks->is_on_its_way = false;
    Write(name, at, value, thread, epoch);
  }
  // ---- Tensor copies: barriers of shared arrays, in whose phases they arrive as late as they may
  struct OneCopy {
    std::string name;
    int64_t at;
    ScalarValue value;
  };
  void StartBarriers(const std::string& array, int64_t count, int64_t arrivals) {
    const std::lock_guard lock(mutex_);
    auto& barriers = copy_barriers_[array];
    EXPECT_TRUE(barriers.empty()) << array << " is started twice";
    barriers.assign(static_cast<size_t>(count), CopyBarrier{arrivals, arrivals});
  }
  // `threads` arrive as one: the last of them counts.
  void Arrive(const std::string& array, int64_t number, int64_t bytes, int64_t threads) {
    const std::lock_guard lock(mutex_);
    CopyBarrier* barrier = FindBarrier(array, number);
    if (barrier == nullptr) return;
    barrier->is_of_groups = threads > 1;
    barrier->bytes += bytes;
    if (++barrier->threads % threads != 0) return;
    EXPECT_GT(barrier->missing, 0) << array << "[" << number << "] has all arrivals of its phase";
    --barrier->missing;
    has_arrived_.notify_all();
  }
  void AddCopies(const std::string& array, int64_t number, std::vector<OneCopy> copies,
                 int64_t element_bytes) {
    const std::lock_guard lock(mutex_);
    CopyBarrier* barrier = FindBarrier(array, number);
    if (barrier == nullptr) return;
    barrier->bytes -= std::ssize(copies) * element_bytes;
    for (OneCopy& copy : copies) barrier->copies.push_back(std::move(copy));
    has_arrived_.notify_all();
  }
  // Whether groups of threads arrive there, rather than copies.
  bool AwaitPhase(const std::string& array, int64_t number, int64_t parity) {
    std::unique_lock lock(mutex_);
    CopyBarrier* barrier = FindBarrier(array, number);
    if (barrier == nullptr) return false;
    while (barrier->phase % 2 == parity) {
      if (barrier->missing == 0 && barrier->bytes == 0) {
        EndPhase(barrier);
        has_arrived_.notify_all();
      } else if (has_arrived_.wait_for(lock, std::chrono::seconds(60)) == std::cv_status::timeout) {
        ADD_FAILURE() << "nobody ends phase " << barrier->phase << " of " << array << "[" << number
                      << "]";
        break;
      }
    }
    return barrier->is_of_groups;
  }
  // Whether nothing is on its way at the end of the block.
  void ExpectNoCopies() {
    const std::lock_guard lock(mutex_);
    for (const auto& [array, barriers] : copy_barriers_) {
      for (const CopyBarrier& barrier : barriers) {
        EXPECT_TRUE(barrier.copies.empty()) << "nobody waits at " << array << " for copies";
      }
    }
  }
  // Additions come into effect when the block has ended, in the order of its threads.
  void Add(const std::string& name, int64_t at, const ScalarValue& value, int64_t thread) {
    const std::lock_guard lock(mutex_);
    additions_[{name, at}].emplace(thread, value);
  }
  void End() {
    for (const auto& [where, values] : additions_) {
      const auto [element, marks] = Find(where.first, where.second);
      if (element == nullptr) continue;
      EXPECT_LT(marks->access.epoch, 0) << "others access what is added to";
      EXPECT_TRUE(element->has_value()) << "nothing was written to what is added to";
      if (!element->has_value()) continue;
      for (const auto& [thread, value] : values) {
        *element = Apply(ScalarOp::kAdd, value.type(), {**element, value});
      }
    }
  }

 private:
  struct CopyBarrier {
    int64_t arrivals;     // of a phase
    int64_t missing;      // of this one
    int64_t bytes = 0;    // that it waits for
    int64_t threads = 0;  // that have come
    bool is_of_groups = false;
    int64_t phase = 0;
    std::vector<OneCopy> copies = {};
  };
  CopyBarrier* FindBarrier(const std::string& array, int64_t number) {
    const auto found = copy_barriers_.find(array);
    const bool exists =
        found != copy_barriers_.end() && number >= 0 && number < std::ssize(found->second);
    EXPECT_TRUE(exists) << "there is no barrier " << array << "[" << number << "]";
    return exists ? &found->second[static_cast<size_t>(number)] : nullptr;
  }
  void EndPhase(CopyBarrier* barrier) {
    for (const OneCopy& copy : barrier->copies) {
      const auto [element, marks] = Find(copy.name, copy.at);
      if (element == nullptr) continue;
      *element = copy.value;
      *marks = {};
    }
    barrier->copies.clear();
    barrier->missing = barrier->arrivals;
    ++barrier->phase;
  }
  // Who accesses an element between two barriers.
  struct Access {
    int64_t epoch = -1;
    int64_t thread = -1;  // the first
    bool has_others = false;
    bool is_written = false;
    void Enter(int64_t now, int64_t who) {
      if (epoch != now) *this = {now, who};
      has_others = has_others || thread != who;
    }
  };
  // What is known of an element besides its value.
  struct Marks {
    Access access;
    bool is_on_its_way = false;  // a copy has not arrived
    bool is_unfenced = false;    // written, and not yet there for the unit
  };
  struct Place {
    std::optional<ScalarValue>* element = nullptr;
    Marks* marks = nullptr;
  };
  Place Find(const std::string& name, int64_t at) {
    auto array = shared_.find(name);
    const bool is_shared = array != shared_.end();
    if (!is_shared) array = global_.find(name);
    if ((!is_shared && array == global_.end()) || at < 0 || at >= std::ssize(array->second)) {
      ADD_FAILURE() << "there is no " << name << "[" << at << "]";
      return {};
    }
    std::vector<Marks>& marks = marks_[name];
    if (marks.empty()) marks.resize(array->second.size());
    return {&array->second[static_cast<size_t>(at)], &marks[static_cast<size_t>(at)]};
  }
  void Write(const std::string& name, int64_t at, const std::optional<ScalarValue>& value,
             int64_t thread, int64_t epoch) {
    const auto [element, marks] = Find(name, at);
    if (element == nullptr) return;
    marks->access.Enter(epoch, thread);
    marks->access.is_written = true;
    Check(*marks, name, at);
    *element = value;
    if (shared_.contains(name)) {
      marks->is_unfenced = true;
      written_by_[thread].push_back(marks);
    }
  }
  static void Check(const Marks& marks, const std::string& name, int64_t at) {
    EXPECT_FALSE(marks.is_on_its_way) << "a copy to " << name << "[" << at << "] is on its way";
    EXPECT_FALSE(marks.access.is_written && marks.access.has_others)
        << "threads race for " << name << "[" << at << "]";
  }

  ProgramMemory& global_;
  BlockCluster& cluster_;
  const bool may_read_unwritten_;
  bool is_last_ = false;
  int64_t last_read_ = -1;  // by a block of the cluster
  ProgramMemory shared_;
  std::map<std::string, int64_t> element_bytes_;  // of shared arrays
  std::map<std::string, std::vector<Marks>> marks_;
  std::map<std::pair<std::string, int64_t>, std::multimap<int64_t, ScalarValue>> additions_;
  static constexpr int64_t kWarp = 32;
  struct Warp {
    std::vector<Shown> shown = std::vector<Shown>(kWarp);
    std::barrier<> barrier{kWarp};
  };
  std::deque<Warp> warps_;
  std::map<int64_t, std::vector<Marks*>> written_by_;
  std::map<std::string, std::vector<CopyBarrier>> copy_barriers_;
  std::condition_variable has_arrived_;
  std::mutex mutex_;
  std::barrier<> barrier_;
  std::map<int64_t, std::barrier<>> some_;
};

}  // namespace mdh
