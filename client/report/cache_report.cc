#include "client/report/cache_report.h"

#include <google/protobuf/util/time_util.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/report/decomposition_data.h"
#include "client/report/report_page.h"
#include "client/text/formatting.h"
#include "core/text/parser.h"

namespace mdh {
namespace {

using nlohmann::json;

double Ratio(double numerator, double denominator) {
  return denominator > 0 ? numerator / denominator : 0;
}

std::string StateOf(const v1::TuningRecord& record) {
  if (record.is_pinned()) return "pinned";
  if (record.is_provisional()) return "provisional";
  return record.is_disturbed() ? "disturbed" : "";
}

json RecordData(const v1::TuningRecord& record) {
  const auto time_ns = static_cast<double>(record.time_ns());
  const Result<Expression> expression = ParseExpression(record.expression_text());
  std::string sizes;
  double points = 0;
  if (expression.ok()) {
    points = static_cast<double>(expression->points());
    sizes = absl::StrJoin(
        expression->dimensions(), " × ",
        [](std::string* out, const Dimension& dimension) { absl::StrAppend(out, dimension.size); });
  }
  const std::optional<UnitUse> unit = UnitUseOf(record);
  return {{"name", record.name()},
          {"expression", record.expression_name()},
          {"sizes", std::move(sizes)},
          {"points", points},
          {"device", record.device().model()},
          {"time_ns", record.time_ns()},
          {"share", Ratio(LowerBound(record, unit ? unit->flops_per_s : 0).time_ns, time_ns)},
          {"than_rules", Ratio(static_cast<double>(record.default_time_ns()), time_ns)},
          {"than_loop_nest", Ratio(static_cast<double>(record.loop_nest_time_ns()), time_ns)},
          {"trials", record.trials()},
          {"created", google::protobuf::util::TimeUtil::ToString(record.create_time())},
          {"state", StateOf(record)}};
}

json LookupData(const v1::LookupStatistics& lookups) {
  json latencies = json::array();
  for (const v1::LatencyBucket& bucket : lookups.latencies()) {
    latencies.push_back({{"at_most_ns", bucket.at_most_ns()}, {"calls", bucket.calls()}});
  }
  return {{"outcomes",
           {{{"name", "found"}, {"count", lookups.found()}},
            {{"name", "not found"}, {"count", lookups.missed()}},
            {{"name", "wrong requests"}, {"count", lookups.invalid()}},
            {{"name", "refused"}, {"count", lookups.refused()}},
            {{"name", "put off"}, {"count", lookups.overloaded()}}}},
          {"latencies", std::move(latencies)}};
}

}  // namespace

json CacheReportData(const CacheReport& report) {
  const v1::Statistics& statistics = report.statistics;
  json records = json::array();
  for (const v1::TuningRecord& record : report.records) records.push_back(RecordData(record));
  return {{"page", "cache"},
          {"title", "What the store holds"},
          {"server", report.server},
          {"made", report.made},
          {"statistics",
           {{"pinned", statistics.pinned_records()},
            {"quarantined", statistics.quarantined_records()},
            {"jobs", statistics.jobs()},
            {"trials", statistics.trials()},
            {"bytes", statistics.database_bytes()},
            {"storage_problem", statistics.storage_problem()}}},
          {"lookups", LookupData(statistics.lookups())},
          {"records", std::move(records)}};
}

std::string CacheReportPage(const CacheReport& report) {
  return ReportPage(absl::StrCat("Store of ", report.server), CacheReportData(report));
}

}  // namespace mdh
