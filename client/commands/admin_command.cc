// mdh admin: bundles, backups, checks, figures, health.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "client/commands/call/admin_call.h"
#include "client/commands/call/output_file.h"

namespace mdh {
namespace {

void PrintFigure(const char* name, int64_t value) {
  std::printf("%-22s %lld\n", name, static_cast<long long>(value));
}

Status ExportRecords(const GlobalOptions& options, const std::string& file) {
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<AdminClient> client, ConnectTo<AdminClient>(options));
  MDH_ASSIGN_OR_RETURN(const std::string bundle, client->Export());
  return WriteOutputFile(file, bundle);
}

Status Import(const GlobalOptions& options, const std::string& file, Effect effect) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return WithExitCode(ExitCode::kUsage, "cannot read " + file);
  const std::string bundle((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return CallAndPrint<v1::ImportBundleResponse>(
      options, [&](AdminClient& client) { return client.Import(bundle, effect); },
      [](const v1::ImportBundleResponse& response) {
        PrintFigure("records", response.records());
        PrintFigure("stored", response.stored());
        PrintFigure("better ones kept", response.kept());
        PrintFigure("of other versions", response.other_versions());
      });
}

Status BackUp(const GlobalOptions& options) {
  return CallAndPrint<v1::BackupResponse>(
      options, [](AdminClient& client) { return client.Backup(); },
      [](const v1::BackupResponse& response) {
        std::printf("%s (%lld bytes)\n", response.file().c_str(),
                    static_cast<long long>(response.size_bytes()));
      });
}

Status CheckDatabase(const GlobalOptions& options) {
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<AdminClient> client, ConnectTo<AdminClient>(options));
  MDH_ASSIGN_OR_RETURN(const v1::CheckIntegrityResponse found, client->CheckIntegrity());
  Show(options, found, [](const v1::CheckIntegrityResponse& response) {
    for (const std::string& problem : response.problems()) std::printf("%s\n", problem.c_str());
    if (response.problems().empty()) std::printf("all is well\n");
  });
  return found.problems().empty() ? absl::OkStatus() : WithExitCode(ExitCode::kServerError, "");
}

Status CollectGarbage(const GlobalOptions& options, Effect effect) {
  return CallAndPrint<v1::CollectGarbageResponse>(
      options, [&](AdminClient& client) { return client.CollectGarbage(effect); },
      [](const v1::CollectGarbageResponse& response) {
        PrintFigure("jobs", response.jobs());
        PrintFigure("trials", response.trials());
        PrintFigure("records", response.records());
      });
}

Status ShowStatistics(const GlobalOptions& options) {
  return CallAndPrint<v1::Statistics>(
      options, [](AdminClient& client) { return client.GetStatistics(); },
      [](const v1::Statistics& statistics) {
        PrintFigure("records", statistics.records());
        PrintFigure("pinned records", statistics.pinned_records());
        PrintFigure("quarantined records", statistics.quarantined_records());
        PrintFigure("jobs", statistics.jobs());
        PrintFigure("queued jobs", statistics.queued_jobs());
        PrintFigure("running jobs", statistics.running_jobs());
        PrintFigure("paused jobs", statistics.paused_jobs());
        PrintFigure("trials", statistics.trials());
        PrintFigure("database bytes", statistics.database_bytes());
        PrintFigure("lookups that found", statistics.lookup_hits());
        PrintFigure("lookups that did not", statistics.lookup_misses());
        if (statistics.page_check().state() == v1::PAGE_CHECK_STATE_RUNNING) {
          std::printf("the database is checked: %lld of %lld bytes\n",
                      static_cast<long long>(statistics.page_check().read_bytes()),
                      static_cast<long long>(statistics.page_check().total_bytes()));
        }
        if (!statistics.storage_problem().empty()) {
          std::printf("storage problem: %s\n", statistics.storage_problem().c_str());
        }
      });
}

Status ShowCapabilities(const GlobalOptions& options) {
  return CallAndPrint<v1::Capabilities>(
      options, [](AdminClient& client) { return client.GetCapabilities(); },
      [](const v1::Capabilities& capabilities) {
        std::printf("%s", capabilities.DebugString().c_str());
      });
}

// `service`: in full, or without the package; empty: the daemon as a whole.
Status CheckHealth(const GlobalOptions& options, const std::string& service) {
  using grpc::health::v1::HealthCheckResponse;
  const bool is_short = !service.empty() && service.find('.') == std::string::npos;
  const std::string name = is_short ? "mdh.v1." + service : service;
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<AdminClient> client, ConnectTo<AdminClient>(options));
  MDH_ASSIGN_OR_RETURN(const HealthCheckResponse health, client->CheckHealth(name));
  Show(options, health, [](const HealthCheckResponse& response) {
    std::printf("%s\n", HealthCheckResponse::ServingStatus_Name(response.status()).c_str());
  });
  const bool is_serving = health.status() == HealthCheckResponse::SERVING;
  return is_serving ? absl::OkStatus() : WithExitCode(ExitCode::kServerError, "");
}

// A command without arguments.
void AddPlain(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected,
              const std::string& name, const std::string& what,
              Status (*run)(const GlobalOptions&)) {
  Select(app.add_subcommand(name, what), selected, [&options, run] { return run(options); });
}

void AddBundleCommands(CLI::App& admin, const GlobalOptions& options, SelectedCommand& selected) {
  AddCommandOn(admin, selected, "export",
               "write all records and their kernels to a bundle, which programs can map", "FILE",
               "made, or replaced",
               [&options](const std::string& file) { return ExportRecords(options, file); });
  auto only_check = std::make_shared<bool>(false);
  AddCommandOn(admin, selected, "import", "take the records of a bundle over", "FILE",
               "as export writes it",
               [&options, only_check](const std::string& file) {
                 return Import(options, file, *only_check ? Effect::kOnlyCheck : Effect::kReal);
               })
      ->add_flag("--check", *only_check, "only check");
}

}  // namespace

void AddAdminCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  CLI::App* admin = app.add_subcommand("admin", "look after the daemon");
  admin->require_subcommand(1);
  admin->fallthrough();
  AddBundleCommands(*admin, options, selected);
  AddPlain(*admin, options, selected, "backup", "copy the database to the daemon's backup folder",
           &BackUp);
  AddPlain(*admin, options, selected, "check", "look whether the database is whole",
           &CheckDatabase);
  AddPlain(*admin, options, selected, "stats", "figures of the daemon", &ShowStatistics);
  AddPlain(*admin, options, selected, "capabilities", "limits and versions of the daemon",
           &ShowCapabilities);
  auto service = std::make_shared<std::string>();
  CLI::App* health = admin->add_subcommand(
      "health", "whether the daemon is of use: SERVING, or NOT_SERVING and exit code 1");
  health->add_option("service", *service, "one of its services alone, such as KernelService");
  Select(health, selected, [&options, service] { return CheckHealth(options, *service); });
  auto only_check = std::make_shared<bool>(false);
  CLI::App* collect = admin->add_subcommand("gc", "forget what the daemon's retention gives up");
  collect->add_flag("--check", *only_check, "only count");
  Select(collect, selected, [&options, only_check] {
    return CollectGarbage(options, *only_check ? Effect::kOnlyCheck : Effect::kReal);
  });
}

}  // namespace mdh
