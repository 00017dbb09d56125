// Which steps of a pipeline could be one: the partitions that are worth a search.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/pipeline/pipeline.h"

namespace mdh {

// How what a step reads of another one gets there; and the decisions that are no edge's.
enum class EdgeKind {
  kStage,        // through memory
  kInline,       // computed where it is read (InlineProducer)
  kEpilogue,     // the reader is part of the writer's store function (AbsorbReader)
  kContraction,  // the writer's sum of products is part of the reader's (MergeContractions)
  // Of two steps that do not need each other: they are one, with the outputs of both
  // (MergeSiblings).
  kSiblings,
  // Of one step, which is producer and consumer: its product of many factors is made of two at a
  // time (SplitContraction), of a step in which others are by kContraction that of all their
  // factors.
  kSplit,
};

// "stage", "inline", "epilogue", "contraction", "siblings", "split".
std::string_view Name(EdgeKind kind);
std::optional<EdgeKind> EdgeKindNamed(std::string_view name);

// Two steps of the pipeline that is planned, the second of which reads what the first writes; or
// what siblings are one, and what is split.
struct PlannedEdge {
  int producer;
  int consumer;
  EdgeKind kind;

  friend bool operator==(const PlannedEdge&, const PlannedEdge&) = default;
};

// Every edge of the pipeline, staged, in the order in which partitions have them.
std::vector<PlannedEdge> EdgesOf(const Pipeline& pipeline);

struct Partition {
  // Every edge of the pipeline that is planned, in one order; then siblings that are one and steps
  // that are split. No other partition has the same.
  std::vector<PlannedEdge> edges;
  Pipeline pipeline;   // rewritten; means the same
  int64_t bytes;       // that steps read and write, each by itself, at least
  int64_t operations;  // of any type, of all steps

  bool is_unfused() const;
  // Whether edges alone are decided, and no sums reordered: each step is computed as it stands.
  bool keeps_steps() const;
};

struct PlanOptions {
  int max_partitions = 64;
  // How many operations take as long as a byte of memory: what is computed again must save that.
  double operations_per_byte = 4;
  // Rewrites that are tried at most; with more edges those that come last are staged.
  int max_rewrites = 400;
  // Whether sums of floating-point products may be reordered: under NumericsPolicy::kReassociate
  // alone.
  bool may_reassociate = true;
  // Where somebody knows what is fused: what partitions may have among their edges (null:
  // anything), and which siblings and splits they must have.
  std::function<bool(const PlannedEdge&)> may_have = nullptr;
  std::vector<PlannedEdge> must_have = {};
};

// Legal partitions, the cheapest first: bytes, plus operations by the exchange rate. Edges are
// decided one after the other, in the order of the steps that read; of what is decided in part the
// cheapest are followed. A step that combines nothing and has one reader is inlined, not the other
// way round: that would be the same. No two partitions have steps that read and write the same. The
// partition without any fusion is always among them, if it may be. The same pipeline gives the same
// partitions on every machine.
//
// Products of many factors are planned twice: as they are, and in the best order of two factors at
// a time; and a third time if that of all factors of contractions that follow each other is
// cheaper.
std::vector<Partition> PlanPartitions(const Pipeline& pipeline, const PlanOptions& options = {});

// The one with such edges, also where others are cheaper; nullopt: there is none.
std::optional<Partition> PartitionWith(const Pipeline& pipeline,
                                       const std::vector<PlannedEdge>& edges,
                                       const PlanOptions& options = {});

}  // namespace mdh
