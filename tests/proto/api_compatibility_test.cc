// The API against the last released one, whose descriptors are tests/proto/released/mdh.v1.binpb.
// At a release MDH_UPDATE_RELEASED_API=1 in the environment rewrites them; never to make this pass.
#include <fstream>
#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mdh/v1/admin.pb.h"
#include "mdh/v1/device.pb.h"
#include "mdh/v1/expression.pb.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/program.pb.h"
#include "mdh/v1/record.pb.h"
#include "mdh/v1/study.pb.h"
#include "mdh/v1/tuning.pb.h"
#include "tests/proto/api_changes.h"
#include "tests/source_path.h"

namespace mdh::api_compatibility_test {
namespace {

using google::protobuf::FileDescriptorSet;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What clients see; the protocol of the runners is the daemon's own affair.
FileDescriptorSet Compiled() {
  FileDescriptorSet set;
  for (const google::protobuf::Descriptor* message :
       {v1::Capabilities::descriptor(), v1::Device::descriptor(), v1::Expression::descriptor(),
        v1::Kernel::descriptor(), v1::ProgramSpec::descriptor(), v1::TuningRecord::descriptor(),
        v1::Study::descriptor(), v1::TuningJob::descriptor()}) {
    message->file()->CopyTo(set.add_file());
  }
  return set;
}

FileDescriptorSet Released() {
  const std::string path = SourcePath("tests/proto/released/mdh.v1.binpb");
  if (std::getenv("MDH_UPDATE_RELEASED_API") != nullptr) {
    std::ofstream(path, std::ios::binary) << Compiled().SerializeAsString();
  }
  FileDescriptorSet all;
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(all.ParseFromIstream(&file)) << path;
  FileDescriptorSet ours;
  for (const auto& one : all.file()) {
    if (one.package() == "mdh.v1") *ours.add_file() = one;
  }
  return ours;
}

TEST(ApiCompatibilityTest, OldClientsKeepWorking) {
  const FileDescriptorSet released = Released();
  EXPECT_GE(released.file_size(), 7);
  EXPECT_THAT(IncompatibleChanges(released, Compiled()), IsEmpty());
}

// What the comparison says of `change` to the API as it is.
std::vector<std::string> Of(const std::function<void(FileDescriptorSet&)>& change) {
  FileDescriptorSet changed = Compiled();
  change(changed);
  return IncompatibleChanges(Compiled(), changed);
}

google::protobuf::FileDescriptorProto& File(FileDescriptorSet& set, const std::string& name) {
  for (auto& file : *set.mutable_file()) {
    if (file.name() == "mdh/v1/" + name) return file;
  }
  ADD_FAILURE() << name;
  return *set.mutable_file(0);
}

google::protobuf::DescriptorProto& Message(FileDescriptorSet& set, const std::string& name) {
  for (auto& message : *File(set, "record.proto").mutable_message_type()) {
    if (message.name() == name) return message;
  }
  ADD_FAILURE() << name;
  return *File(set, "record.proto").mutable_message_type(0);
}

TEST(ApiCompatibilityTest, AdditionsAreNoChanges) {
  EXPECT_THAT(Of([](FileDescriptorSet& set) {
                auto* field = Message(set, "KernelKey").add_field();
                field->set_name("something_new");
                field->set_number(99);
                File(set, "kernel.proto").mutable_service(0)->add_method()->set_name("New");
                set.add_file()->set_name("mdh/v1/new.proto");
              }),
              IsEmpty());
}

TEST(ApiCompatibilityTest, EveryKindOfBreakIsSeen) {
  EXPECT_THAT(
      Of([](FileDescriptorSet& set) { Message(set, "KernelKey").mutable_field()->RemoveLast(); }),
      ElementsAre("field mdh.v1.KernelKey.schedule was removed or renumbered"));
  EXPECT_THAT(Of([](FileDescriptorSet& set) {
                Message(set, "KernelKey").mutable_field(0)->set_number(99);
              }),
              ElementsAre("field mdh.v1.KernelKey.expression_digest was removed or renumbered"));
  EXPECT_THAT(Of([](FileDescriptorSet& set) {
                Message(set, "KernelKey").mutable_field(0)->set_name("digest");
              }),
              ElementsAre("field mdh.v1.KernelKey.expression_digest was renamed or renumbered"));
  EXPECT_THAT(Of([](FileDescriptorSet& set) {
                Message(set, "KernelKey")
                    .mutable_field(0)
                    ->set_type(google::protobuf::FieldDescriptorProto::TYPE_BYTES);
              }),
              ElementsAre("field mdh.v1.KernelKey.expression_digest has another type"));
  EXPECT_THAT(Of([](FileDescriptorSet& set) {
                Message(set, "KernelKey")
                    .mutable_field(0)
                    ->set_label(google::protobuf::FieldDescriptorProto::LABEL_REPEATED);
              }),
              ElementsAre("field mdh.v1.KernelKey.expression_digest is repeated or is not"));
  EXPECT_THAT(Of([](FileDescriptorSet& set) {
                File(set, "record.proto").mutable_enum_type(0)->mutable_value(1)->set_number(9);
              }),
              ElementsAre("value mdh.v1.NumericsPolicy.NUMERICS_POLICY_REASSOCIATE was removed or "
                          "renumbered"));
  EXPECT_THAT(Of([](FileDescriptorSet& set) {
                auto& methods = *File(set, "kernel.proto").mutable_service(0)->mutable_method();
                methods.DeleteSubrange(0, 1);
                methods.Mutable(0)->set_server_streaming(true);
              }),
              ElementsAre("method mdh.v1.KernelService.LookupKernel was removed",
                          "method mdh.v1.KernelService.GetKernel takes or gives something else"));
  EXPECT_THAT(
      Of([](FileDescriptorSet& set) { File(set, "device.proto").mutable_service()->RemoveLast(); }),
      ElementsAre("service mdh.v1.DeviceService was removed"));
  EXPECT_THAT(Of([](FileDescriptorSet& set) { set.mutable_file()->RemoveLast(); }),
              ElementsAre("file mdh/v1/tuning.proto was removed"));
}

}  // namespace
}  // namespace mdh::api_compatibility_test
