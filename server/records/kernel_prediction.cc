#include "server/records/kernel_prediction.h"

#include <optional>
#include <utility>

#include "codegen/choose/default_parameters.h"
#include "codegen/choose/tiles/tile_estimate.h"
#include "codegen/generate_kernel.h"
#include "codegen/program/kernel.h"
#include "core/decomposition/fuse_dimensions.h"
#include "core/decomposition/low_level_expression.h"
#include "core/device/system_model.h"
#include "server/records/similar_records.h"
#include "server/records/tuning_result_conversion.h"
#include "tuner/decompositions/mdh_space.h"
#include "tuner/run/tuning_loop.h"

namespace mdh {
namespace {

// Of what rules are expected to take: measured parameters are worth more than an estimate, which
// errs, but repaired ones may have lost their lanes, or copies that are worth it no more.
constexpr double kMostTimesRules = 1.5;

class Prediction {
 public:
  Prediction(const Expression& expression, const DeviceDescription& device,
             const v1::KernelKey& key)
      : expression_(expression),
        device_(device),
        key_(key),
        numerics_(PolicyFor(expression, static_cast<NumericsPolicy>(key.numerics_policy()))) {}

  // `or_rules`: an error also where rules are expected to give a faster kernel.
  Result<PredictedKernel> FromRecord(const v1::TuningRecord& record, bool or_rules) const {
    MDH_ASSIGN_OR_RETURN(const TuningParameters known, ParametersFor(device_, record));
    MDH_ASSIGN_OR_RETURN(const SystemModel model, SystemModelNamed(known.system_model));
    const std::optional<ExpressionShape> shape = ExpressionShape::Of(record.key().canonical_form());
    if (!shape) return absl::FailedPreconditionError("the record's canonical form is none");
    if (known.tile.size() != model.layers.size() ||
        static_cast<int>(known.tile.front().size()) != expression_.rank()) {
      return absl::FailedPreconditionError("the record's parameters are not for its expression");
    }
    // Of the same sizes, what is valid here needs no repair.
    const std::optional<ExpressionShape> wanted = ExpressionShape::Of(key_.canonical_form());
    const bool is_valid = wanted && wanted->sizes == shape->sizes && known.numerics == numerics_ &&
                          Validate(expression_, model, device_, known).ok();
    // Repaired ones have no matrix unit.
    if (!is_valid && ByRules().unit.rows > 0) {
      return absl::FailedPreconditionError("by rules, a matrix unit computes it");
    }
    MDH_ASSIGN_OR_RETURN(const TuningParameters parameters,
                         is_valid ? known : Repaired(known, model, shape->sizes));
    if (or_rules && !is_valid && IsExpectedSlow(parameters)) {
      return absl::FailedPreconditionError("parameters from rules are expected to be faster");
    }
    MDH_ASSIGN_OR_RETURN(PredictedKernel predicted, Make(model, parameters));
    predicted.made_from = record.name();
    return predicted;
  }

  // From the first record that gives one.
  Result<PredictedKernel> FromRecords(const std::vector<v1::TuningRecord>& records,
                                      bool or_rules) const {
    for (const v1::TuningRecord& record : records) {
      Result<PredictedKernel> predicted = FromRecord(record, or_rules);
      if (predicted.ok()) return predicted;
    }
    return absl::NotFoundError("no similar record gives a kernel");
  }

  // As they are.
  Result<PredictedKernel> FromParameters(const TuningParameters& parameters) const {
    MDH_ASSIGN_OR_RETURN(const SystemModel model, SystemModelNamed(parameters.system_model));
    if (model.kind != device_.kind) {
      return absl::InvalidArgumentError("the parameters are for another kind of device");
    }
    if (parameters.numerics != numerics_) {
      return absl::InvalidArgumentError("the parameters are for another numerics policy");
    }
    MDH_RETURN_IF_ERROR(Validate(expression_, model, device_, parameters));
    return Make(model, parameters);
  }

  Result<PredictedKernel> FromRules() const { return Make(TuningModel(device_.kind), ByRules()); }

 private:
  TuningParameters ByRules() const {
    return DefaultParameters(expression_, TuningModel(device_.kind), device_, numerics_);
  }

  // By the model of costs, if that knows both.
  bool IsExpectedSlow(const TuningParameters& parameters) const {
    const std::optional<double> cycles = ExpectedCycles(parameters);
    const std::optional<double> by_rules = cycles ? ExpectedCycles(ByRules()) : std::nullopt;
    return by_rules && *cycles > kMostTimesRules * *by_rules;
  }

  // Of register tiles of CPUs; nullopt of others.
  std::optional<double> ExpectedCycles(const TuningParameters& p) const {
    const Result<SystemModel> model = SystemModelNamed(p.system_model);
    const bool has_tiles = model.ok() && model->memory == MemoryKind::kCaches &&
                           model->LayerWith(LayerRole::kRegisters) >= 0 &&
                           p.lowering == Lowering::kTiles;
    if (!has_tiles) return std::nullopt;
    const Result<Expression> fused = WithFusedDimensions(expression_, p);
    if (!fused.ok()) return std::nullopt;
    return TileEstimate(*fused, *model, device_, numerics_).Cycles(p);
  }

  // The nearest parameters that are valid; `known` is for the given sizes.
  Result<TuningParameters> Repaired(const TuningParameters& known, const SystemModel& model,
                                    const std::vector<int64_t>& sizes) const {
    MDH_ASSIGN_OR_RETURN(const MdhSpace space, MdhSpace::Create(expression_, model, device_,
                                                                numerics_, {}, FusedAs(known)));
    return space.Decode(space.EncodeNearest(known, sizes));
  }

  // What the known parameters have fused, if that can be fused here: it may depend on sizes.
  FusedDimensions FusedAs(const TuningParameters& known) const {
    TuningParameters fused;
    fused.numerics = numerics_;
    fused.fused = known.fused;
    return WithFusedDimensions(expression_, fused).ok() ? known.fused : FusedDimensions();
  }

  Result<PredictedKernel> Make(const SystemModel& model, const TuningParameters& parameters) const {
    MDH_ASSIGN_OR_RETURN(const LowLevelExpression low_level,
                         Lower(expression_, model, device_, parameters));
    TuningResult result;
    result.parameters = parameters;
    MDH_ASSIGN_OR_RETURN(result.kernel, GenerateKernel(low_level, device_));
    result.low_level_table = low_level.ToTable();
    PredictedKernel predicted;
    predicted.record = MakeRecord(expression_, key_, device_, result);
    predicted.record.clear_name();
    predicted.kernel = MakeKernel(key_, result.kernel, device_);
    predicted.kernel.clear_name();
    return predicted;
  }

  const Expression& expression_;
  const DeviceDescription& device_;
  const v1::KernelKey& key_;
  const NumericsPolicy numerics_;
};

}  // namespace

Result<PredictedKernel> PredictKernel(const Expression& expression, const DeviceDescription& device,
                                      const v1::KernelKey& key,
                                      const std::vector<v1::TuningRecord>& similar) {
  const Prediction prediction(expression, device, key);
  Result<PredictedKernel> adapted = prediction.FromRecords(similar, /*or_rules=*/true);
  return adapted.ok() ? adapted : prediction.FromRules();
}

Result<PredictedKernel> AdaptKernel(const Expression& expression, const DeviceDescription& device,
                                    const v1::KernelKey& key,
                                    const std::vector<v1::TuningRecord>& similar) {
  return Prediction(expression, device, key).FromRecords(similar, /*or_rules=*/false);
}

Result<PredictedKernel> KernelWithParameters(const Expression& expression,
                                             const DeviceDescription& device,
                                             const v1::KernelKey& key,
                                             const TuningParameters& parameters) {
  return Prediction(expression, device, key).FromParameters(parameters);
}

}  // namespace mdh
