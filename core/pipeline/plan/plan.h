// Which steps of a pipeline could be one: the partitions that are worth a search.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/pipeline/pipeline.h"

namespace mdh {

// How what a step reads of another one gets there.
enum class EdgeKind {
  kStage,     // through memory
  kInline,    // computed where it is read (InlineProducer)
  kEpilogue,  // the reader is part of the writer's store function (AbsorbReader)
};

// Two steps of the pipeline that is planned, the second of which reads what the first writes.
struct PlannedEdge {
  int producer;
  int consumer;
  EdgeKind kind;

  friend bool operator==(const PlannedEdge&, const PlannedEdge&) = default;
};

struct Partition {
  std::vector<PlannedEdge> edges;  // every edge of the pipeline that is planned, in one order
  Pipeline pipeline;               // rewritten; means the same
  int64_t bytes;                   // that steps read and write, each by itself, at least
  int64_t operations;              // of any type, of all steps

  bool is_unfused() const;
};

struct PlanOptions {
  int max_partitions = 64;
  // How many operations take as long as a byte of memory: what is computed again must save that.
  double operations_per_byte = 4;
  // Rewrites that are tried at most; with more edges those that come last are staged.
  int max_rewrites = 400;
};

// Legal partitions, the cheapest first: bytes, plus operations by the exchange rate. Edges are
// decided one after the other, in the order of the steps that read; of what is decided in part the
// cheapest are followed. A step that combines nothing and has one reader is inlined, not the other
// way round: that would be the same. The partition without any fusion is always among them. The
// same pipeline gives the same partitions on every machine.
std::vector<Partition> PlanPartitions(const Pipeline& pipeline, const PlanOptions& options = {});

// Of these the one with such edges; nullopt: there is none.
std::optional<Partition> PartitionWith(const Pipeline& pipeline,
                                       const std::vector<PlannedEdge>& edges,
                                       const PlanOptions& options = {});

}  // namespace mdh
