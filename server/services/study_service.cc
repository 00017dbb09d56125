#include "server/services/study_service.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/records/resource_names.h"
#include "server/services/reply.h"

namespace mdh {
namespace {

constexpr int kDefaultStudies = 50;
constexpr int kMaxStudies = 1'000;
constexpr int kDefaultTrials = 1'000;
constexpr int kMaxTrials = 10'000;
// Of one page: clients of gRPC refuse responses of more than 4 MiB unless told otherwise.
constexpr int64_t kMaxPageBytes = 2 << 20;
constexpr int kMaxAsked = 1'024;
constexpr absl::Duration kDefaultLease = absl::Minutes(10);
constexpr absl::Duration kMaxLease = absl::Hours(24);

Result<absl::Duration> ReadLease(const v1::AskTrialsRequest& request) {
  if (!request.has_lease()) return kDefaultLease;
  const absl::Duration lease =
      absl::Seconds(request.lease().seconds()) + absl::Nanoseconds(request.lease().nanos());
  if (lease <= absl::ZeroDuration() || lease > kMaxLease) {
    return InvalidArgument("lease: ", absl::FormatDuration(lease),
                           " is not between 1 ns and 24 hours");
  }
  return lease;
}

}  // namespace

Result<int64_t> StudyServiceImpl::FindOwn(const std::string& name, const Caller& caller) {
  MDH_ASSIGN_OR_RETURN(const int64_t number, ParseStudyName(name));
  MDH_ASSIGN_OR_RETURN(const StoredStudy stored, store_.GetStudy(number));
  MDH_RETURN_IF_ERROR(access_.CheckOwner(caller, stored.study.source(), name));
  return number;
}

grpc::Status StudyServiceImpl::CreateStudy(grpc::ServerContext* context,
                                           const v1::CreateStudyRequest* request,
                                           v1::CreateStudyResponse* response) {
  return IfAdmitted(
      access_, *context, "/mdh.v1.StudyService/CreateStudy", [&](const Caller& caller) -> Status {
        if (request->request_id().size() > kMaxRequestIdBytes) {
          return InvalidArgument("request_id is longer than ", kMaxRequestIdBytes, " bytes");
        }
        return Reply(
            request->validate_only()
                ? studies_.Check(request->spec())
                : studies_.Create(request->spec(), request->request_id(), caller.Source(*context)),
            response->mutable_study());
      });
}

grpc::Status StudyServiceImpl::GetStudy(grpc::ServerContext* context,
                                        const v1::GetStudyRequest* request,
                                        v1::GetStudyResponse* response) {
  return IfAdmitted(access_, *context, "/mdh.v1.StudyService/GetStudy",
                    [&](const Caller&) -> Status {
                      MDH_ASSIGN_OR_RETURN(const int64_t number, ParseStudyName(request->name()));
                      MDH_ASSIGN_OR_RETURN(StoredStudy stored, store_.GetStudy(number));
                      *response->mutable_study() = std::move(stored.study);
                      return absl::OkStatus();
                    });
}

grpc::Status StudyServiceImpl::ListStudies(grpc::ServerContext* context,
                                           const v1::ListStudiesRequest* request,
                                           v1::ListStudiesResponse* response) {
  return IfAdmitted(
      access_, *context, "/mdh.v1.StudyService/ListStudies", [&](const Caller&) -> Status {
        MDH_ASSIGN_OR_RETURN(const int limit,
                             PageLimit(request->page_size(), kDefaultStudies, kMaxStudies));
        MDH_ASSIGN_OR_RETURN(const int64_t before, ParsePageToken(request->page_token()));
        MDH_ASSIGN_OR_RETURN(std::vector<v1::Study> studies,
                             store_.ListStudies(before, limit, kMaxPageBytes));
        if (studies.empty()) return absl::OkStatus();
        MDH_ASSIGN_OR_RETURN(const int64_t last, ParseStudyName(studies.back().name()));
        MDH_ASSIGN_OR_RETURN(const std::vector<v1::Study> next, store_.ListStudies(last, 1, 1));
        if (!next.empty()) response->set_next_page_token(absl::StrCat(last));
        for (v1::Study& study : studies) *response->add_studies() = std::move(study);
        return absl::OkStatus();
      });
}

grpc::Status StudyServiceImpl::AskTrials(grpc::ServerContext* context,
                                         const v1::AskTrialsRequest* request,
                                         v1::AskTrialsResponse* response) {
  return IfAdmitted(
      access_, *context, "/mdh.v1.StudyService/AskTrials", [&](const Caller&) -> Status {
        MDH_ASSIGN_OR_RETURN(const int64_t number, ParseStudyName(request->name()));
        MDH_ASSIGN_OR_RETURN(const absl::Duration lease, ReadLease(*request));
        if (request->count() < 0) {
          return InvalidArgument("count: ", request->count(), " is negative");
        }
        const int count = request->count() == 0 ? 1 : std::min(request->count(), kMaxAsked);
        return Reply(studies_.Ask(number, count, lease), response);
      });
}

grpc::Status StudyServiceImpl::TellTrials(grpc::ServerContext* context,
                                          const v1::TellTrialsRequest* request,
                                          v1::TellTrialsResponse* response) {
  return IfAdmitted(access_, *context, "/mdh.v1.StudyService/TellTrials",
                    [&](const Caller&) -> Status {
                      MDH_ASSIGN_OR_RETURN(const int64_t number, ParseStudyName(request->name()));
                      return Reply(studies_.Tell(number, *request), response->mutable_study());
                    });
}

grpc::Status StudyServiceImpl::ListTrials(grpc::ServerContext* context,
                                          const v1::ListTrialsRequest* request,
                                          v1::ListTrialsResponse* response) {
  return IfAdmitted(
      access_, *context, "/mdh.v1.StudyService/ListTrials", [&](const Caller&) -> Status {
        MDH_ASSIGN_OR_RETURN(const int64_t number, ParseStudyName(request->name()));
        MDH_ASSIGN_OR_RETURN(const int limit,
                             PageLimit(request->page_size(), kDefaultTrials, kMaxTrials));
        MDH_ASSIGN_OR_RETURN(const int64_t after, ParsePageToken(request->page_token()));
        MDH_ASSIGN_OR_RETURN(std::vector<v1::StudyTrial> trials,
                             store_.ToldTrials(number, after, limit, kMaxPageBytes));
        if (trials.empty()) return store_.GetStudy(number).status();  // or there is no such study
        const int64_t last = trials.back().number();
        MDH_ASSIGN_OR_RETURN(const std::vector<v1::StudyTrial> next,
                             store_.ToldTrials(number, last, 1, 1));
        if (!next.empty()) response->set_next_page_token(absl::StrCat(last));
        for (v1::StudyTrial& trial : trials) *response->add_trials() = std::move(trial);
        return absl::OkStatus();
      });
}

grpc::Status StudyServiceImpl::CancelStudy(grpc::ServerContext* context,
                                           const v1::CancelStudyRequest* request,
                                           v1::CancelStudyResponse* response) {
  return IfAdmitted(access_, *context, "/mdh.v1.StudyService/CancelStudy",
                    [&](const Caller& caller) -> Status {
                      MDH_ASSIGN_OR_RETURN(const int64_t number, FindOwn(request->name(), caller));
                      return Reply(studies_.Cancel(number), response->mutable_study());
                    });
}

grpc::Status StudyServiceImpl::DeleteStudy(grpc::ServerContext* context,
                                           const v1::DeleteStudyRequest* request,
                                           v1::DeleteStudyResponse*) {
  return IfAdmitted(access_, *context, "/mdh.v1.StudyService/DeleteStudy",
                    [&](const Caller& caller) -> Status {
                      MDH_ASSIGN_OR_RETURN(const int64_t number, FindOwn(request->name(), caller));
                      return studies_.Delete(number);
                    });
}

}  // namespace mdh
