#include "codegen/backends/row_stage.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/backends/row_threads.h"
#include "codegen/backends/row_uses.h"
#include "codegen/program/result_tuples.h"
#include "codegen/program/scalar_code.h"
#include "core/base/round.h"
#include "core/decomposition/validate.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/pipeline/plan/row_groups.h"
#include "core/pipeline/wide_sums.h"

namespace mdh {
namespace {

using Values = std::vector<LoopValue>;

constexpr int64_t kVectorBytes = 16;
constexpr int64_t kMostChunks = 256;    // that are unrolled
constexpr int64_t kUnrolledChunks = 4;  // of other loops, at a time
constexpr int64_t kMostRegisterElements = 512;

// Elements v of a chunk that a thread has, at base + v of a private array.
struct Window {
  std::string array;
  Index base = Index(0);
  ScalarType type;
};

// The elements of a row that its threads access at the same time.
struct Chunk {
  Index number;
  Block* block;                                // where windows are filled
  std::map<std::string, Window> windows = {};  // by keys of rows
};

class RowStageBuilder {
 public:
  RowStageBuilder(const Pipeline& pipeline, const JointGroup& group, RowShape shape,
                  const std::vector<std::string>& buffers, const DeviceDescription& device,
                  const std::set<std::string>& shared)
      : pipeline_(pipeline),
        group_(group),
        layout_(*group.rows),
        shape_(std::move(shape)),
        uses_(pipeline, group, shape_),
        buffers_(buffers),
        device_(device),
        chunks_(CeilDivide(shape_.length, layout_.threads * layout_.vector)),
        threads_(layout_, device, names_) {
    for (int s = group.first; s <= group.last; ++s) {
      // Sums of rows are in no order, whatever the policy.
      sums_.push_back(WithWideSums(StepOf(s), NumericsPolicy::kReassociate));
    }
    for (const std::string& name : shared) names_.Reserve(name);
    for (const char* name : {"thread", "threads", "scratch"}) names_.Reserve(name);
  }

  Result<JointStage> Build() {
    MDH_RETURN_IF_ERROR(CheckLayout());
    threads_.Begin(PartsOf(pipeline_, group_), CommonExtents(pipeline_, group_), &body_);
    DeclareKept();
    for (int s = group_.first; s <= group_.last; ++s) {
      if (!uses_.IsDriver(s)) continue;
      body_.push_back({Comment{absl::StrCat("Of step ", s + 1, ", ", StepOf(s).name(), ".")}});
      if (uses_.RowDimension(s) < 0) {
        StoreScalars(s, ScalarResults(s));
      } else if (StepOf(s).is_reduction(uses_.RowDimension(s))) {
        Reduce(s);
      } else {
        OverChunks([&](Chunk& chunk) { ComputeElements(s, chunk, /*stores=*/true); });
      }
    }
    JointStage joint;
    joint.stage.comment =
        absl::StrCat("Row after row: steps ", group_.first + 1, " to ", group_.last + 1, ".");
    joint.stage.launch = {{CeilDivide(PartsOf(pipeline_, group_), layout_.rows), 1, 1},
                          {layout_.threads * layout_.rows, 1, 1}};
    for (DeclareArray& array : arrays_) joint.stage.body.push_back({std::move(array)});
    Append(std::move(body_), &joint.stage.body);
    MDH_RETURN_IF_ERROR(CheckShared());
    return joint;
  }

 private:
  const Expression& StepOf(int s) const { return pipeline_.steps()[s].expression; }
  // With what results are combined by (WithWideSums).
  const Expression& SumsOf(int s) const { return sums_[static_cast<size_t>(s - group_.first)]; }

  // ---- Constraints ----

  Status CheckLayout() const {
    const auto& [threads, rows, vector, keep] = layout_;
    const auto is_power = [](int64_t n) { return n >= 1 && (n & (n - 1)) == 0; };
    if (!is_power(threads) || rows < 1 || !is_power(vector)) {
      return InvalidParameters("row_layout (powers of two): threads ", threads, ", rows ", rows,
                               ", vector ", vector);
    }
    if (threads * rows > device_.blocks.max_threads_per_block) {
      return InvalidParameters("row_threads (threads of a block): ", threads * rows, " > ",
                               device_.blocks.max_threads_per_block);
    }
    if (shape_.length % vector != 0) {
      return InvalidParameters("row_vector (neighbours that divide a row): ", vector, " and ",
                               shape_.length);
    }
    const bool in_registers = keep == RowLayout::Keep::kRegisters;
    const int64_t elements = std::ssize(uses_.kept_rows()) * chunks_ * vector;
    if (in_registers && (chunks_ > kMostChunks || elements > kMostRegisterElements)) {
      return InvalidParameters("row_registers (elements that a thread keeps): ", elements, " > ",
                               kMostRegisterElements);
    }
    const int64_t grid = CeilDivide(PartsOf(pipeline_, group_), rows);
    if (grid > device_.blocks.max_grid[0]) {
      return InvalidParameters("row_grid (blocks): ", grid, " > ", device_.blocks.max_grid[0]);
    }
    if (const int64_t lanes = threads_.lanes(); lanes > 1 && threads > lanes * lanes) {
      return InvalidParameters("row_threads (warps of a row): ", threads / lanes, " > ", lanes);
    }
    return absl::OkStatus();
  }

  Status CheckShared() const {
    int64_t bytes = 0;
    for (const DeclareArray& array : arrays_) {
      bytes += RoundUp(array.elements * SizeBytes(array.type), kVectorBytes);
    }
    if (bytes <= device_.blocks.shared_bytes_per_block) return absl::OkStatus();
    return InvalidParameters("row_shared_bytes (shared memory of a block): ", bytes, " > ",
                             device_.blocks.shared_bytes_per_block);
  }

  // ---- Chunks ----

  bool InRegisters() const { return layout_.keep == RowLayout::Keep::kRegisters; }

  // Of its first element that the thread has: its place in the row.
  Index PlaceOf(const Chunk& chunk) const {
    return chunk.number * (layout_.threads * layout_.vector) + threads_.lane() * layout_.vector;
  }

  // `work` on all chunks; the last one may be of some threads only.
  void OverChunks(const std::function<void(Chunk&)>& work) {
    const int64_t whole = shape_.length / (layout_.threads * layout_.vector);
    if (whole > 0) {
      Block inside;
      const std::string number = whole == 1 ? "" : names_.Unique("chunk");
      Chunk chunk{whole == 1 ? Index(0) : Index::Variable(number), &inside};
      work(chunk);
      if (whole == 1) {
        AppendScope(std::move(inside));
      } else {
        body_.push_back(
            {For{number, Index(0), Index(whole), 1, false, ShareBlock(std::move(inside)),
                 InRegisters(), InRegisters() ? 0 : std::min(whole, kUnrolledChunks)}});
      }
    }
    if (whole < chunks_) {
      Block inside;
      Chunk chunk{Index(whole), &inside};
      work(chunk);
      body_.push_back({When({Less(PlaceOf(chunk), Index(shape_.length))}, std::move(inside))});
    }
    for (const std::string& key : touched_) filled_.insert(key);
    touched_.clear();
  }

  void AppendScope(Block inside) {
    body_.push_back({If{{}, ShareBlock(std::move(inside)), nullptr}});
  }

  // `work` for v = 0 .. vector.
  void OverElements(Block* block, const std::function<void(const Index&, Block*)>& work) {
    if (layout_.vector == 1) return work(Index(0), block);
    const std::string v = names_.Unique("v");
    Block inside;
    work(Index::Variable(v), &inside);
    block->push_back({For{v, Index(0), Index(layout_.vector), 1, false,
                          ShareBlock(std::move(inside)), /*unroll=*/true}});
  }

  // ---- Rows that are kept ----

  void DeclareKept() {
    for (const auto& [key, row] : uses_.kept_rows()) {
      if (layout_.keep == RowLayout::Keep::kNothing) return;
      const std::string name = names_.Unique(buffers_[row.buffer] + "_row");
      const int64_t of_thread = chunks_ * layout_.vector;
      const int64_t of_block = of_thread * layout_.threads * layout_.rows;
      arrays_.push_back({name, row.type, InRegisters() ? of_thread : of_block,
                         InRegisters() ? MemorySpace::kPrivate : MemorySpace::kShared});
      kept_[key] = name;
    }
  }

  // Where the thread's elements of a chunk are in a row in shared memory.
  Index InShared(const Chunk& chunk) const {
    return (threads_.row() * chunks_ + chunk.number) * (layout_.threads * layout_.vector) +
           threads_.lane() * layout_.vector;
  }

  // A private array for a chunk, or what is kept of the row for it.
  Window NewWindow(const RowOf& row, Chunk& chunk) {
    const auto kept = kept_.find(row.key);
    if (kept != kept_.end() && InRegisters()) {
      return {kept->second, chunk.number * layout_.vector, row.type};
    }
    const std::string name = names_.Unique(buffers_[row.buffer] + "_chunk");
    chunk.block->push_back({DeclareArray{name, row.type, layout_.vector, MemorySpace::kPrivate}});
    return {name, Index(0), row.type};
  }

  void Copy(const std::string& from, const Index& from_at, ScalarType type, const std::string& to,
            const Index& to_at, Block* block) const {
    const LoopValueType elements{type, static_cast<int>(layout_.vector)};
    block->push_back({StoreElements{to, to_at, MakeLoad(from, from_at, elements, 1), 1}});
  }

  // Behind the statements that fill it.
  void Keep(const RowOf& row, const Window& window, Chunk& chunk) {
    chunk.windows.emplace(row.key, window);
    const auto kept = kept_.find(row.key);
    if (kept == kept_.end()) return;
    touched_.insert(row.key);
    if (!InRegisters()) {
      Copy(window.array, window.base, row.type, kept->second, InShared(chunk), chunk.block);
    }
  }

  // The elements of a row that a step reads.
  Window WindowOf(const RowOf& row, Chunk& chunk) {
    if (const auto found = chunk.windows.find(row.key); found != chunk.windows.end()) {
      return found->second;
    }
    if (filled_.contains(row.key)) {
      const Window window = NewWindow(row, chunk);
      if (!InRegisters()) {
        Copy(kept_.at(row.key), InShared(chunk), row.type, window.array, window.base, chunk.block);
      }
      chunk.windows.emplace(row.key, window);
      return window;
    }
    if (row.is_within) {
      ComputeElements(pipeline_.writer(row.buffer), chunk, /*stores=*/false);
      return chunk.windows.at(row.key);
    }
    const Window window = NewWindow(row, chunk);
    const Index at = AddressOf(row.address, PlaceOf(chunk));
    if (MovesAsVector(row.address, row.type)) {
      Copy(buffers_[row.buffer], at, row.type, window.array, window.base, chunk.block);
    } else {
      OverElements(chunk.block, [&](const Index& v, Block* block) {
        block->push_back({StoreElements{
            window.array, window.base + v,
            MakeLoad(buffers_[row.buffer], at + v * row.address.along, {row.type, 1}, 1), 1}});
      });
    }
    Keep(row, window, chunk);
    return window;
  }

  // ---- Memory ----

  Index AddressOf(const RowAddress& address, const Index& place) const {
    Index at = place * address.along + Index(address.constant);
    for (size_t k = 0; k < threads_.origins().size(); ++k)
      at = threads_.origins()[k] * address.common[k] + at;
    return at;
  }

  bool MovesAsVector(const RowAddress& address, ScalarType type) const {
    const int64_t vector = layout_.vector;
    const auto divides = [&](int64_t n) { return n % vector == 0; };
    return vector > 1 && vector * SizeBytes(type) <= kVectorBytes && address.along == 1 &&
           divides(address.constant) && std::ranges::all_of(address.common, divides);
  }

  // ---- Values ----

  // What a view of a step reads at a point of the row. `chunk`: nullptr where there is no such
  // point; `v`: its number in the chunk.
  LoopValue Read(int s, int buffer, const Buffer& view, int access, Chunk* chunk, const Index& v) {
    const RowOf row = uses_.RowRead(s, buffer, view, access);
    if (row.is_within && !shape_.is_vector[buffer]) return scalars_.at(buffer);
    if (row.address.along == 0 && !row.is_within) return RowValue(row);
    const Window& window = chunk->windows.at(row.key);
    return LoadValue(window.array, window.base + v, {window.type, 1}, 1);
  }

  // Of an input that is the same for all of the row: loaded once.
  LoopValue RowValue(const RowOf& row) {
    const auto known = row_values_.find(row.key);
    if (known != row_values_.end()) return known->second;
    const std::string name = names_.Unique(buffers_[row.buffer] + "_of_row");
    const LoopValue value =
        LoadValue(buffers_[row.buffer], AddressOf(row.address, Index(0)), {row.type, 1}, 1);
    body_.push_back({DeclareValue{name, value}});
    return row_values_[row.key] = MakeNamed(name, value->type);
  }

  LoopValue IndexOf(int s, int dimension, const Chunk* chunk, const Index& v) const {
    if (dimension == uses_.RowDimension(s)) return MakeIndexValue(PlaceOf(*chunk) + v, 1, 0);
    const std::vector<int>& common = group_.dimensions[s - group_.first];
    const auto k = std::ranges::find(common, dimension) - common.begin();
    return MakeIndexValue(threads_.origins()[static_cast<size_t>(k)], 1, 0);
  }

  Values Results(int s, Chunk* chunk, const Index& v, Block* block) {
    const Expression& e = StepOf(s);
    return EmitFunction(
        SumsOf(s).function(),
        [&](int p) {
          if (e.is_index(p)) return IndexOf(s, e.index_dimension(p), chunk, v);
          const Expression::AccessRef at = e.input_access(p);
          const int buffer = pipeline_.steps()[s].inputs[at.buffer];
          return Read(s, buffer, e.inputs()[at.buffer], at.access, chunk, v);
        },
        names_, *block);
  }

  Values Stored(int s, const Values& results, Chunk* chunk, const Index& v, Block* block) {
    const Expression& e = StepOf(s);
    if (e.store() == nullptr) return results;
    return EmitFunction(
        e.store()->function,
        [&](int p) -> LoopValue {
          if (e.store_parameter(p) == Expression::StoreParameter::kResult) return results[p];
          if (e.store_parameter(p) == Expression::StoreParameter::kIndex) {
            return IndexOf(s, e.store_index_dimension(p), chunk, v);
          }
          const Expression::AccessRef at = e.store_access(p);
          const int buffer = pipeline_.steps()[s].inputs[e.passed_store_input(at.buffer)];
          return Read(s, buffer, e.store()->inputs[at.buffer], at.access, chunk, v);
        },
        names_, *block);
  }

  // As a buffer of that type keeps it, or in more precision.
  static LoopValue AsKept(LoopValue value, ScalarType stored) {
    const ScalarType computed = RegisterType(stored);
    if (value->type.scalar == computed && computed == stored) return value;
    if (!IsFloatingPoint(stored)) return AsComputed(StoredValue(std::move(value), stored));
    if (value->type.scalar == computed) return value;
    return MakeOperation(ScalarOp::kCast, computed, {std::move(value)});
  }

  // ---- Steps ----

  // Fills the windows of what a step writes, and, if it stores, memory.
  void ComputeElements(int s, Chunk& chunk, bool stores) {
    const Expression& e = StepOf(s);
    FillInputs(s, chunk);
    struct Target {
      std::optional<RowOf> row;  // that is read within the group
      Window window = {};
      bool is_stored = false;
      std::optional<std::string> vector = {};  // what is stored at once
      RowAddress address = {};
    };
    std::vector<Target> targets;
    for (int n = 0; n < std::ssize(e.stored()); ++n) {
      const Expression::AccessRef at = e.output_access(n);
      const int buffer = pipeline_.steps()[s].outputs[at.buffer];
      Target target;
      target.row = uses_.RowWritten(buffer);
      if (target.row) target.window = NewWindow(*target.row, chunk);
      target.is_stored = stores && uses_.IsOutside(buffer);
      target.address = uses_.Address(s, e.outputs()[at.buffer], at.access);
      if (target.is_stored && MovesAsVector(target.address, e.stored_type(n))) {
        target.vector = names_.Unique(buffers_[buffer] + "_out");
        chunk.block->push_back({DeclareArray{*target.vector, e.stored_type(n), layout_.vector,
                                             MemorySpace::kPrivate}});
      }
      targets.push_back(std::move(target));
    }
    const auto output = [&](int n) -> const std::string& {
      return buffers_[pipeline_.steps()[s].outputs[e.output_access(n).buffer]];
    };
    OverElements(chunk.block, [&](const Index& v, Block* block) {
      Values values = Stored(s, Results(s, &chunk, v, block), &chunk, v, block);
      for (int n = 0; n < std::ssize(values); ++n) {
        const Target& target = targets[n];
        const ScalarType stored = e.stored_type(n);
        if (target.row && target.is_stored) values[n] = NamedInBlock(values[n], names_, *block);
        if (target.row) {
          block->push_back({StoreElements{target.window.array, target.window.base + v,
                                          AsKept(values[n], stored), 1}});
        }
        if (!target.is_stored) continue;
        if (target.vector) {
          block->push_back({StoreElements{*target.vector, v, StoredValue(values[n], stored), 1}});
        } else {
          const Index at = AddressOf(target.address, PlaceOf(chunk)) + v * target.address.along;
          block->push_back({StoreElements{output(n), at, StoredValue(values[n], stored), 1}});
        }
      }
    });
    for (int n = 0; n < std::ssize(targets); ++n) {
      const Target& target = targets[n];
      if (target.vector) {
        Copy(*target.vector, Index(0), e.stored_type(n), output(n),
             AddressOf(target.address, PlaceOf(chunk)), chunk.block);
      }
      if (target.row) Keep(*target.row, target.window, chunk);
    }
  }

  void FillInputs(int s, Chunk& chunk) {
    for (const RowOf& row : uses_.RowsRead(s)) WindowOf(row, chunk);
  }

  Values ScalarResults(int s) { return Results(s, nullptr, Index(0), &body_); }

  // Results of a row: every thread has them, and one stores them.
  void StoreScalars(int s, const Values& results) {
    const Expression& e = StepOf(s);
    const Values stored = Stored(s, results, nullptr, Index(0), &body_);
    Block by_one;
    for (int n = 0; n < std::ssize(stored); ++n) {
      const Expression::AccessRef at = e.output_access(n);
      const int buffer = pipeline_.steps()[s].outputs[at.buffer];
      const LoopValue value = NamedInBlock(stored[n], names_, body_);
      if (uses_.IsWithinGroup(buffer)) {
        scalars_[buffer] = NamedInBlock(AsKept(value, e.stored_type(n)), names_, body_);
      }
      if (!uses_.IsOutside(buffer)) continue;
      const RowAddress address = uses_.Address(s, e.outputs()[at.buffer], at.access);
      by_one.push_back({StoreElements{buffers_[buffer], AddressOf(address, Index(0)),
                                      StoredValue(value, e.stored_type(n)), 1}});
    }
    if (by_one.empty()) return;
    if (layout_.threads == 1) return Append(std::move(by_one), &body_);
    body_.push_back(When({IsZero(threads_.lane())}, std::move(by_one)));
  }

  void Reduce(int s) {
    const Expression& e = SumsOf(s);
    ResultTuples tuples(e, names_);
    Values start;
    for (const ScalarValue& value : *e.reduction().identity()) start.push_back(MakeLiteral(value));
    const Values sums = tuples.Variables(start, "sum", &body_);
    OverChunks([&](Chunk& chunk) {
      FillInputs(s, chunk);
      OverElements(chunk.block, [&](const Index& v, Block* block) {
        Values values = Results(s, &chunk, v, block);
        for (LoopValue& value : values) value = NamedInBlock(value, names_, *block);
        tuples.AssignSum(sums, sums, values, block);
      });
    });
    threads_.Combine(tuples, sums, &body_, &arrays_);
    StoreScalars(s, sums);
  }

  const Pipeline& pipeline_;
  const JointGroup& group_;
  const RowLayout layout_;
  const RowShape shape_;
  std::vector<Expression> sums_;  // per step of the group
  const RowUses uses_;
  const std::vector<std::string>& buffers_;
  const DeviceDescription& device_;
  const int64_t chunks_;
  NameAllocator names_;
  RowThreads threads_;
  std::vector<DeclareArray> arrays_;
  Block body_;
  std::map<std::string, std::string> kept_;      // arrays, by keys of rows
  std::set<std::string> filled_, touched_;       // rows that are kept now; by this step
  std::map<int, LoopValue> scalars_;             // results of rows, by buffer
  std::map<std::string, LoopValue> row_values_;  // by keys of what is read
};

}  // namespace

Result<JointStage> BuildRowStage(const Pipeline& pipeline, const JointGroup& group,
                                 const std::vector<std::string>& buffers,
                                 const DeviceDescription& device,
                                 const std::set<std::string>& shared) {
  MDH_ASSIGN_OR_RETURN(RowShape shape, RowShapeOf(pipeline, group));
  return RowStageBuilder(pipeline, group, std::move(shape), buffers, device, shared).Build();
}

}  // namespace mdh
