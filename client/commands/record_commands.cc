// mdh records, mdh pin, mdh unpin, mdh forget, mdh put.
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "client/commands/call/admin_call.h"
#include "client/commands/format/record_format.h"
#include "client/text/text_table.h"

namespace mdh {
namespace {

constexpr int kRecordsOfPage = 200;

Status ListRecords(const GlobalOptions& options, const std::string& expression, int limit) {
  v1::ListRecordsRequest request;
  request.set_expression(expression);
  return CallAndPrint<v1::ListRecordsResponse>(
      options,
      [&](AdminClient& client) {
        return ListUpTo(limit, &v1::ListRecordsResponse::mutable_records,
                        [&](int size, const std::string& token) {
                          request.set_page_size(std::min(kRecordsOfPage, size));
                          request.set_page_token(token);
                          return client.ListRecords(request);
                        });
      },
      [](const v1::ListRecordsResponse& all) {
        std::vector<std::vector<std::string>> rows;
        for (const v1::TuningRecord& record : all.records()) rows.push_back(RecordRow(record));
        PrintTable(RecordTable(), rows);
      });
}

void PrintChange(const v1::KernelChange& change, bool as_json) {
  if (as_json) {
    // One line each, so that a program can read them as they come.
    google::protobuf::util::JsonPrintOptions format;
    format.preserve_proto_field_names = true;
    std::string json;
    (void)google::protobuf::util::MessageToJsonString(change, &json, format);
    std::printf("%s\n", json.c_str());
  } else {
    const std::string kind = absl::AsciiStrToLower(
        v1::KernelChangeKind_Name(change.kind()).substr(sizeof("KERNEL_CHANGE_KIND_") - 1));
    std::printf("%8lld  %-9s %s\n", static_cast<long long>(change.number()), kind.c_str(),
                change.record().c_str());
  }
  std::fflush(stdout);
}

// Until interrupted, or the daemon stops.
Status WatchRecords(const GlobalOptions& options) {
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, ConnectTo<Client>(options));
  return client->WatchKernels("", [&](const v1::WatchKernelsResponse& news) {
    for (const v1::KernelChange& change : news.changes()) PrintChange(change, options.json);
    return true;
  });
}

// The record in a file: as `mdh lookup --json` prints it, or alone. Errors: InvalidArgument.
Result<v1::TuningRecord> ReadRecordFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return InvalidArgument("cannot read " + path);
  const std::string json((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  v1::LookupKernelResponse found;
  if (google::protobuf::util::JsonStringToMessage(json, &found).ok() && found.has_record()) {
    return found.record();
  }
  v1::TuningRecord record;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &record);
  if (status.ok()) return record;
  return InvalidArgument(path + " has no record: " + std::string(status.message()));
}

Status PutRecord(const GlobalOptions& options, const std::string& path, Effect effect) {
  MDH_ASSIGN_OR_RETURN(const v1::TuningRecord record,
                       WithExitCode(ExitCode::kUsage, ReadRecordFile(path)));
  return CallAndPrint<v1::PutKernelResponse>(
      options, [&](AdminClient& client) { return client.PutKernel(record, effect); },
      [effect](const v1::PutKernelResponse& response) {
        if (effect == Effect::kOnlyCheck) {
          std::printf("the daemon would take it\n");
        } else {
          std::printf("%s %s\n", response.is_stored() ? "stored" : "a better one stays:",
                      response.record().name().c_str());
        }
      });
}

void AddRecordCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected,
                      const std::string& name, const std::string& what,
                      Result<v1::TuningRecord> (AdminClient::*call)(const std::string&)) {
  AddCommandOn(app, selected, name, what, "RECORD",
               "records/... or kernels/..., as mdh lookup shows it",
               [&options, call](const std::string& record) {
                 return CallAndPrint<v1::TuningRecord>(
                     options, [&](AdminClient& client) { return (client.*call)(record); },
                     [](const v1::TuningRecord& now) {
                       std::printf("%s %s%s\n", now.name().c_str(), now.expression_name().c_str(),
                                   now.is_pinned() ? " pinned" : "");
                     });
               });
}

void AddListCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  auto expression = std::make_shared<std::string>();
  auto limit = std::make_shared<int>(100);
  auto watch = std::make_shared<bool>(false);
  CLI::App* records = app.add_subcommand("records", "list records, the oldest first");
  records->add_option("--expression", *expression, "only of expressions with this name or digest");
  records->add_option("--limit", *limit, "most records to list")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  records->add_flag("--watch", *watch, "instead print changes of records as they come");
  Select(records, selected, [&options, expression, limit, watch] {
    return *watch ? WatchRecords(options) : ListRecords(options, *expression, *limit);
  });
}

void AddPutCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  auto only_check = std::make_shared<bool>(false);
  AddCommandOn(app, selected, "put",
               "store a record that was measured elsewhere; the daemon checks it, makes its kernel "
               "and keeps a better one",
               "FILE", "JSON, as mdh lookup --json prints it",
               [&options, only_check](const std::string& file) {
                 return PutRecord(options, file, *only_check ? Effect::kOnlyCheck : Effect::kReal);
               })
      ->add_flag("--check", *only_check, "only check");
}

}  // namespace

void AddRecordCommands(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  AddListCommand(app, options, selected);
  AddRecordCommand(app, options, selected, "pin", "keep a record as it is", &AdminClient::Pin);
  AddRecordCommand(app, options, selected, "unpin", "undo pin", &AdminClient::Unpin);
  AddRecordCommand(app, options, selected, "forget", "forget a record and its kernel",
                   &AdminClient::Invalidate);
  AddPutCommand(app, options, selected);
}

}  // namespace mdh
