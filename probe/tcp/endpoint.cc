#include "probe/tcp/endpoint.h"

#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "base/control/limits.h"
#include "base/host/kernel_text.h"
#include "base/math/histogram.h"
#include "base/math/units.h"
#include "base/net/rtnetlink.h"
#include "base/net/socket.h"

namespace chokepoint::probe::tcp {
namespace {

net::TcpChrono difference(const net::TcpChrono& after, const net::TcpChrono& before) {
  return {.busy_us = after.busy_us - before.busy_us,
          .receive_window_us = after.receive_window_us - before.receive_window_us,
          .send_buffer_us = after.send_buffer_us - before.send_buffer_us};
}

constexpr std::string_view kNodes = "/sys/devices/system/node";

std::size_t node_count(const sys::Root& root) {
  const std::vector<std::string> names = root.list(kNodes);
  return static_cast<std::size_t>(std::ranges::count_if(names, [](const std::string& name) {
    return name.starts_with("node") && host::number_of(std::string_view(name).substr(4));
  }));
}

// The interface that has the connected socket's local address; 0 where none is found.
int interface_of(int fd) {
  const Result<net::Endpoint> local = net::local_endpoint(fd);
  const Result<net::AddressesByIndex> all = net::dump_addresses();
  if (!local || !all) {
    return 0;
  }
  const net::Address address = local->address.unmapped();
  const auto found = std::ranges::find_if(*all, [&](const auto& each) {
    return std::ranges::find(each.second, address, &net::InterfaceAddress::address) !=
           each.second.end();
  });
  return found == all->end() ? 0 : found->first;
}

std::string name_of_interface(int index) {
  std::array<char, IF_NAMESIZE> name{};
  return if_indextoname(static_cast<unsigned>(index), name.data()) == nullptr ? "" : name.data();
}

std::vector<int> cpus_near(int fd, const sys::Root& root) {
  return node_count(root) < 2 ? std::vector<int>()
                              : cpus_near_interface(name_of_interface(interface_of(fd)), root);
}

// A bond or a VLAN has no queue of its own: what paces it is not known here.
bool is_upon_another(int interface, const sys::Root& root) {
  const auto entries = root.list("/sys/class/net/" + name_of_interface(interface));
  return std::ranges::any_of(entries,
                             [](const std::string& entry) { return entry.starts_with("lower_"); });
}

// fq takes the pacing over from TCP for every socket whose packets come to it.
std::optional<Pacing> pacing_of(int fd, const sys::Root& root) {
  const Result<net::QdiscsByIndex> all = net::dump_qdiscs();
  const int interface = interface_of(fd);
  if (!all || interface == 0) {
    return std::nullopt;
  }
  const auto found = all->find(interface);
  if (found != all->end() && std::ranges::find(found->second, "fq") != found->second.end()) {
    return Pacing::Fq;
  }
  return is_upon_another(interface, root) ? std::nullopt : std::optional(Pacing::Timer);
}

StreamPlan plan_of(const Parameters& parameters, Role role, int index,
                   const std::vector<int>& cpus) {
  StreamPlan plan{.role = role,
                  .index = index,
                  .time_ns = (parameters.time + parameters.omit).count(),
                  .zero_copy = parameters.zero_copy,
                  .cpus = cpus};
  if (parameters.bytes) {
    // The first streams take the remainder.
    const auto streams = static_cast<std::uint64_t>(parameters.streams);
    const std::uint64_t number = static_cast<std::uint64_t>(index) % streams;
    plan.bytes = *parameters.bytes / streams + (number < *parameters.bytes % streams ? 1 : 0);
  }
  return plan;
}

std::optional<host::CoreTimes> read_cores(const sys::Root& root) {
  Result<host::CoreTimes> cores = host::read_core_times(root);
  return cores ? std::optional(*std::move(cores)) : std::nullopt;
}

double in_seconds(std::int64_t ns) { return static_cast<double>(ns) / math::kNsPerSecond; }

}  // namespace

// Watches one stream from outside its thread: what it has moved, and what the kernel reports of its
// connection.
class StreamWatch {
 public:
  // `begun_ns`: when the test began at this end.
  StreamWatch(const Stream& stream, std::int64_t begun_ns, std::int64_t omit_ns)
      : stream_(stream), begun_ns_(begun_ns), omit_until_ns_(begun_ns + omit_ns) {
    if (omit_ns == 0) {
      begin_measuring(begun_ns);
    }
  }

  void tick(std::int64_t now_ns) {
    if (!start_ns_ && now_ns >= omit_until_ns_) {
      begin_measuring(now_ns);
    }
    if (!start_ns_ || stream_.counters().data_done_ns != 0) {
      return;
    }
    if (const Result<net::TcpInfo> info = net::read_tcp_info(stream_.descriptor())) {
      note(*info, now_ns);
      ++samples_;
      starved_samples_ += sends() && starved_by_buffer(*info) ? 1 : 0;
    }
  }

  bool done() const { return stream_.counters().done; }
  const Stream& stream() const { return stream_; }

  // Since the last call of this function.
  struct Change {
    std::uint64_t bytes = 0;
    std::optional<std::uint64_t> retransmits = {};
    std::optional<std::uint64_t> cwnd_bytes = {};
    std::optional<double> rtt_ms = {};
  };
  Change change() {
    const std::uint64_t bytes = stream_.counters().bytes;
    Change change{.bytes = bytes - std::exchange(bytes_reported_, bytes)};
    if (info_) {
      change.rtt_ms = info_->rtt_ms;
    }
    if (info_ && sends()) {
      change.retransmits =
          info_->retransmits - std::exchange(retransmits_reported_, info_->retransmits);
      change.cwnd_bytes = info_->congestion_window_bytes();
    }
    return change;
  }

  StreamMeasure measure() const {
    const StreamCounters& counters = stream_.counters();
    StreamMeasure measure{.role = stream_.plan().role, .index = stream_.plan().index};
    measure.total_bytes = counters.bytes;
    measure.bytes = start_ns_ ? measure.total_bytes - bytes_before_ : 0;
    const std::int64_t start = std::max(start_ns_.value_or(begun_ns_), counters.first_ns.load());
    const std::int64_t end = std::max(counters.last_ns.load(), start);
    measure.start_s = in_seconds(std::max(start - begun_ns_, std::int64_t{0}));
    measure.end_s = in_seconds(std::max(end - begun_ns_, std::int64_t{0}));
    measure.rtt_ms = rtt_ns_->distribution(math::kNsPerMs);
    measure.congestion = net::congestion_of(stream_.descriptor()).value_or("");
    if (info_) {
      measure.min_rtt_ms = info_->min_rtt_ms;
      measure.mss_bytes = info_->mss_bytes;
    }
    if (info_ && info_before_ && sends()) {
      // What was retransmitted while the rest drained counts as well.
      const net::TcpInfo last = net::read_tcp_info(stream_.descriptor()).value_or(*info_);
      measure.retransmits =
          std::max(last.retransmits, info_->retransmits) - info_before_->retransmits;
      measure.max_cwnd_bytes = max_cwnd_bytes_;
      measure.send_window_bytes = max_send_window_bytes_;
      measure.starved_share =
          samples_ == 0 ? 0 : static_cast<double>(starved_samples_) / static_cast<double>(samples_);
      // The stream ended before its second sample: the counters at the end replace it.
      const bool too_short = info_ns_ <= *start_ns_;
      const auto& chrono = too_short ? last.chrono : info_->chrono;
      if (chrono && info_before_->chrono) {
        measure.chrono = difference(*chrono, *info_before_->chrono);
        measure.chrono_us = ((too_short ? end : info_ns_) - *start_ns_) / 1000;
      }
    }
    const std::int64_t until = counters.data_done_ns != 0 ? counters.data_done_ns.load() : end;
    measure.cpu_percent = until > begun_ns_ ? 100.0 * static_cast<double>(counters.cpu_ns) /
                                                  static_cast<double>(until - begun_ns_)
                                            : 0;
    const int code = counters.error;
    measure.error = code == 0 ? "" : std::generic_category().message(code);
    return measure;
  }

 private:
  bool sends() const { return stream_.plan().role == Role::Send; }
  void begin_measuring(std::int64_t now_ns) {
    start_ns_ = now_ns;
    bytes_before_ = stream_.counters().bytes;
    info_before_ = net::read_tcp_info(stream_.descriptor()).value_or(net::TcpInfo{});
    // Retransmissions until now belong to the omitted start.
    retransmits_reported_ = info_before_->retransmits;
    note(*info_before_, now_ns);
  }

  void note(const net::TcpInfo& info, std::int64_t now_ns) {
    info_ = info;
    info_ns_ = now_ns;
    max_cwnd_bytes_ = std::max(max_cwnd_bytes_, info.congestion_window_bytes());
    max_send_window_bytes_ =
        std::max(max_send_window_bytes_, std::uint64_t{info.send_window_bytes.value_or(0)});
    if (info.rtt_ms) {
      rtt_ns_->add(static_cast<std::uint64_t>(*info.rtt_ms * math::kNsPerMs));
    }
  }

  // Everything is in flight, the congestion and the receive window have room, and the buffer is as
  // full as the kernel lets it get: it wakes a writer once a third is free.
  bool starved_by_buffer(const net::TcpInfo& info) const {
    constexpr double kMaxWindowUse = 0.9;  // above it a window has no room
    constexpr double kMinBufferUse = 0.6;  // less than math::kSendBufferShare: it is never exact
    const Result<net::SendMemory> memory = net::read_send_memory(stream_.descriptor());
    const double in_flight = info.in_flight_segments;
    return memory && info.unsent_bytes.value_or(~0U) < info.mss_bytes &&
           in_flight < kMaxWindowUse * info.congestion_window_segments &&
           in_flight * info.mss_bytes < kMaxWindowUse * info.send_window_bytes.value_or(0) &&
           memory->queued_bytes > kMinBufferUse * memory->limit_bytes;
  }

  const Stream& stream_;
  std::int64_t begun_ns_;
  std::int64_t omit_until_ns_;
  // When measuring began; nullopt while data is still omitted.
  std::optional<std::int64_t> start_ns_;
  std::uint64_t bytes_before_ = 0;
  std::optional<net::TcpInfo> info_before_;
  std::optional<net::TcpInfo> info_;  // the last sample while data moved
  std::int64_t info_ns_ = 0;
  std::uint64_t samples_ = 0;
  std::uint64_t starved_samples_ = 0;
  std::uint64_t bytes_reported_ = 0;
  std::uint64_t retransmits_reported_ = 0;
  std::uint64_t max_cwnd_bytes_ = 0;
  std::uint64_t max_send_window_bytes_ = 0;
  std::unique_ptr<math::Histogram> rtt_ns_ = std::make_unique<math::Histogram>();
};

std::vector<int> cpus_near_interface(const std::string& interface, const sys::Root& root) {
  const auto node = root.number(fmt::format("/sys/class/net/{}/device/numa_node", interface));
  if (interface.empty() || node_count(root) < 2 || !node || *node < 0) {
    return {};
  }
  return host::cpus_of(root.text(fmt::format("{}/node{}/cpulist", kNodes, *node)).value_or(""));
}

Result<std::unique_ptr<Endpoint>> Endpoint::make(std::vector<Connection> connections,
                                                 const Parameters& parameters,
                                                 const sys::Root& root) {
  TRY(Payload payload, Payload::make());
  std::unique_ptr<Endpoint> endpoint(new Endpoint(parameters, std::move(payload), root));
  const auto sender = std::ranges::find(connections, Role::Send, &Connection::role);
  if (parameters.pace_bits_per_s && sender != connections.end()) {
    endpoint->pacing_ = pacing_of(sender->fd.get(), root);
  }
  const std::vector<int> cpus =
      connections.empty() ? std::vector<int>() : cpus_near(connections.front().fd.get(), root);
  for (Connection& connection : connections) {
    const auto index = static_cast<int>(endpoint->streams_.size());
    endpoint->streams_.push_back(std::make_unique<Stream>(
        std::move(connection.fd), plan_of(parameters, connection.role, index, cpus),
        endpoint->payload_));
  }
  return endpoint;
}

Endpoint::Endpoint(const Parameters& parameters, Payload payload, sys::Root root)
    : parameters_(parameters), payload_(std::move(payload)), root_(std::move(root)) {}

Endpoint::~Endpoint() { abort(); }

Result<> Endpoint::begin() {
  cores_before_ = read_cores(root_);
  begun_ns_ = monotonic_ns();
  interval_began_ns_ = begun_ns_;
  next_interval_ns_ = begun_ns_ + parameters_.interval.count();
  for (const auto& stream : streams_) {
    watches_.push_back(std::make_unique<StreamWatch>(*stream, begun_ns_, parameters_.omit.count()));
    TRY(stream->start());
  }
  return {};
}

void Endpoint::tick(const OnInterval& on_interval) {
  const std::int64_t now = monotonic_ns();
  for (const auto& watch : watches_) {
    watch->tick(now);
  }
  const bool last = done();
  if (last && !cores_after_) {
    cores_after_ = read_cores(root_);
  }
  if (now >= next_interval_ns_ || last) {
    end_interval(now, on_interval);
    while (next_interval_ns_ <= now) {
      next_interval_ns_ += parameters_.interval.count();
    }
  }
}

void Endpoint::end_interval(std::int64_t now_ns, const OnInterval& on_interval) {
  for (const Role role : {Role::Send, Role::Receive}) {
    if (const std::optional<IntervalMeasure> measured = interval(role, now_ns)) {
      if (intervals_.size() < control::kMaxIntervalsKept) {
        intervals_.push_back(*measured);
      }
      on_interval(*measured);
    }
  }
  interval_began_ns_ = now_ns;
}

std::optional<IntervalMeasure> Endpoint::interval(Role role, std::int64_t now_ns) {
  std::optional<IntervalMeasure> sum;
  double rtt_sum = 0;
  int rtt_count = 0;
  std::int64_t end_ns = interval_began_ns_;
  for (const auto& watch : watches_) {
    if (watch->stream().plan().role != role) {
      continue;
    }
    sum = sum ? sum : IntervalMeasure{.role = role};
    const StreamWatch::Change change = watch->change();
    sum->bytes += change.bytes;
    if (change.retransmits) {
      sum->retransmits = sum->retransmits.value_or(0) + *change.retransmits;
      sum->cwnd_bytes = sum->cwnd_bytes.value_or(0) + change.cwnd_bytes.value_or(0);
    }
    if (change.rtt_ms) {
      rtt_sum += *change.rtt_ms;
      ++rtt_count;
    }
    const std::int64_t over = watch->stream().counters().data_done_ns;
    end_ns = std::max(end_ns, over == 0 ? now_ns : over);
  }
  if (!sum || (sum->bytes == 0 && end_ns <= interval_began_ns_)) {
    return std::nullopt;
  }
  sum->start_s = in_seconds(interval_began_ns_ - begun_ns_);
  sum->end_s = in_seconds(std::min(end_ns, now_ns) - begun_ns_);
  if (rtt_count > 0) {
    sum->rtt_ms = rtt_sum / rtt_count;
  }
  return sum;
}

bool Endpoint::done() const {
  return std::ranges::all_of(watches_, [](const auto& watch) { return watch->done(); });
}

void Endpoint::stop() {
  for (const auto& stream : streams_) {
    stream->stop();
  }
}

void Endpoint::abort() {
  for (const auto& stream : streams_) {
    stream->abort();
  }
}

HostMeasure Endpoint::host() const {
  const auto cores =
      cores_before_ && cores_after_ ? host::busiest(*cores_before_, *cores_after_) : std::nullopt;
  HostMeasure measure{.pacing = pacing_};
  if (cores) {
    measure.softirq_percent = cores->softirq_percent;
    measure.softirq_core = cores->softirq_core;
    measure.busiest_core_percent = cores->busy_percent;
  }
  return measure;
}

Half Endpoint::half() const {
  Half half{.intervals = intervals_, .host = host()};
  for (const auto& watch : watches_) {
    half.streams.push_back(watch->measure());
    half.host.cpu_percent += half.streams.back().cpu_percent;
  }
  return half;
}

}  // namespace chokepoint::probe::tcp
