#include "codegen/backends/planes/plane_stage.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/backends/planes/plane_memory.h"
#include "codegen/program/scalar_code.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/validate.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/pipeline/plan/joint_uses.h"
#include "core/pipeline/plan/plane_groups.h"

namespace mdh {
namespace {

using Values = std::vector<LoopValue>;
using Kept = PlaneShape::Kept;

// Of planes that a thread keeps in registers.
constexpr int64_t kMostElements = 512;

class PlaneStageBuilder {
 public:
  PlaneStageBuilder(const Pipeline& pipeline, const JointGroup& group, PlaneShape shape,
                    const std::vector<std::string>& buffers, const DeviceDescription& device,
                    const std::set<std::string>& shared)
      : pipeline_(pipeline),
        group_(group),
        layout_(*group.planes),
        shape_(std::move(shape)),
        buffers_(buffers),
        device_(device) {
    for (const std::string& name : shared) names_.Reserve(name);
    for (const char* name : {"thread", "threads", "scratch"}) names_.Reserve(name);
  }

  Result<Stage> Build() {
    MDH_RETURN_IF_ERROR(CheckLayout());
    Begin();
    for (const Kept& kept : shape_.kept) DeclareKept(kept);
    for (const Kept& kept : shape_.kept) LoadNext(kept, Index(0), &body_);
    Block turns;
    const std::string round = names_.Unique("round");
    for (int64_t n = 0; n < shape_.planes; ++n) {
      Block turn;
      turn_ = names_.Unique("turn");
      turn.push_back({DeclareIndex{turn_, Index::Variable(round) * shape_.planes + Index(n)}});
      for (const Kept& kept : shape_.kept) TakeNext(kept, n, &turn);
      for (int s = group_.first; s <= group_.last; ++s) ComputePlane(s, n, &turn);
      turn.push_back({Barrier{}});
      turns.push_back({If{{}, ShareBlock(std::move(turn)), nullptr}});
    }
    body_.push_back({For{.variable = round,
                         .begin = Index(0),
                         .end = Index(CeilDivide(shape_.places[0], shape_.planes)),
                         .step = 1,
                         .whole_steps = false,
                         .body = ShareBlock(std::move(turns)),
                         .unroll_by = 1,
                         .is_never_empty = RunsOnHost(device_)}});
    Stage stage;
    stage.comment =
        absl::StrCat("Plane after plane: steps ", group_.first + 1, " to ", group_.last + 1, ".");
    stage.launch = {{PartsOf(pipeline_, group_), 1, 1}, {ThreadsOf(shape_, layout_), 1, 1}};
    stage.resident_blocks = static_cast<int>(layout_.resident);
    for (DeclareArray& array : arrays_) stage.body.push_back({std::move(array)});
    Append(std::move(body_), &stage.body);
    return stage;
  }

 private:
  // A kept buffer's elements: of the thread, of the block, and of the plane that comes next.
  struct Memory {
    std::string own, block, next;
    SharedPlane plane = {};
    ScalarType type = ScalarType::kFloat32;
    std::vector<int64_t> moves;  // elements, per common dimension
  };

  const Expression& StepOf(int s) const { return pipeline_.steps()[s].expression; }
  const PlaneShape::Grid& GridOf(int s) const {
    return shape_.steps[static_cast<size_t>(s - group_.first)];
  }
  bool HasRows() const { return shape_.places.size() == 3; }

  // ---- Constraints ----

  Status CheckLayout() const {
    const auto& [column, resident] = layout_;
    if (column < 1 || column > RowsOf(shape_)) {
      return InvalidParameters("plane_column (places of a thread): ", column, " of ",
                               RowsOf(shape_));
    }
    const int64_t threads = ThreadsOf(shape_, layout_);
    if (threads > device_.blocks.max_threads_per_block) {
      return InvalidParameters("plane_threads (threads of a block): ", threads, " > ",
                               device_.blocks.max_threads_per_block);
    }
    if (resident < 0 || resident > kMaxResidentBlocks ||
        (resident > 0 && !HasResidentBlocks(device_))) {
      return InvalidParameters("plane_resident (blocks of a multiprocessor): ", resident);
    }
    const int64_t elements = std::ssize(shape_.kept) * shape_.planes * column;
    if (elements > kMostElements) {
      return InvalidParameters("plane_registers (elements that a thread keeps): ", elements, " > ",
                               kMostElements);
    }
    if (const int64_t parts = PartsOf(pipeline_, group_); parts > device_.blocks.max_grid[0]) {
      return InvalidParameters("plane_grid (blocks): ", parts, " > ", device_.blocks.max_grid[0]);
    }
    return CheckResidency();
  }

  // Blocks have room on a multiprocessor, as many as there shall be.
  Status CheckResidency() const {
    const BlockLimits& limits = device_.blocks;
    const int64_t blocks = std::max<int64_t>(layout_.resident, 1);
    const int64_t bytes = SharedBytesOf(pipeline_, group_, shape_, layout_);
    if (blocks * (bytes + kReservedSharedBytes) >
        limits.shared_bytes_per_block + kReservedSharedBytes) {
      return InvalidParameters("plane_shared_bytes (shared memory of blocks): ", bytes, " x ",
                               blocks, " > ", limits.shared_bytes_per_block);
    }
    const int64_t registers =
        RegistersPerThread(limits, ThreadsOf(shape_, layout_), static_cast<int>(layout_.resident));
    if (layout_.resident > 0 && registers < kFewestRegisters) {
      return InvalidParameters("plane_resident (registers of a thread): ", registers, " < ",
                               kFewestRegisters);
    }
    return absl::OkStatus();
  }

  // ---- Places ----

  Index Declared(const std::string& stem, Index value) {
    if (value.IsLeaf()) return value;
    const std::string name = names_.Unique(stem);
    body_.push_back({DeclareIndex{name, std::move(value)}});
    return Index::Variable(name);
  }

  void Begin() {
    const std::string part = names_.Unique("part"), thread = names_.Unique("plane_thread");
    body_.push_back({HardwareIndex{part, HardwareIndex::Kind::kBlock, 0}});
    body_.push_back({HardwareIndex{thread, HardwareIndex::Kind::kThread, 0}});
    const int64_t width = shape_.places.back();
    lane_ = Declared("lane", HasRows() ? Index::Variable(thread) % width : Index::Variable(thread));
    row_ = HasRows() ? Declared("row", Index::Variable(thread) / width * layout_.column) : Index(0);
    at_ = Declared("at", HasRows() ? row_ * PitchOf(shape_, layout_) + lane_ : lane_);
    int64_t inside = PartsOf(pipeline_, group_);
    const std::vector<int64_t> extents = CommonExtents(pipeline_, group_);
    for (size_t k = 0; k < extents.size(); ++k) {
      const int64_t parts = extents[k] / group_.part[k];
      Index digit = k == 0 ? Index::Variable(part) : Index::Variable(part) % inside;
      inside /= parts;
      digit = parts == 1 ? Index(0) : digit / inside;
      origins_.push_back(Declared("origin", digit * group_.part[k]));
    }
    places_ = {origins_[0], Declared("place", origins_[1] + (HasRows() ? row_ : lane_))};
    if (HasRows()) places_.push_back(Declared("place", origins_[2] + lane_));
  }

  // The index of a point of the thread in a grid, r places along the column, `turn` turns along.
  Index IndexAt(const PlaneShape::Grid& grid, size_t k, const Index& turn, int64_t r) const {
    const Index at = places_[k] + Index(grid.base[k]);
    if (k == 0) return at + turn + Index(-grid.lag);
    return HasRows() && k == 1 ? at + Index(r) : at;
  }

  // Where an element is in memory, whose index moves by `moves` per common dimension.
  Index AddressOf(const std::vector<int64_t>& moves, int64_t constant, const PlaneShape::Grid& grid,
                  const Index& turn, int64_t r) {
    Index first = Index(0);
    for (size_t k = 0; k < moves.size(); ++k) first = first + places_[k] * moves[k];
    for (size_t k = 0; k < moves.size(); ++k) constant += grid.base[k] * moves[k];
    constant -= grid.lag * moves[0];
    if (HasRows()) constant += r * moves[1];
    auto [declared, is_new] = addresses_.try_emplace(moves, Index(0));
    if (is_new) declared->second = Declared("first", first);
    return declared->second + turn * moves[0] + Index(constant);
  }

  std::vector<int64_t> MovesOf(int s, const Buffer& view, int access) const {
    std::vector<int64_t> moves;
    for (const int d : group_.dimensions[s - group_.first]) {
      moves.push_back(MoveAlong(view, access, d));
    }
    return moves;
  }

  // That the thread's place in a plane is in the window: nothing where it always is.
  std::vector<Condition> InPlane(const PlaneShape::Grid& grid, int64_t r) {
    std::vector<Condition> all_of;
    const auto within = [&](const Index& place, int64_t places, const StepWindow& window) {
      if (window.first > 0) all_of.push_back(Less(Index(window.first - 1), place));
      const int64_t end = window.first + window.points;
      if (end < places) all_of.push_back(Less(place, Index(end)));
    };
    within(lane_, shape_.places.back(), grid.window.back());
    if (HasRows()) {
      within(row_ + Index(r), RoundUp(shape_.places[1], layout_.column), grid.window[1]);
    }
    if (all_of.size() < 2) return all_of;
    std::string key;
    for (const Condition& one : all_of) {
      absl::StrAppend(&key, one.a.ToString(), "<", one.b.ToString(), ";");
    }
    auto [flag, is_new] = flags_.try_emplace(key);
    if (is_new) {
      flag->second = names_.Unique("is_there");
      body_.push_back({DeclareFlag{flag->second, std::move(all_of)}});
    }
    return {{Condition::Kind::kFlag, Index(0), Index(0), flag->second}};
  }

  // And that the plane is.
  std::vector<Condition> InWindow(const PlaneShape::Grid& grid, const Index& turn, int64_t r) {
    std::vector<Condition> all_of = InPlane(grid, r);
    const int64_t first = grid.window[0].first + grid.lag;
    const int64_t last = RoundUp(shape_.places[0], shape_.planes);
    if (first > 0) all_of.push_back(Less(Index(first - 1), turn));
    if (first + grid.window[0].points < last) {
      all_of.push_back(Less(turn, Index(first + grid.window[0].points)));
    }
    return all_of;
  }

  // ---- What is kept ----

  void DeclareKept(const Kept& kept) {
    const std::string& name = buffers_[kept.buffer];
    Memory memory;
    memory.type = pipeline_.buffers()[kept.buffer].type.scalar();
    for (const StepView& use : ViewsOf(pipeline_, group_.first, group_.last)) {
      if (use.buffer != kept.buffer || use.writes) continue;
      memory.moves = MovesOf(use.step, *use.view, 0);
    }
    memory.own = DeclareOwn(name + "_own", memory.type, shape_.planes * layout_.column);
    if (kept.is_shared) {
      memory.block = names_.Unique(name + "_planes");
      memory.plane = SharedPlaneOf(pipeline_, group_, shape_, layout_, kept);
      arrays_.push_back(
          {memory.block, memory.type, ElementsOf(memory.plane, shape_), MemorySpace::kShared});
    }
    if (!kept.is_within) memory.next = DeclareOwn(name + "_next", memory.type, layout_.column);
    memory_[kept.buffer] = std::move(memory);
  }

  // Zeros until there is something: what is computed of them nobody uses. Without a loop, which
  // PoCL 3.1 would run beyond its end.
  std::string DeclareOwn(const std::string& stem, ScalarType type, int64_t elements) {
    std::string name = names_.Unique(stem);
    arrays_.push_back({name, type, elements, MemorySpace::kPrivate});
    const LoopValue zero = StoredValue(MakeLiteral(ScalarValue::Zero(RegisterType(type))), type);
    for (int64_t n = 0; n < elements; ++n) {
      body_.push_back({StoreElements{name, Index(n), zero, 1}});
    }
    return name;
  }

  // Of plane `turn` of an input, as far as it is there.
  void LoadNext(const Kept& kept, const Index& turn, Block* block) {
    if (kept.is_within) return;
    const Memory& memory = memory_.at(kept.buffer);
    Block loads;
    for (int64_t r = 0; r < layout_.column; ++r) {
      const Index from = AddressOf(memory.moves, 0, kept.grid, turn, r);
      Statement load = {StoreElements{
          memory.next, Index(r), MakeLoad(buffers_[kept.buffer], from, {memory.type, 1}, 1), 1}};
      const std::vector<Condition> there = InPlane(kept.grid, r);
      loads.push_back(there.empty() ? std::move(load) : When(there, {std::move(load)}));
    }
    const StepWindow& planes = kept.grid.window[0];
    std::vector<Condition> all_of;
    if (planes.first > 0) all_of.push_back(Less(Index(planes.first - 1), turn));
    if (!turn.is_constant()) all_of.push_back(Less(turn, Index(planes.first + planes.points)));
    if (turn.is_constant() && turn.constant() < planes.first) return;
    if (turn.is_constant()) return Append(std::move(loads), block);
    block->push_back(When(std::move(all_of), std::move(loads)));
  }

  int64_t RingPlace(int64_t plane) const {
    return ((plane % shape_.planes) + shape_.planes) % shape_.planes;
  }

  // The thread's element of plane number `plane` (of the turn), r places along the column.
  Index OwnAt(int64_t plane, int64_t r) const {
    return Index(RingPlace(plane) * layout_.column + r);
  }
  Index SharedAt(const Memory& memory, int64_t plane, int64_t rows, int64_t lanes) const {
    return at_ + Index(memory.plane.before + RingPlace(plane) * memory.plane.places +
                       rows * memory.plane.pitch + lanes);
  }

  void Keep(const Memory& memory, int64_t plane, int64_t r, LoopValue stored, Block* block) {
    if (!memory.block.empty()) stored = NamedInBlock(std::move(stored), names_, *block);
    block->push_back({StoreElements{memory.own, OwnAt(plane, r), stored, 1}});
    if (memory.block.empty()) return;
    block->push_back({StoreElements{memory.block, SharedAt(memory, plane, r, 0), stored, 1}});
  }

  void TakeNext(const Kept& kept, int64_t n, Block* block) {
    if (kept.is_within) return;
    const Memory& memory = memory_.at(kept.buffer);
    for (int64_t r = 0; r < layout_.column; ++r) {
      Keep(memory, n, r, MakeLoad(memory.next, Index(r), {memory.type, 1}, 1), block);
    }
    LoadNext(kept, Index::Variable(turn_) + Index(1), block);
  }

  // ---- Steps ----

  LoopValue Read(int s, int buffer, const Buffer& view, int access, int64_t n, int64_t r) {
    const Kept* const kept = shape_.KeptOf(buffer);
    const LoopValueType type = {view.type.scalar(), 1};
    if (kept == nullptr) {
      const Index from = AddressOf(MovesOf(s, view, access), view.Linearized(access).constant,
                                   GridOf(s), Index::Variable(turn_), r);
      return LoadValue(buffers_[buffer], from, type, 1);
    }
    const Memory& memory = memory_.at(buffer);
    const auto distances = DistancesOf(group_, shape_, s, *kept, view, access);
    const int64_t plane = n - GridOf(s).lag + distances[0];
    const int64_t row = r + (HasRows() ? distances[1] : 0);
    const bool is_own = distances.back() == 0 && row >= 0 && row < layout_.column;
    return is_own
               ? LoadValue(memory.own, OwnAt(plane, row), type, 1)
               : LoadValue(memory.block, SharedAt(memory, plane, row, distances.back()), type, 1);
  }

  LoopValue IndexOf(int s, int dimension, int64_t r) const {
    const std::vector<int>& common = group_.dimensions[s - group_.first];
    const auto k = static_cast<size_t>(std::ranges::find(common, dimension) - common.begin());
    return MakeIndexValue(IndexAt(GridOf(s), k, Index::Variable(turn_), r), 1, 0);
  }

  Values Results(int s, int64_t n, int64_t r, Block* block) {
    const Expression& e = StepOf(s);
    Values results = EmitFunction(
        e.function(),
        [&](int p) {
          if (e.is_index(p)) return IndexOf(s, e.index_dimension(p), r);
          const Expression::AccessRef at = e.input_access(p);
          return Read(s, pipeline_.steps()[s].inputs[at.buffer], e.inputs()[at.buffer], at.access,
                      n, r);
        },
        names_, *block);
    if (e.store() == nullptr) return results;
    return EmitFunction(
        e.store()->function,
        [&](int p) -> LoopValue {
          if (e.store_parameter(p) == Expression::StoreParameter::kResult) return results[p];
          if (e.store_parameter(p) == Expression::StoreParameter::kIndex) {
            return IndexOf(s, e.store_index_dimension(p), r);
          }
          const Expression::AccessRef at = e.store_access(p);
          const int passed = e.passed_store_input(at.buffer);
          return Read(s, pipeline_.steps()[s].inputs[passed], e.store()->inputs[at.buffer],
                      at.access, n, r);
        },
        names_, *block);
  }

  // Whether it must not be computed where there is nothing.
  bool NeedsPoints(int s) const {
    const auto divides = [](const ScalarFunction& f) {
      return std::ranges::any_of(f.instructions(), [](const ScalarInstruction& one) {
        const bool is_division = one.op == ScalarOp::kDiv || one.op == ScalarOp::kRem;
        return is_division && !IsFloatingPoint(one.type);
      });
    };
    const Expression& e = StepOf(s);
    if (divides(e.function()) || (e.store() != nullptr && divides(e.store()->function)))
      return true;
    const std::vector<StepView> views = ViewsOf(pipeline_, s, s);
    return std::ranges::any_of(views, [&](const StepView& use) {
      return !use.writes && shape_.KeptOf(use.buffer) == nullptr;
    });
  }

  void ComputePlane(int s, int64_t n, Block* block) {
    const std::vector<int>& outputs = pipeline_.steps()[s].outputs;
    const bool needs_points = NeedsPoints(s);
    const bool stores = std::ranges::any_of(
        outputs, [&](int buffer) { return !IsOfPart(pipeline_, group_, buffer); });
    for (int64_t r = 0; r < layout_.column; ++r) {
      std::vector<Condition> there;
      if (needs_points || stores) there = InWindow(GridOf(s), Index::Variable(turn_), r);
      if (!needs_points || there.empty()) {
        ComputePoint(s, n, r, there, block);
        continue;
      }
      Block inside;
      ComputePoint(s, n, r, {}, &inside);
      block->push_back(When(std::move(there), std::move(inside)));
    }
  }

  // `there`: when results may be stored.
  void ComputePoint(int s, int64_t n, int64_t r, const std::vector<Condition>& there,
                    Block* block) {
    const Expression& e = StepOf(s);
    const Values values = Results(s, n, r, block);
    Block stores;
    for (int v = 0; v < std::ssize(values); ++v) {
      const Expression::AccessRef at = e.output_access(v);
      const int buffer = pipeline_.steps()[s].outputs[at.buffer];
      const Buffer& view = e.outputs()[at.buffer];
      const bool is_kept = shape_.KeptOf(buffer) != nullptr;
      LoopValue stored = StoredValue(values[v], e.stored_type(v));
      if (is_kept) {
        stored = NamedInBlock(std::move(stored), names_, *block);
        Keep(memory_.at(buffer), n - GridOf(s).lag, r, stored, block);
      }
      if (IsOfPart(pipeline_, group_, buffer)) continue;
      const Index to = AddressOf(MovesOf(s, view, at.access), view.Linearized(at.access).constant,
                                 GridOf(s), Index::Variable(turn_), r);
      stores.push_back({StoreElements{buffers_[buffer], to, std::move(stored), 1}});
    }
    if (stores.empty()) return;
    if (there.empty()) return Append(std::move(stores), block);
    block->push_back(When(there, std::move(stores)));
  }

  const Pipeline& pipeline_;
  const JointGroup& group_;
  const PlaneLayout layout_;
  const PlaneShape shape_;
  const std::vector<std::string>& buffers_;
  const DeviceDescription& device_;
  NameAllocator names_;
  std::vector<DeclareArray> arrays_;
  Block body_;
  Index lane_ = Index(0), row_ = Index(0), at_ = Index(0);  // the first place of the thread
  std::vector<Index> origins_, places_;                     // per common dimension
  std::string turn_;
  std::map<int, Memory> memory_;                     // by buffer
  std::map<std::vector<int64_t>, Index> addresses_;  // of the thread's first place, by moves
  std::map<std::string, std::string> flags_;         // by what they say
};

}  // namespace

Result<Stage> BuildPlaneStage(const Pipeline& pipeline, const JointGroup& group,
                              const std::vector<std::string>& buffers,
                              const DeviceDescription& device,
                              const std::set<std::string>& shared) {
  MDH_ASSIGN_OR_RETURN(PlaneShape shape, PlaneShapeOf(pipeline, group));
  return PlaneStageBuilder(pipeline, group, std::move(shape), buffers, device, shared).Build();
}

}  // namespace mdh
