#include "tests/client/report_samples.h"

#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

constexpr const char* kMatMul =
    "matmul :=\n"
    "  out_view<fp32>( C[256, 256]: (i,j,k) -> (i, j) ) o\n"
    "  md_hom<256,256,256>( f, (++, ++, +) ) o\n"
    "  inp_view<fp32,fp32>( A[256, 256]: (i,j,k) -> (i, k), B[256, 256]: (i,j,k) -> (k, j) )\n"
    "where f(A, B) -> C { C = A * B }\n";

std::string CpuParameters(int i, int j, int k, const char* compiler) {
  return absl::StrCat("model=OpenMP+SIMD+RM; tile=256,128,256|256,128,256|256,128,", 4 * k, "|", i,
                      ",", 16 * j, ",4|1,16,1|1,1,1; order=0,1,2|0,1,2|0,1,2|1,0,2|0,1,2|0,1,2; ",
                      "inputs=in_place:0,1:-1|whole:1,0:1; accumulate=registers; chains=one; ",
                      "compiler=", compiler);
}

v1::DeviceDescription Cpu() {
  v1::DeviceDescription device;
  device.set_kind(v1::DEVICE_KIND_CPU);
  device.set_model("AMD EPYC");
  device.set_cores(2);
  device.set_simd_bytes(64);
  device.set_vector_registers(32);
  device.set_l1_bytes(48 << 10);
  device.set_l2_bytes(1 << 20);
  device.set_l3_bytes(32 << 20);
  device.set_cache_line_bytes(64);
  device.set_isa("x86-64 avx2 fma avx512f");
  device.set_compiler("gcc 12.2.0, clang 14.0.6");
  device.set_clock_hz(2.6e9);
  return device;
}

v1::MachinePeaks CpuPeaks() {
  v1::MachinePeaks peaks;
  peaks.set_fp32_flops_per_s(435e9);
  peaks.set_fp64_flops_per_s(236e9);
  peaks.set_memory_bytes_per_s(17e9);
  return peaks;
}

v1::TuningJob Job(uint64_t seed, int trials) {
  v1::TuningJob job;
  job.set_name(absl::StrCat("tuningJobs/", seed));
  job.set_state(v1::TUNING_JOB_STATE_SUCCEEDED);
  job.set_expression_name("matmul");
  job.set_expression_text(kMatMul);
  job.mutable_key()->set_expression_digest("14c2");
  job.mutable_options()->set_technique("auc_bandit");
  job.mutable_options()->set_seed(seed);
  job.mutable_options()->set_budget_ns(60'000'000'000);
  job.mutable_options()->set_numerics_policy(v1::NUMERICS_POLICY_REASSOCIATE);
  job.mutable_progress()->set_trials(trials);
  job.mutable_progress()->set_failed_trials(trials / 10);
  job.mutable_progress()->set_elapsed_ns(int64_t{trials} * 6'000'000);
  job.mutable_create_time()->set_seconds(1'790'000'000);
  job.mutable_end_time()->set_seconds(1'790'000'060);
  job.add_devices("devices/cpu");
  job.set_source("unix:build-farm");
  return job;
}

// Times fall slowly towards a bound, with noise.
std::vector<v1::TuningTrial> Trials(uint64_t seed, int count) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<v1::TuningTrial> trials(count);
  for (int n = 0; n < count; ++n) {
    v1::TuningTrial& trial = trials[n];
    const int i = 1 + static_cast<int>(random() % 16), j = 1 + static_cast<int>(random() % 4);
    trial.set_number(n + 1);
    trial.set_parameters(
        CpuParameters(i, j, 1 + static_cast<int>(random() % 64), n % 3 == 0 ? "clang" : "gcc"));
    trial.set_elapsed_ns(int64_t{n + 1} * 6'000'000);
    if (n % 10 == 9) {
      trial.set_outcome(n % 20 == 9 ? "wrong result" : "does not compile");
      trial.set_reason(n % 20 == 9 ? "C[3, 7] is 1.5, should be 1.25"
                                   : "kernel.c:7:3: error: spilled\nmore of it");
      continue;
    }
    trial.set_outcome("ok");
    const double noise = std::exp(static_cast<double>(random() % 1000) / 500);
    trial.set_time_ns(static_cast<int64_t>((80'000 + 900'000.0 / (1 + n / 5.0)) * noise *
                                           (1 + std::abs(i - 12) / 6.0)));
  }
  return trials;
}

v1::TuningRecord Record(const v1::TuningJob& job, const std::string& parameters) {
  v1::TuningRecord record;
  record.set_name("records/2beda4df9aaa40d7b429ae383b70edaa");
  *record.mutable_key() = job.key();
  record.set_expression_name(job.expression_name());
  record.set_expression_text(job.expression_text());
  record.set_parameters(parameters);
  record.set_time_ns(79'108);
  record.set_loop_nest_time_ns(900'273);
  record.set_default_time_ns(84'917);
  record.set_trials(job.progress().trials());
  record.set_flops(33'554'432);
  record.set_compulsory_bytes(786'432);
  record.set_fits_in_cache(true);
  *record.mutable_device() = Cpu();
  *record.mutable_peaks() = CpuPeaks();
  *record.mutable_create_time() = job.end_time();
  v1::Certificate& certificate = *record.mutable_certificate();
  certificate.set_problem_bound_ns(51'200);
  certificate.set_binding_floor("fp32 units: 51.2 of 79.1 us");
  certificate.set_proof_class("C");
  certificate.set_bound_version(1);
  certificate.add_assumptions("no core is clocked above 5.12 GHz");
  for (const auto& [resource, time_ns] : {std::pair("fp32 units", 51'200), {"issue", 25'600}}) {
    v1::BoundFloor& floor = *certificate.add_floors();
    floor.set_resource(resource);
    floor.set_time_ns(time_ns);
    floor.set_reason("1.68e+07 multiplications and 1.67e+07 additions");
  }
  return record;
}

v1::BoundHistogram Bounds() {
  v1::BoundHistogram bounds;
  bounds.set_time_ns(79'108);
  bounds.set_configurations(10'000);
  bounds.set_left(4'200);
  bounds.set_left_share_low(0.4103);
  bounds.set_left_share_high(0.4298);
  for (const int64_t count : {0, 20, 480, 1'700, 2'000, 5'800}) bounds.add_counts(count);
  return bounds;
}

v1::Kernel KernelOf(const std::string& language, const std::string& source) {
  v1::Kernel kernel;
  kernel.set_language(language);
  kernel.set_entry("mdh_matmul");
  kernel.set_compiler("clang");
  kernel.add_compile_options("-O3");
  kernel.set_source(source);
  return kernel;
}

}  // namespace

const char* const kHostileText =
    "</script><script>window.hacked=1</script><img src=x onerror=\"window.hacked=2\">"
    "<!--{{SCRIPT}}'\"&\\u003c\n]]>";

JobReport SampleJob(int trials) {
  JobReport report;
  report.runs = {{Job(17, trials), Trials(17, trials)}};
  report.runs[0].job.set_record("records/2beda4df9aaa40d7b429ae383b70edaa");
  report.record = Record(report.runs[0].job, CpuParameters(14, 2, 32, "clang"));
  report.kernel = KernelOf("OpenMP C", "// Generated by mdhd.\nint mdh_matmul(void);\n");
  report.device.emplace();
  *report.device->mutable_description() = Cpu();
  *report.device->mutable_peaks() = CpuPeaks();
  report.bounds = Bounds();
  return report;
}

JobReport SampleRuns(int trials) {
  JobReport report = SampleJob(trials);
  for (uint64_t seed = 18; seed < 22; ++seed) {
    // Of different lengths.
    const int count = trials - static_cast<int>(seed - 17) * trials / 20;
    report.runs.push_back({Job(seed, count), Trials(seed, count)});
  }
  return report;
}

JobReport SampleGpuJob(int trials) {
  JobReport report = SampleJob(trials);
  v1::DeviceDescription device;
  device.set_kind(v1::DEVICE_KIND_CUDA);
  device.set_model("NVIDIA H100");
  device.set_cores(132);
  v1::BlockLimits& blocks = *device.mutable_blocks();
  blocks.set_multiprocessors(132);
  blocks.set_max_threads_per_block(1024);
  for (const int64_t extent : {1024, 1024, 64}) blocks.add_max_block(extent);
  for (const int64_t extent : {2147483647, 65535, 65535}) blocks.add_max_grid(extent);
  blocks.set_warp_size(32);
  blocks.set_shared_bytes_per_block(227 << 10);
  blocks.set_registers_per_thread(255);
  blocks.set_registers_per_block(65536);
  blocks.set_memory_bytes(int64_t{80} << 30);
  report.record->set_parameters(
      "model=CUDA; tile=16,32,256|16,32,256|4,1,32|1,1,1|1,1,1; "
      "order=(1,1)(1,2)(1,3)(3,1)(3,2)(3,3)(2,3)(4,3)(2,1)(2,2)(4,1)(4,2)(5,1)(5,2)(5,3); "
      "inputs=in_place:0,1:-1|in_place:0,1:-1; accumulate=registers; chains=one; compiler=gcc; "
      "assign=(1,1)(1,2)(1,3)|(2,2)(2,1)(2,3)|(3,2)(3,1)(3,3)|(4,2)(4,1)(4,3)|(5,2)(5,1)(5,3); "
      "memory=/0,0,0|1,1,0|0,0,0|1,1,1|1,1,1; copy=0:1:1|0:4:1; "
      "results=0,0,0|2,2,2|1,1,1|2,2,2|2,2,2; unroll=128");
  *report.record->mutable_device() = device;
  report.record->mutable_peaks()->set_fp32_flops_per_s(60e12);
  report.record->mutable_peaks()->set_fp64_flops_per_s(30e12);
  report.record->mutable_peaks()->set_memory_bytes_per_s(3.3e12);
  report.record->set_fits_in_cache(false);
  *report.device->mutable_description() = device;
  report.kernel = KernelOf("CUDA C++", "__global__ void mdh_matmul_0() {}\n");
  v1::KernelLaunch& launch = *report.kernel->add_launches();
  launch.set_function("mdh_matmul_0");
  for (const int64_t extent : {4, 4, 1}) launch.add_grid(extent);
  for (const int64_t extent : {16, 16, 1}) launch.add_block(extent);
  return report;
}

JobReport HostileJob() {
  JobReport report = SampleJob(40);
  v1::TuningJob& job = report.runs[0].job;
  job.set_expression_name(kHostileText);
  job.set_source(kHostileText);
  job.set_state(v1::TUNING_JOB_STATE_FAILED);
  job.mutable_error()->set_message(kHostileText);
  job.add_devices(kHostileText);
  for (v1::TuningTrial& trial : report.runs[0].trials) {
    trial.set_parameters(absl::StrCat(kHostileText, "=", trial.number() % 3, "; ",
                                      trial.parameters(), "; x=", kHostileText));
    if (trial.time_ns() > 0) continue;
    trial.set_outcome(kHostileText);
    trial.set_reason(kHostileText);
  }
  report.record->mutable_device()->set_model(kHostileText);
  report.kernel->set_source(kHostileText);
  report.kernel->set_entry(kHostileText);
  return report;
}

JobReport EmptyJob() {
  JobReport report;
  report.runs = {{Job(3, 0), {}}};
  report.runs[0].job.set_state(v1::TUNING_JOB_STATE_QUEUED);
  report.runs[0].job.clear_end_time();
  report.runs[0].job.set_source("unix:");  // somebody without a name
  return report;
}

CacheReport SampleCache(int records) {
  CacheReport report;
  report.server = "mdhd 0.1.0 at unix:/run/mdhd/mdhd.sock";
  report.made = "2026-11-22T09:00:00Z";
  for (int n = 0; n < records; ++n) {
    v1::TuningRecord record = Record(Job(n + 1, 100 + n), CpuParameters(14, 2, 32, "gcc"));
    record.set_name(absl::StrCat("records/", n));
    if (n % 4 == 1) record.set_expression_name(kHostileText);
    record.set_time_ns(79'000 + 3'000 * n);
    record.set_is_pinned(n % 5 == 0);
    report.records.push_back(record);
  }
  report.statistics.set_pinned_records((records + 4) / 5);
  report.statistics.set_trials(100 * records);
  report.statistics.set_database_bytes(40'000 * records);
  v1::LookupStatistics& lookups = *report.statistics.mutable_lookups();
  lookups.set_found(90'000);
  lookups.set_missed(1'200);
  for (int n = 0; n < 20; ++n) {
    v1::LatencyBucket& bucket = *lookups.add_latencies();
    bucket.set_at_most_ns(n < 19 ? int64_t{1000} << n : 0);
    bucket.set_calls(n < 3 || n > 9 ? 0 : 30'000 >> (n - 3));
  }
  return report;
}

}  // namespace mdh
