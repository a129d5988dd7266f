#include "capture/counter/rdma_sampler.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/host/kernel_text.h"
#include "base/record/names.h"

namespace chokepoint::capture::counter {
namespace {

constexpr std::string_view kRdmaFolder = "/sys/class/infiniband";

std::string unit_name(std::string_view common) {
  return common.ends_with("_bytes") ? "bytes" : common.ends_with("_packets") ? "packets" : "count";
}

}  // namespace

// Queue pairs' counters are 32 bits wide on some cards, whatever the file shows. Those of data,
// which count in words, have 64 or stop at their end.
void RdmaSampler::keep(std::vector<host::RdmaCounter> found, const std::string& subject,
                       Sink& sink) {
  for (host::RdmaCounter& each : found) {
    Counter& counter =
        sink.counter({fmt::format("{}{}", record::kRdmaPrefix, each.name), subject,
                      unit_name(each.name), each.files.front()},
                     Keep::OnceChanged, each.unit > 1 ? Wrap::Never : Wrap::At32Bits);
    sources_.push_back({std::move(each), &counter});
  }
}

void RdmaSampler::find(Sink& sink) {
  sources_.clear();
  for (const std::string& device : root_.list(kRdmaFolder)) {
    for (const std::string& port : root_.list(fmt::format("{}/{}/ports", kRdmaFolder, device))) {
      if (const std::optional<std::int64_t> number = host::number_of(port)) {
        keep(host::find_rdma_counters(root_, device, static_cast<int>(*number)),
             fmt::format("{}/{}", device, port), sink);
      }
    }
    keep(host::find_rdma_counters(root_, device), device, sink);
  }
}

void RdmaSampler::sample(const Moment& moment, Sink& sink) {
  if (found_ns_ == INT64_MIN || moment.now_ns - found_ns_ >= kFindAgainNs) {
    find(sink);
    found_ns_ = moment.now_ns;
  }
  for (const Source& source : sources_) {
    if (const std::optional<std::uint64_t> raw = host::read_raw(root_, source.read)) {
      source.counter->see(moment.now_ns, *raw * source.read.unit);
    }
  }
}

}  // namespace chokepoint::capture::counter
