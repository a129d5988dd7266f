#include "capture/live/metric_families.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "capture/live/words.h"

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

// Left out as a whole where it has no sample.
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

// A run's labels have a prefix, as elsewhere in Prometheus' world, and letters that it allows; of
// two that become the same the first stays, because a scrape with both would be refused.
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
  add_gauge(families, "run_elapsed_seconds", "Since the job began.", {{figures.elapsed_s}});
  add_gauge(families, "job_processes", "Of the job, now.", one(figures.processes));
}

void add_steps(Families& families, const step::Figures& steps) {
  if (!steps.source) {
    return;
  }
  const Labels source{{"source", std::string(name_of(*steps.source))}};
  add_counter(families, "steps_total", "Steps of the rank that has most.",
              {{static_cast<double>(steps.count), source}});
  add_gauge(families, "step_seconds", "Duration of the newest step.",
            divided(steps.last_ms, kMsPerSecond, source));
  add_gauge(families, "step_median_seconds", "Median duration of the newest 64 steps.",
            divided(steps.median_ms, kMsPerSecond, source));
  add_gauge(families, "samples_per_second", "Training data that this node's ranks process.",
            divided(steps.samples_per_s, 1, source));
}

void add_volumes(Families& families, const Figures& figures) {
  std::vector<Sample> sent;
  std::vector<Sample> received;
  for (const Volume& volume : figures.volumes) {
    const Labels interface{{"interface", volume.interface}};
    sent.push_back({static_cast<double>(volume.sent_bytes), interface});
    received.push_back({static_cast<double>(volume.received_bytes), interface});
  }
  add_counter(families, "job_sent_bytes_total", "Of the job's Ethernet frames.", sent);
  add_counter(families, "job_received_bytes_total", "Of the job's Ethernet frames.", received);
}

void add_packets(Families& families, const Figures& figures) {
  add_counter(families, "sent_packets_total", "Of the job, those sent again included.",
              one(figures.sent_packets));
  add_counter(families, "retransmitted_packets_total", "Of the job, sent again.",
              one(figures.retransmitted_packets));
  add_counter(families, "dropped_packets_total", "Lost before chokepoint could look at them.",
              one(figures.packets_dropped));
  add_counter(families, "dropped_rows_total", "Rows that found no room in the record.",
              one(figures.rows_dropped));
}

void add_sockets(Families& families, const socket::Figures& sockets) {
  add_gauge(families, "job_connections", "Open now.", one(sockets.connections));
  add_counter(families, "job_connections_total", "Ever seen.", one(sockets.connections_ever));
  if (sockets.connections == 0) {
    return;
  }
  add_gauge(families, "busy_ratio",
            "Share of time in which the busiest connection had something to send.",
            {{sockets.shares.busy}});
  add_gauge(families, "limited_ratio",
            "What held senders back, as share of the time in which they had something to send.",
            {{sockets.shares.receive_window, {{"by", "receive_window"}}},
             {sockets.shares.send_buffer, {{"by", "send_buffer"}}},
             {sockets.shares.network, {{"by", "network"}}}});
}

void add_nics(Families& families, const counter::Figures& counters) {
  std::vector<Sample> sent;
  std::vector<Sample> received;
  std::vector<Sample> dropped;
  for (const counter::Figures::Nic& nic : counters.nics) {
    const Labels interface{{"interface", nic.name}};
    sent.push_back({static_cast<double>(nic.sent_bytes), interface});
    received.push_back({static_cast<double>(nic.received_bytes), interface});
    dropped.push_back({static_cast<double>(nic.dropped), interface});
  }
  add_counter(families, "nic_sent_bytes_total", "Of everybody, since the host started.", sent);
  add_counter(families, "nic_received_bytes_total", "Of everybody, since the host started.",
              received);
  add_counter(families, "nic_dropped_packets_total", "By interface or driver.", dropped);
}

void add_host(Families& families, const counter::Figures& counters) {
  add_gauge(families, "busiest_core_ratio", "Load of the busiest core.",
            divided(counters.busiest_core_percent, kPercent));
  add_gauge(families, "softirq_ratio", "Of the core that spends most of its time in softirq.",
            divided(counters.softirq_percent, kPercent));
  add_gauge(
      families, "busiest_thread_ratio", "Load of the job's busiest thread.",
      divided(counters.busiest_thread_percent, kPercent, {{"thread", counters.busiest_thread}}));
  add_gauge(families, "gpu_ratio", "Mean utilisation of the job's GPUs.",
            divided(counters.gpu_percent, kPercent));
  std::vector<Sample> slowed;
  for (const auto& [reason, count] : counters.slowed_gpus) {
    slowed.push_back({static_cast<double>(count), {{"reason", reason}}});
  }
  add_gauge(families, "slowed_gpus", "GPUs of the job that are kept below their clocks now.",
            slowed);
  add_gauge(families, "own_cpu_ratio", "What watching takes of one core.",
            divided(counters.own_cpu_percent, kPercent));
}

}  // namespace

std::vector<MetricFamily> families_of(const Figures& figures) {
  Families families;
  add_run(families, figures);
  add_steps(families, figures.steps);
  add_volumes(families, figures);
  add_packets(families, figures);
  add_sockets(families, figures.sockets);
  add_nics(families, figures.counters);
  add_host(families, figures.counters);
  return families;
}

}  // namespace chokepoint::capture::live
