#include "capture/live/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/math/units.h"
#include "base/net/address.h"
#include "base/net/resolver.h"
#include "base/net/socket.h"
#include "base/sys/number.h"
#include "capture/live/line.h"
#include "capture/live/page_server.h"

namespace chokepoint::capture::live {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;
using Families = std::vector<MetricFamily>;
using Labels = std::vector<std::pair<std::string, std::string>>;

struct Sample {
  double value = 0;
  Labels labels = {};
};

// A family without samples is left out.
void add(Families& families, std::string_view name, std::string help, MetricType type,
         const std::vector<Sample>& samples) {
  if (samples.empty()) {
    return;
  }
  MetricFamily& family = families.emplace_back(
      MetricFamily{"chokepoint_" + std::string(name), std::move(help), type, {}});
  for (const Sample& sample : samples) {
    prometheus::ClientMetric& metric = family.metric.emplace_back();
    for (const auto& [label, text] : sample.labels) {
      metric.label.push_back({label, text});
    }
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = sample.value;
  }
}

void add_counter(Families& families, std::string_view name, std::string help,
                 const std::vector<Sample>& samples) {
  add(families, name, std::move(help), MetricType::Counter, samples);
}

void add_gauge(Families& families, std::string_view name, std::string help,
               const std::vector<Sample>& samples) {
  add(families, name, std::move(help), MetricType::Gauge, samples);
}

std::vector<Sample> one(std::uint64_t value) { return {{static_cast<double>(value)}}; }

std::vector<Sample> divided(const std::optional<double>& value, double by, Labels labels = {}) {
  return value ? std::vector<Sample>{{*value / by, std::move(labels)}} : std::vector<Sample>{};
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// A run's labels get a prefix, as is usual with Prometheus, and only characters that it allows; of
// two that become equal the first stays, because Prometheus refuses a scrape with both.
Labels info_labels(const Figures& figures) {
  Labels labels{{"version", figures.program_version},
                {"node", figures.node},
                {"volume_source", figures.volume_source}};
  for (const auto& [key, value] : figures.labels) {
    std::string name = "label_" + key;
    std::ranges::replace_if(name, [](char c) { return !is_plain(c); }, '_');
    if (std::ranges::none_of(labels, [&](const auto& label) { return label.first == name; })) {
      labels.emplace_back(std::move(name), value);
    }
  }
  return labels;
}

void add_run(Families& families, const Figures& figures) {
  add_gauge(families, "run_info", "The run that is watched; always 1.",
            {{1.0, info_labels(figures)}});
  add_gauge(families, "run_elapsed_seconds", "Time since the job began.", {{figures.elapsed_s}});
  add_gauge(families, "job_processes", "Running processes of the job.", one(figures.processes));
}

void add_steps(Families& families, const step::Figures& steps) {
  if (!steps.source) {
    return;
  }
  const Labels source{{"source", std::string(name_of(*steps.source))}};
  add_counter(families, "steps_total", "Steps of the rank that has most.",
              {{static_cast<double>(steps.count), source}});
  add_gauge(families, "step_seconds", "Duration of the newest step.",
            divided(steps.last_ms, 1e3, source));
  add_gauge(families, "step_median_seconds", "Median duration of the newest 64 steps.",
            divided(steps.median_ms, 1e3, source));
  add_gauge(families, "samples_per_second", "Training data that this node's ranks process.",
            divided(steps.samples_per_s, 1, source));
}

// By what the node alone sees, as the live line.
void add_stall(Families& families, const stall::Figures& stall) {
  const bool stands = stall.state == record::StallState::Stands;
  add_gauge(families, "job_stalled_seconds",
            "How long no step has ended, of a job that was found to stand; else 0.",
            {{stands ? stall.for_s : 0, {}}});
}

// A sample of each interface.
template <class Row>
std::vector<Sample> each(const std::vector<Row>& rows, std::string Row::* interface,
                         std::uint64_t Row::* value) {
  std::vector<Sample> samples;
  for (const Row& row : rows) {
    samples.push_back({static_cast<double>(row.*value), {{"interface", row.*interface}}});
  }
  return samples;
}

void add_volumes(Families& families, const std::vector<Volume>& volumes) {
  add_counter(families, "job_sent_bytes_total", "Of the job's Ethernet frames.",
              each(volumes, &Volume::interface, &Volume::sent_bytes));
  add_counter(families, "job_received_bytes_total", "Of the job's Ethernet frames.",
              each(volumes, &Volume::interface, &Volume::received_bytes));
}

void add_packets(Families& families, const Figures& figures) {
  add_counter(families, "sent_packets_total", "Packets of the job, retransmissions included.",
              one(figures.sent_packets));
  add_counter(families, "retransmitted_packets_total", "Retransmitted packets of the job.",
              one(figures.retransmitted_packets));
  add_counter(families, "dropped_packets_total",
              "Packets dropped before chokepoint could read them.", one(figures.packets_dropped));
  add_counter(families, "dropped_rows_total", "Rows that were not stored in the record.",
              one(figures.rows_dropped));
}

void add_sockets(Families& families, const socket::Figures& sockets) {
  add_gauge(families, "job_connections", "Open now.", one(sockets.connections));
  add_counter(families, "job_connections_total", "Ever seen.", one(sockets.connections_ever));
  if (sockets.connections == 0) {
    return;
  }
  add_gauge(families, "busy_ratio",
            "Share of time in which the busiest connection had data to send.",
            {{sockets.shares.busy}});
  add_gauge(families, "limited_ratio",
            "What limited senders, as a share of the time in which they had data to send.",
            {{sockets.shares.receive_window, {{"by", "receive_window"}}},
             {sockets.shares.send_buffer, {{"by", "send_buffer"}}},
             {sockets.shares.network, {{"by", "network"}}}});
}

void add_nics(Families& families, const std::vector<counter::Figures::Nic>& all) {
  using Nic = counter::Figures::Nic;
  std::vector<Nic> nics;
  std::ranges::copy_if(all, std::back_inserter(nics),
                       [](const Nic& nic) { return nic.sent_bytes > 0 || nic.received_bytes > 0; });
  add_counter(families, "nic_sent_bytes_total", "Of all programs, since the host started.",
              each(nics, &Nic::name, &Nic::sent_bytes));
  add_counter(families, "nic_received_bytes_total", "Of all programs, since the host started.",
              each(nics, &Nic::name, &Nic::received_bytes));
  add_counter(families, "nic_dropped_packets_total", "By interface or driver.",
              each(nics, &Nic::name, &Nic::dropped));
}

void add_waits(Families& families, const std::vector<counter::Figures::Waits>& ranks) {
  std::vector<Sample> input;
  std::vector<Sample> storage;
  for (const counter::Figures::Waits& waits : ranks) {
    const std::pair<std::string, std::string> who =
        waits.rank ? std::pair("rank", std::to_string(*waits.rank))
                   : std::pair("process", std::to_string(waits.pid));
    input.push_back({waits.batch_s, {who, {"for", "batch"}}});
    input.push_back({waits.read_s, {who, {"for", "read"}}});
    storage.push_back({waits.write_s, {who}});
  }
  add_counter(families, "input_wait_seconds_total",
              "How long a rank waited for its next batch, or to read a file.", input);
  add_counter(families, "storage_wait_seconds_total",
              "How long a rank waited to write to a file system.", storage);
}

void add_host(Families& families, const counter::Figures& counters) {
  add_gauge(families, "busiest_core_ratio", "Load of the busiest core.",
            divided(counters.busiest_core_percent, math::kPercent));
  add_gauge(families, "softirq_ratio", "Of the core that spends most of its time in softirq.",
            divided(counters.softirq_percent, math::kPercent));
  add_gauge(families, "busiest_thread_ratio", "Load of the job's busiest thread.",
            divided(counters.busiest_thread_percent, math::kPercent,
                    {{"thread", counters.busiest_thread}}));
  add_gauge(families, "gpu_ratio", "Mean utilisation of the job's GPUs.",
            divided(counters.gpu_percent, math::kPercent));
  std::vector<Sample> slowed;
  for (const auto& [reason, count] : counters.slowed_gpus) {
    slowed.push_back({static_cast<double>(count), {{"reason", reason}}});
  }
  add_gauge(families, "slowed_gpus", "GPUs of the job whose clocks are reduced now.", slowed);
  add_gauge(families, "own_cpu_ratio", "Share of one core that chokepoint uses.",
            divided(counters.own_cpu_percent, math::kPercent));
}

constexpr const char* kOperation = "--metrics";
// The job waits meanwhile.
constexpr std::chrono::seconds kResolving{1};
constexpr const char* kForms =
    "write it like :9464 (all addresses), 9464 (this host alone) or 10.0.0.1:9464";

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

Result<net::Endpoint> parse_metrics_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const bool has_host = colon != std::string::npos;
  const auto port =
      sys::parse_number<std::uint16_t>(std::string_view(text).substr(has_host ? colon + 1 : 0));
  if (!port) {
    return bad(text, "not a port");
  }
  std::string host = has_host ? text.substr(0, colon) : "127.0.0.1";
  if (host.empty()) {
    host = "0.0.0.0";
  }
  TRY(const auto address, address_of(text, host));
  return net::Endpoint{address, *port};
}

// Why an address cannot be listened on.
std::unexpected<Error> cannot_listen(const net::Endpoint& endpoint, Error error) {
  error.operation = kOperation;
  error.subject = endpoint.text();
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
Page page_of(const NewestFigures& figures, std::string_view method, std::string_view path) {
  if (method != "GET" && method != "HEAD") {
    return {"405 Method Not Allowed", kText, "GET and HEAD are served\n"};
  }
  if (path == "/") {
    return {"200 OK", kHtml, kStartPage};
  }
  if (path != "/metrics") {
    return {"404 Not Found", kText, "there is /metrics\n"};
  }
  return {"200 OK", kText, prometheus::TextSerializer().Serialize(families_of(figures.newest()))};
}

class ServedMetrics final : public Metrics {
 public:
  Result<> start(const net::Endpoint& endpoint) {
    TRY(server_,
        PageServer::start(endpoint, [this](std::string_view method, std::string_view path) {
          return page_of(newest_, method, path);
        }));
    return {};
  }

  void update(const Figures& figures) override { newest_.update(figures); }
  int port() const override { return server_->port(); }

 private:
  NewestFigures newest_;
  std::unique_ptr<PageServer> server_;
};

}  // namespace

std::vector<MetricFamily> families_of(const Figures& figures) {
  Families families;
  add_run(families, figures);
  add_steps(families, figures.steps);
  add_stall(families, figures.stall);
  add_waits(families, figures.counters.waits);
  add_volumes(families, figures.volumes);
  add_packets(families, figures);
  add_sockets(families, figures.sockets);
  add_nics(families, figures.counters.nics);
  add_host(families, figures.counters);
  return families;
}

std::vector<otlp::Point> points_of(const Figures& figures, std::int64_t began_wall_ns,
                                   std::int64_t now_wall_ns) {
  std::vector<otlp::Point> points;
  for (const MetricFamily& family : families_of(figures)) {
    for (const prometheus::ClientMetric& metric : family.metric) {
      const bool is_counter = family.type == MetricType::Counter;
      otlp::Point point{.name = family.name,
                        .description = family.help,
                        .unit = otlp::unit_in_name(family.name),
                        .is_counter = is_counter,
                        .start_ns = began_wall_ns,
                        .time_ns = now_wall_ns,
                        .value = is_counter ? metric.counter.value : metric.gauge.value};
      for (const auto& label : metric.label) {
        point.attributes.emplace_back(label.name, label.value);
      }
      points.push_back(std::move(point));
    }
  }
  return points;
}

Result<> Metrics::check(const std::string& address) {
  TRY(const auto endpoint, parse_metrics_address(address));
  const auto listener = net::listen(endpoint, 1, {});
  return listener ? Result<>() : cannot_listen(endpoint, listener.error());
}

Result<std::unique_ptr<Metrics>> Metrics::serve(const std::string& address) {
  TRY(const auto endpoint, parse_metrics_address(address));
  auto served = std::make_unique<ServedMetrics>();
  if (const Result<> started = served->start(endpoint); !started) {
    return cannot_listen(endpoint, started.error());
  }
  return served;
}

}  // namespace chokepoint::capture::live
