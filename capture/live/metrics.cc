#include "capture/live/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/math/units.h"
#include "base/metrics/series_metric.h"
#include "base/net/address.h"
#include "base/net/page_server.h"
#include "base/net/resolver.h"
#include "base/net/socket.h"
#include "base/sys/number.h"
#include "capture/live/line.h"

namespace chokepoint::capture::live {
namespace {

using metrics::Labels;
using metrics::MetricText;

constexpr double kMsPerSecond = 1e3;

double number(std::uint64_t value) { return static_cast<double>(value); }

std::optional<double> divided(const std::optional<double>& value, double by) {
  return value ? std::optional(*value / by) : std::nullopt;
}

Labels info_labels(const Figures& figures) {
  Labels labels{{"version", figures.program_version},
                {"node", figures.node},
                {"volume_source", figures.volume_source}};
  metrics::add_run_labels(labels, figures.labels);
  return labels;
}

void add_run(MetricText& text, const Figures& figures) {
  text.gauge("run_info", "The run that is watched; always 1.", 1, info_labels(figures));
  text.gauge("run_elapsed_seconds", "Time since the job began.", figures.elapsed_s);
  text.gauge("job_processes", "Running processes of the job.", number(figures.processes));
}

void add_steps(MetricText& text, const step::Figures& steps) {
  if (!steps.source) {
    return;
  }
  const Labels source{{"source", std::string(name_of(*steps.source))}};
  text.counter("steps_total", "Steps of the rank that has most.", static_cast<double>(steps.count),
               source);
  text.gauge("step_seconds", "Duration of the newest step.", divided(steps.last_ms, kMsPerSecond),
             source);
  text.gauge("step_median_seconds", "Median duration of the newest 64 steps.",
             divided(steps.median_ms, kMsPerSecond), source);
  text.gauge("samples_per_second", "Training data that this node's ranks process.",
             steps.samples_per_s, source);
}

// By what the node alone sees, as the live line.
void add_stall(MetricText& text, const stall::Figures& stall) {
  const bool stands = stall.state == record::StallState::Stands;
  text.gauge("job_stalled_seconds",
             "How long no step has ended, of a job that was found to stand; else 0.",
             stands ? stall.for_s : 0);
}

// A sample of each interface.
template <class Row>
void add_each(MetricText& text, const std::string& name, std::string_view help,
              const std::vector<Row>& rows, std::string Row::* interface,
              std::uint64_t Row::* value) {
  for (const Row& row : rows) {
    text.counter(name, help, number(row.*value), {{"interface", row.*interface}});
  }
}

void add_volumes(MetricText& text, const std::vector<Volume>& volumes) {
  add_each(text, "job_sent_bytes_total", "Of the job's Ethernet frames.", volumes,
           &Volume::interface, &Volume::sent_bytes);
  add_each(text, "job_received_bytes_total", "Of the job's Ethernet frames.", volumes,
           &Volume::interface, &Volume::received_bytes);
}

void add_packets(MetricText& text, const Figures& figures) {
  text.counter("sent_packets_total", "Packets of the job, retransmissions included.",
               number(figures.sent_packets));
  text.counter("retransmitted_packets_total", "Retransmitted packets of the job.",
               number(figures.retransmitted_packets));
  text.counter("dropped_packets_total", "Packets dropped before chokepoint could read them.",
               number(figures.packets_dropped));
  text.counter("dropped_rows_total", "Rows that were not stored in the record.",
               number(figures.rows_dropped));
}

void add_sockets(MetricText& text, const socket::Figures& sockets) {
  text.gauge("job_connections", "Open now.", number(sockets.connections));
  text.counter("job_connections_total", "Ever seen.", number(sockets.connections_ever));
  if (sockets.connections == 0) {
    return;
  }
  text.gauge("busy_ratio", "Share of time in which the busiest connection had data to send.",
             sockets.shares.busy);
  const auto add_limit = [&](const char* limit, double share) {
    text.gauge("limited_ratio",
               "What limited senders, as a share of the time in which they had data to send.",
               share, {{"by", limit}});
  };
  add_limit("receive_window", sockets.shares.receive_window);
  add_limit("send_buffer", sockets.shares.send_buffer);
  add_limit("network", sockets.shares.network);
}

// Their bytes are among the series.
void add_nics(MetricText& text, std::vector<counter::Figures::Nic> nics) {
  using Nic = counter::Figures::Nic;
  std::erase_if(nics,
                [](const Nic& nic) { return nic.sent_bytes == 0 && nic.received_bytes == 0; });
  if (nics.size() > counter::kMaxSubjects) {
    std::ranges::stable_sort(nics, std::greater(), [](const Nic& nic) {
      return std::max(nic.sent_bytes, nic.received_bytes);
    });
    nics.resize(counter::kMaxSubjects);
  }
  add_each(text, "nic_dropped_packets_total", "By interface or driver.", nics, &Nic::name,
           &Nic::dropped);
}

void add_waits(MetricText& text, const std::vector<counter::Figures::Waits>& ranks) {
  for (const counter::Figures::Waits& waits : ranks) {
    if (!waits.rank && waits.batch_s + waits.read_s + waits.write_s <= 0) {
      continue;  // a shell's many short commands
    }
    const std::pair<std::string, std::string> who =
        waits.rank ? std::pair("rank", std::to_string(*waits.rank))
                   : std::pair("process", std::to_string(waits.pid));
    const auto add_input = [&](const char* purpose, double wait_s) {
      text.counter("input_wait_seconds_total",
                   "How long a rank waited for its next batch, or to read a file.", wait_s,
                   {who, {"for", purpose}});
    };
    add_input("batch", waits.batch_s);
    add_input("read", waits.read_s);
    text.counter("storage_wait_seconds_total", "How long a rank waited to write to a file system.",
                 waits.write_s, {who});
  }
}

void add_series(MetricText& text, const std::vector<counter::SeriesValue>& series) {
  for (const counter::SeriesValue& each : series) {
    metrics::add_series(text, *each.row, each.subject, each.value);
  }
}

std::string kind_text(record::CollectiveKind kind) {
  const auto place = static_cast<std::size_t>(kind);
  return std::string(record::kCollectiveKinds.at(
      place < record::kCollectiveKinds.size() ? place : std::size_t{0}));
}

std::string library_text(record::CollectiveSource source) {
  switch (source) {
    case record::CollectiveSource::Gloo:
      return "gloo";
    case record::CollectiveSource::Nccl:
      return "nccl";
    case record::CollectiveSource::Traffic:
      break;
  }
  return "unknown";
}

void add_collectives(MetricText& text, const std::vector<CollectiveTotal>& collectives) {
  for (const CollectiveTotal& total : collectives) {
    const Labels labels{{"library", library_text(total.library)},
                        {"kind", kind_text(total.kind)},
                        {"communicator", total.communicator}};
    text.counter("collectives_total", "Collectives that have ended, of each rank of this node.",
                 number(total.count), labels);
    text.counter("collective_bytes_total", "Bytes of these, as the program gave them.", total.bytes,
                 labels);
    text.counter("timed_collectives_total",
                 "Those of which is known when they began and when they ended.",
                 number(total.timed), labels);
    text.counter("collective_seconds_total", "How long the timed ones took together.",
                 total.seconds, labels);
  }
}

void add_ranks(MetricText& text, const Figures& figures) {
  for (const auto& [rank, count] : figures.steps.ranks) {
    text.counter("rank_steps_total", "Steps of each rank of this node.", static_cast<double>(count),
                 {{"rank", std::to_string(rank)}});
  }
  for (const RankTotal& total : figures.collectives.ranks) {
    const Labels labels{{"rank", total.rank}};
    text.counter("rank_collectives_total", "Collectives of the rank that have ended.",
                 number(total.count), labels);
    text.counter("rank_measured_collectives_total", "Those of which is known who waited for whom.",
                 number(total.measured), labels);
    text.counter("rank_waited_seconds_total",
                 "In these, how long the rank waited for the last of its neighbours.",
                 total.waited_s, labels);
    text.counter("rank_kept_waiting_seconds_total",
                 "In these, how long the rank's neighbours waited for it.", total.kept_waiting_s,
                 labels);
    if (total.compared > 0) {
      text.counter("rank_compared_collectives_total",
                   "Collectives in which the rank was compared with others of this node.",
                   number(total.compared), labels);
      text.counter("rank_late_seconds_total",
                   "In these, how much later it came than the first of them.", total.late_s,
                   labels);
    }
  }
}

void add_host(MetricText& text, const counter::Figures& counters) {
  text.gauge("busiest_core_ratio", "Load of the busiest core.",
             divided(counters.busiest_core_percent, math::kPercent));
  text.gauge("softirq_ratio", "Of the core that spends most of its time in softirq.",
             divided(counters.softirq_percent, math::kPercent));
  text.gauge("busiest_thread_ratio", "Load of the job's busiest thread.",
             divided(counters.busiest_thread_percent, math::kPercent),
             {{"thread", counters.busiest_thread}});
  text.gauge("gpu_ratio", "Mean utilisation of the job's GPUs.",
             divided(counters.gpu_percent, math::kPercent));
  for (const auto& [reason, count] : counters.slowed_gpus) {
    text.gauge("slowed_gpus", "GPUs of the job whose clocks are reduced now.",
               static_cast<double>(count), {{"reason", reason}});
  }
  text.gauge("own_cpu_ratio", "Share of one core that chokepoint uses.",
             divided(counters.own_cpu_percent, math::kPercent));
}

constexpr const char* kOperation = "--metrics";
// The job waits meanwhile.
constexpr std::chrono::seconds kResolving{1};
constexpr const char* kForms =
    "write it like :9464 (all addresses), 9464 (this host alone), 10.0.0.1:9464, or :auto (a free "
    "port)";

std::unexpected<Error> bad(const std::string& text, std::string_view reason) {
  return fail(ErrorKind::Usage, kOperation, text, reason, kForms);
}

Result<net::Address> address_of(const std::string& text, const std::string& host) {
  if (host.starts_with('[')) {
    return bad(text, "IPv4 only, so far");
  }
  auto addresses = net::resolve_within(host, net::Family::Ipv4, net::Deadline::of(kResolving));
  if (!addresses) {
    return bad(text, addresses.error().reason);
  }
  return addresses->front();
}

struct MetricsAddress {
  net::Endpoint endpoint = {};
  bool has_port = true;  // false: "auto"
};

Result<MetricsAddress> parse_metrics_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const bool has_host = colon != std::string::npos;
  const std::string_view word = std::string_view(text).substr(has_host ? colon + 1 : 0);
  const bool has_port = word != "auto";
  const std::optional<std::uint16_t> port =
      has_port ? sys::parse_number<std::uint16_t>(word) : std::optional(Metrics::kFirstPort);
  if (!port) {
    return bad(text, "not a port");
  }
  std::string host = has_host ? text.substr(0, colon) : "127.0.0.1";
  if (host.empty()) {
    host = "0.0.0.0";
  }
  TRY(const auto address, address_of(text, host));
  return MetricsAddress{{address, *port}, has_port};
}

// Why an address cannot be listened on; `last` is the last port that was tried.
std::unexpected<Error> cannot_listen(const net::Endpoint& endpoint, std::uint16_t last,
                                     Error error) {
  error.operation = kOperation;
  error.subject = endpoint.text();
  if (last != endpoint.port) {
    error.subject += fmt::format(" to {}", last);
  }
  if (error.next_step.empty()) {
    error.next_step = "choose another port, or an address of this host";
  }
  return fail(std::move(error));
}

// The newest figures, converted to samples at each scrape.
class NewestFigures {
 public:
  void update(const Figures& figures) {
    Figures copy = figures;
    const std::lock_guard lock(mutex_);
    std::swap(figures_, copy);
  }
  Figures newest() const {
    const std::lock_guard lock(mutex_);
    return figures_;
  }

 private:
  mutable std::mutex mutex_;  // figures_
  Figures figures_ = {};
};

constexpr const char* kText = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr const char* kStartPage =
    "<!doctype html><title>chokepoint</title><p><a href=\"/metrics\">metrics</a> of a watched job, "
    "for Prometheus\n";

// For all paths, of GET and HEAD.
net::Page page_of(const NewestFigures& figures, std::string_view method, std::string_view path) {
  if (method != "GET" && method != "HEAD") {
    return {"405 Method Not Allowed", kText, "GET and HEAD are served\n"};
  }
  if (path == "/") {
    return {"200 OK", kHtml, kStartPage};
  }
  if (path != "/metrics") {
    return {"404 Not Found", kText, "there is /metrics\n"};
  }
  return {"200 OK", kText, metrics_of(figures.newest()).text()};
}

class ServedMetrics final : public Metrics {
 public:
  Result<> start(const net::Endpoint& endpoint) {
    endpoint_ = endpoint;
    TRY(server_, net::PageServer::start(endpoint, [this](const net::PageRequest& request,
                                                         const net::PageReply& reply) {
          reply(page_of(newest_, request.method, request.path));
        }));
    endpoint_.port = static_cast<std::uint16_t>(server_->port());
    return {};
  }
  void note_chosen() { is_chosen_ = true; }

  void update(const Figures& figures) override { newest_.update(figures); }
  std::string address() const override { return endpoint_.text(); }
  int port() const override { return server_->port(); }
  bool is_chosen() const override { return is_chosen_; }

 private:
  net::Endpoint endpoint_;
  bool is_chosen_ = false;
  NewestFigures newest_;
  std::unique_ptr<net::PageServer> server_;
};

}  // namespace

MetricText metrics_of(const Figures& figures) {
  MetricText text;
  add_run(text, figures);
  add_steps(text, figures.steps);
  add_stall(text, figures.stall);
  add_ranks(text, figures);
  add_collectives(text, figures.collectives.collectives);
  add_waits(text, figures.counters.waits);
  add_volumes(text, figures.volumes);
  add_packets(text, figures);
  add_sockets(text, figures.sockets);
  add_nics(text, figures.counters.nics);
  add_series(text, *figures.counters.series);
  add_host(text, figures.counters);
  return text;
}

Result<std::unique_ptr<Metrics>> Metrics::serve(const std::string& address, IfTaken if_taken) {
  TRY(const MetricsAddress wanted, parse_metrics_address(address));
  const bool may_move = !wanted.has_port || if_taken == IfTaken::NextPort;
  auto served = std::make_unique<ServedMetrics>();
  net::Endpoint endpoint = wanted.endpoint;
  Result<> started = served->start(endpoint);
  for (int tried = 1; may_move && tried < kPorts && !started &&
                      started.error().kind == ErrorKind::Busy && endpoint.port < UINT16_MAX;
       ++tried) {
    ++endpoint.port;
    started = served->start(endpoint);
  }
  if (!started) {
    return cannot_listen(wanted.endpoint, endpoint.port, started.error());
  }
  if (!wanted.has_port || served->port() != wanted.endpoint.port) {
    served->note_chosen();
  }
  return served;
}

}  // namespace chokepoint::capture::live
