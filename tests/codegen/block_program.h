// A loop program with every form that exists for blocks of threads, made by hand: a tile is copied
// to shared memory as vectors, transposed, and its rows are summed up by all threads of a block.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/print/c_block_unit.h"
#include "codegen/program/loop_program.h"
#include "tests/codegen/index_variable.h"

namespace mdh {

struct BlockProgramOptions {
  bool shuffles = false;             // rows are summed up through registers, not shared memory
  int64_t shared_elements = 4 * 68;  // of x_shr
};

inline std::shared_ptr<const Block> Shared(Block block) {
  return std::make_shared<const Block>(std::move(block));
}

// A tile of 4 rows and 64 columns of x (8 x 128), as it is and transposed, by 32 threads.
inline CopyRegion CopyOfTile() {
  const Index flat = Var("t") + Var("c") * 32;
  const LoopValueType four{ScalarType::kFloat32, 4};
  const Index from = (Var("j_blk") * 4 + Var("row")) * 128 + Var("i_blk") * 64 + Var("col");
  Block body;
  body.push_back({DeclareIndex{"row", flat / 16}});
  body.push_back({DeclareIndex{"col", flat % 16 * 4}});
  body.push_back({DeclareValue{"v", MakeLoad("x", from, four, 1)}});
  body.push_back({StoreElements{"x_shr", Var("row") * 68 + Var("col"), MakeNamed("v", four), 1}});
  body.push_back({StoreElements{"t_shr", Var("col") * 5 + Var("row"), MakeNamed("v", four), 5}});
  Block region;
  region.push_back({For{"c", 0, 2, 1, false, Shared(std::move(body)), true}});
  return {"x_shr", 1, Shared(std::move(region))};
}

inline For StoreOfTransposed() {
  const Index flat = Var("t") + Var("e") * 32;
  Block body;
  body.push_back({DeclareIndex{"row", flat / 4}});
  body.push_back({DeclareIndex{"col", flat % 4}});
  body.push_back({StoreElements{
      "transposed", (Var("i_blk") * 64 + Var("row")) * 8 + Var("j_blk") * 4 + Var("col"),
      MakeLoad("t_shr", Var("row") * 5 + Var("col"), {ScalarType::kFloat32}, 1), 1}});
  return {"e", 0, 8, 1, false, Shared(std::move(body))};
}

// acc[r] = the sum of two columns of row r.
inline For SumsOfColumns() {
  const LoopValue left = MakeLoad("x_shr", Var("r") * 68 + Var("t") * 2, {ScalarType::kFloat32}, 1);
  const LoopValue right =
      MakeLane(MakeLoad("x_shr", Var("r") * 68 + Var("t") * 2, {ScalarType::kFloat32, 2}, 1), 1);
  Block body;
  body.push_back({StoreElements{
      "acc", Var("r"), MakeOperation(ScalarOp::kAdd, ScalarType::kFloat32, {left, right}), 1}});
  return {"r", 0, 4, 1, false, Shared(std::move(body)), true};
}

inline StoreElements StoreOfPartial(const Index& row, LoopValue sum) {
  return {"partial", (Var("j_blk") * 4 + row) * 2 + Var("i_blk"), std::move(sum), 1};
}

inline For RowsByShuffles() {
  const LoopValueType type{ScalarType::kFloat32};
  Block body;
  body.push_back({DeclareValue{"s", MakeLoad("acc", Var("r"), type, 1), true}});
  for (const int distance : {16, 8, 4, 2, 1}) {
    const LoopValue s = MakeNamed("s", type);
    body.push_back({Assign{"s", MakeOperation(ScalarOp::kAdd, ScalarType::kFloat32,
                                              {s, MakeShuffleDown(s, distance, 32)})}});
  }
  Block store;
  store.push_back({StoreOfPartial(Var("r"), MakeNamed("s", type))});
  body.push_back(
      {If{{{Condition::Kind::kEqual, Var("t"), 0, ""}}, Shared(std::move(store)), nullptr}});
  return {"r", 0, 4, 1, false, Shared(std::move(body)), true};
}

inline void AppendRowsByMemory(Block* stage) {
  const LoopValueType type{ScalarType::kFloat32};
  Block write;
  write.push_back(
      {StoreElements{"part_shr", Var("r") * 32 + Var("t"), MakeLoad("acc", Var("r"), type, 1), 1}});
  stage->push_back({For{"r", 0, 4, 1, false, Shared(std::move(write)), true}});
  stage->push_back({Barrier{}});
  Block add, first;
  add.push_back(
      {Assign{"s", MakeOperation(ScalarOp::kAdd, ScalarType::kFloat32,
                                 {MakeNamed("s", type),
                                  MakeLoad("part_shr", Var("t") * 32 + Var("n"), type, 1)})}});
  first.push_back({DeclareValue{"s", MakeLoad("part_shr", Var("t") * 32, type, 1), true}});
  first.push_back({For{"n", 1, 32, 1, false, Shared(std::move(add))}});
  first.push_back({StoreOfPartial(Var("t"), MakeNamed("s", type))});
  stage->push_back(
      {If{{{Condition::Kind::kLess, Var("t"), 4, ""}}, Shared(std::move(first)), nullptr}});
}

inline Stage TileStage(const BlockProgramOptions& options) {
  Stage stage{
      "Sums of rows, by tiles; the double of a thread's columns", {}, {{2, 2, 1}, {16, 2, 1}}};
  Block& body = stage.body;
  body.push_back(
      {DeclareArray{"x_shr", ScalarType::kFloat32, options.shared_elements, MemorySpace::kShared}});
  body.push_back({DeclareArray{"t_shr", ScalarType::kFloat32, 64 * 5, MemorySpace::kShared}});
  if (!options.shuffles) {
    body.push_back({DeclareArray{"part_shr", ScalarType::kFloat32, 4 * 32, MemorySpace::kShared}});
  }
  body.push_back({DeclareArray{"acc", ScalarType::kFloat32, 4, MemorySpace::kPrivate}});
  body.push_back({HardwareIndex{"i_blk", HardwareIndex::Kind::kBlock, 0}});
  body.push_back({HardwareIndex{"j_blk", HardwareIndex::Kind::kBlock, 1}});
  body.push_back({HardwareIndex{"t_x", HardwareIndex::Kind::kThread, 0}});
  body.push_back({HardwareIndex{"t_y", HardwareIndex::Kind::kThread, 1}});
  body.push_back({DeclareIndex{"t", Var("t_y") * 16 + Var("t_x")}});
  body.push_back({Comment{"All threads copy the tile"}});
  body.push_back({CopyOfTile()});
  body.push_back({Barrier{}});
  body.push_back({StoreOfTransposed()});
  body.push_back({SumsOfColumns()});
  if (options.shuffles) {
    body.push_back({RowsByShuffles()});
  } else {
    AppendRowsByMemory(&body);
  }
  return stage;
}

// y[i] = the sum of row i and the weight of point max(i - 3, 0); ids[i] = i + the id of point i -
// 1, or -7 where there is none.
inline Stage RowStage() {
  const LoopValueType real{ScalarType::kFloat32};
  const auto partial = [&](int n) { return MakeLoad("partial", Var("i") * 2 + n, real, 1); };
  LoadInside clamped{"p_w", {{Var("i") - 3, 0, 8, 4}}, 0, std::nullopt};
  LoadInside outside{
      "p_id", {{Var("i") - 1, 0, 8, 2}}, 1, ScalarValue::Integer(ScalarType::kInt32, -7)};
  const LoopValue weight = MakeOperation(
      ScalarOp::kCast, ScalarType::kFloat32,
      {std::make_shared<ValueNode>(ValueNode{{ScalarType::kFloat16}, std::move(clamped)})});
  const LoopValue id =
      std::make_shared<ValueNode>(ValueNode{{ScalarType::kInt32}, std::move(outside)});
  const LoopValue number =
      MakeOperation(ScalarOp::kCast, ScalarType::kInt32, {MakeIndexValue(Var("i"), 1, 0)});
  Block body;
  body.push_back({StoreElements{
      "y", Var("i"),
      MakeOperation(
          ScalarOp::kAdd, ScalarType::kFloat32,
          {MakeOperation(ScalarOp::kAdd, ScalarType::kFloat32, {partial(0), partial(1)}), weight}),
      1}});
  body.push_back({StoreElements{
      "ids", Var("i"), MakeOperation(ScalarOp::kAdd, ScalarType::kInt32, {number, id}), 1}});
  Stage stage{"Rows from tiles", {}, {{1, 1, 1}, {4, 1, 1}}};
  stage.body.push_back({DeclareView{"p_w", ScalarType::kFloat16, true, "p"}});
  stage.body.push_back({DeclareView{"p_id", ScalarType::kInt32, true, "p"}});
  stage.body.push_back({ShareLoop{"i", 8, Shared(std::move(body))}});
  return stage;
}

inline LoopProgram BlockProgram(const BlockProgramOptions& options) {
  LoopProgram program;
  program.scratch.push_back({"unused", ScalarType::kFloat32, 3, false});
  program.scratch.push_back({"partial", ScalarType::kFloat32, 16, false});
  program.stages.push_back(TileStage(options));
  program.stages.push_back(RowStage());
  return program;
}

inline Kernel BlockKernel(const CDialect& dialect, const BlockProgramOptions& options,
                          bool wide_indices) {
  const ElementType point =
      *ElementType::Record({{"w", ScalarType::kFloat16}, {"id", ScalarType::kInt32}});
  BlockUnitOptions unit{&dialect,
                        "mdh_tiles",
                        "Sums of rows.\n",
                        {{"x", ScalarType::kFloat32, 8 * 128, false},
                         {"p", point, 8, false},
                         {"transposed", ScalarType::kFloat32, 128 * 8, true},
                         {"y", ScalarType::kFloat32, 8, true},
                         {"ids", ScalarType::kInt32, 8, true}}};
  unit.wide_indices = wide_indices;
  unit.contracts = true;
  return PrintBlockKernel(BlockProgram(options), unit);
}

}  // namespace mdh
