// The memory of a block of threads that pass_evaluator.cc runs: shared arrays, and who has read or
// written what since the last barrier.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
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

// Where threads wait for each other. They call it in their turn, which they have again afterwards.
class ThreadBarrier {
 public:
  ThreadBarrier(std::mutex& turn, int64_t threads)
      : turn_(turn), threads_(threads), missing_(threads) {}

  void ArriveAndWait() {
    if (--missing_ == 0) return EndPhase();
    std::unique_lock lock(turn_, std::adopt_lock);
    has_ended_.wait(lock, [this, phase = phase_] { return phase_ != phase; });
    lock.release();
  }
  void ArriveAndDrop() {
    --threads_;
    if (--missing_ == 0) EndPhase();
  }

 private:
  void EndPhase() {
    missing_ = threads_;
    ++phase_;
    has_ended_.notify_all();
  }

  std::mutex& turn_;
  int64_t threads_, missing_;
  int64_t phase_ = 0;
  std::condition_variable has_ended_;
};

// The blocks of a cluster, in the order of their numbers there.
struct BlockCluster {
  explicit BlockCluster(int64_t threads) : barrier(turn, threads) {}
  std::vector<BlockMemory*> blocks;
  // A thread runs alone until it waits for others: that they share memory costs nothing then. Who
  // races with whom is known from what they access between two barriers.
  std::mutex turn;
  ThreadBarrier barrier;
  int64_t epoch = 0;  // the latest of all threads
};

// What the threads of one block share.
class BlockMemory {
 public:
  BlockMemory(ProgramMemory& global, BlockCluster& cluster, int64_t threads,
              bool may_read_unwritten)
      : global_(global),
        cluster_(cluster),
        may_read_unwritten_(may_read_unwritten),
        threads_(threads),
        barrier_(cluster.turn, threads) {
    cluster.blocks.push_back(this);
    for (int64_t warp = 0; warp < threads / kWarp; ++warp) warps_.emplace_back(cluster.turn);
  }

  void Declare(const DeclareArray& array) {
    auto& elements = shared_[array.name];
    if (elements.empty()) elements.resize(static_cast<size_t>(array.elements));
    element_bytes_[array.name] = SizeBytes(array.type);
  }
  int64_t ElementBytes(const std::string& name) { return element_bytes_.at(name); }
  // Of a shared array, that one of a view of it is in; of other memory 1.
  int64_t ElementsOf(const std::string& name, ScalarType view) {
    const auto bytes = element_bytes_.find(name);
    return bytes == element_bytes_.end() ? 1
                                         : std::max<int64_t>(1, SizeBytes(view) / bytes->second);
  }
  void Wait() { barrier_.ArriveAndWait(); }
  // Of the first so many threads alone.
  void WaitFor(int64_t threads, int64_t thread) {
    EXPECT_TRUE(thread < threads && threads % kWarp == 0) << thread << " of " << threads;
    some_.try_emplace(threads, cluster_.turn, threads).first->second.ArriveAndWait();
  }
  // Blocks may have met at more barriers than others until then: the epoch of all from here on.
  int64_t WaitForCluster(int64_t epoch) {
    cluster_.epoch = std::max(cluster_.epoch, epoch);
    cluster_.barrier.ArriveAndWait();
    const int64_t latest = cluster_.epoch;
    cluster_.barrier.ArriveAndWait();
    return latest + 1;
  }
  void Leave() {
    ++left_;
    barrier_.ArriveAndDrop();
    cluster_.barrier.ArriveAndDrop();
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
    EXPECT_TRUE(other.shared_.contains(name)) << name << " is not in shared memory";
    other.last_read_ = std::max(other.last_read_, epoch);
    // Numbers of threads that no block has.
    const int64_t reader = thread + (own - cluster_.blocks.begin() + 1) * 1'000'000;
    return other.Load(name, at, &other == this ? thread : reader, epoch);
  }
  // That with the number in the cluster, whose barriers others may arrive at until it ends; this
  // one where only one is concerned.
  BlockMemory& OneOf(int blocks, int64_t number) {
    if (blocks == 1) return *this;
    BlockMemory& other = *cluster_.blocks.at(static_cast<size_t>(number));
    EXPECT_LT(other.left_, other.threads_) << "block " << number << " of the cluster has ended";
    return other;
  }
  // Whether others still read after the last barrier of this block.
  void ExpectNotReadSince(int64_t epoch) {
    EXPECT_LT(last_read_, epoch) << "a block ends that others of its cluster read";
  }
  // Counts the block; all of its threads learn whether it is the last one.
  bool IsLast(const std::string& counter, int64_t at, int64_t blocks, int64_t thread) {
    Wait();
    if (thread == 0) {
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
    Write(name, at, value, thread, epoch);
  }
  // A copy that has begun may write its element at any time until it arrives.
  void BeginCopy(const std::string& name, int64_t at, int64_t thread, int64_t epoch) {
    EXPECT_TRUE(shared_.contains(name)) << name << " is not in shared memory";
    Write(name, at, std::nullopt, thread, epoch);
    if (Marks* marks = Find(name, at).marks; marks != nullptr) marks->is_on_its_way = true;
  }
  // What a thread wrote to shared memory is there for the matrix unit from here on.
  void FenceUnit(int64_t thread) {
    for (Marks* place : written_by_[thread]) place->is_unfenced = false;
    written_by_[thread].clear();
  }
  // What the unit reads for a thread: all in one step.
  std::vector<ScalarValue> LoadForUnit(const std::string& name, const std::vector<int64_t>& places,
                                       int64_t thread, int64_t epoch) {
    std::vector<ScalarValue> values;
    for (const int64_t at : places) values.push_back(Load(name, at, thread, epoch));
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
    warp.barrier.ArriveAndWait();
    return warp.shown;
  }
  void EndShow(int64_t thread) {
    warps_[static_cast<size_t>(thread / kWarp)].barrier.ArriveAndWait();
  }
  void EndCopy(const std::string& name, int64_t at, const ScalarValue& value, int64_t thread,
               int64_t epoch) {
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
    auto& barriers = copy_barriers_[array];
    EXPECT_TRUE(barriers.empty()) << array << " is started twice";
    barriers.assign(static_cast<size_t>(count), CopyBarrier{arrivals, arrivals});
  }
  // Threads of a group arrive as one: the last of them counts.
  void Arrive(const std::string& array, int64_t number, int64_t bytes, bool is_of_group) {
    CopyBarrier* barrier = FindBarrier(array, number);
    if (barrier == nullptr) return;
    const int64_t threads = is_of_group ? kGroupThreads : 1;
    barrier->is_of_groups = is_of_group;
    barrier->bytes += bytes;
    if (++barrier->threads % threads != 0) return;
    // Groups of other blocks may go on before anybody here has waited for the phase.
    if (is_of_group && barrier->missing == 0) EndPhase(barrier);
    EXPECT_GT(barrier->missing, 0) << array << "[" << number << "] has all arrivals of its phase";
    --barrier->missing;
    has_arrived_.notify_all();
  }
  void AddCopies(const std::string& array, int64_t number, const std::vector<OneCopy>& copies,
                 int64_t element_bytes, int64_t thread, int64_t epoch) {
    CopyBarrier* barrier = FindBarrier(array, number);
    if (barrier == nullptr) return;
    barrier->bytes -= std::ssize(copies) * element_bytes;
    for (const OneCopy& copy : copies) {
      BeginCopy(copy.name, copy.at, thread, epoch);
      barrier->copies.push_back(copy);
    }
    has_arrived_.notify_all();
  }
  // Whether groups of threads arrive there, rather than copies.
  bool AwaitPhase(const std::string& array, int64_t number, int64_t parity) {
    std::unique_lock lock(cluster_.turn, std::adopt_lock);
    CopyBarrier* barrier = FindBarrier(array, number);
    while (barrier != nullptr && barrier->phase % 2 == parity) {
      if (barrier->missing == 0 && barrier->bytes == 0) {
        EndPhase(barrier);
        has_arrived_.notify_all();
      } else if (has_arrived_.wait_for(lock, std::chrono::seconds(60)) == std::cv_status::timeout) {
        ADD_FAILURE() << "nobody ends phase " << barrier->phase << " of " << array << "[" << number
                      << "]";
        break;
      }
    }
    lock.release();  // it is still this thread's turn
    return barrier != nullptr && barrier->is_of_groups;
  }
  // Whether nothing is on its way at the end of the block.
  void ExpectNoCopies() {
    for (const auto& [array, barriers] : copy_barriers_) {
      for (const CopyBarrier& barrier : barriers) {
        EXPECT_TRUE(barrier.copies.empty()) << "nobody waits at " << array << " for copies";
      }
    }
  }
  // Additions come into effect when the block has ended, in the order of its threads.
  void Add(const std::string& name, int64_t at, const ScalarValue& value, int64_t thread) {
    additions_[{name, at}].emplace(thread, value);
  }
  void End() {
    for (const auto& [where, values] : additions_) {
      const auto [element, marks, is_shared] = Find(where.first, where.second);
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
      const auto [element, marks, is_shared] = Find(copy.name, copy.at);
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
    bool is_shared = false;
  };
  // A shared or a global one, and what is known of its elements.
  struct Array {
    ProgramMemory::mapped_type* elements;
    std::vector<Marks> marks;
    bool is_shared;
  };
  Array* FindArray(const std::string& name) {
    if (const auto found = arrays_.find(name); found != arrays_.end()) return &found->second;
    const auto shared = shared_.find(name), global = global_.find(name);
    const bool is_shared = shared != shared_.end();
    if (!is_shared && global == global_.end()) return nullptr;
    auto& elements = is_shared ? shared->second : global->second;
    const Array array = {&elements, std::vector<Marks>(elements.size()), is_shared};
    return &arrays_.emplace(name, array).first->second;
  }
  Place Find(const std::string& name, int64_t at) {
    Array* const array = FindArray(name);
    if (array == nullptr || at < 0 || at >= std::ssize(*array->elements)) {
      ADD_FAILURE() << "there is no " << name << "[" << at << "]";
      return {};
    }
    const auto n = static_cast<size_t>(at);
    return {&(*array->elements)[n], &array->marks[n], array->is_shared};
  }
  void Write(const std::string& name, int64_t at, const std::optional<ScalarValue>& value,
             int64_t thread, int64_t epoch) {
    const auto [element, marks, is_shared] = Find(name, at);
    if (element == nullptr) return;
    marks->access.Enter(epoch, thread);
    marks->access.is_written = true;
    Check(*marks, name, at);
    *element = value;
    if (is_shared) {
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
  const int64_t threads_;
  int64_t left_ = 0;  // of them
  bool is_last_ = false;
  int64_t last_read_ = -1;  // by a block of the cluster
  ProgramMemory shared_;
  std::map<std::string, int64_t> element_bytes_;   // of shared arrays
  std::unordered_map<std::string, Array> arrays_;  // those that were accessed
  std::map<std::pair<std::string, int64_t>, std::multimap<int64_t, ScalarValue>> additions_;
  static constexpr int64_t kWarp = 32;
  struct Warp {
    explicit Warp(std::mutex& turn) : barrier(turn, kWarp) {}
    std::vector<Shown> shown = std::vector<Shown>(kWarp);
    ThreadBarrier barrier;
  };
  std::deque<Warp> warps_;
  std::map<int64_t, std::vector<Marks*>> written_by_;
  std::map<std::string, std::vector<CopyBarrier>> copy_barriers_;
  std::condition_variable has_arrived_;
  ThreadBarrier barrier_;
  std::map<int64_t, ThreadBarrier> some_;  // of the first so many threads
};

}  // namespace mdh
