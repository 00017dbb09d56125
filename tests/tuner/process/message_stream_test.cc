#include "tuner/process/message_stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "gtest/gtest.h"
#include "mdh/v1/runner.pb.h"
#include "tuner/process/file_descriptor.h"
#include "tuner/process/socket_pair.h"

namespace mdh::message_stream_test {
namespace {

class MessageStream : public ::testing::Test {
 protected:
  MessageStream() {
    SocketPair sockets = *SocketPair::Make();
    ours_ = std::move(sockets.ours);
    theirs_ = std::move(sockets.theirs);
  }
  FileDescriptor ours_;
  FileDescriptor theirs_;
  v1::RunnerRequest message_;
};

TEST_F(MessageStream, CarriesMessagesLargerThanTheSocketsBuffer) {
  v1::RunnerRequest sent;
  sent.set_id(7);
  sent.mutable_set_problem()->set_expression(std::string(5'000'000, 'x'));
  std::thread sender([&] {
    EXPECT_TRUE(SendMessage(ours_.get(), sent).ok());
    EXPECT_TRUE(SendMessage(ours_.get(), v1::RunnerRequest()).ok());
  });
  ASSERT_TRUE(ReceiveMessage(theirs_.get(), message_).ok());
  EXPECT_EQ(message_.SerializeAsString(), sent.SerializeAsString());
  ASSERT_TRUE(ReceiveMessage(theirs_.get(), message_).ok());
  EXPECT_EQ(message_.id(), 0u);
  sender.join();
}

TEST_F(MessageStream, AClosedSocketIsUnavailable) {
  theirs_.Close();
  EXPECT_TRUE(absl::IsUnavailable(SendMessage(ours_.get(), message_)));
  EXPECT_TRUE(absl::IsUnavailable(ReceiveMessage(ours_.get(), message_)));
}

TEST_F(MessageStream, SilenceEndsAtTheDeadline) {
  EXPECT_TRUE(absl::IsDeadlineExceeded(ReceiveMessage(ours_.get(), message_, 10'000'000)));
}

TEST_F(MessageStream, NonsenseIsAnError) {
  ASSERT_EQ(write(theirs_.get(), "\xff\xff\xff\xff", 4), 4);
  EXPECT_TRUE(absl::IsInternal(ReceiveMessage(ours_.get(), message_)));
  ASSERT_EQ(write(theirs_.get(), "\x02\x00\x00\x00\xff\xff", 6), 6);
  EXPECT_TRUE(absl::IsInternal(ReceiveMessage(ours_.get(), message_)));
}

}  // namespace
}  // namespace mdh::message_stream_test
