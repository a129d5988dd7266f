// What /proc and /sys say of the job's processes and of this host while the job runs: whatever
// stands in one of their files, processes are found or not, and the samplers that
// read these files take their readings. (What devices say: host_files.)
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/record/writer.h"
#include "capture/counter/sampler.h"
#include "capture/counter/series.h"
#include "capture/job/process.h"
#include "capture/job/roster.h"
#include "tests/fakes/host_tree.h"
#include "tests/fakes/manual_clock.h"

namespace {

using namespace chokepoint;
using namespace chokepoint::capture;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr int kPid = 42;

// As the kernel of the fixture's host writes them while a process of the job runs.
struct Place {
  const char* path;
  const char* content;
};
constexpr auto kPlaces = std::to_array<Place>({
    {"/proc/stat", "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n"},
    {"/proc/net/dev", "Inter-|\n face |\n  eth0: 1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n"},
    {"/proc/net/softnet_stat", "00000001 00000002 00000003 0 0 0 0 0 0 0 0 0 00000000\n"},
    {"/proc/net/netstat", "TcpExt: SyncookiesSent TCPTimeouts\nTcpExt: 1 2\n"},
    {"/proc/net/snmp", "Tcp: RetransSegs InSegs\nTcp: 1 2\n"},
    {"/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\n"},
    {"/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\n"},
    {"/proc/uptime", "100.00 200.00\n"},
    {"/proc/42/stat",
     "42 (python3) S 1 42 42 0 -1 0 0 0 0 0 1 2 0 0 20 0 3 0 500 1000 10 0 1 2 3 4 5 0 0 0 0 0 0 "
     "0 17 1 0 0 0 0 0 1 2 3 4 5 6 0\n"},
    {"/proc/42/status", "Name:\tpython3\nThreads:\t2\nVmRSS:\t 10 kB\n"},
    {"/proc/42/cmdline", "python3"},
    {"/proc/42/environ", "RANK=0"},
    {"/proc/42/cgroup", "0::/job\n"},
    {"/proc/42/io", "rchar: 1\nwchar: 2\n"},
    {"/proc/42/schedstat", "1 2 3\n"},
    {"/proc/42/task/42/stat", "42 (python3) S 1 42 42 0 -1 0 0 0 0 0 1 2 0 0 20 0 3 0 500\n"},
    {"/proc/42/task/42/schedstat", "1 2 3\n"},
    {"/proc/42/task/42/comm", "python3\n"},
    {"/proc/42/task/42/children", ""},
    {"/sys/fs/cgroup/job/cgroup.procs", "42\n"},
    {"/sys/class/net/eth0/speed", "10000\n"},
    {"/sys/class/net/eth0/carrier_changes", "2\n"},
    {"/proc/self/stat", "9 (chokepoint) S 1 9 9 0 -1 0 0 0 0 0 1 2 0 0 20 0 3 0 500 1000 10\n"},
    {"/proc/self/cgroup", "0::/job\n"},
});

class Host {
 public:
  Host() : tree_(fakes::HostTree::from_fixture("e810-gen3-x8")) {
    for (const Place& place : kPlaces) tree_.write(place.path, place.content);
    clock_.monotonic = 100 * kSecond;
    auto writer = record::Writer::open(
        {.folder = folder_, .node = "fuzz", .role = "run", .command = {"train"}}, tree_.root(),
        clock_);
    if (!writer) std::abort();
    writer_ = *std::move(writer);
    sink_.emplace(*writer_);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() {
    sink_.reset();
    writer_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void look(const Place& place, std::string_view content) {
    tree_.write(place.path, content);
    follow_job();
    sample();
    tree_.write(place.path, place.content);
  }

 private:
  void follow_job() const {
    for (job::Selection selection : {job::Selection{.pid = kPid}, {.cgroup = "/job"}}) {
      job::Roster roster(tree_.root(), std::move(selection), nullptr);
      roster.refresh(100 * kSecond);
      roster.refresh(101 * kSecond);
    }
  }

  void sample() {
    const sys::Root root = tree_.root();
    std::vector<counter::OwnedSampler> samplers;
    for (const auto make :
         {counter::nic_sampler, counter::cpu_sampler, counter::pressure_sampler,
          counter::protocol_sampler, counter::softnet_sampler, counter::process_sampler,
          counter::own_sampler, counter::thread_sampler}) {
      samplers.push_back(make(root));
    }
    counter::Figures figures;
    for (const std::int64_t now_ns : {100 * kSecond, 101 * kSecond}) {
      for (const auto& sampler : samplers) {
        sampler->sample({now_ns, processes_}, *sink_);
        sampler->report(figures);
      }
    }
  }

  fakes::HostTree tree_;
  fakes::ManualClock clock_;
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("chokepoint-fuzz-job-" + std::to_string(getpid()));
  job::JobProcesses processes_{{.pid = kPid, .parent = 1, .command = "python3"}};
  std::unique_ptr<record::Writer> writer_;
  std::optional<counter::Sink> sink_;
};

}  // namespace

// The input is which file, and what stands in it.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  static Host host;
  const std::string_view content(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::ignore = job::parse_stat(content);
  host.look(kPlaces.at(data[0] % kPlaces.size()), content);
  return 0;
}
