// The code-level parameters of configurations: those beyond the paper's Table 1 that are a word, a
// number or a few numbers. One table says for every one of them how it is spelled, where it can be
// had and what searches try; printing, parsing, Validate, the equality of configurations, search
// spaces, moves between designs and the translation to other models go through its rows. A further
// parameter is a member of TuningParameters, a row here, and the code that does something with it.
#pragma once

#include <array>
#include <climits>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"

namespace mdh {

// A lowering and what it is for; values are bits of Choice::lowerings.
enum class LoweringTarget : uint8_t {
  kRegisterTiles = 1,  // Lowering::kTiles
  kCacheLevels = 2,    // Lowering::kLevels where caches copy by themselves
  kBlocks = 4,         // Lowering::kLevels for devices with blocks of threads
};
LoweringTarget LoweringTargetOf(const SystemModel& model, const TuningParameters& parameters);

// What a value can be had for.
struct ChoiceTarget {
  const Expression& expression;  // whose dimensions are fused already
  const DeviceDescription& device;
  LoweringTarget lowering;
};

// The number of a word, one number, or several.
using ChoiceValue = absl::InlinedVector<int64_t, 5>;

struct Choice {
  // ---- Spelling: "KEY=VALUE" ----
  absl::string_view key;
  // Words, whose numbers go on from that of the first one; or none: integers.
  std::array<absl::string_view, 4> words = {};
  int64_t first_word = 1;
  // Several integers: what is between them, and what they are, for people: ':', "THREADS:RUN".
  char separator = '\0';
  absl::string_view form = {};
  // One integer: the smallest and largest one.
  int64_t low = 0, high = INT_MAX;
  bool is_always_printed = false;  // else only other values than the default
  // The default where it depends on other parameters; nullptr: that of TuningParameters.
  ChoiceValue (*usual)(const TuningParameters&) = nullptr;

  // ---- Where it is ----
  ChoiceValue (*get)(const TuningParameters&) = nullptr;
  void (*set)(absl::Span<const int64_t>, TuningParameters*) = nullptr;
  // The same of the choices that designs for blocks of threads have; nullptr: it is none of them.
  int64_t (*get_of_blocks)(const BlockChoices&) = nullptr;
  void (*set_of_blocks)(int64_t, BlockChoices*) = nullptr;

  // ---- Where it can be had; the default can be had everywhere ----
  uint8_t lowerings = 0;              // of LoweringTarget: those that do something with it
  bool is_ignored_elsewhere = false;  // else the others reject what is not the default
  bool needs_fused_phases = false;    // the three phases are one nest
  // Whether some parameters of the computation that differ in this alone may have another value;
  // nullptr: on its lowerings.
  bool (*may_differ)(const Expression&, const TuningParameters&) = nullptr;
  // Why no computation can have this value on the device, and why this one cannot have that of the
  // parameters; empty: it can. Asked where all of the above is right. Parts may be none yet.
  std::string (*lack)(const DeviceDescription&, absl::Span<const int64_t> value) = nullptr;
  std::string (*own_obstacle)(const ChoiceTarget&, const TuningParameters&) = nullptr;

  // ---- What searches try ----
  // Of search spaces: values, or a function that gives them; neither: spaces that have the choice
  // say themselves what they offer. Other values than the default only where they may pay.
  absl::Span<const int64_t> offered = {};
  std::vector<ChoiceValue> (*offered_for)(const ChoiceTarget&) = nullptr;
  bool (*may_pay)(const ChoiceTarget&) = nullptr;
  // Of the search among designs: from a word to any other one, from a number to its neighbours.
  absl::Span<const int64_t> steps = {};

  bool has_words() const { return !words[0].empty(); }
  bool has_several() const { return separator != '\0'; }
  bool is_number() const { return !has_words() && !has_several(); }
  ChoiceValue DefaultFor(const TuningParameters& parameters) const;
  bool is_default(const TuningParameters& parameters) const {
    return get(parameters) == DefaultFor(parameters);
  }
  // VALUE.
  std::string Text(absl::Span<const int64_t> value) const;
  // What messages are about: "early=calls"; "scan", whose messages name its numbers.
  std::string About(const TuningParameters& parameters) const;
  // Errors: InvalidArgument, naming the row and what there is.
  Result<ChoiceValue> Parse(absl::string_view text) const;
  // Why the value of the parameters cannot be had: "early=calls: launches on devices of kind OpenCL
  // never begin early"; empty: it can.
  std::string Obstacle(const ChoiceTarget& target, const TuningParameters& parameters) const;
  // What spaces offer, as far as it can be had with that policy; empty where the target has nothing
  // to do with the choice.
  std::vector<ChoiceValue> Offers(const ChoiceTarget& target, NumericsPolicy numerics) const;

 private:
  std::string Limits() const;
};

// All of them, in the order in which they are printed.
absl::Span<const Choice> Choices();
// Expects a key that there is.
const Choice& ChoiceOf(absl::string_view key);

// Sets choices that no computation can have on the device to their defaults.
void LeaveOutWhatDeviceLacks(const DeviceDescription& device, TuningParameters* parameters);

}  // namespace mdh
