#include "capture/counter/gpu_sampler.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/host/gpu.h"
#include "base/record/names.h"
#include "capture/counter/gpu_rows.h"

namespace chokepoint::capture::counter {
void GpuSampler::note_users(const GpuReading& gpu, const Moment& moment, Sink& sink) {
  for (const std::uint64_t pid : gpu.pids) {
    const bool is_user = std::ranges::any_of(moment.processes, [&](const auto& process) {
      return static_cast<std::uint64_t>(process.pid) == pid;
    });
    if (is_user && users_.emplace(gpu.address, pid).second) {
      sink.event(moment.now_ns, record::kGpuProcess, gpu.address,
                 fmt::format(R"({{"pid":{}}})", pid));
    }
  }
}

void GpuSampler::note_throttling(const GpuReading& gpu, std::int64_t t_ns, Sink& sink) {
  if (gpu.throttle_reasons) {
    throttles_.try_emplace(gpu.address, gpu.address)
        .first->second.see(t_ns, *gpu.throttle_reasons, sink);
  }
}

// Of the job's GPUs, or of all where none of them is known.
bool GpuSampler::is_of_job(const GpuReading& gpu) const {
  return users_.empty() ||
         std::ranges::any_of(users_, [&](const auto& user) { return user.first == gpu.address; });
}

void GpuSampler::sum_up(const GpuReadings& readings) {
  double sum = 0;
  int count = 0;
  slowed_.clear();
  for (const GpuReading& gpu : readings.gpus) {
    if (is_of_job(gpu) && gpu.busy_percent) {
      sum += *gpu.busy_percent;
      ++count;
    }
    for (const host::ThrottleReason& reason : host::throttle_reasons()) {
      if (is_of_job(gpu) && gpu.throttle_reasons && reason.slows) {
        slowed_[std::string(reason.name)] += (*gpu.throttle_reasons & reason.bit) != 0 ? 1 : 0;
      }
    }
  }
  percent_ = count > 0 ? std::optional(sum / count) : std::nullopt;
}

void GpuSampler::sample(const Moment& moment, Sink& sink) {
  if (const std::optional<Error> problem = watch_->problem()) {
    sink.remark("GPUs: " + (problem->kind == ErrorKind::NotFound ? "no NVIDIA driver on this host"
                                                                 : describe(*problem)));
    return;
  }
  const std::optional<GpuReadings> readings = watch_->newest();
  if (!readings) {
    return;
  }
  for (const GpuReading& gpu : readings->gpus) {
    write_rows(gpu, readings->t_ns, before_ns_ > 0 ? readings->t_ns - before_ns_ : 0, sink);
    note_throttling(gpu, readings->t_ns, sink);
    note_users(gpu, moment, sink);
  }
  sum_up(*readings);
  before_ns_ = readings->t_ns;
}

void GpuSampler::tell(Figures& figures) const {
  figures.gpu_percent = percent_;
  figures.slowed_gpus = slowed_;
}

}  // namespace chokepoint::capture::counter
