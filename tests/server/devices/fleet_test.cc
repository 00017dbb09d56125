// Devices of several daemons on one database: who has what, and what names mean.
#include "server/devices/fleet.h"

#include "core/device/fingerprint.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/devices/device_catalogue.h"
#include "server/devices/device_names.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/fake_devices.h"
#include "tests/server/store_double.h"
#include "tests/server/temporary_directory.h"

namespace mdh::fleet_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string FingerprintOf(const DeviceDescription& device) {
  return KeyEnvironment::Of(device).device_fingerprint;
}

// One of several, with its catalogue.
struct Member {
  Member(Store& store, const std::string& name, FakeDevices devices,
         absl::Duration lease = absl::Hours(1))
      : fakes(std::move(devices)),
        fleet(store, {.daemon = name, .lease = lease, .server_version = "7"}),
        catalogue(std::nullopt, {}, store) {
    catalogue.SetFleet(fleet);
  }
  void Open() {
    catalogue.Open(fakes.Take(), {});
    Renew();
  }
  void Renew() { fleet.Renew(catalogue.Announced()); }

  FakeDevices fakes;
  Fleet fleet;
  DeviceCatalogue catalogue;
};

class FleetTest : public ::testing::Test {
 protected:
  static FakeDevices Gpus() {
    FakeDevices devices;
    devices.Add("devices/cuda0", FakeGpu());
    devices.Add("devices/cuda1", FakeGpu());
    return devices;
  }
  static FakeDevices Cpu() {
    FakeDevices devices;
    devices.Add("devices/cpu", FakeCpu());
    return devices;
  }
  static std::string Message(const Status& status) { return std::string(status.message()); }

  TemporaryDirectory directory_;
  const std::unique_ptr<Store> store_ = *OpenSqliteStore({.path = directory_.File("mdhd.sqlite")});
};

TEST_F(FleetTest, NamesOfDaemonsHaveNoOtherCharacters) {
  EXPECT_EQ(NodeName("w1"), "nodes/w1");
  EXPECT_EQ(NodeName("host unix:/run/mdhd.sock"), "nodes/host-unix-run-mdhd.sock");
  EXPECT_EQ(NodeName("//"), "nodes/");
  EXPECT_EQ(NodeName(""), "");
}

TEST_F(FleetTest, FingerprintsAreReadWithTheirCommas) {
  const std::string gpu = FingerprintOf(FakeGpu());
  const std::string cpu = FingerprintOf(FakeCpu());
  ASSERT_THAT(gpu, HasSubstr(","));
  EXPECT_THAT(*ParseFingerprints(gpu), ElementsAre(gpu));
  EXPECT_THAT(*ParseFingerprints(gpu + "," + cpu + ", " + gpu), ElementsAre(gpu, cpu, gpu));
  for (const std::string& wrong : {std::string(), std::string("cuda0"), gpu + ";" + cpu, gpu + ",x",
                                   gpu.substr(0, gpu.size() - 1)}) {
    const Status status = ParseFingerprints(wrong).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_THAT(Message(status), HasSubstr("mdh devices prints them"));
  }
}

TEST_F(FleetTest, ADefaultIsADeviceOrAFingerprint) {
  EXPECT_EQ(*ParseDeviceName("cuda0"), "devices/cuda0");
  EXPECT_EQ(*ParseDeviceName("devices/cuda0"), "devices/cuda0");
  EXPECT_EQ(*ParseDeviceName("nodes/w1/devices/cuda0"), "nodes/w1/devices/cuda0");
  EXPECT_EQ(*ParseDeviceName(FingerprintOf(FakeGpu())), FingerprintOf(FakeGpu()));
  for (const char* wrong : {"", "nodes/w1", "knownDevices/h100", "a/b", "cpu 'half of it"}) {
    EXPECT_EQ(ParseDeviceName(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

TEST_F(FleetTest, EachSeesTheDevicesOfTheOthers) {
  Member worker(*store_, "w1", Gpus()), front(*store_, "front", {});
  front.Open();
  EXPECT_THAT(*front.fleet.devices(), IsEmpty());
  worker.Open();
  front.Renew();
  const auto devices = front.fleet.devices();
  ASSERT_THAT(*devices, SizeIs(2));
  EXPECT_EQ(devices->at(0).name(), "nodes/w1/devices/cuda0");
  EXPECT_EQ(devices->at(0).node(), "nodes/w1");
  EXPECT_EQ(devices->at(0).fingerprint(), FingerprintOf(FakeGpu()));
  EXPECT_EQ(devices->at(0).description().model(), "fake GPU");
  EXPECT_EQ(devices->at(0).health(), v1::DEVICE_HEALTH_HEALTHY);
  const std::vector<v1::Node> nodes = front.fleet.nodes();
  ASSERT_THAT(nodes, SizeIs(2));
  EXPECT_EQ(nodes[0].name(), "nodes/front");
  EXPECT_EQ(nodes[1].name(), "nodes/w1");
  EXPECT_EQ(nodes[1].server_version(), "7");
  EXPECT_GT(nodes[1].generator_version(), 0);
  EXPECT_THAT(nodes[1].devices(), IsEmpty());
  worker.fleet.Leave();
  ASSERT_TRUE(front.fleet.Refresh().ok());
  EXPECT_THAT(*front.fleet.devices(), IsEmpty());
}

TEST_F(FleetTest, DevicesOfWhoIsGoneAreUnhealthyAndCanBeMeant) {
  Member worker(*store_, "w1", Gpus(), absl::Milliseconds(1)), front(*store_, "front", {});
  worker.Open();
  absl::SleepFor(absl::Milliseconds(20));
  front.Open();
  ASSERT_THAT(*front.fleet.devices(), SizeIs(2));
  EXPECT_EQ(front.fleet.devices()->at(0).health(), v1::DEVICE_HEALTH_UNHEALTHY);
  EXPECT_THAT(front.fleet.devices()->at(0).health_reason(),
              HasSubstr("nodes/w1 is gone: it was last heard of at 2"));
  EXPECT_TRUE(front.fleet.nodes()[1].is_gone());
  EXPECT_TRUE(front.catalogue.Choose({"nodes/w1/devices/cuda0"}).ok());
}

TEST_F(FleetTest, WhatTheStoreDoesNotSayIsAsItWasBefore) {
  StoreDouble store(*store_);
  Member worker(*store_, "w1", Gpus()), front(store, "front", {});
  worker.Open();
  front.Open();
  store.FailWrites(absl::UnavailableError("away"));
  front.Renew();  // is logged
  EXPECT_THAT(*front.fleet.devices(), SizeIs(2));
  front.fleet.Leave();  // so is this
  store.FailWrites(absl::OkStatus());
  front.Renew();
  worker.Renew();
  EXPECT_THAT(worker.fleet.nodes(), SizeIs(2));
}

TEST_F(FleetTest, PeaksOfEarlierProcessesAreAnnounced) {
  v1::MachinePeaks peaks;
  peaks.set_fp32_flops_per_s(5e12);
  ASSERT_TRUE(
      store_->ChangePeaks(FingerprintOf(FakeGpu()), [&](const auto&) { return peaks; }).ok());
  Member worker(*store_, "w1", Gpus()), front(*store_, "front", {});
  worker.Open();
  front.Open();
  EXPECT_EQ(front.fleet.devices()->at(1).peaks().fp32_flops_per_s(), 5e12);
}

TEST_F(FleetTest, NamesMeanOwnDevicesThoseOfOthersOrAnyOfAFingerprint) {
  Member worker(*store_, "w1", Gpus()), mixed(*store_, "m", Cpu());
  worker.Open();
  mixed.Open();
  const DeviceCatalogue& catalogue = mixed.catalogue;
  for (const char* own : {"devices/cpu", "nodes/m/devices/cpu"}) {
    const Result<ChosenDevices> chosen = catalogue.Choose({own});
    ASSERT_TRUE(chosen.ok()) << chosen.status();
    EXPECT_THAT(chosen->own, SizeIs(1));
    EXPECT_THAT(chosen->names, ElementsAre("nodes/m/devices/cpu"));
    EXPECT_TRUE(catalogue.Find(own).ok());
  }
  for (const std::string& other :
       {std::string("nodes/w1/devices/cuda1"), FingerprintOf(FakeGpu())}) {
    const Result<ChosenDevices> chosen = catalogue.Choose({other});
    ASSERT_TRUE(chosen.ok()) << chosen.status();
    EXPECT_THAT(chosen->own, IsEmpty());
    EXPECT_THAT(chosen->names, ElementsAre(other));
    EXPECT_EQ(chosen->description.name, "fake GPU");
    EXPECT_EQ(chosen->description.compiler, "fake nvrtc 1");
    EXPECT_TRUE(chosen->can_tune.ok());
    v1::DeviceSelection selection;
    selection.set_name(other);
    EXPECT_EQ(catalogue.Resolve(selection)->name, "fake GPU");
  }
  EXPECT_THAT(worker.catalogue.Choose({FingerprintOf(FakeGpu())})->own, SizeIs(2));
  EXPECT_THAT(catalogue.Environments(), SizeIs(2));
  EXPECT_EQ(catalogue.Environments()[1].compiler, "fake nvrtc 1");
}

TEST_F(FleetTest, ErrorsListWhatThereIs) {
  Member worker(*store_, "w1", Gpus()), mixed(*store_, "m", Cpu());
  worker.Open();
  mixed.Open();
  const auto lists_all = AllOf(
      HasSubstr("there are devices/cpu"),
      HasSubstr("other daemons have nodes/w1/devices/cuda0 (fake GPU), nodes/w1/devices/cuda1"));
  for (const std::string& name :
       {std::string("devices/cuda0"), std::string("nodes/w2/devices/cuda0"),
        std::string("devices/cuda"), FingerprintOf(FakeGpu("another"))}) {
    const Status status = mixed.catalogue.Choose({name}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << name;
    EXPECT_THAT(Message(status), AllOf(HasSubstr("there is no device '" + name), lists_all));
  }
  // Others have it.
  EXPECT_EQ(mixed.catalogue.Select({"nodes/w1/devices/cuda0"}).status().code(),
            absl::StatusCode::kNotFound);
  const Status different =
      mixed.catalogue.Choose({"devices/cpu", "nodes/w1/devices/cuda0"}).status();
  EXPECT_EQ(different.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(different), HasSubstr("are different devices"));
  worker.fleet.Leave();
  ASSERT_TRUE(mixed.fleet.Refresh().ok());
  EXPECT_THAT(Message(mixed.catalogue.Choose({"devices/cuda0"}).status()),
              HasSubstr("other daemons have none, either"));
}

TEST_F(FleetTest, WhoHasJustComeIsLookedForBeforeAJobIsRefused) {
  Member worker(*store_, "w1", Gpus()), front(*store_, "front", {});
  front.Open();
  worker.Open();
  EXPECT_FALSE(front.catalogue.Choose({"nodes/w1/devices/cuda0"}).ok());
  EXPECT_TRUE(front.catalogue.ChooseForJob({"nodes/w1/devices/cuda0"}).ok());
}

TEST_F(FleetTest, WithoutDevicesAndADefaultRequestsMustNameOne) {
  Member worker(*store_, "w1", Gpus()), front(*store_, "front", {});
  worker.Open();
  front.Open();
  const Status status = front.catalogue.Choose({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), AllOf(HasSubstr("--default-device"),
                                     HasSubstr("of other daemons nodes/w1/devices/cuda0")));
  EXPECT_EQ(front.catalogue.NoDefault(), status);
  EXPECT_EQ(front.catalogue.Resolve({}).status(), status);
  // Keys of the others' devices are completed with their compilers.
  const std::vector<KeyEnvironment> environments = front.catalogue.Environments();
  ASSERT_THAT(environments, SizeIs(2));
  EXPECT_EQ(environments[0].device_fingerprint, "");
  EXPECT_EQ(environments[1].compiler, "fake nvrtc 1");
}

TEST_F(FleetTest, ADefaultMayBeAnothersOrJustAFingerprint) {
  Member worker(*store_, "w1", Gpus());
  for (const std::string& name :
       {std::string("nodes/w1/devices/cuda0"), FingerprintOf(FakeGpu())}) {
    Member front(*store_, "front", {});
    front.catalogue.SetDefault(name);
    front.Open();
    EXPECT_TRUE(front.catalogue.NoDefault().ok());
    // As long as nobody has it, lookups know at most its fingerprint.
    EXPECT_EQ(front.catalogue.Choose({}).status().code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(front.catalogue.Environments(), SizeIs(IsFingerprint(name) ? 1 : 0));
    worker.Renew();
    if (worker.catalogue.devices().empty()) worker.Open();
    front.Renew();
    EXPECT_EQ(front.catalogue.Choose({})->description.name, "fake GPU");
    EXPECT_EQ(front.catalogue.Environments().front().compiler, "fake nvrtc 1");
    worker.fleet.Leave();
  }
  Member mixed(*store_, "m", Gpus());
  mixed.catalogue.SetDefault("devices/cuda1");
  mixed.Open();
  EXPECT_EQ(mixed.catalogue.Select({})->front()->name(), "devices/cuda1");
}

}  // namespace
}  // namespace mdh::fleet_test
