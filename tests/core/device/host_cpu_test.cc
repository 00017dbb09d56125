// The CPU of machines that are made up of files: control groups of both versions, threads that
// share a core, fast and slow cores.
#include "core/device/host_cpu.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "core/device/cgroup.h"
#include "tests/server/temporary_directory.h"

namespace mdh::host_cpu_test {
namespace {

constexpr const char* kCpu = "model name\t: A CPU\ncpu MHz\t\t: 2000.0\n";

class HostCpu : public ::testing::Test {
 protected:
  HostCpu() { Write("/proc/cpuinfo", kCpu); }

  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  // Hardware threads 0..n-1, of which `cores[n]` is the core's list of threads.
  void WriteCpus(const std::vector<std::string>& cores, const std::map<int, int>& khz = {}) const {
    for (size_t n = 0; n < cores.size(); ++n) {
      const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(n);
      Write(folder + "/topology/thread_siblings_list", cores[n] + "\n");
    }
    for (const auto& [number, speed] : khz) {
      Write("/sys/devices/system/cpu/cpu" + std::to_string(number) + "/cpufreq/cpuinfo_max_freq",
            std::to_string(speed) + "\n");
    }
  }
  HostView View(int threads) const {
    HostView view = {.root = root(), .allowed = std::vector<int>()};
    for (int n = 0; n < threads; ++n) view.allowed->push_back(n);
    return view;
  }
  DeviceDescription Describe(int threads) const { return *DescribeHostCpu(View(threads)); }
  std::string root() const { return directory_.path().string(); }

  const TemporaryDirectory directory_;
};

TEST_F(HostCpu, UnitsOfZen4AreNarrowerThanItsVectors) {
  EXPECT_EQ(Describe(1).limits.unit_bytes, 0);
  const std::string amd = std::string(kCpu) + "vendor_id\t: AuthenticAMD\n";
  Write("/proc/cpuinfo", amd + "cpu family\t: 25\n");
  EXPECT_EQ(Describe(1).limits.unit_bytes, 32);
  Write("/proc/cpuinfo", amd + "cpu family\t: 26\n");
  EXPECT_EQ(Describe(1).limits.unit_bytes, 0);
  Write("/proc/cpuinfo", std::string(kCpu) + "vendor_id\t: GenuineIntel\ncpu family\t: 25\n");
  EXPECT_EQ(Describe(1).limits.unit_bytes, 0);
}

TEST_F(HostCpu, WithoutControlGroupsEveryAllowedThreadCounts) {
  const DeviceDescription cpu = Describe(6);
  EXPECT_EQ(cpu.name, "A CPU");
  EXPECT_EQ(cpu.cores, 6);
  EXPECT_EQ(cpu.clock_hz, 2e9);
  EXPECT_EQ(ReadCgroupLimits(root()).cpus, 0);
  EXPECT_EQ(ReadCgroupLimits(root()).memory_bytes, 0);
}

TEST_F(HostCpu, TheQuotaOfAUnifiedGroupCounts) {
  Write("/proc/self/cgroup", "0::/system.slice/mdhd.service\n");
  Write("/proc/self/mountinfo",
        "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  const std::string folder = "/sys/fs/cgroup/system.slice/mdhd.service";
  Write(folder + "/cpu.max", "150000 100000\n");
  Write(folder + "/memory.max", "1073741824\n");
  Write("/sys/fs/cgroup/system.slice/cpu.max", "max 100000\n");
  Write("/sys/fs/cgroup/system.slice/memory.max", "max\n");
  const DeviceDescription cpu = Describe(8);
  EXPECT_EQ(cpu.cores, 2);
  EXPECT_EQ(cpu.name, "A CPU (1.5 CPUs of its control group)");
  DeviceDescription two_cores = cpu;
  two_cores.name = "A CPU";
  EXPECT_NE(cpu.Fingerprint(), two_cores.Fingerprint());
  EXPECT_EQ(ReadCgroupLimits(root()).memory_bytes, int64_t{1} << 30);
}

TEST_F(HostCpu, OfNestedGroupsTheLeastCounts) {
  Write("/proc/self/cgroup", "0::/a/b/c\n");
  Write("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 none rw\n");
  Write("/sys/fs/cgroup/a/cpu.max", "300000 100000\n");
  Write("/sys/fs/cgroup/a/b/cpu.max", "50000 50000\n");
  Write("/sys/fs/cgroup/a/b/c/cpu.max", "400000 100000\n");
  Write("/sys/fs/cgroup/a/memory.max", "2000\n");
  Write("/sys/fs/cgroup/a/b/c/memory.max", "3000\n");
  EXPECT_EQ(ReadCgroupLimits(root()).cpus, 1);
  EXPECT_EQ(ReadCgroupLimits(root()).memory_bytes, 2000);
  EXPECT_EQ(Describe(8).cores, 1);
}

TEST_F(HostCpu, GroupsOfVersionOneAreReadToo) {
  Write("/proc/self/cgroup", "4:memory:/docker/1\n3:cpu,cpuacct:/docker/1\n2:cpuset:/\n");
  Write("/proc/self/mountinfo",
        "32 31 0:29 /docker/1 /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 /docker/1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(ReadCgroupLimits(root()).cpus, 2.5);
  EXPECT_EQ(ReadCgroupLimits(root()).memory_bytes, 0);
  EXPECT_EQ(Describe(8).cores, 3);
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(Describe(8).cores, 8);
}

TEST_F(HostCpu, AQuotaOfMoreThanTheAllowedThreadsChangesNothing) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 none rw\n");
  Write("/sys/fs/cgroup/cpu.max", "800000 100000\n");
  EXPECT_EQ(Describe(4).name, "A CPU");
  EXPECT_EQ(Describe(4).cores, 4);
}

TEST_F(HostCpu, ThreadsTakeACoreEachBeforeTheyShareOne) {
  WriteCpus({"0,3", "1,4", "2,5", "0,3", "1,4", "2,5"});
  EXPECT_EQ(PlacementOrder(ReadHardwareThreads(View(6))), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  WriteCpus({"0-1", "0-1", "2-3", "2-3"});
  EXPECT_EQ(PlacementOrder(ReadHardwareThreads(View(4))), (std::vector<int>{0, 2, 1, 3}));
  EXPECT_TRUE(AreUnlike(ReadHardwareThreads(View(4))));
  EXPECT_EQ(Describe(4).name, "A CPU");
}

TEST_F(HostCpu, FastCoresComeFirstAndAreCounted) {
  // Two threads on each of two fast cores, whose best differ by little; two slow ones before them.
  WriteCpus({"0", "1", "2-3", "2-3", "4-5", "4-5"},
            {{0, 3800}, {1, 3800}, {2, 4900}, {3, 4900}, {4, 5000}, {5, 5000}});
  EXPECT_EQ(PlacementOrder(ReadHardwareThreads(View(6))), (std::vector<int>{2, 4, 0, 1, 3, 5}));
  EXPECT_EQ(Describe(6).name, "A CPU (2 of 4 cores are fast)");
}

TEST_F(HostCpu, CoresThatAreAlikeHaveNoOrder) {
  WriteCpus({"0", "1", "2"});
  EXPECT_FALSE(AreUnlike(ReadHardwareThreads(View(3))));
  EXPECT_FALSE(AreUnlike(ReadHardwareThreads(HostView{.root = "/nowhere", .allowed = {{0, 1}}})));
}

}  // namespace
}  // namespace mdh::host_cpu_test
