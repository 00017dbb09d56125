#include "server/store/layers/layered_store.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "proto/bundle_file.h"
#include "server/records/resource_names.h"
#include "server/store/layers/forwarding_store.h"

namespace mdh {
namespace {

// Places of records (Store::ListRecords) from this on are those of bundles.
constexpr int64_t kFirstPlace = int64_t{1} << 62;

// Records of bundles by id. Immutable.
class Layers {
 public:
  struct Place {
    size_t bundle;
    size_t entry;
  };

  // Below what was added before.
  Status Add(const std::string& path, const TrustedUsers& trusted) {
    MDH_ASSIGN_OR_RETURN(std::unique_ptr<BundleFile> file,
                         BundleFile::Open(path, BundleCheck::kWhenOpened, trusted));
    const size_t bundle = bundles_.size();
    bundles_.push_back({path, std::move(file)});
    for (size_t entry = 0; entry < bundles_[bundle].file->size(); ++entry) {
      const Place place = {bundle, entry};
      const Result<std::string> id = IdOf(place);
      if (!id.ok()) {
        return InvalidArgument(path,
                               " is no layer of records: ", std::string(id.status().message()));
      }
      if (by_id_.emplace(*id, place).second) in_order_.push_back(*id);
    }
    return absl::OkStatus();
  }

  bool Has(std::string_view id) const { return by_id_.find(id) != by_id_.end(); }
  const std::vector<std::string>& ids() const { return in_order_; }
  // Of one that they have.
  const std::string& PathOf(std::string_view id) const {
    return bundles_[by_id_.find(id)->second.bundle].path;
  }
  Result<StoredResult> Find(std::string_view id) const { return Read(by_id_.find(id)->second); }

 private:
  struct Bundle {
    std::string path;
    std::unique_ptr<BundleFile> file;
  };

  Result<std::string> IdOf(const Place& place) const {
    MDH_ASSIGN_OR_RETURN(const StoredResult result, Read(place));
    return ParseRecordName(result.record.name());
  }
  Result<StoredResult> Read(const Place& place) const {
    MDH_ASSIGN_OR_RETURN(const BundleEntry entry, bundles_[place.bundle].file->Entry(place.entry));
    StoredResult result;
    result.is_given = true;
    const auto parse = [](std::string_view bytes, google::protobuf::Message& message) {
      return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
    };
    if (!parse(entry.record, result.record)) {
      return InvalidArgument("record ", place.entry, " cannot be read");
    }
    if (entry.kernel.empty() || !parse(entry.kernel, result.kernel)) {
      return InvalidArgument(result.record.name(), " has no kernel that can be read");
    }
    return result;
  }

  std::vector<Bundle> bundles_;
  std::vector<std::string> in_order_;
  std::map<std::string, Place, std::less<>> by_id_;
};

class LayeredStore final : public ForwardingStore {
 public:
  LayeredStore(std::unique_ptr<Store> store, Layers layers)
      : ForwardingStore(std::move(store)), layers_(std::move(layers)) {}

  Result<v1::TuningRecord> PutResult(const v1::TuningRecord& record,
                                     const v1::Kernel& kernel) override {
    MDH_RETURN_IF_ERROR(TakeOverNamed(record.name()));
    return store().PutResult(record, kernel);
  }
  Result<std::vector<v1::TuningRecord>> PutResults(
      absl::Span<const StoredResult> results) override {
    for (const StoredResult& result : results) {
      MDH_RETURN_IF_ERROR(TakeOverNamed(result.record.name()));
    }
    return store().PutResults(results);
  }
  Result<v1::TuningRecord> SetPinning(std::string_view id, Pinning pinning) override {
    MDH_RETURN_IF_ERROR(TakeOver(id));
    return store().SetPinning(id, pinning);
  }
  Result<v1::TuningRecord> SetCertificate(std::string_view id,
                                          const v1::Certificate& certificate) override {
    MDH_RETURN_IF_ERROR(TakeOver(id));
    return store().SetCertificate(id, certificate);
  }
  Result<v1::TuningRecord> RemoveResult(std::string_view id) override {
    if (IsVisible(id)) {
      return FailedPrecondition(RecordName(id), " is of ", layers_.PathOf(id),
                                ", which is read-only");
    }
    return store().RemoveResult(id);
  }

  Result<v1::TuningRecord> GetRecord(std::string_view id) override {
    Result<v1::TuningRecord> record = store().GetRecord(id);
    if (!absl::IsNotFound(record.status()) || !layers_.Has(id)) return record;
    MDH_ASSIGN_OR_RETURN(StoredResult result, layers_.Find(id));
    return std::move(result.record);
  }
  Result<v1::Kernel> GetKernel(std::string_view id) override {
    if (!IsVisible(id)) return store().GetKernel(id);
    MDH_ASSIGN_OR_RETURN(StoredResult result, layers_.Find(id));
    return std::move(result.kernel);
  }
  Result<std::vector<v1::TuningRecord>> AllRecords() override {
    MDH_ASSIGN_OR_RETURN(std::vector<v1::TuningRecord> records, store().AllRecords());
    MDH_RETURN_IF_ERROR(ForEachVisible([&](const v1::TuningRecord& r) { records.push_back(r); }));
    return records;
  }
  Status ForEachRecord(const Fingerprints& devices, const TakeRecord& take) override {
    MDH_RETURN_IF_ERROR(store().ForEachRecord(devices, take));
    return ForEachVisible([&](const v1::TuningRecord& record) {
      const std::string& device = record.key().device_fingerprint();
      const bool is_wanted = devices.empty() || std::ranges::find(devices, device) != devices.end();
      if (is_wanted) take(record.SerializeAsString());
    });
  }
  // Those of the bundles come after those of the store.
  Result<RecordPage> ListRecords(int64_t after, int limit) override {
    RecordPage page;
    if (after < kFirstPlace) {
      MDH_ASSIGN_OR_RETURN(page, store().ListRecords(after, limit));
      if (page.has_more) return page;
    }
    size_t next = after < kFirstPlace ? 0 : static_cast<size_t>(after - kFirstPlace) + 1;
    for (; next < layers_.ids().size(); ++next) {
      const std::string& id = layers_.ids()[next];
      if (!IsVisible(id)) continue;
      if (page.records.size() == static_cast<size_t>(limit)) {
        page.has_more = true;
        return page;
      }
      MDH_ASSIGN_OR_RETURN(StoredResult result, layers_.Find(id));
      page.records.push_back(std::move(result.record));
      page.last = kFirstPlace + static_cast<int64_t>(next);
    }
    return page;
  }

  void SetListener(OnChange on_change) override {
    store().SetListener([this, on_change = std::move(on_change)](v1::KernelChangeKind kind,
                                                                 const v1::TuningRecord& record) {
      on_change(kind, record);
      const Result<std::string> id = ParseRecordName(record.name());
      if (kind != v1::KERNEL_CHANGE_KIND_REMOVED || !id.ok() || !layers_.Has(*id)) return;
      if (const Result<StoredResult> below = layers_.Find(*id); below.ok()) {
        on_change(v1::KERNEL_CHANGE_KIND_PUT, below->record);
      }
    });
  }

 private:
  // Whether a bundle has it and the store does not hide that.
  bool IsVisible(std::string_view id) {
    return layers_.Has(id) && absl::IsNotFound(store().GetRecord(id).status());
  }
  Status TakeOver(std::string_view id) {
    if (!IsVisible(id)) return absl::OkStatus();
    MDH_ASSIGN_OR_RETURN(const StoredResult result, layers_.Find(id));
    return store().PutResults({&result, 1}).status();
  }
  Status TakeOverNamed(std::string_view name) {
    const Result<std::string> id = ParseRecordName(name);
    return id.ok() ? TakeOver(*id) : absl::OkStatus();
  }
  template <typename Take>
  Status ForEachVisible(const Take& take) {
    for (const std::string& id : layers_.ids()) {
      if (!IsVisible(id)) continue;
      MDH_ASSIGN_OR_RETURN(const StoredResult result, layers_.Find(id));
      take(result.record);
    }
    return absl::OkStatus();
  }

  const Layers layers_;
};

}  // namespace

Result<std::unique_ptr<Store>> OpenLayeredStore(std::unique_ptr<Store> store,
                                                const std::vector<std::string>& paths,
                                                const TrustedUsers& trusted) {
  if (paths.empty()) return store;
  Layers layers;
  for (const std::string& path : paths) MDH_RETURN_IF_ERROR(layers.Add(path, trusted));
  return std::unique_ptr<Store>(new LayeredStore(std::move(store), std::move(layers)));
}

}  // namespace mdh
