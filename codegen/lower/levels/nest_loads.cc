#include "codegen/lower/levels/nest_loads.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/program/loop_program_walk.h"
#include "codegen/program/scalar_code.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/device/warp_accesses.h"

namespace mdh {
namespace {

LoopValue LoadWithBorder(const Buffer& buffer, const std::string& pointer, int field,
                         const std::vector<Index>& indices, bool always) {
  const LoopValue value = LoadInsideElement(buffer, pointer, field, indices);
  LoadInside load = std::get<LoadInside>(value->form);
  load.loads_always = always;
  return std::make_shared<const ValueNode>(ValueNode{value->type, std::move(load)});
}

}  // namespace

bool NestLoads::IsInBox(const NestCopy& copy, int n) const {
  return context_.shape().IsInBox(n, copy.place, copy.is_shared);
}

int64_t NestLoads::Coefficient(int input, int x, int n) const {
  const Buffer& buffer = expression().inputs()[input];
  return buffer.accesses[0].indices[x].coefficients[context_.level(n).level.dimension];
}

int64_t NestLoads::Stride(int input, int x, int n) const {
  return Coefficient(input, x, n) * context_.level(n).tile;
}

// The copy made last before `before` (nullptr: before the scalar function).
const NestCopy* NestLoads::CopyOf(int input, const NestCopy* before) const {
  const NestCopy* last = nullptr;
  for (const NestCopy& copy : context_.plan().copies) {
    if (&copy == before) break;
    if (copy.input == input) last = &copy;
  }
  return last;
}

void NestLoads::Declare(const NestCopy& copy, Block* block) const {
  const ScalarType type = expression().inputs()[copy.input].type.scalar();
  const MemorySpace space = copy.is_shared ? MemorySpace::kShared : MemorySpace::kPrivate;
  block->push_back({DeclareArray{copy.name, type, copy.elements(), space}});
}

// "De-composition: 32 x 8 elements of A to SM."
std::string NestLoads::Describe(const NestCopy& copy) const {
  return absl::StrCat("De-composition: ", absl::StrJoin(copy.extents, " x "), " elements of ",
                      context_.input_name(copy.input), " to ",
                      context_.low_level().model().memory_regions()[copy.region], ".");
}

void NestLoads::DeclareShared(Block* block) const {
  for (const NestCopy& copy : context_.plan().copies) {
    if (copy.is_shared) Declare(copy, block);
  }
}

bool NestLoads::HasCopies(int place, bool shared) const {
  const std::vector<NestCopy>& copies = context_.plan().copies;
  return std::ranges::any_of(copies, [&](const NestCopy& copy) {
    return copy.place == place && copy.is_shared == shared;
  });
}

void NestLoads::EmitCopies(int place, bool shared, Block* block) {
  for (const NestCopy& copy : context_.plan().copies) {
    if (copy.place != place || copy.is_shared != shared) continue;
    shared ? EmitSharedCopy(copy, block) : EmitPrivateCopy(copy, block);
  }
}

Index NestLoads::PositionIn(const NestCopy& copy, const NestCopy* inner, int x,
                            const Index& position, int64_t constant) const {
  const int64_t step = copy.steps[x];
  Index at = context_.Sum([&](int n) {
    const bool is_free = inner != nullptr && IsInBox(*inner, n);
    return IsInBox(copy, n) && !is_free ? Stride(copy.input, x, n) / step : 0;
  });
  if (inner != nullptr) at = at + position * (inner->steps[x] / step);
  return at + Index(constant / step);
}

// Unless all points exist; wide copies may hold more than these points need.
bool NestLoads::MayReachBeyond(const NestCopy& copy, int x) const {
  const Buffer& buffer = expression().inputs()[copy.input];
  int64_t needed = ConstantsOf(buffer, x).high - ConstantsOf(buffer, x).low;
  for (int n = 0; n < context_.count(); ++n) {
    if (IsInBox(copy, n)) needed += Stride(copy.input, x, n) * (context_.level(n).parts - 1);
  }
  if (copy.extents[x] > needed / copy.steps[x] + 1) return true;
  for (int d = 0; d < expression().rank(); ++d) {
    if (buffer.accesses[0].indices[x].coefficients[d] != 0 && context_.IsGuarded(d)) return true;
  }
  return false;
}

NestLoads::Element NestLoads::ElementAt(const NestCopy& copy,
                                        const std::vector<Index>& positions) const {
  const Buffer& buffer = expression().inputs()[copy.input];
  Element element;
  for (int x = 0; x < static_cast<int>(buffer.extents.size()); ++x) {
    int64_t largest = ConstantsOf(buffer, x).low + (copy.extents[x] - 1) * copy.steps[x];
    Index index = context_.Sum([&](int n) {
      if (IsInBox(copy, n)) return int64_t{0};
      largest += Coefficient(copy.input, x, n) * context_.LargestFirstPoint(n);
      return Stride(copy.input, x, n);
    });
    index = index + positions[x] * copy.steps[x] + Index(ConstantsOf(buffer, x).low);
    element.indices.push_back(index);
    element.is_bound.push_back(largest >= buffer.extents[x] && MayReachBeyond(copy, x));
  }
  return element;
}

std::vector<Condition> NestLoads::Element::Inside(const Buffer& buffer) const {
  std::vector<Condition> inside;
  for (size_t x = 0; x < indices.size(); ++x) {
    if (!is_bound[x]) continue;
    inside.push_back(Less(indices[x], Index(buffer.extents[x])));
  }
  return inside;
}

// An index in the buffer for any point: that of `position` in the copy, or another one, in the last
// dimension of `width` neighbours. Rows of the copy that exist as a whole or not at all are read
// from one place.
Index NestLoads::Clamped(const NestCopy& copy, int x, const Index& position, int64_t width) const {
  const int64_t extent = expression().inputs()[copy.input].extents[x];
  const int64_t row = copy.extents[x],
                first = ConstantsOf(expression().inputs()[copy.input], x).low;
  bool is_aligned = copy.steps[x] == 1 && extent % row == 0 && first % row == 0;
  const Index origin = context_.Sum([&](int n) {
    if (IsInBox(copy, n)) return int64_t{0};
    is_aligned &= Coefficient(copy.input, x, n) * context_.Step(n) % row == 0;
    return Stride(copy.input, x, n);
  }) + Index(first);
  if (is_aligned) return Min(origin, Index(extent - row)) + position;
  const bool is_last = x + 1 == static_cast<int>(copy.extents.size());
  return Min(origin + position * copy.steps[x], Index(extent - (is_last ? width : 1)));
}

// The point at hand in dimension d if it exists, else another one. Points of the largest parts that
// exist as a whole or not at all stay neighbours.
Index NestLoads::ClampedPoint(int d) const {
  int64_t whole = 1;
  for (int n = 0; n < context_.count(); ++n) {
    const NestShape::Level& level = context_.level(n);
    const bool is_divisor = level.level.dimension == d && context_.size(d) % level.tile == 0;
    if (is_divisor && level.parts > 1) whole = std::max(whole, level.tile);
  }
  const auto sum = [&](bool is_inside) {
    return context_.Sum([&](int n) {
      const NestShape::Level& level = context_.level(n);
      return level.level.dimension == d && (level.tile < whole) == is_inside ? level.tile : 0;
    });
  };
  return Min(sum(false), Index(context_.size(d) - whole)) + sum(true);
}

// Buffer dimensions in the order in which neighbours are closest in the source.
std::vector<int> NestLoads::SourceOrder(const NestCopy& copy) const {
  const NestCopy* source = CopyOf(copy.input, &copy);
  const std::vector<int64_t> strides =
      source != nullptr ? source->strides() : expression().inputs()[copy.input].strides();
  std::vector<int> order(strides.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) { return strides[a] > strides[b]; });
  return order;
}

// One element of the copy, or `width` neighbours in the last dimension.
void NestLoads::EmitElement(const NestCopy& copy, const std::vector<Index>& positions,
                            int64_t width, Block* block) {
  const Buffer& buffer = expression().inputs()[copy.input];
  const ScalarType type = buffer.type.scalar();
  const std::vector<int64_t> to_strides = copy.strides();
  const NestCopy* source = CopyOf(copy.input, &copy);
  const Index lane = width > 1 ? Index::Variable("lane") : Index(0);
  const int last = static_cast<int>(positions.size()) - 1;
  Index to(0), from(0);
  for (size_t x = 0; x < positions.size(); ++x) to = to + positions[x] * to_strides[x];
  to = to + lane * to_strides[last];
  LoopValue value;
  std::vector<Condition> inside;
  if (source != nullptr) {
    for (size_t x = 0; x < positions.size(); ++x) {
      from = from + PositionIn(*source, &copy, static_cast<int>(x), positions[x], 0) *
                        source->strides()[x];
    }
    value = MakeLoad(source->name, from, {type, 1}, 1);
  } else {
    const Element element = ElementAt(copy, positions);
    if (buffer.boundary.kind != Boundary::Kind::kNone) {
      std::vector<Index> indices = element.indices;
      indices[last] = indices[last] + lane;
      value = LoadWithBorder(buffer, context_.input_name(copy.input), 0, indices, true);
    } else {
      // Threads of blocks rather read some other element for a point that does not exist than
      // branch: what they compute of it goes nowhere. Asynchronous copies need not branch.
      const bool is_clamped = context_.has_blocks() && !copy.is_asynchronous;
      if (!is_clamped) inside = element.Inside(buffer);
      const std::vector<int64_t> strides = buffer.strides();
      for (size_t x = 0; x < positions.size(); ++x) {
        from = from + (is_clamped && element.is_bound[x]
                           ? Clamped(copy, static_cast<int>(x), positions[x], width)
                           : element.indices[x]) *
                          strides[x];
      }
      value = MakeLoad(context_.input_name(copy.input), from + lane * strides[last], {type, 1}, 1);
    }
  }
  Block store;
  store.push_back({StoreElements{copy.name, to, value, 1}});
  if (width > 1) {
    Block loop;
    loop.push_back({For{"lane", Index(0), Index(width), 1, false, ShareBlock(std::move(store))}});
    store = std::move(loop);
  }
  if (inside.empty()) return Append(std::move(store), block);
  block->push_back(When(inside, std::move(store)));
}

// Whether dimensions x and y of the copy, x outside of y, are one dimension of both the copy and
// the buffer: all of y is copied, and rows follow each other without gaps.
bool NestLoads::AreOneDimension(const NestCopy& copy, int x, int y) const {
  const Buffer& buffer = expression().inputs()[copy.input];
  if (CopyOf(copy.input, &copy) != nullptr || buffer.boundary.kind != Boundary::Kind::kNone) {
    return false;
  }
  const std::vector<int64_t> from = buffer.strides(), to = copy.strides();
  const std::vector<Index> begin(copy.extents.size(), Index(0));
  const Element first = ElementAt(copy, begin);
  return copy.extents[y] == buffer.extents[y] && first.indices[y].IsZero() && copy.steps[y] == 1 &&
         copy.steps[x] == 1 && from[x] == from[y] * copy.extents[y] &&
         to[x] == to[y] * copy.extents[y] && first.Inside(buffer).empty();
}

// number / divisor % extent; extent 0: all of the quotient. Where those of a round and of a thread
// add up to it, as their sum: then places of different rounds are constants apart, and what they
// have in common is computed once.
Index NestLoads::Item::Digit(int64_t divisor, int64_t extent) const {
  const auto digit = [&](const Index& of, int64_t by, int64_t to) {
    return to == 0 ? of / by : of / by % to;
  };
  const Index apart = Simplified(digit(sum, divisor, extent), ranges);
  const IndexSum terms = apart.Sum();
  const bool adds_up = std::ranges::all_of(terms.terms, [&](const IndexTerm& term) {
    return term.factor.IsVariable() || !term.factor.Uses(round);
  });
  if (adds_up) return apart;
  // Whole rounds before the digit moves on, or whole steps of the digit in a round.
  if (divisor % threads == 0) return digit(round_at, divisor / threads, extent);
  const int64_t steps = threads / divisor;
  const bool is_whole = threads % divisor == 0 && extent % steps == 0;
  if (!is_whole) return digit(number, divisor, extent);
  return digit(round_at, 1, extent / steps) * steps + thread / divisor;
}

// Positions in the copy of an item; of dimensions that are one, the innermost has the position in
// all of them. Of rows that become columns, threads take a run at a time.
std::vector<Index> NestLoads::PositionsOf(const NestCopy& copy, int64_t width,
                                          const Item& item) const {
  const std::vector<int> order = SourceOrder(copy);
  const int last = static_cast<int>(copy.extents.size()) - 1;
  const int64_t row = copy.extents[order.back()], run = RunOf(copy, width);
  std::vector<Index> positions(copy.extents.size(), Index(0));
  int64_t inner = 1;  // items
  for (size_t k = order.size(); k-- > 0;) {
    const int x = order[k];
    const bool has_runs = k + 1 == order.size() && run < row;
    int64_t extent = has_runs ? run : copy.extents[x];
    while (k > 0 && !has_runs && AreOneDimension(copy, order[k - 1], order[k]))
      extent *= copy.extents[order[--k]];
    const int64_t unit = x == last ? width : 1;
    extent /= unit;
    const bool is_outermost = k == 0 && run == row;
    if (extent > 1) positions[x] = item.Digit(inner, is_outermost ? 0 : extent) * unit;
    inner *= extent;
  }
  if (run < row) positions[order.back()] = positions[order.back()] + item.Digit(inner, 0) * run;
  return positions;
}

// Elements of a row of the source that neighbouring threads copy: fewer than all only where the
// next row's are their neighbours in the copy.
int64_t NestLoads::RunOf(const NestCopy& copy, int64_t width) const {
  const std::vector<int> order = SourceOrder(copy);
  const int64_t row = copy.extents[order.back()];
  const auto next =
      std::find_if(order.rbegin() + 1, order.rend(), [&](int x) { return copy.extents[x] > 1; });
  const bool is_transposed = width == 1 && next != order.rend() && copy.strides()[*next] == 1;
  if (!is_transposed || !context_.has_blocks() || CopyOf(copy.input, &copy) != nullptr) return row;
  const int64_t all =
      std::accumulate(copy.extents.begin(), copy.extents.end(), int64_t{1}, std::multiplies<>());
  return TransposedRun(row, all / row, expression().inputs()[copy.input].type.size_bytes(),
                       context_.threads());
}

// Elements that are moved at once: the copy's, or as many as rows that follow each other are made
// of together, whatever a row is.
int64_t NestLoads::Width(const NestCopy& copy) const {
  if (CopyOf(copy.input, &copy) != nullptr) return 1;
  const std::vector<int> order = SourceOrder(copy);
  const Buffer& buffer = expression().inputs()[copy.input];
  const std::vector<int64_t> from = buffer.strides(), to = copy.strides();
  const int last = order.back();
  size_t k = order.size() - 1;
  while (k > 0 && AreOneDimension(copy, order[k - 1], order[k])) --k;
  if (copy.width > 1 || k + 1 == order.size() || from[last] != 1 || to[last] != 1) {
    return copy.width;
  }
  // What the places in memory of all of their first elements are multiples of.
  int64_t divisor = kMaxCopyBytes / buffer.type.size_bytes();
  const Element first = ElementAt(copy, std::vector<Index>(order.size(), Index(0)));
  for (size_t n = 0; n < order.size(); ++n) {
    const int x = order[n];
    divisor = std::gcd(divisor, n < k ? std::gcd(from[x], to[x]) : from[x] * copy.extents[x]);
    const IndexSum sum = first.indices[x].Sum();
    divisor = std::gcd(divisor, sum.constant * from[x]);
    for (const IndexTerm& term : sum.terms) divisor = std::gcd(divisor, term.coefficient * from[x]);
    if (n == k) break;
  }
  return divisor;
}

// All threads of the block take elements in turn, neighbours in memory go to neighbouring threads.
// Only the last round may have fewer elements than threads: a test in every round would make loads
// wait for each other.
void NestLoads::EmitSharedCopy(const NestCopy& copy, Block* block) {
  const int64_t width = Width(copy);
  const int64_t items =
      std::accumulate(copy.extents.begin(), copy.extents.end(), int64_t{1}, std::multiplies<>()) /
      width;
  const int64_t threads = context_.threads(), rounds = items / threads;
  const std::string at = context_.names().Unique(copy.name + "_at");
  const std::string round = context_.names().Unique(copy.name + "_round");
  Block body;
  if (rounds > 0) {
    const Index number = rounds == 1 ? Index(0) : Index::Variable(round);
    EmitItems(copy, width, ItemOf(at, round, number, rounds), /*most=*/0, &body);
  }
  if (rounds > 1) {
    Block loop;
    loop.push_back({For{round, Index(0), Index(rounds), 1, false, ShareBlock(std::move(body))}});
    body = std::move(loop);
  }
  if (items % threads != 0) {
    const std::string rest = rounds == 0 ? at : context_.names().Unique(copy.name + "_rest");
    EmitItems(copy, width, ItemOf(rest, round, Index(rounds), 1), items, &body);
  }
  block->push_back({Comment{Describe(copy)}});
  block->push_back(
      {CopyRegion{copy.name, copy.stages, ShareBlock(std::move(body)), copy.is_asynchronous}});
}

// Number `at` of a thread in round `number` of so many.
NestLoads::Item NestLoads::ItemOf(const std::string& at, const std::string& round,
                                  const Index& number, int64_t rounds) const {
  const Index thread = context_.Thread();
  const int64_t threads = context_.threads();
  Item item{Index::Variable(at),       round, number, thread, threads, number * threads + thread,
            {{round, {0, rounds - 1}}}};
  if (thread.IsVariable()) item.ranges[thread.name()] = {0, threads - 1};
  return item;
}

// The item of every thread; of those with numbers below `most`, if that is not 0.
void NestLoads::EmitItems(const NestCopy& copy, int64_t width, const Item& item, int64_t most,
                          Block* block) {
  Block element;
  EmitElement(copy, PositionsOf(copy, width, item), width, &element);
  std::set<std::string> used;
  CollectUsedNames(element, used);
  const bool is_used = most > 0 || used.contains(item.number.name());
  if (is_used) block->push_back({DeclareIndex{item.number.name(), item.sum}});
  if (most == 0) return Append(std::move(element), block);
  block->push_back(When({Less(item.number, Index(most))}, std::move(element)));
}

void NestLoads::EmitPrivateCopy(const NestCopy& copy, Block* block) {
  block->push_back({Comment{Describe(copy)}});
  Declare(copy, block);
  std::vector<Index> positions;
  std::vector<std::string> variables;
  for (size_t x = 0; x < copy.extents.size(); ++x) {
    variables.push_back(context_.names().Unique(absl::StrCat(copy.name, "_at", x)));
    positions.push_back(copy.extents[x] == 1 ? Index(0) : Index::Variable(variables[x]));
  }
  Block body;
  EmitElement(copy, positions, 1, &body);
  const std::vector<int> order = SourceOrder(copy);
  for (size_t k = order.size(); k-- > 0;) {
    const int x = order[k];
    if (copy.extents[x] == 1) continue;
    Block loop;
    loop.push_back({For{variables[x], Index(0), Index(copy.extents[x]), 1, false,
                        ShareBlock(std::move(body)), context_.unrolls()}});
    body = std::move(loop);
  }
  Append(std::move(body), block);
}

bool NestLoads::ReadsInPlace(int d) const {
  for (int b = 0; b < static_cast<int>(expression().inputs().size()); ++b) {
    const Buffer& buffer = expression().inputs()[b];
    if (CopyOf(b, nullptr) != nullptr || buffer.boundary.kind != Boundary::Kind::kNone) continue;
    for (const IndexFunction& access : buffer.accesses) {
      for (const AffineIndex& index : access.indices) {
        if (index.coefficients[d] != 0) return true;
      }
    }
  }
  return false;
}

bool NestLoads::HardlyDependsOn(int d) const {
  constexpr int64_t kMovedAtOnce = 4;
  return std::ranges::all_of(context_.plan().copies, [&](const NestCopy& copy) {
    const std::vector<AffineIndex>& indices = expression().inputs()[copy.input].accesses[0].indices;
    for (size_t x = 0; x < indices.size(); ++x) {
      if (indices[x].coefficients[d] == 0) continue;
      if (copy.is_shared || copy.extents[x] > kMovedAtOnce) return false;
    }
    return true;
  });
}

LoopValue NestLoads::Load(int parameter) {
  if (expression().is_index(parameter)) {
    return MakeIndexValue(context_.Point(expression().index_dimension(parameter)), 1, 1);
  }
  const Expression::AccessRef ref = expression().input_access(parameter);
  const Buffer& buffer = expression().inputs()[ref.buffer];
  const IndexFunction& access = buffer.accesses[ref.access];
  const ElementType::Field& field = buffer.type.fields()[ref.field];
  if (const NestCopy* copy = CopyOf(ref.buffer, nullptr)) {
    const std::vector<int64_t> strides = copy->strides();
    Index offset(0);
    for (int x = 0; x < static_cast<int>(buffer.extents.size()); ++x) {
      const int64_t constant = access.indices[x].constant - ConstantsOf(buffer, x).low;
      offset = offset + PositionIn(*copy, nullptr, x, Index(0), constant) * strides[x];
    }
    return LoadValue(copy->name, offset, {field.type, 1}, 1);
  }
  const std::string pointer = context_.views().PointerTo(buffer, context_.input_name(ref.buffer),
                                                         field.type, /*is_const=*/true);
  if (buffer.boundary.kind != Boundary::Kind::kNone) {
    std::vector<Index> indices;
    for (const AffineIndex& index : access.indices) {
      Index at(index.constant);
      for (int d = 0; d < expression().rank(); ++d) {
        at = context_.Point(d) * index.coefficients[d] + at;
      }
      indices.push_back(at);
    }
    // Without a reduction, a thread reads few elements several times.
    return AsComputed(
        LoadWithBorder(buffer, pointer, ref.field, indices, expression().has_reduction()));
  }
  const AffineIndex linear = buffer.Linearized(ref.access, ref.field);
  Index offset = context_.Sum([&](int n) {
    const int d = context_.level(n).level.dimension;
    return IsClamped(d) ? 0 : linear.coefficients[d] * context_.level(n).tile;
  });
  for (int d = 0; d < expression().rank(); ++d) {
    if (!IsClamped(d) || linear.coefficients[d] == 0) continue;
    offset = offset + ClampedPoint(d) * linear.coefficients[d];
  }
  return LoadValue(pointer, offset + Index(linear.constant), {field.type, 1}, 1);
}

}  // namespace mdh
