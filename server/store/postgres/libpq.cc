#include "server/store/postgres/libpq.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/device/shared_library.h"

namespace mdh {
namespace {

constexpr const char* kLibrary = "libpq.so.5";

Status LoadFunctions(const SharedLibrary& library, Libpq& to) {
#define MDH_LOAD(name) MDH_RETURN_IF_ERROR(library.Load("PQ" #name, &to.name))
  MDH_LOAD(connectdbParams);
  MDH_LOAD(conninfoParse);
  MDH_LOAD(conninfoFree);
  MDH_LOAD(finish);
  MDH_LOAD(status);
  MDH_LOAD(serverVersion);
  MDH_LOAD(errorMessage);
  MDH_LOAD(socket);
  MDH_LOAD(sendPrepare);
  MDH_LOAD(sendQueryPrepared);
  MDH_LOAD(sendQuery);
  MDH_LOAD(getResult);
  MDH_LOAD(isBusy);
  MDH_LOAD(consumeInput);
  MDH_LOAD(enterPipelineMode);  // the first of PostgreSQL 14's
  MDH_LOAD(exitPipelineMode);
  MDH_LOAD(pipelineSync);
  MDH_LOAD(notifies);
  MDH_LOAD(getCopyData);
  MDH_LOAD(resultStatus);
  MDH_LOAD(resultErrorField);
  MDH_LOAD(resultErrorMessage);
  MDH_LOAD(ntuples);
  MDH_LOAD(cmdTuples);
  MDH_LOAD(getvalue);
  MDH_LOAD(getlength);
  MDH_LOAD(getisnull);
  MDH_LOAD(clear);
  MDH_LOAD(freemem);
  MDH_LOAD(setNoticeProcessor);
#undef MDH_LOAD
  return absl::OkStatus();
}

Status NoLibrary(const Status& why) {
  return absl::FailedPreconditionError(absl::StrCat(
      "a PostgreSQL database needs its client library, version 14 or later (package libpq5 of "
      "Debian): ",
      std::string(why.message())));
}

}  // namespace

Result<std::unique_ptr<const Libpq>> Libpq::LoadFrom(const std::string& name) {
  const Result<SharedLibrary> library = SharedLibrary::Open({name});
  if (!library.ok()) return NoLibrary(library.status());
  auto functions = std::make_unique<Libpq>();
  if (const Status loaded = LoadFunctions(*library, *functions); !loaded.ok()) {
    return NoLibrary(loaded);
  }
  return std::unique_ptr<const Libpq>(std::move(functions));
}

Result<const Libpq*> Libpq::Load() {
  static const auto* loaded = new Result<std::unique_ptr<const Libpq>>(LoadFrom(kLibrary));
  if (!loaded->ok()) return loaded->status();
  return loaded->value().get();
}

}  // namespace mdh
