#include "tests/analysis/run_maker.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/record/database.h"
#include "base/record/row.h"

namespace chokepoint::analysis {
namespace {

using record::Figure;

constexpr std::int64_t kPacketBytes = 1448;
constexpr std::int64_t kHeaderBytes = 66;  // Ethernet, IPv4, TCP with timestamps

// A test that cannot make its record has failed.
template <class T>
T must(Result<T> result) {
  if (!result) {
    throw std::runtime_error(describe(result.error()));
  }
  if constexpr (!std::is_void_v<T>) {
    return std::move(*result);
  }
}

struct EndPoint {
  std::string address;
  std::int64_t port = 0;
};

EndPoint end_of_text(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::string address = text.substr(0, colon);
  if (address.starts_with('[')) {
    address = address.substr(1, address.size() - 2);
  }
  return {address, std::stoll(text.substr(colon + 1))};
}

// Between the first and the last, where that column only grows.
record::SocketSample between(const Sockets& sockets, double part) {
  record::SocketSample sample = sockets.last;
  each_field<record::SocketSample>([&](const auto& field) {
    if constexpr (std::is_same_v<decltype(sample.*(field.member)), Figure&>) {
      const Figure first = sockets.first.*(field.member);
      const Figure last = sockets.last.*(field.member);
      if (field.fold == Fold::Last && first.known() && last.known()) {
        const auto grown = static_cast<double>(last.value() - first.value()) * part;
        sample.*(field.member) = first.value() + static_cast<std::int64_t>(grown);
      }
    }
  });
  return sample;
}

void grow(Figure& sum, Figure more) { sum = sum.value_or(0) + more.value_or(0); }

}  // namespace

NodeMaker::NodeMaker(const std::filesystem::path& folder, NodePlan plan)
    : plan_(std::move(plan)),
      host_(fakes::HostTree::from_text(fmt::format("/proc/sys/kernel/hostname = {0}\n"
                                                   "/proc/sys/kernel/osrelease = 6.1.0\n"
                                                   "/proc/sys/kernel/random/boot_id = boot-{0}\n",
                                                   plan_.name))) {
  clock_.monotonic = plan_.start_ns;
  clock_.wall = plan_.wall_ns;
  writer_ = must(record::Writer::open(
      {.folder = folder, .node = plan_.name, .role = "run", .command = plan_.command}, host_.root(),
      clock_));
  producer_.emplace(writer_->producer("made"));
  describe_interface("lo", "loopback", "127.0.0.1/8", 0);
  describe_interface(plan_.interface, "physical", plan_.address + "/24", plan_.speed_mbps);
  if (plan_.rank) {
    process_ = process(*plan_.rank);
  }
}

void NodeMaker::describe_interface(const std::string& name, const std::string& kind,
                                   const std::string& address, double speed_mbps) {
  fact("nic", name, "kind", kind);
  fact("nic", name, "operstate", "up");
  fact("nic", name, "enabled", "true");
  fact("nic", name, "carrier", "true");
  if (speed_mbps > 0) {
    fact("nic", name, "speed_mbps", fmt::format("{:.0f}", speed_mbps));
  }
  fact("nic", name, address.find(':') == std::string::npos ? "address_ipv4" : "address_ipv6",
       address);
}

std::int64_t NodeMaker::process(std::int64_t rank) {
  return writer_->add(record::Process{.pid = 1000 + rank,
                                      .command = plan_.command.front(),
                                      .rank = rank,
                                      .world_size = plan_.world_size,
                                      .start_ns = plan_.start_ns});
}

std::int64_t NodeMaker::flow(const std::string& a, const std::string& b, Figure process) {
  const EndPoint first = end_of_text(a);
  const EndPoint second = end_of_text(b);
  const bool is_a = first.address == plan_.address;
  const bool is_b = second.address == plan_.address;
  return writer_->add(record::Flow{.protocol = "tcp",
                                   .a_address = first.address,
                                   .a_port = first.port,
                                   .b_address = second.address,
                                   .b_port = second.port,
                                   .local_end = is_a == is_b ? Figure() : Figure(is_a ? 0 : 1),
                                   .process = process.known() ? process : process_,
                                   .interface = is_a && is_b ? "lo" : plan_.interface,
                                   .start_ns = plan_.start_ns,
                                   .handshake_seen = 1});
}

void NodeMaker::traffic(std::int64_t flow, record::Direction direction, const Traffic& traffic) {
  record::FlowTotal& total = totals_[{flow, direction}];
  total.flow = flow;
  total.direction = direction;
  const auto payload = static_cast<std::int64_t>(traffic.bytes_per_s * traffic.bin_ms / 1e3);
  const std::int64_t packets = (payload + kPacketBytes - 1) / kPacketBytes;
  for (double ms = traffic.from_ms; ms < traffic.to_ms; ms += traffic.bin_ms) {
    record::FlowSample sample = traffic.like;
    sample.t_ns = at_ms(ms + traffic.bin_ms);
    sample.bin_ns = static_cast<std::int64_t>(traffic.bin_ms * static_cast<double>(kMsNs));
    sample.flow = flow;
    sample.direction = direction;
    sample.packets = packets;
    sample.payload_bytes = payload;
    sample.bytes = payload + packets * kHeaderBytes;
    push(sample);
    grow(total.packets, sample.packets);
    grow(total.bytes, sample.bytes);
    grow(total.payload_bytes, sample.payload_bytes);
    grow(total.retransmitted_packets, sample.retransmitted_packets);
    grow(total.retransmitted_bytes, sample.retransmitted_bytes);
  }
}

void NodeMaker::sockets(std::int64_t flow, record::Direction direction, const Sockets& sockets) {
  const double length = sockets.to_ms - sockets.from_ms;
  for (double ms = sockets.from_ms; ms <= sockets.to_ms; ms += sockets.every_ms) {
    record::SocketSample sample =
        between(sockets, length > 0 ? (ms - sockets.from_ms) / length : 1);
    sample.t_ns = at_ms(ms);
    sample.flow = flow;
    sample.direction = direction;
    push(sample);
  }
}

void NodeMaker::steps(const StepPlan& steps) {
  const Figure own = plan_.rank ? Figure(*plan_.rank) : Figure();
  for (std::int64_t number = 0; number < steps.count; ++number) {
    const double start = steps.from_ms + static_cast<double>(number) * steps.length_ms;
    push(record::Step{.start_ns = at_ms(start),
                      .end_ns = at_ms(start + steps.length_ms),
                      .number = number,
                      .rank = steps.rank.known() ? steps.rank : own,
                      .source = steps.source});
  }
}

std::int64_t NodeMaker::series(const std::string& name, const std::string& subject,
                               record::SeriesKind kind) {
  return writer_->add(record::Series{.name = name, .subject = subject, .kind = kind});
}

void NodeMaker::counter(const std::string& name, const std::string& subject,
                        const std::vector<Value>& values) {
  const std::int64_t id = series(name, subject, record::SeriesKind::Counter);
  for (const Value& value : values) {
    push(record::CounterSample{.t_ns = at_ms(value.ms),
                               .bin_ns = at_ms(value.bin_ms) - at_ms(0),
                               .series = id,
                               .value = value.value,
                               .peak_per_s = value.peak});
  }
}

void NodeMaker::gauge(const std::string& name, const std::string& subject,
                      const std::vector<Value>& values) {
  const std::int64_t id = series(name, subject, record::SeriesKind::Gauge);
  for (const Value& value : values) {
    push(record::GaugeSample{.t_ns = at_ms(value.ms),
                             .bin_ns = at_ms(value.bin_ms) - at_ms(0),
                             .series = id,
                             .value = value.value,
                             .peak = value.peak});
  }
}

void NodeMaker::fact(const std::string& category, const std::string& subject,
                     const std::string& key, const std::string& value) {
  writer_->add(record::Fact{.category = category, .subject = subject, .key = key, .value = value});
}

void NodeMaker::event(double ms, std::string_view kind, const std::string& subject,
                      const std::string& detail) {
  writer_->add(record::Event{
      .t_ns = at_ms(ms), .kind = std::string(kind), .subject = subject, .detail = detail});
}

void NodeMaker::finish() {
  if (!writer_) {
    return;
  }
  for (const auto& [key, total] : totals_) {
    writer_->add(total);
  }
  producer_.reset();
  clock_.advance(at_ms(plan_.length_ms) - plan_.start_ns);
  writer_->close(plan_.exit_status);
  const std::filesystem::path path = writer_->path();
  writer_.reset();
  if (!plan_.is_ended) {
    record::Database database = must(record::Database::open(path, record::Access::Write));
    must(database.run("UPDATE session SET end_ns=NULL, exit_status=NULL"));
  }
}

NodeMaker& RunMaker::node(const NodePlan& plan) {
  return *nodes_.emplace_back(std::make_unique<NodeMaker>(folder_.path(), plan));
}

void RunMaker::finish() {
  for (const auto& node : nodes_) {
    node->finish();
  }
}

RunData RunMaker::load(const LoadLimits& limits) {
  finish();
  record::Run run = must(record::open_run(folder_.path()));
  return load_run(run, limits);
}

}  // namespace chokepoint::analysis
