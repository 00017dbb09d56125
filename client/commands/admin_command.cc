// mdh admin: bundles, backups, checks, figures.
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

ExitCode ExportRecords(const GlobalOptions& options, const std::string& file) {
  const Result<std::unique_ptr<AdminClient>> client =
      AdminClient::Connect(options.server, options.client);
  if (!client.ok()) return Fail(ExitCode::kCannotConnect, std::string(client.status().message()));
  const Result<std::string> bundle = (*client)->Export();
  if (!bundle.ok()) return Fail(bundle.status());
  const Status written = WriteOutputFile(file, *bundle);
  if (!written.ok()) return Fail(ExitCode::kCannotWrite, std::string(written.message()));
  return ExitCode::kOk;
}

ExitCode Import(const GlobalOptions& options, const std::string& file, Effect effect) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return Fail(ExitCode::kUsage, "cannot read " + file);
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

ExitCode BackUp(const GlobalOptions& options) {
  return CallAndPrint<v1::BackupResponse>(
      options, [](AdminClient& client) { return client.Backup(); },
      [](const v1::BackupResponse& response) {
        std::printf("%s (%lld bytes)\n", response.file().c_str(),
                    static_cast<long long>(response.size_bytes()));
      });
}

ExitCode CheckDatabase(const GlobalOptions& options) {
  bool is_well = true;
  const ExitCode code = CallAndPrint<v1::CheckIntegrityResponse>(
      options,
      [&](AdminClient& client) {
        Result<v1::CheckIntegrityResponse> response = client.CheckIntegrity();
        is_well = response.ok() && response->problems().empty();
        return response;
      },
      [](const v1::CheckIntegrityResponse& response) {
        for (const std::string& problem : response.problems()) std::printf("%s\n", problem.c_str());
        if (response.problems().empty()) std::printf("all is well\n");
      });
  return code == ExitCode::kOk && !is_well ? ExitCode::kServerError : code;
}

ExitCode CollectGarbage(const GlobalOptions& options, Effect effect) {
  return CallAndPrint<v1::CollectGarbageResponse>(
      options, [&](AdminClient& client) { return client.CollectGarbage(effect); },
      [](const v1::CollectGarbageResponse& response) {
        PrintFigure("jobs", response.jobs());
        PrintFigure("trials", response.trials());
        PrintFigure("records", response.records());
      });
}

ExitCode ShowStatistics(const GlobalOptions& options) {
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

ExitCode ShowCapabilities(const GlobalOptions& options) {
  return CallAndPrint<v1::Capabilities>(
      options, [](AdminClient& client) { return client.GetCapabilities(); },
      [](const v1::Capabilities& capabilities) {
        std::printf("%s", capabilities.DebugString().c_str());
      });
}

// A command without arguments.
void AddPlain(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected,
              const std::string& name, const std::string& what,
              ExitCode (*run)(const GlobalOptions&)) {
  app.add_subcommand(name, what)->callback([&options, &selected, run] {
    selected = [&options, run] { return run(options); };
  });
}

void AddBundleCommands(CLI::App& admin, const GlobalOptions& options, SelectedCommand& selected) {
  auto file = std::make_shared<std::string>();
  auto only_check = std::make_shared<bool>(false);
  CLI::App* save = admin.add_subcommand(
      "export", "write all records and their kernels to a bundle, which programs can map");
  save->add_option("FILE", *file, "made, or replaced")->required();
  save->callback([&options, &selected, file] {
    selected = [&options, file] { return ExportRecords(options, *file); };
  });
  CLI::App* load = admin.add_subcommand("import", "take the records of a bundle over");
  load->add_option("FILE", *file, "as export writes it")->required();
  load->add_flag("--check", *only_check, "only check");
  load->callback([&options, &selected, file, only_check] {
    selected = [&options, file, only_check] {
      return Import(options, *file, *only_check ? Effect::kOnlyCheck : Effect::kReal);
    };
  });
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
  auto only_check = std::make_shared<bool>(false);
  CLI::App* collect = admin->add_subcommand("gc", "forget what the daemon's retention gives up");
  collect->add_flag("--check", *only_check, "only count");
  collect->callback([&options, &selected, only_check] {
    selected = [&options, only_check] {
      return CollectGarbage(options, *only_check ? Effect::kOnlyCheck : Effect::kReal);
    };
  });
}

}  // namespace mdh
