#include "capture/counter/process_sampler.h"

#include <fmt/format.h>

#include "base/record/names.h"
#include "capture/counter/process_stat.h"

namespace chokepoint::capture::counter {
namespace {

constexpr double kProcessMemoryToleranceBytes = 4 << 20;
constexpr std::size_t kMostOpenProcessFiles = 64;
constexpr const char* kOwnStat = "/proc/self/stat";

}  // namespace

ProcessSampler::Known& ProcessSampler::known(const job::JobProcess& process, Sink& sink) {
  const auto found = known_.find(process.pid);
  if (found != known_.end() && found->second.start_ticks == process.start_ticks) {
    return found->second;
  }
  const std::string subject = std::to_string(process.pid);
  const std::string source = fmt::format("/proc/{}/stat", process.pid);
  Known fresh{
      .start_ticks = process.start_ticks,
      .stat = KeptFile(root_, source, known_.size() < kMostOpenProcessFiles),
      .cpu = &sink.counter({std::string(record::kProcessCpu), subject, "ns", source}, Keep::Always),
      .memory = &sink.level({std::string(record::kProcessMemory), subject, "bytes", source},
                            kProcessMemoryToleranceBytes)};
  fresh.cpu->restart();
  return known_.insert_or_assign(process.pid, std::move(fresh)).first->second;
}

void ProcessSampler::look_at(const job::JobProcess& process, std::int64_t now_ns, Sink& sink) {
  Known& known = this->known(process, sink);
  known.seen_ns = now_ns;
  const Result<std::string_view> text = known.stat.read(buffer_);
  if (const auto stat = text ? process_stat_in(*text) : std::nullopt) {
    known.cpu->see(now_ns, stat->cpu_ns);
    known.memory->see(now_ns, static_cast<double>(stat->memory_bytes));
  }
}

void ProcessSampler::sample(const Moment& moment, Sink& sink) {
  for (const job::JobProcess& process : moment.processes) {
    look_at(process, moment.now_ns, sink);
  }
  std::erase_if(known_, [&](const auto& entry) { return entry.second.seen_ns != moment.now_ns; });
}

void OwnSampler::sample(const Moment& moment, Sink& sink) {
  const Result<std::string_view> text = stat_.read(buffer_);
  const std::optional<ProcessStat> stat = text ? process_stat_in(*text) : std::nullopt;
  if (!stat) {
    sink.remark("chokepoint's own cost: no /proc/self/stat");
    return;
  }
  sink.counter({std::string(record::kOwnCpu), "", "ns", kOwnStat}, Keep::Always)
      .see(moment.now_ns, stat->cpu_ns);
  sink.level({std::string(record::kOwnMemory), "", "bytes", kOwnStat}, kProcessMemoryToleranceBytes)
      .see(moment.now_ns, static_cast<double>(stat->memory_bytes));
  if (!first_ns_) {
    first_ns_ = moment.now_ns;
    first_cpu_ns_ = stat->cpu_ns;
  } else if (moment.now_ns > *first_ns_) {
    percent_ = 100.0 * static_cast<double>(stat->cpu_ns - first_cpu_ns_) /
               static_cast<double>(moment.now_ns - *first_ns_);
  }
}

void OwnSampler::tell(Figures& figures) const { figures.own_cpu_percent = percent_; }

}  // namespace chokepoint::capture::counter
