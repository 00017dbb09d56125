#include "client/buffer_view.h"

#include <array>
#include <vector>

#include "client/cpu_kernel.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/error_message.h"
#include "tests/server/temporary_directory.h"

namespace mdh::buffer_view_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

v1::KernelArgument Argument(const std::string& name, std::vector<int64_t> extents,
                            std::vector<int64_t> strides = {}, bool is_output = false) {
  v1::KernelArgument argument;
  argument.set_name(name);
  argument.set_type(v1::SCALAR_TYPE_FLOAT32);
  int64_t elements = 1;
  for (const int64_t extent : extents) elements *= extent;
  argument.set_elements(elements);
  argument.set_size_bytes(4 * elements);
  argument.set_is_output(is_output);
  argument.mutable_extents()->Add(extents.begin(), extents.end());
  argument.mutable_strides()->Add(strides.begin(), strides.end());
  return argument;
}

class BufferViewTest : public ::testing::Test {
 protected:
  Status Check(const std::vector<BufferView>& buffers) const {
    return CheckArguments("mdh_k", arguments_, buffers);
  }
  void ExpectWrong(BufferView a, const std::string& message) {
    EXPECT_THAT(ErrorMessage(Check({std::move(a), C()})),
                AllOf(HasSubstr("mdh_k: the argument 'A' "), HasSubstr(message)));
  }
  BufferView A() { return {a_.data(), ScalarType::kFloat32, {4, 6}}; }
  BufferView C() { return {c_.data(), ScalarType::kFloat32, {6}}; }

  std::vector<v1::KernelArgument> arguments_ = {Argument("A", {4, 6}),
                                                Argument("c", {6}, {}, true)};
  alignas(64) std::array<float, 64> a_ = {};
  alignas(64) std::array<float, 64> c_ = {};
};

TEST_F(BufferViewTest, WhatFits) {
  EXPECT_TRUE(Check({A(), C()}).ok()) << Check({A(), C()});
  BufferView a = A();
  a.is_read_only = true;
  a.strides = {6, 1};
  EXPECT_TRUE(Check({a, C()}).ok());
}

TEST_F(BufferViewTest, WhatDoesNotIsNamedWithBoth) {
  ExpectWrong({a_.data(), ScalarType::kFloat32, {6, 4}},
              "has shape (6, 4), but the kernel expects (4, 6)");
  ExpectWrong({a_.data(), ScalarType::kFloat32, {24}},
              "has shape (24,), but the kernel expects (4, 6)");
  ExpectWrong({a_.data(), ScalarType::kInt32, {4, 6}},
              "has elements of type int32, but the kernel expects fp32");
  ExpectWrong({a_.data(), ScalarType::kFloat32, {4, 6}, {}, 4}, "has elements of type record, but");
  ExpectWrong({a_.data(), ScalarType::kFloat32, {4, 6}, {1, 4}},
              "has strides of (1, 4) elements, but the kernel expects (6, 1)");
  ExpectWrong({a_.data(), ScalarType::kFloat32, {4, 6}, {1}}, "one per dimension");
  ExpectWrong({nullptr, ScalarType::kFloat32, {4, 6}}, "is NULL");
  ExpectWrong({reinterpret_cast<char*>(a_.data()) + 2, ScalarType::kFloat32, {4, 6}},
              "must be aligned to 4 bytes");
  BufferView c = C();
  c.is_read_only = true;
  EXPECT_EQ(ErrorMessage(Check({A(), c})),
            "mdh_k: the argument 'c' is an output, but the buffer is read-only");
  EXPECT_EQ(ErrorMessage(Check({A()})), "mdh_k has 2 arguments (A, c), not 1");
}

TEST_F(BufferViewTest, OutputsOverlapWithNothing) {
  BufferView c = C();
  for (const int at : {0, 5, 23}) {
    c.data = a_.data() + at;
    EXPECT_EQ(ErrorMessage(Check({A(), c})),
              "mdh_k: the output 'c' overlaps with the argument 'A': outputs share memory with "
              "nothing else");
  }
  c.data = a_.data() + 24;
  EXPECT_TRUE(Check({A(), c}).ok());
  arguments_.push_back(Argument("d", {6}, {}, true));
  BufferView d = C();
  d.data = c_.data() + 5;
  EXPECT_THAT(ErrorMessage(Check({A(), C(), d})), HasSubstr("'d' overlaps with the argument 'c'"));
}

TEST_F(BufferViewTest, StridesAreThoseOfTheBuffer) {
  arguments_ = {Argument("x", {3}, {2}), Argument("y", {3}, {2}, true)};
  const BufferView x = {a_.data(), ScalarType::kFloat32, {3}, {2}};
  EXPECT_TRUE(Check({x, {a_.data() + 1, ScalarType::kFloat32, {3}, {2}}}).ok());  // between
  EXPECT_THAT(ErrorMessage(Check({x, {a_.data() + 2, ScalarType::kFloat32, {3}, {2}}})),
              HasSubstr("'y' overlaps with the argument 'x'"));
  EXPECT_THAT(ErrorMessage(Check({{a_.data(), ScalarType::kFloat32, {3}}, C()})),
              HasSubstr("'x' has strides of (1,) elements, but the kernel expects (2,)"));
}

TEST_F(BufferViewTest, ASingleElementAndKernelsWithoutShapes) {
  arguments_ = {Argument("s", {}), Argument("c", {6}, {}, true)};
  EXPECT_TRUE(Check({{a_.data(), ScalarType::kFloat32, {}}, C()}).ok());
  EXPECT_TRUE(Check({{a_.data(), ScalarType::kFloat32, {1, 1}}, C()}).ok());
  arguments_[0] = Argument("A", {4, 6});
  arguments_[0].clear_extents();
  for (const std::vector<int64_t>& extents : {std::vector<int64_t>{24}, {4, 6}, {6, 4}}) {
    EXPECT_TRUE(Check({{a_.data(), ScalarType::kFloat32, extents}, C()}).ok());
  }
  ExpectWrong({a_.data(), ScalarType::kFloat32, {23}},
              "has 23 elements, but the kernel expects 24");
}

TEST_F(BufferViewTest, RecordsHaveASize) {
  arguments_[0].clear_type();
  for (const v1::ScalarType type : {v1::SCALAR_TYPE_INT64, v1::SCALAR_TYPE_FLOAT32}) {
    v1::TypedName* field = arguments_[0].add_record();
    field->set_name("f");
    field->set_type(type);
  }
  arguments_[0].set_size_bytes(16 * 24);
  std::vector<double> memory(64);
  BufferView a = {memory.data(), ScalarType::kFloat32, {4, 6}, {}, 16};
  EXPECT_TRUE(Check({a, C()}).ok()) << Check({a, C()});
  a.record_bytes = 12;
  ExpectWrong(a, "has elements of 12 bytes, but the kernel expects records of 16");
  a.record_bytes = 16;
  a.data = reinterpret_cast<char*>(memory.data()) + 4;
  ExpectWrong(a, "must be aligned to 8 bytes");
}

TEST_F(BufferViewTest, AKernelRunsOnThem) {
  v1::Kernel kernel;
  kernel.set_entry("mdh_last");
  kernel.set_language("OpenMP C");
  kernel.set_source(
      "int mdh_last(const float* A, float* c, void* s) { c[5] = A[23]; (void)s; return 0; }\n");
  kernel.set_compiler("gcc");
  kernel.mutable_arguments()->Add(arguments_.begin(), arguments_.end());
  const TemporaryDirectory directory;
  const auto loaded = CpuKernel::Load(kernel, *KernelCache::Open(directory.File("cache")));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  a_[23] = 7;
  EXPECT_TRUE((*loaded)->RunBuffers({A(), C()}).ok());
  EXPECT_EQ(c_[5], 7);
  EXPECT_THAT(
      ErrorMessage((*loaded)->RunBuffers({C(), A()})),
      HasSubstr("mdh_last: the argument 'A' has shape (6,), but the kernel expects (4, 6)"));
}

}  // namespace
}  // namespace mdh::buffer_view_test
