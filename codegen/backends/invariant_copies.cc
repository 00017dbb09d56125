#include "codegen/backends/invariant_copies.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "codegen/program/loop_program_walk.h"
#include "codegen/program/scalar_code.h"
#include "core/base/round.h"

namespace mdh {
namespace {

constexpr int64_t kPlaceAlignment = 16;  // elements

class CopyHoister {
 public:
  CopyHoister(std::set<std::string> variant, const std::set<std::string>& constants)
      : variant_(std::move(variant)), constants_(constants) {}

  HoistedCopies Run(const Block& block) {
    HoistedCopies result;
    bool has_copies = false;
    for (const Statement& statement : block) {
      const auto* branch = std::get_if<If>(&statement.form);
      if (branch != nullptr && branch->all_of.empty()) {
        HoistedCopies own = Run(*branch->then_block);
        has_copies |= !own.before.empty();
        if (!own.before.empty()) result.before.push_back(When({}, std::move(own.before)));
        result.inside.push_back(When({}, std::move(own.inside)));
        continue;
      }
      if (IsInvariantCopy(statement)) {
        has_copies = true;
        result.before.push_back(statement);
        continue;
      }
      if (IsInvariantDeclaration(statement)) {
        result.before.push_back(statement);
      } else if (const std::string* name = DeclaredName(statement)) {
        variant_.insert(*name);
      }
      result.inside.push_back(statement);
    }
    result.before = has_copies ? UsedBy(std::move(result.before)) : Block();
    return result;
  }

 private:
  bool Varies(const Statement& statement) const {
    std::set<std::string> names;
    CollectUsedNames({statement}, names);
    return std::ranges::any_of(names,
                               [&](const std::string& name) { return variant_.contains(name); });
  }

  bool IsInvariantDeclaration(const Statement& statement) {
    if (const auto* pointer = std::get_if<DeclarePointer>(&statement.form)) {
      bases_[pointer->name] = pointer->base;
      return !Varies(statement);
    }
    return std::holds_alternative<DeclareIndex>(statement.form) && !Varies(statement);
  }

  bool IsInvariantCopy(const Statement& statement) const {
    const auto* copy = std::get_if<CopyRegion>(&statement.form);
    if (copy == nullptr || copy->is_asynchronous || copy->stages != 1 || Varies(statement)) {
      return false;
    }
    bool is_of_constants = true;
    Visit(*copy->body, {.name = [&](const std::string& name) {
      is_of_constants &= name == copy->array || IsConstant(name);
    }});
    return is_of_constants;
  }
  bool IsConstant(const std::string& name) const {
    const auto base = bases_.find(name);
    return constants_.contains(base == bases_.end() ? name : base->second);
  }

  std::set<std::string> variant_;
  const std::set<std::string>& constants_;
  std::map<std::string, std::string> bases_;  // of pointers
};

// One input after the other, each behind its comment.
std::vector<Block> CopiesOf(const Block& body) {
  std::vector<Block> copies;
  for (const Statement& statement : body) {
    if (copies.empty() || std::holds_alternative<Comment>(statement.form)) copies.emplace_back();
    copies.back().push_back(statement);
  }
  return copies;
}

class PartPacker {
 public:
  PartPacker(std::vector<ScratchBuffer> own, const PartsOfThread& parts,
             const std::function<std::string(const std::string&)>& new_name)
      : parts_(parts), new_name_(new_name) {
    packed_.memory = std::move(own);
  }

  void Add(Block copy) {
    const std::optional<PartsOfThread::Pointer> use = UseOf(copy);
    if (!use) return Append(std::move(copy), &packed_.before_parts);
    const int64_t places = use->is_of_chunk ? parts_.chunks : 1;
    const bool is_again = std::min(use->parts, parts_.in_turn) * parts_.chunks > places;
    if (!is_again || !GivePlaces(copy, places)) return Append(std::move(copy), &packed_.body);
    const std::string kept = new_name_("kept_for"), any = new_name_("kept_place");
    packed_.memory.push_back({kept, ScalarType::kInt64, places, /*per_thread=*/true});
    const LoopValue none = MakeLiteral(ScalarValue::Integer(ScalarType::kInt64, -1));
    const Block forget = {{StoreElements{kept, Index::Variable(any), none, 1}}};
    packed_.no_copies.push_back({For{any, Index(0), Index(places), 1, false, ShareBlock(forget)}});
    const Index place = places > 1 ? parts_.chunk : Index(0);
    const LoopValue wanted = MakeIndexValue(parts_.part / use->parts, 1, 0);
    const LoopValue found = MakeLoad(kept, place, {ScalarType::kInt64}, 1);
    copy.push_back({StoreElements{kept, place, wanted, 1}});
    packed_.body.push_back({IfAny{MakeOperation(ScalarOp::kNe, ScalarType::kBool, {found, wanted}),
                                  ShareBlock(std::move(copy))}});
  }

  PackedForParts Packed() && { return std::move(packed_); }

 private:
  // How far the copy is the same, which is as far as all that it reads; nullopt: always.
  std::optional<PartsOfThread::Pointer> UseOf(const Block& copy) const {
    std::set<std::string> used, known = parts_.constants;
    CollectUsedNames(copy, used);
    CollectDeclaredNames(copy, known);
    for (const ScratchBuffer& buffer : packed_.memory) known.insert(buffer.name);
    std::optional<PartsOfThread::Pointer> use;
    for (const std::string& name : used) {
      if (known.contains(name)) continue;
      const auto pointer = parts_.pointers.find(name);
      if (pointer == parts_.pointers.end()) return PartsOfThread::Pointer{1, true};
      if (!use) use = pointer->second;
      use->parts = std::min(use->parts, pointer->second.parts);
      use->is_of_chunk |= pointer->second.is_of_chunk;
    }
    return use;
  }

  // Room for so many copies; false: that is too much.
  bool GivePlaces(const Block& copy, int64_t places) {
    if (places == 1) return true;
    std::set<std::string> used;
    CollectUsedNames(copy, used);
    const auto is_used = [&](const ScratchBuffer& b) { return used.contains(b.name); };
    int64_t bytes = 0;
    for (const ScratchBuffer& buffer : packed_.memory) {
      if (is_used(buffer)) bytes += buffer.elements * SizeBytes(buffer.type) * places;
    }
    if (bytes > parts_.most_bytes) return false;
    for (ScratchBuffer& buffer : packed_.memory) {
      if (!is_used(buffer)) continue;
      const int64_t each = RoundUp(buffer.elements, kPlaceAlignment);
      const std::string all = new_name_(buffer.name + "_of_chunks");
      packed_.pointers.push_back(
          {DeclarePointer{buffer.name, buffer.type, false, all, parts_.chunk * each}});
      buffer.name = all;
      buffer.elements = each * places;
    }
    return true;
  }

  const PartsOfThread& parts_;
  const std::function<std::string(const std::string&)>& new_name_;
  PackedForParts packed_;
};

}  // namespace

int64_t MostBytesKept(const DeviceDescription& device) {
  return std::max(device.l2_bytes, device.l3_bytes / std::max(device.cores, 1));
}

PackedForParts PackForParts(const Block& body, std::vector<ScratchBuffer> own,
                            const PartsOfThread& parts,
                            const std::function<std::string(const std::string&)>& new_name) {
  PartPacker packer(std::move(own), parts, new_name);
  for (Block& copy : CopiesOf(body)) packer.Add(std::move(copy));
  return std::move(packer).Packed();
}

Block UsedBy(Block block) {
  Block used;
  std::set<std::string> names;
  for (size_t n = block.size(); n-- > 0;) {
    const std::string* declared = DeclaredName(block[n]);
    if (declared != nullptr && !names.contains(*declared)) continue;
    CollectUsedNames({block[n]}, names);
    used.push_back(std::move(block[n]));
  }
  std::ranges::reverse(used);
  return used;
}

HoistedCopies HoistCopies(const Block& step, std::set<std::string> variant,
                          const std::set<std::string>& constants) {
  return CopyHoister(std::move(variant), constants).Run(step);
}

}  // namespace mdh
