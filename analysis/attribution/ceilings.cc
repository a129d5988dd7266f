#include "analysis/attribution/ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "analysis/attribution/findings.h"
#include "analysis/attribution/hosts.h"
#include "analysis/attribution/job_paths.h"
#include "analysis/load/connections.h"
#include "analysis/load/given_probes.h"
#include "base/documents/collective.h"
#include "base/documents/document.h"
#include "base/documents/pcie.h"
#include "base/documents/probe_udp.h"
#include "base/documents/rdma.h"
#include "base/math/statistics.h"
#include "base/math/units.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

// In percent of what a probe carried: below the first a path is not full, from the second on it is.
// Judgements.
constexpr double kMaxIdlePercent = 50;
constexpr double kMinFullPercent = 90;
// From here on the job went beyond it: then it is no limit.
constexpr double kMaxCeilingPercent = 120;
constexpr std::string_view kOfSize = " of ";  // between a collective's name and its size

bool has_address(const NodeData& node, const std::string& address) {
  return std::ranges::any_of(node.interfaces, [&](const Interface& interface) {
    return std::ranges::find(interface.addresses, address, plain_address) !=
           interface.addresses.end();
  });
}

std::string peer_of(const RunData& run, const NodeData& prober, const record::Probe& probe,
                    const ProbeDocument& document, const std::string& address) {
  for (const NodeData& node : run.nodes) {
    if (&node != &prober && !address.empty() && has_address(node, address)) {
      return node.name;
    }
  }
  for (const NodeData& node : run.nodes) {
    if (&node != &prober && (node.name == document.peer_name || node.name == probe.peer)) {
      return node.name;
    }
  }
  if (!address.empty()) {
    return address;
  }
  return document.peer_name.empty() ? probe.peer : document.peer_name;
}

// The fastest growth of a counter between two readings, as Mb/s.
std::optional<double> fastest_mbps(const SeriesData* series) {
  std::optional<double> most;
  for (std::size_t next = 1; series != nullptr && next < series->readings.size(); ++next) {
    const Reading& before = series->readings[next - 1];
    const Reading& now = series->readings[next];
    if (now.t_ns > before.t_ns) {
      most = std::max(most.value_or(0), (now.value - before.value) * 8e3 /
                                            static_cast<double>(now.t_ns - before.t_ns));
    }
  }
  return most;
}

// How long one rank's part of a collective took, from when the last of its neighbours had come.
double took_us(const record::Collective& row) {
  const std::int64_t ready =
      std::max({row.start_ns, row.own_ready_ns.value_or(0), row.peer_ready_ns.value_or(0)});
  return static_cast<double>(row.end_ns - (ready < row.end_ns ? ready : row.start_ns)) / 1e3;
}

// What the job's collectives of about this size took, half of them no longer; nullopt without any.
std::optional<double> median_us(const RunData& run, const std::string& kind, double bytes) {
  constexpr double kMaxSizeRatio = 1.5;  // times the size, smaller or larger
  std::vector<double> times;
  for (const NodeData& node : run.nodes) {
    for (const record::Collective& row : node.collectives) {
      const auto own = static_cast<double>(row.bytes.value_or(0));
      if (word_of(row.kind) == kind && row.merged == 1 && own * kMaxSizeRatio >= bytes &&
          own <= bytes * kMaxSizeRatio && row.end_ns > row.start_ns) {
        times.push_back(took_us(row) * bytes / own);
      }
    }
  }
  return math::median(times);
}

// A rate that the user set, and that the path carried, is no ceiling of the path.
bool is_at_its_rate(const record::Probe& probe) {
  constexpr double kMinCarriedShare = 0.9;
  const auto udp = documents::read_text<documents::ProbeUdp>(probe.document);
  if (!udp || !udp->asked_mbps || udp->search) {
    return false;
  }
  const auto& only = udp->by_direction.only;
  return !only || only->throughput_mbps > kMinCarriedShare * *udp->asked_mbps;
}

class CeilingFinder {
 public:
  CeilingFinder(const RunData& run, const Clocks& clocks)
      : run_(run), paths_(job_paths(run, clocks)) {}

  std::vector<Ceiling> find() {
    for (const NodeData& node : run_.nodes) {
      for (const record::Probe& probe : node.probes) {
        model_ = {.probe = probe.kind,
                  .from = node.name,
                  .wall_ns = node.wall_start_ns + (probe.t_ns - node.span.start_ns),
                  .ahead_ns = node.span.start_ns - probe.t_ns,
                  .source = source_of(node, probe)};
        add(node, probe);
      }
    }
    std::ranges::stable_sort(found_, std::ranges::greater{},
                             [](const Ceiling& each) { return !each.to.empty(); });
    return std::move(found_);
  }

 private:
  void add(const NodeData& node, const record::Probe& probe) {
    if (probe.kind == "tcp" || probe.kind == "udp" || probe.kind == "quic" ||
        probe.kind == "latency") {
      add_path(node, probe);
      return;
    }
    if (const auto pcie = documents::read_partial_text<documents::Pcie>(probe.document)) {
      add_copies(node, *pcie);
    } else if (const auto rdma = documents::read_partial_text<documents::Rdma>(probe.document)) {
      add_rdma(node, *rdma);
    } else if (const auto collective =
                   documents::read_partial_text<documents::Collective>(probe.document)) {
      add_collective(*collective);
    }
  }

  void add_path(const NodeData& node, const record::Probe& probe) {
    const auto document = read_probe(probe);
    if (!document || (probe.kind == "udp" && is_at_its_rate(probe))) {
      return;
    }
    const ProbedPath probed = probed_path(run_, node, probe, *document);
    for (const ProbeDirection direction : {ProbeDirection::Send, ProbeDirection::Receive}) {
      for (const JobPath& path : paths_) {
        if (!probed.is_between(path.from, path.to, direction) ||
            !probed.leads_to(path.addresses, direction)) {
          continue;
        }
        model_.from = path.from;
        model_.to = path.to;
        if (const auto& mbps = document->direction(direction).throughput_mbps) {
          add_ceiling("throughput", *mbps, path.pace.pace(path.rtt_ms).peak_mbps, "Mb/s");
        }
        if (probe.kind == "latency" && document->least_rtt_ms) {
          add_ceiling("unloaded round trip", *document->least_rtt_ms, path.rtt_ms, "ms");
        }
      }
    }
  }

  void add_copies(const NodeData& node, const documents::Pcie& measured) {
    constexpr double kMbpsPerByte = 8e-6;
    struct Copies {
      std::optional<double> documents::PcieCopies::* mbps;
      const char* what;
      std::string_view series;
    };
    constexpr std::array kCopyDirections{
        Copies{&documents::PcieCopies::to_gpu_mbps, "copies to the GPU", record::kGpuPcieReceived},
        Copies{&documents::PcieCopies::from_gpu_mbps, "copies from the GPU", record::kGpuPcieSent}};
    for (const documents::PcieDevice& device : measured.devices) {
      model_.device = device.bus_id;
      for (const Copies& copies : kCopyDirections) {
        const SeriesData* series = node.find(copies.series, model_.device);
        const auto most = series == nullptr ? std::nullopt : most_level(*series, node.span);
        const double mbps = (device.copies.*copies.mbps).value_or(0);
        if (mbps > 0 && most) {
          add_ceiling(copies.what, mbps, *most * kMbpsPerByte, "Mb/s");
        }
      }
    }
  }

  void add_rdma(const NodeData& node, const documents::Rdma& measured) {
    const double mbps = measured.figures.average_mbps.value_or(0);
    if (mbps <= 0 || measured.device.empty()) {
      return;
    }
    const std::string_view name = measured.operation == documents::RdmaOperation::Read
                                      ? record::kRdmaReceivedBytes
                                      : record::kRdmaSentBytes;
    for (const SeriesData* series : node.find(name)) {
      const std::string& port = series->row.subject;
      const auto most = fastest_mbps(series);
      if (port.starts_with(measured.device + "/") && most.value_or(0) > 0) {
        model_.device = port;
        add_ceiling("RDMA throughput", mbps, most, "Mb/s");
      }
    }
  }

  // The largest of the sizes that both had.
  void add_collective(const documents::Collective& measured) {
    constexpr double kMbpsOfBytesInUs = 8;
    const std::string& kind = measured.collective;
    for (const documents::CollectiveSize& size : measured.sizes) {
      const auto bytes = static_cast<double>(size.bytes);
      const auto us = size.algbw_mbps.value_or(0) > 0 ? median_us(run_, kind, bytes) : std::nullopt;
      if (us.value_or(0) > 0) {
        add_ceiling(kind, *size.algbw_mbps, bytes * kMbpsOfBytesInUs / *us, "Mb/s");
        found_.back().what = kind + std::string(kOfSize) + math::format_bytes(bytes);
      }
    }
  }

  // A later one of the same takes the place of an earlier one.
  void add_ceiling(const std::string& what, double probe_value, std::optional<double> job_value,
                   const char* unit) {
    Ceiling ceiling = model_;
    ceiling.what = what;
    ceiling.probe_value = probe_value;
    ceiling.job_value = job_value;
    ceiling.unit = unit;
    std::erase_if(found_, [&](const Ceiling& each) {
      return each.probe == ceiling.probe && each.from == ceiling.from && each.to == ceiling.to &&
             each.device == ceiling.device &&
             (each.what == what || each.what.starts_with(what + std::string(kOfSize)));
    });
    found_.push_back(std::move(ceiling));
  }

  const RunData& run_;
  std::vector<JobPath> paths_;
  Ceiling model_;
  std::vector<Ceiling> found_;
};

std::string when(const Ceiling& ceiling) {
  constexpr double kMinute = 60;
  constexpr double kHour = 60 * kMinute;
  constexpr double kDay = 24 * kHour;
  const double seconds = std::abs(static_cast<double>(ceiling.ahead_ns) / 1e9);
  const char* side = ceiling.ahead_ns >= 0 ? "before" : "after it began";
  return seconds < kMinute    ? fmt::format("{:.0f} s {}", seconds, side)
         : seconds < kHour    ? fmt::format("{:.0f} min {}", seconds / kMinute, side)
         : seconds < 2 * kDay ? fmt::format("{:.0f} h {}", seconds / kHour, side)
                              : fmt::format("{:.0f} days {}", seconds / kDay, side);
}

std::string shown(const Ceiling& ceiling) {
  return ceiling.unit == "ms" ? math::format_ms(ceiling.probe_value)
                              : math::format_rate(ceiling.probe_value * math::kMega);
}

bool is_on_path(const Ceiling& ceiling, const Where& where) {
  const bool is_same_direction = ceiling.from == where.from && ceiling.to == where.to;
  const bool is_reverse = ceiling.from == where.to && ceiling.to == where.from;
  return is_same_direction || (is_reverse && where.direction == "both");
}

bool is_at_device(const Ceiling& ceiling, const Where& where) {
  return !ceiling.device.empty() && ceiling.device == where.interface && ceiling.from == where.node;
}

// What a full link goes with: all that a probe carried. Where others fill it, the job's part shows
// nothing.
Support of_full_link(const Verdict& verdict, double share) {
  if (verdict.cause == Cause::CompetingTraffic || verdict.cause == Cause::StorageTraffic ||
      verdict.cause == Cause::JobTraffic) {
    return Support::Nothing;
  }
  return share < kMaxIdlePercent    ? Support::Against
         : share >= kMinFullPercent ? Support::For
                                    : Support::Nothing;
}

// Where something else than the link holds data back, the link carries more.
Support of_idle_link(double share) {
  return share < kMaxIdlePercent    ? Support::For
         : share >= kMinFullPercent ? Support::Against
                                    : Support::Nothing;
}

Support support_of(const Ceiling& ceiling, const Verdict& verdict) {
  using enum VerdictClass;
  const auto share = ceiling.share_percent();
  if (!share || *share > kMaxCeilingPercent) {
    return Support::Nothing;
  }
  const bool is_throughput = ceiling.what == "throughput" && is_on_path(ceiling, verdict.where);
  switch (verdict.verdict) {
    case LanBandwidth:
    case WanBandwidth:
      return is_throughput || is_at_device(ceiling, verdict.where) ? of_full_link(verdict, *share)
                                                                   : Support::Nothing;
    case LanLatency:
    case WanLatency:
    case ReceiverHost:
    case SenderHost:
      // Of UDP and QUIC a host may carry less than of TCP.
      return is_throughput && ceiling.probe == "tcp" ? of_idle_link(*share) : Support::Nothing;
    default:
      return Support::Nothing;
  }
}

bool is_about(const Ceiling& ceiling, const Verdict& verdict) {
  return is_on_path(ceiling, verdict.where) || is_at_device(ceiling, verdict.where);
}

void add_evidence(const Ceiling& ceiling, Verdict& verdict) {
  const auto share = ceiling.share_percent();
  verdict.evidence.push_back(
      share
          ? Evidence{fmt::format("of what probe {} carried {} ({}), the job reached", ceiling.probe,
                                 when(ceiling), shown(ceiling)),
                     share, "%", ceiling.source}
          : Evidence{fmt::format("{} by probe {}, {}", ceiling.what, ceiling.probe, when(ceiling)),
                     ceiling.probe_value, ceiling.unit, ceiling.source});
}

void hold_against(const std::vector<Ceiling>& ceilings, Verdict& verdict) {
  for (const Ceiling& ceiling : ceilings) {
    if (!is_about(ceiling, verdict)) {
      continue;
    }
    add_evidence(ceiling, verdict);
    if (verdict.against.empty() && support_of(ceiling, verdict) == Support::Against) {
      verdict.against = sentence_of(ceiling);
      verdict.confidence = std::round(100 * kContradictedFactor * verdict.confidence) / 100;
    }
  }
}

}  // namespace

bool ProbedPath::is_between(const std::string& from, const std::string& to,
                            ProbeDirection direction) const {
  const bool is_sent = direction == ProbeDirection::Send;
  return from == (is_sent ? node : peer) && to == (is_sent ? peer : node);
}

bool ProbedPath::leads_to(const std::array<std::vector<std::string>, 2>& addresses,
                          ProbeDirection direction) const {
  const auto& theirs = addresses.at(direction == ProbeDirection::Send ? 1 : 0);
  return address.empty() || std::ranges::find(theirs, address) != theirs.end();
}

ProbedPath probed_path(const RunData& run, const NodeData& prober, const record::Probe& probe,
                       const ProbeDocument& document) {
  const std::string address = document.peer ? plain_address(document.peer->text()) : "";
  return {.node = prober.name,
          .peer = peer_of(run, prober, probe, document, address),
          .address = address};
}

std::optional<double> Ceiling::share_percent() const {
  return job_value && probe_value > 0 && unit != "ms"
             ? std::optional(100 * *job_value / probe_value)
             : std::nullopt;
}

std::vector<Ceiling> ceilings_of(const RunData& run, const Clocks& clocks) {
  const bool has_probe =
      std::ranges::any_of(run.nodes, [](const NodeData& node) { return !node.probes.empty(); });
  return has_probe ? CeilingFinder(run, clocks).find() : std::vector<Ceiling>();
}

void hold_against(std::vector<Ceiling>& ceilings, Diagnosis& diagnosis) {
  for (Ceiling& ceiling : ceilings) {
    ceiling.support = support_of(ceiling, diagnosis.verdict);
  }
  hold_against(ceilings, diagnosis.verdict);
  for (Verdict& other : diagnosis.others) {
    hold_against(ceilings, other);
  }
}

std::string sentence_of(const Ceiling& ceiling) {
  const auto share = ceiling.share_percent();
  return share ? fmt::format("of what probe {} carried {} ({}), the job reached {:.0f} %",
                             ceiling.probe, when(ceiling), shown(ceiling), *share)
               : fmt::format("{} by probe {}, {}: {}", ceiling.what, ceiling.probe, when(ceiling),
                             shown(ceiling));
}

}  // namespace chokepoint::analysis
