// The domain T of tensor expressions (paper, Section 3.1): trees of nodes (op, S, I).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/scalar/scalar_type.h"
#include "core/teml/iterator_index.h"
#include "core/teml/operation.h"
#include "core/text/token_stream.h"

namespace mdh {

// A real tensor or scalar of the target program: <(name, S, epsilon), []>, or <(name, [], bullet),
// []> of a scalar.
struct RealTensor {
  std::string name;
  ScalarType type;
  std::vector<int64_t> shape;
  bool is_scalar;
  Token declared;  // where it was introduced
};
using TensorPointer = std::shared_ptr<const RealTensor>;

struct TensorNode;
// Immutable, shared; never null.
using TensorTree = std::shared_ptr<const TensorNode>;

struct TensorNode {
  static constexpr int kMaxNodes = 4096;  // of a tree

  enum class Kind {
    kAccess,     // `tensor` with `indices`: a leaf
    kOperation,  // `operation` on the children
    kSum,        // of the child over the iterators `bound`: a virtual contraction
  };
  Kind kind;
  Token token;  // where the text has it
  ScalarType type;
  TensorPointer tensor = nullptr;
  IteratorList indices = {};
  const TemlOperation* operation = nullptr;
  std::vector<std::string> bound = {};
  std::vector<TensorTree> children = {};
  // The iterators that are not bound, one per dimension of the virtual tensor.
  std::vector<std::string> dimensions = {};
  int nodes = 1;  // of the tree, with the indices and their terms
};

TensorTree MakeAccess(const Token& token, TensorPointer tensor, IteratorList indices);
// Children have one type.
TensorTree MakeOperation(const Token& token, const TemlOperation* operation,
                         std::vector<TensorTree> children);
TensorTree MakeSum(const Token& token, std::vector<std::string> bound, TensorTree child);
// The same tree with its dimensions in another order.
TensorTree WithDimensions(const TensorTree& tree, std::vector<std::string> dimensions);

// With other names for iterators, bound ones too.
TensorTree Renamed(const TensorTree& tree, const std::map<std::string, std::string>& names);

// All leaves, from the left.
std::vector<const TensorNode*> AccessesOf(const TensorTree& tree);

// Names that no text has.
class NameSupply {
 public:
  explicit NameSupply(std::set<std::string> taken) : taken_(std::move(taken)) {}
  // k, k2, k3, ... as far as they are free.
  std::string Fresh(const std::string& wanted);

 private:
  std::set<std::string> taken_;
};

// A tree whose sums were moved to its root, where only products and numerators are above them:
// a * sum_k b[k] is sum_k a * b[k].
struct SumForm {
  std::vector<std::string> bound;
  TensorTree terms;
};
SumForm ToSumForm(const TensorTree& tree, NameSupply* names);

// "C[i][j] * (A[i][j] + B[j])", as in C.
std::string ToText(const TensorTree& tree);

}  // namespace mdh
