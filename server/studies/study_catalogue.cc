#include "server/studies/study_catalogue.h"

#include <google/protobuf/util/message_differencer.h>
#include <google/protobuf/util/time_util.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "proto/error_details.h"
#include "server/records/resource_names.h"
#include "server/studies/loaded_studies.h"
#include "server/studies/study_conversion.h"
#include "tuner/study/study.h"
#include "tuner/study/study_spec.h"

namespace mdh {
namespace {

// Of calls that other processes came before, one after another.
constexpr int kMostConflicts = 10;

void Touch(absl::Time now, v1::Study& summary) {
  *summary.mutable_update_time() =
      google::protobuf::util::TimeUtil::NanosecondsToTimestamp(absl::ToUnixNanos(now));
}

// Whatever is wrong with a specification is the client's argument.
Status AsArgumentError(const Status& status) {
  const bool is_argument = absl::IsNotFound(status) || absl::IsOutOfRange(status);
  return is_argument ? InvalidArgument(status.message()) : status;
}

// A limit of all studies together is reached.
Status Exhausted(const std::string& reason, const std::string& message) {
  return WithQuota(WithReason(ResourceExhausted(message), reason), "studies");
}

}  // namespace

struct StudyCatalogue::Built {
  Search search;
  std::optional<AbortCondition> abort;
};

StudyCatalogue::StudyCatalogue(StudyStore& store, StudyCatalogueOptions options)
    : store_(store),
      options_(std::move(options)),
      loaded_(std::make_unique<LoadedStudies>(
          LoadedStudiesOptions{.max_studies = options_.max_loaded,
                               .max_bytes = options_.max_loaded_bytes,
                               .keep_idle = options_.keep_idle,
                               .now = options_.now})) {}

StudyCatalogue::~StudyCatalogue() = default;

void StudyCatalogue::DropIdle() { loaded_->DropIdle(); }
int StudyCatalogue::loaded() const { return loaded_->size(); }

Result<StudyCatalogue::Built> StudyCatalogue::Build(const v1::StudySpec& spec) {
  MDH_ASSIGN_OR_RETURN(StudyDefinition definition, ReadStudySpec(spec));
  {
    absl::MutexLock lock(&builds_mutex_);
    const auto may_build = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(builds_mutex_) {
      return builds_ < options_.max_builds;
    };
    builds_mutex_.Await(absl::Condition(&may_build));
    ++builds_;
  }
  const absl::Cleanup leave = [this] {
    absl::MutexLock lock(&builds_mutex_);
    --builds_;
  };
  SpaceOptions space_options;
  space_options.max_bytes = options_.max_space_bytes;
  MDH_ASSIGN_OR_RETURN(SearchSpace space, SpaceOf(definition, space_options));
  MDH_ASSIGN_OR_RETURN(Search search,
                       Search::Create(std::move(space), std::move(definition.search)));
  return Built{std::move(search), std::move(definition.abort)};
}

Status StudyCatalogue::Prepare(const v1::StudySpec& spec, LoadedStudy& loaded) {
  if (static_cast<int64_t>(spec.ByteSizeLong()) > options_.max_spec_bytes) {
    return InvalidArgument("spec: it has ", spec.ByteSizeLong(), " bytes, more than ",
                           options_.max_spec_bytes);
  }
  const v1::StudySpec full = WithDefaults(spec);
  Result<Built> built = Build(full);
  MDH_RETURN_IF_ERROR(AsArgumentError(built.status()));
  loaded.study = std::make_unique<Study>(std::move(built->search), std::move(built->abort));
  const SearchSpace& space = loaded.study->space();
  *loaded.summary.mutable_spec() = full;
  if (!space.is_lazy()) loaded.summary.set_space_count(space.count().get_str());
  for (const std::string& notice : space.notices()) loaded.summary.add_notices(notice);
  Summarize(*loaded.study, loaded.summary);
  return absl::OkStatus();
}

Result<v1::Study> StudyCatalogue::Check(const v1::StudySpec& spec) {
  LoadedStudy loaded;
  MDH_RETURN_IF_ERROR(Prepare(spec, loaded));
  return std::move(loaded.summary);
}

Result<std::optional<v1::Study>> StudyCatalogue::FindRequest(const v1::StudySpec& spec,
                                                             const std::string& request_id) {
  if (request_id.empty()) return std::nullopt;
  MDH_ASSIGN_OR_RETURN(std::optional<v1::Study> found, store_.FindStudyByRequest(request_id));
  using google::protobuf::util::MessageDifferencer;
  if (found.has_value() && !MessageDifferencer::Equals(found->spec(), WithDefaults(spec))) {
    return InvalidArgument("request_id '", request_id, "' was used for another specification, by ",
                           found->name());
  }
  return found;
}

Status StudyCatalogue::CheckStoredBytes(const StudyTotals& totals) const {
  if (totals.bytes < options_.max_stored_bytes) return absl::OkStatus();
  return Exhausted("STUDY_BYTES",
                   absl::StrCat("the studies take ", totals.bytes, " bytes with their trials, and ",
                                options_.max_stored_bytes, " may be used; delete some"));
}

Status StudyCatalogue::CheckRoomForStudy() {
  MDH_ASSIGN_OR_RETURN(const int64_t active, store_.CountActiveStudies());
  if (active >= options_.max_active) {
    return Exhausted("ACTIVE_STUDIES",
                     absl::StrCat("there are ", active, " active studies; cancel or delete some"));
  }
  MDH_ASSIGN_OR_RETURN(const StudyTotals totals, store_.Totals());
  if (totals.studies >= options_.max_stored) {
    return Exhausted("STUDIES", absl::StrCat("there are ", totals.studies, " studies, and ",
                                             options_.max_stored, " may be stored; delete some"));
  }
  return CheckStoredBytes(totals);
}

Result<v1::Study> StudyCatalogue::Create(const v1::StudySpec& spec, const std::string& request_id,
                                         const std::string& source) {
  MDH_ASSIGN_OR_RETURN(std::optional<v1::Study> earlier, FindRequest(spec, request_id));
  if (earlier.has_value()) return *std::move(earlier);
  LoadedStudy prepared;
  MDH_RETURN_IF_ERROR(Prepare(spec, prepared));
  v1::Study study = std::move(prepared.summary);
  MDH_RETURN_IF_ERROR(CheckRoomForStudy());
  study.set_request_id(request_id);
  study.set_source(source);
  Touch(options_.now(), study);
  *study.mutable_create_time() = study.update_time();
  const Result<int64_t> number = store_.InsertStudy(study);
  if (absl::IsAlreadyExists(number.status())) {  // by a call with the same id meanwhile
    MDH_ASSIGN_OR_RETURN(earlier, FindRequest(spec, request_id));
    if (earlier.has_value()) return *std::move(earlier);
  }
  MDH_RETURN_IF_ERROR(number.status());
  study.set_name(StudyName(*number));
  spdlog::info("study={} name='{}' technique={} configurations={}", *number,
               study.spec().display_name(), study.spec().technique(), study.space_count());
  // What was built is kept for the first call, unless that was faster.
  return loaded_->With<v1::Study>(*number, [&](LoadedStudy& loaded) -> Result<v1::Study> {
    if (loaded.study == nullptr) {
      prepared.summary = study;
      *prepared.summary.mutable_spec() = BriefSpec(study.spec());
      prepared.version = 1;
      loaded = std::move(prepared);
    }
    return study;
  });
}

Status StudyCatalogue::Restore(StoredStudy from, const std::vector<JournalTrial>& trials,
                               LoadedStudy& loaded) {
  v1::Study& stored = from.study;
  MDH_ASSIGN_OR_RETURN(Built built, Build(stored.spec()));
  MDH_ASSIGN_OR_RETURN(
      const StudyJournal journal,
      FromJournal(stored, trials, absl::MakeConstSpan(built.search.space().parameters())));
  MDH_ASSIGN_OR_RETURN(Study study,
                       Study::Resume(std::move(built.search), std::move(built.abort), journal));
  loaded.study = std::make_unique<Study>(std::move(study));
  *stored.mutable_spec() = BriefSpec(stored.spec());
  loaded.summary = std::move(stored);
  loaded.version = from.version;
  return absl::OkStatus();
}

Status StudyCatalogue::Load(int64_t number, LoadedStudy& loaded) {
  if (loaded.study != nullptr && options_.is_shared) {
    const Result<int64_t> version = store_.GetVersion(number);
    if (!version.ok() || *version != loaded.version) loaded.study.reset();
  }
  if (loaded.study != nullptr) return absl::OkStatus();
  MDH_ASSIGN_OR_RETURN(StoredStudy stored, store_.GetStudy(number));
  MDH_ASSIGN_OR_RETURN(const std::vector<JournalTrial> trials,
                       store_.AllTrials(number, stored.version));
  const Status status = Restore(std::move(stored), trials, loaded);
  if (status.ok()) return status;
  // It was accepted once, so this is not the fault of the call.
  return FailedPrecondition(StudyName(number), " cannot go on: ", std::string(status.message()));
}

Status StudyCatalogue::Save(int64_t number, LoadedStudy& loaded,
                            const std::vector<JournalTrial>& trials) {
  const v1::StudyState old_state = loaded.summary.state();
  Touch(options_.now(), loaded.summary);
  Summarize(*loaded.study, loaded.summary);
  const Result<int64_t> version = store_.PutTrials(number, loaded.version, loaded.summary, trials);
  if (!version.ok()) {
    // Another process's turn is nothing special.
    const auto level = absl::IsAborted(version.status()) ? spdlog::level::info : spdlog::level::err;
    spdlog::log(level, "study={} {}", number, std::string(version.status().message()));
    loaded.study.reset();
    return version.status();
  }
  loaded.version = *version;
  if (loaded.summary.state() != old_state) {
    spdlog::info("study={} state={} evaluations={} {}", number,
                 v1::StudyState_Name(loaded.summary.state()), loaded.summary.evaluations(),
                 loaded.summary.state_reason());
  }
  return absl::OkStatus();
}

template <typename T>
Result<T> StudyCatalogue::With(int64_t number, const std::function<Result<T>(LoadedStudy&)>& call) {
  Result<T> result = loaded_->With<T>(number, call);
  for (int again = 0; again < kMostConflicts && absl::IsAborted(result.status()); ++again) {
    result = loaded_->With<T>(number, call);
  }
  return result;
}

Result<v1::AskTrialsResponse> StudyCatalogue::Ask(int64_t number, int count, absl::Duration lease) {
  return With<v1::AskTrialsResponse>(
      number, [&](LoadedStudy& loaded) { return AskLoaded(number, count, lease, loaded); });
}

Result<v1::AskTrialsResponse> StudyCatalogue::AskLoaded(int64_t number, int count,
                                                        absl::Duration lease, LoadedStudy& loaded) {
  v1::AskTrialsResponse response;
  if (loaded.study == nullptr) {
    // One that has ended needs no space.
    MDH_ASSIGN_OR_RETURN(const StoredStudy stored, store_.GetStudy(number));
    response.set_state(stored.study.state());
    if (response.state() != v1::STUDY_STATE_ACTIVE) return response;
  }
  // What was asked may always be told, so that no result is lost.
  MDH_ASSIGN_OR_RETURN(const StudyTotals totals, store_.Totals());
  MDH_RETURN_IF_ERROR(CheckStoredBytes(totals));
  MDH_RETURN_IF_ERROR(Load(number, loaded));
  const v1::StudyState old_state = loaded.summary.state();
  const std::vector<LeasedTrial> given =
      loaded.study->Ask(count, absl::ToInt64Nanoseconds(lease), absl::ToUnixNanos(options_.now()));
  response.set_state(loaded.study->state());
  std::vector<JournalTrial> journal;
  for (const LeasedTrial& trial : given) {
    journal.push_back(ToJournal(trial, absl::MakeConstSpan(loaded.study->space().parameters())));
    *response.add_trials() = journal.back().trial;
  }
  if (!journal.empty() || response.state() != old_state) {
    MDH_RETURN_IF_ERROR(Save(number, loaded, journal));
  }
  return response;
}

Result<v1::Study> StudyCatalogue::Tell(int64_t number, const v1::TellTrialsRequest& request) {
  return With<v1::Study>(number,
                         [&](LoadedStudy& loaded) { return TellLoaded(number, request, loaded); });
}

Result<v1::Study> StudyCatalogue::TellLoaded(int64_t number, const v1::TellTrialsRequest& request,
                                             LoadedStudy& loaded) {
  MDH_RETURN_IF_ERROR(Load(number, loaded));
  MDH_ASSIGN_OR_RETURN(const std::vector<ToldOutcome> outcomes, OutcomesOf(request));
  MDH_ASSIGN_OR_RETURN(const std::vector<ToldTrial> news,
                       loaded.study->Tell(outcomes, absl::ToUnixNanos(options_.now())));
  if (news.empty()) return loaded.summary;
  absl::flat_hash_map<int64_t, std::string> failures;
  for (const v1::StudyTrial& trial : request.trials()) {
    failures.try_emplace(trial.number(), trial.failure());
  }
  std::vector<JournalTrial> journal;
  for (const ToldTrial& trial : news) {
    journal.push_back(ToJournal(trial, failures[trial.evaluation.number],
                                absl::MakeConstSpan(loaded.study->space().parameters())));
  }
  MDH_RETURN_IF_ERROR(Save(number, loaded, journal));
  return loaded.summary;
}

Result<v1::Study> StudyCatalogue::Cancel(int64_t number) {
  return With<v1::Study>(number, [&](LoadedStudy& loaded) { return CancelLoaded(number, loaded); });
}

Result<v1::Study> StudyCatalogue::CancelLoaded(int64_t number, LoadedStudy& loaded) {
  if (loaded.study != nullptr) {
    loaded.study->Cancel();
    MDH_RETURN_IF_ERROR(Save(number, loaded, {}));
    return loaded.summary;
  }
  // Without its space, so that what cannot go on can be ended.
  MDH_ASSIGN_OR_RETURN(StoredStudy found, store_.GetStudy(number));
  v1::Study& stored = found.study;
  *stored.mutable_spec() = BriefSpec(stored.spec());
  if (stored.state() != v1::STUDY_STATE_ACTIVE) return stored;
  stored.set_state(v1::STUDY_STATE_CANCELLED);
  Touch(options_.now(), stored);
  MDH_RETURN_IF_ERROR(store_.PutTrials(number, found.version, stored, {}).status());
  return std::move(stored);
}

Status StudyCatalogue::Delete(int64_t number) {
  return loaded_
      ->With<v1::DeleteStudyResponse>(number,
                                      [&](LoadedStudy& loaded) -> Result<v1::DeleteStudyResponse> {
                                        MDH_RETURN_IF_ERROR(store_.DeleteStudy(number));
                                        loaded.study.reset();
                                        return v1::DeleteStudyResponse();
                                      })
      .status();
}

}  // namespace mdh
