// mdh report: a page about a job, or about what the daemon's store holds.
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/admin_client.h"
#include "client/commands/call/command.h"
#include "client/commands/call/job_name.h"
#include "client/report/cache_report.h"
#include "client/report/job_report.h"
#include "client/report/study_report.h"

namespace mdh {
namespace {

constexpr int kRecordsOfRequest = 200;

struct ReportArguments {
  std::vector<std::string> jobs;
  bool cache = false;
  std::string output;
};

Result<JobRun> ReadRun(Client& client, v1::TuningJob job) {
  MDH_ASSIGN_OR_RETURN(const v1::ListTuningTrialsResponse all,
                       ListUpTo(INT64_MAX, &v1::ListTuningTrialsResponse::mutable_trials,
                                [&](int size, const std::string& token) {
                                  return client.ListTuningTrials(job.name(), size, token);
                                }));
  return JobRun{.job = std::move(job), .trials = {all.trials().begin(), all.trials().end()}};
}

// What is not there, because the job has found nothing or its record is gone, is left out.
void ReadResult(Client& client, JobReport& report) {
  const v1::TuningJob& job = report.runs[0].job;
  if (report.record.has_value()) {
    Result<v1::Kernel> kernel = client.GetKernel(report.record->name());
    if (kernel.ok()) report.kernel = *std::move(kernel);
  }
  const v1::Candidate searched = SearchedBy(job);
  if (searched.device().name().empty()) return;
  Result<v1::Device> device = client.GetDevice(searched.device().name());
  if (device.ok()) report.device = *std::move(device);
  v1::BoundComparison comparison;
  comparison.set_time_ns(static_cast<double>(BestTimeNs(report)));
  if (comparison.time_ns() == 0) return;
  Result<v1::DescribeCandidateResponse> described = client.DescribeCandidate(searched, comparison);
  if (described.ok()) report.bounds = *std::move(*described).mutable_bounds();
}

Result<JobReport> ReadJobReport(Client& client, const std::vector<std::string>& jobs) {
  JobReport report;
  for (const std::string& argument : jobs) {
    MDH_ASSIGN_OR_RETURN(v1::GetTuningJobResponse found,
                         client.GetJob(JobNameFromArgument(argument)));
    if (report.runs.empty() && found.has_record()) report.record = found.record();
    const std::string name = found.job().name();
    MDH_ASSIGN_OR_RETURN(JobRun run, ReadRun(client, std::move(*found.mutable_job())));
    report.runs.push_back(std::move(run));
    if (report.runs.back().job.key().SerializeAsString() !=
        report.runs[0].job.key().SerializeAsString()) {
      return InvalidArgument(name, " is not for the same expression, device and policy as ",
                             report.runs[0].job.name());
    }
  }
  ReadResult(client, report);
  return report;
}

Result<CacheReport> ReadCacheReport(AdminClient& client, const std::string& server) {
  CacheReport report;
  MDH_ASSIGN_OR_RETURN(report.statistics, client.GetStatistics());
  MDH_ASSIGN_OR_RETURN(const v1::Capabilities capabilities, client.GetCapabilities());
  report.server = absl::StrCat("mdhd ", capabilities.server_version(), " at ", server);
  report.made = google::protobuf::util::TimeUtil::ToString(
      google::protobuf::util::TimeUtil::GetCurrentTime());
  v1::ListRecordsRequest request;
  request.set_page_size(kRecordsOfRequest);
  MDH_ASSIGN_OR_RETURN(const v1::ListRecordsResponse all,
                       ListUpTo(INT64_MAX, &v1::ListRecordsResponse::mutable_records,
                                [&](int, const std::string& token) {
                                  request.set_page_token(token);
                                  return client.ListRecords(request);
                                }));
  report.records.assign(all.records().begin(), all.records().end());
  return report;
}

Status WritePage(const GlobalOptions& options, const std::string& file, const std::string& page) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << page;
  out.close();
  if (!out) return WithExitCode(ExitCode::kCannotWrite, "cannot write " + file);
  if (options.json) {
    const nlohmann::ordered_json written = {{"file", file}, {"size_bytes", page.size()}};
    std::printf("%s\n", written.dump(2).c_str());
  } else {
    std::printf("%s\n", file.c_str());
  }
  return absl::OkStatus();
}

Status ReportCache(const GlobalOptions& options, const ReportArguments& arguments) {
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<AdminClient> client, ConnectTo<AdminClient>(options));
  MDH_ASSIGN_OR_RETURN(const CacheReport report, ReadCacheReport(*client, options.server));
  return WritePage(options, arguments.output.empty() ? "cache.html" : arguments.output,
                   CacheReportPage(report));
}

Status ReportJob(const GlobalOptions& options, const ReportArguments& arguments) {
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, ConnectTo<Client>(options));
  MDH_ASSIGN_OR_RETURN(const JobReport report, ReadJobReport(*client, arguments.jobs));
  const std::string name = report.runs[0].job.name();
  const std::string file = absl::StrCat("job-", name.substr(name.rfind('/') + 1), ".html");
  return WritePage(options, arguments.output.empty() ? file : arguments.output,
                   JobReportPage(report));
}

bool IsStudy(const std::string& argument) { return absl::StartsWith(argument, "studies/"); }

Result<StudyReport> ReadStudyReport(Client& client, const std::string& name) {
  StudyReport report;
  MDH_ASSIGN_OR_RETURN(report.study, client.GetStudy(name));
  MDH_ASSIGN_OR_RETURN(const v1::ListTrialsResponse all,
                       ListUpTo(INT64_MAX, &v1::ListTrialsResponse::mutable_trials,
                                [&](int size, const std::string& token) {
                                  return client.ListTrials(name, size, token);
                                }));
  report.trials.assign(all.trials().begin(), all.trials().end());
  return report;
}

Status ReportStudy(const GlobalOptions& options, const ReportArguments& arguments) {
  if (arguments.jobs.size() > 1) {
    return WithExitCode(ExitCode::kUsage, "a report is about one study");
  }
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, ConnectTo<Client>(options));
  const std::string& name = arguments.jobs[0];
  MDH_ASSIGN_OR_RETURN(const StudyReport report, ReadStudyReport(*client, name));
  const std::string file = absl::StrCat("study-", name.substr(name.rfind('/') + 1), ".html");
  return WritePage(options, arguments.output.empty() ? file : arguments.output,
                   StudyReportPage(report));
}

Status WriteReport(const GlobalOptions& options, const ReportArguments& arguments) {
  if (arguments.cache == !arguments.jobs.empty()) {
    return WithExitCode(ExitCode::kUsage, "report needs either JOB, studies/NUMBER or --cache");
  }
  if (arguments.cache) return ReportCache(options, arguments);
  return std::ranges::any_of(arguments.jobs, IsStudy) ? ReportStudy(options, arguments)
                                                      : ReportJob(options, arguments);
}

}  // namespace

void AddReportCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* report = app.add_subcommand(
      "report",
      "write one HTML page, which needs nothing else, about a job: convergence, roofline, "
      "decomposition, what mattered, kernel; or about the store");
  report->add_option("JOB", arguments->jobs,
                     "number or name; more jobs for the same key, e.g. with other seeds, show "
                     "median and quartiles of their convergence; or a study, studies/NUMBER");
  report->add_flag("--cache", arguments->cache, "about all records that the daemon has");
  report->add_option("--output", arguments->output,
                     "file [job-JOB.html, study-NUMBER.html or cache.html]");
  Select(report, selected, [&options, arguments] { return WriteReport(options, *arguments); });
}

}  // namespace mdh
