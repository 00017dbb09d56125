#include "server/services/kernel_service.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "proto/error_details.h"
#include "server/lookup/record_check.h"
#include "server/operate/steady_time.h"
#include "server/records/resource_names.h"
#include "server/services/reply.h"

namespace mdh {
namespace {

// After this a watcher gets a sign of life, though nothing has changed.
constexpr absl::Duration kSignOfLife = absl::Seconds(10);
// A response waits in memory for a client that is slow, and each has a record of some thousand
// bytes.
constexpr int kMaxChangesOfResponse = 64;
// Records are some thousand bytes each.
constexpr int kDefaultRecordsOfPage = 50;
constexpr int kMaxRecordsOfPage = 200;

// The id in the name of a record or a kernel.
Result<std::string> ParseRecordOrKernelName(const std::string& name) {
  Result<std::string> id = ParseRecordName(name);
  if (!id.ok()) id = ParseKernelName(name);
  return InField("name", std::move(id));
}

}  // namespace

Result<std::vector<v1::KernelChange>> KernelServiceImpl::ChangesAfter(const ChangeCursor& cursor) {
  if (cursor.incarnation != store_.incarnation()) return CursorOfOther(store_);
  return store_.ChangesAfter(cursor.number, kMaxChangesOfResponse);
}

WatchStep<v1::WatchKernelsResponse> KernelServiceImpl::NextChanges(ChangeCursor& cursor,
                                                                   absl::Time& next_sign) {
  if (store_.LatestChange() == cursor.number && SteadyTime() < next_sign) return {};
  Result<std::vector<v1::KernelChange>> changes = ChangesAfter(cursor);
  if (absl::IsOutOfRange(changes.status())) {
    return {.end = CursorExpired(changes.status(), store_)};
  }
  if (!changes.ok()) return {.end = changes.status()};
  v1::WatchKernelsResponse response;
  if (!changes->empty()) cursor.number = changes->back().number();
  for (v1::KernelChange& change : *changes) *response.add_changes() = std::move(change);
  response.set_cursor(cursor.ToText());
  if (store_.SharedChange().has_value()) response.set_min_cursor(response.cursor());
  next_sign = SteadyTime() + kSignOfLife;
  return {.response = std::move(response)};
}

Result<WatchNext<v1::WatchKernelsResponse>> KernelServiceImpl::Follow(
    const grpc::ServerContext& context, const v1::WatchKernelsRequest& request) {
  MDH_ASSIGN_OR_RETURN(Admission admission,
                       access_.Enter(context, "/mdh.v1.KernelService/WatchKernels"));
  ChangeCursor cursor = LatestCursor(store_);
  if (!request.cursor().empty()) {
    MDH_ASSIGN_OR_RETURN(cursor,
                         InField("cursor", ParseCursor(request.cursor(), cursor.incarnation)));
  }
  return WatchNext<v1::WatchKernelsResponse>(
      [this, held = std::make_shared<Admission>(std::move(admission)), cursor,
       next_sign = absl::InfinitePast()]() mutable { return NextChanges(cursor, next_sign); });
}

void KernelServiceImpl::AddTo(WatchStreams& streams) {
  streams.AddMethod<v1::WatchKernelsRequest, v1::WatchKernelsResponse>(
      {.await =
           [this](auto* context, auto* request, auto* writer, auto* queue, void* tag) {
             RequestWatchKernels(context, request, writer, queue, queue, tag);
           },
       .follow = [this](const auto& context,
                        const auto& request) { return Follow(context, request); }});
}

Result<Requester> KernelServiceImpl::TuningRequester(const grpc::ServerContextBase& context,
                                                     const std::string& asked) const {
  MDH_ASSIGN_OR_RETURN(const Caller caller, access_.Identify(context));
  MDH_RETURN_IF_ERROR(access_.CheckRole(caller, "/mdh.v1.TuningService/CreateTuningJob"));
  return Requester{caller.SourceOf(context, asked), caller.limits};
}

grpc::Status KernelServiceImpl::GetKernel(grpc::ServerContext* context,
                                          const v1::GetKernelRequest* request,
                                          v1::GetKernelResponse* response) {
  return IfAdmitted(
      access_, *context, "/mdh.v1.KernelService/GetKernel", [&](const Caller&) -> Status {
        MDH_RETURN_IF_ERROR(replica_.Await(request->min_cursor()));
        if (!request->has_expression()) {
          MDH_ASSIGN_OR_RETURN(const std::string id,
                               InField("name", ParseKernelName(request->name())));
          return Reply(finder_.FindKernel(id), response->mutable_kernel());
        }
        if (!request->name().empty()) {
          return InvalidField("name", "the request has both a name and an expression");
        }
        Requester requester;
        if (request->has_tune_in_background()) {
          MDH_ASSIGN_OR_RETURN(requester,
                               TuningRequester(*context, request->tune_in_background().source()));
        }
        return Reply(finder_.GetBest(*request, requester), response);
      });
}

grpc::Status KernelServiceImpl::PutKernel(grpc::ServerContext* context,
                                          const v1::PutKernelRequest* request,
                                          v1::PutKernelResponse* response) {
  return IfAdmitted(access_, *context, "/mdh.v1.KernelService/PutKernel",
                    [&](const Caller& caller) -> Status {
                      v1::TuningRecord record = request->record();
                      if (record.origin().empty()) record.set_origin(caller.Source(*context));
                      MDH_ASSIGN_OR_RETURN(StoredResult checked,
                                           CheckGivenRecord(record, limits_, store_, absl::Now()));
                      if (request->validate_only()) {
                        *response->mutable_record() = std::move(checked.record);
                        return absl::OkStatus();
                      }
                      MDH_ASSIGN_OR_RETURN(std::vector<v1::TuningRecord> stored,
                                           store_.PutResults(absl::MakeConstSpan(&checked, 1)));
                      *response->mutable_record() = std::move(stored.front());
                      response->set_is_stored(response->record().SerializeAsString() ==
                                              checked.record.SerializeAsString());
                      response->set_min_cursor(SharedCursor(store_));
                      return absl::OkStatus();
                    });
}

grpc::Status KernelServiceImpl::ListRecords(grpc::ServerContext* context,
                                            const v1::ListRecordsRequest* request,
                                            v1::ListRecordsResponse* response) {
  return IfAdmitted(
      access_, *context, "/mdh.v1.KernelService/ListRecords", [&](const Caller&) -> Status {
        MDH_ASSIGN_OR_RETURN(const int limit, PageLimit(request->page_size(), kDefaultRecordsOfPage,
                                                        kMaxRecordsOfPage));
        RecordPage page;
        MDH_ASSIGN_OR_RETURN(page.last, ParsePageToken(request->page_token()));
        do {
          MDH_ASSIGN_OR_RETURN(page,
                               store_.ListRecords(page.last, limit - response->records_size()));
          for (v1::TuningRecord& record : page.records) {
            const bool fits = request->expression().empty() ||
                              request->expression() == record.expression_name() ||
                              request->expression() == record.key().expression_digest();
            if (fits) *response->add_records() = std::move(record);
          }
        } while (page.has_more && response->records_size() < limit);
        if (page.has_more) response->set_next_page_token(absl::StrCat(page.last));
        return absl::OkStatus();
      });
}

grpc::Status KernelServiceImpl::InvalidateKernel(grpc::ServerContext* context,
                                                 const v1::InvalidateKernelRequest* request,
                                                 v1::InvalidateKernelResponse* response) {
  return IfAdmitted(
      access_, *context, "/mdh.v1.KernelService/InvalidateKernel", [&](const Caller&) -> Status {
        MDH_ASSIGN_OR_RETURN(const std::string id, ParseRecordOrKernelName(request->name()));
        MDH_RETURN_IF_ERROR(Reply(store_.RemoveResult(id), response->mutable_record()));
        response->set_min_cursor(SharedCursor(store_));
        return absl::OkStatus();
      });
}

grpc::Status KernelServiceImpl::PinKernel(grpc::ServerContext* context,
                                          const v1::PinKernelRequest* request,
                                          v1::PinKernelResponse* response) {
  return IfAdmitted(
      access_, *context, "/mdh.v1.KernelService/PinKernel", [&](const Caller&) -> Status {
        MDH_ASSIGN_OR_RETURN(const std::string id, ParseRecordOrKernelName(request->name()));
        MDH_RETURN_IF_ERROR(
            Reply(store_.SetPinning(id, Pinning::kPinned), response->mutable_record()));
        response->set_min_cursor(SharedCursor(store_));
        return absl::OkStatus();
      });
}

grpc::Status KernelServiceImpl::UnpinKernel(grpc::ServerContext* context,
                                            const v1::UnpinKernelRequest* request,
                                            v1::UnpinKernelResponse* response) {
  return IfAdmitted(
      access_, *context, "/mdh.v1.KernelService/UnpinKernel", [&](const Caller&) -> Status {
        MDH_ASSIGN_OR_RETURN(const std::string id, ParseRecordOrKernelName(request->name()));
        MDH_RETURN_IF_ERROR(
            Reply(store_.SetPinning(id, Pinning::kNotPinned), response->mutable_record()));
        response->set_min_cursor(SharedCursor(store_));
        return absl::OkStatus();
      });
}

}  // namespace mdh
