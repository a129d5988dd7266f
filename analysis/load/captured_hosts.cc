#include "analysis/load/captured_hosts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/load/connections.h"
#include "base/json/codec.h"
#include "base/math/saturating.h"
#include "base/net/address.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

// Judgements. A host that was captured is an end of nearly all that the job sent; at a point
// between hosts none is.
constexpr double kMinShareOfCaptured = 0.9;
// Without Gloo's headers: of the bytes of the busiest connection between two hosts. What is less is
// no gradient.
constexpr double kMinShareOfJob = 0.05;

struct AddressOrder {
  bool operator()(const std::string& one, const std::string& other) const {
    const auto first = net::Address::parse(one);
    const auto second = net::Address::parse(other);
    return first && second ? *first < *second : one < other;
  }
};

using Hosts = std::set<std::string, AddressOrder>;

double bytes_of(const FlowData& flow) {
  double bytes = 0;
  for (const std::size_t side : {0U, 1U}) {
    for (const record::FlowSample& sample : flow.packets.at(side)) {
      bytes += static_cast<double>(sample.payload_bytes.value_or(0));
    }
  }
  return bytes;
}

std::string address_of(const FlowData& flow, std::size_t end) {
  return plain_address(end == 0 ? flow.row.a_address : flow.row.b_address);
}

bool is_jobs(const FlowData& flow) { return flow.row.process.known(); }

// The numbers that the record gives the hosts whose collectives it has, by address.
std::map<std::string, std::int64_t> numbers_of(const NodeData& node) {
  std::map<std::string, std::int64_t> numbers;
  for (const record::Event& event : node.events) {
    if (event.kind != record::kCapturedHost) {
      continue;
    }
    const auto number =
        json::field_in<std::int64_t>(json::object_or_null(event.detail), "number", "event");
    if (number) {
      numbers.try_emplace(plain_address(event.subject), *number);
    }
  }
  return numbers;
}

// Where the library left no sign in the packets, the job's connections are those that carry most.
void choose_flows(NodeData& node) {
  std::map<std::pair<std::string, std::string>, double> between;
  for (const FlowData& flow : node.flows) {
    const auto ends = std::minmax({address_of(flow, 0), address_of(flow, 1)});
    between[{ends.first, ends.second}] += flow.row.protocol == "udp" ? 0 : bytes_of(flow);
  }
  double most = 0;
  for (const auto& [ends, bytes] : between) {
    most = std::max(most, bytes);
  }
  for (FlowData& flow : node.flows) {
    const auto ends = std::minmax({address_of(flow, 0), address_of(flow, 1)});
    if (flow.row.protocol != "udp" && most > 0 && bytes_of(flow) > 0 &&
        between[{ends.first, ends.second}] >= kMinShareOfJob * most) {
      flow.row.process = 1;
    }
  }
}

// Hosts that exchange with each other, directly or by others: one job's.
class Jobs {
 public:
  explicit Jobs(const NodeData& node) {
    for (const FlowData& flow : node.flows) {
      if (is_jobs(flow)) {
        join(address_of(flow, 0), address_of(flow, 1));
      }
    }
    for (const FlowData& flow : node.flows) {
      if (is_jobs(flow)) {
        bytes_[root_of(address_of(flow, 0))] += bytes_of(flow);
      }
    }
    for (const auto& [host, parent] : parents_) {
      hosts_[root_of(host)].insert(host);
    }
  }

  // Of the job that sent most; empty where there is none.
  Hosts largest() const { return hosts_.empty() ? Hosts() : hosts_.at(largest_root()); }

  std::vector<Hosts> others() const {
    std::vector<Hosts> others;
    for (const auto& [root, hosts] : hosts_) {
      if (root != largest_root()) {
        others.push_back(hosts);
      }
    }
    return others;
  }

 private:
  void join(const std::string& one, const std::string& other) {
    parents_.try_emplace(one, one);
    parents_.try_emplace(other, other);
    parents_[root_of(one)] = root_of(other);
  }

  std::string root_of(std::string host) const {
    while (parents_.at(host) != host) {
      host = parents_.at(host);
    }
    return host;
  }

  std::string largest_root() const {
    return std::ranges::max_element(bytes_, {}, [](const auto& each) { return each.second; })
        ->first;
  }

  std::map<std::string, std::string> parents_;
  std::map<std::string, double> bytes_;
  std::map<std::string, Hosts> hosts_;
};

// How much longer the round trips of what one end sent are than those of the other's: the tap is
// nearer to the end whose acknowledgements come sooner. Above 0: a is nearer.
double nearness_of_a(const FlowData& flow) {
  const auto there = static_cast<double>(least_rtt_us(flow.packets[0]));
  const auto back = static_cast<double>(least_rtt_us(flow.packets[1]));
  return there > 0 && back > 0 ? std::log(there / back) : 0;
}

// The address at which the packets were captured, or the one next to that.
std::string captured_address(const NodeData& node, const Hosts& hosts) {
  std::map<std::string, double> near;
  std::map<std::string, double> bytes;
  double all = 0;
  for (const FlowData& flow : node.flows) {
    if (!is_jobs(flow) || !hosts.contains(address_of(flow, 0))) {
      continue;
    }
    const double carried = bytes_of(flow);
    const double of_a = flow.row.local_end.known() ? (flow.row.local_end.value() == 0 ? 1e3 : -1e3)
                                                   : nearness_of_a(flow);
    near[address_of(flow, 0)] += carried * of_a;
    near[address_of(flow, 1)] -= carried * of_a;
    bytes[address_of(flow, 0)] += carried;
    bytes[address_of(flow, 1)] += carried;
    all += carried;
  }
  std::string best;
  for (const auto& [host, carried] : bytes) {
    const bool is_end_of_all = carried >= kMinShareOfCaptured * all;
    const bool was_end_of_all = !best.empty() && bytes[best] >= kMinShareOfCaptured * all;
    const bool is_better = is_end_of_all != was_end_of_all ? is_end_of_all
                           : is_end_of_all                 ? near[host] > near[best]
                                                           : carried > bytes[best];
    best = best.empty() || is_better ? host : best;
  }
  return best;
}

// Half of the least round trip to each host, as its peers' connections show it.
std::map<std::string, std::int64_t> one_ways_of(const NodeData& node, const std::string& own) {
  std::map<std::string, std::int64_t> one_ways;
  for (const FlowData& flow : node.flows) {
    const std::size_t end = address_of(flow, 0) == own ? 0 : 1;
    const std::int64_t rtt_us = least_rtt_us(flow.packets.at(end));
    if (is_jobs(flow) && rtt_us > 0) {
      std::int64_t& least_ns = one_ways[address_of(flow, 1 - end)];
      least_ns = least_ns == 0 ? rtt_us * 500 : std::min(least_ns, rtt_us * 500);
    }
  }
  return one_ways;
}

record::Figure moved(record::Figure t_ns, std::int64_t by_ns) {
  return t_ns.known() ? record::Figure(t_ns.value() + by_ns) : t_ns;
}

// What was seen of a peer had left it earlier; what it saw came there later.
record::Collective as_at_peer(record::Collective row, std::int64_t one_way_ns) {
  row.own_ready_ns = moved(row.own_ready_ns, -one_way_ns);
  row.peer_ready_ns = moved(row.peer_ready_ns, one_way_ns);
  return row;
}

Interface interface_of(const std::string& name, const std::string& address) {
  return {.name = name, .kind = "", .is_up = true, .addresses = {address}};
}

class Separation {
 public:
  explicit Separation(NodeData node) : node_(std::move(node)), numbers_(numbers_of(node_)) {
    if (std::ranges::none_of(node_.flows, is_jobs)) {
      choose_flows(node_);
    }
    const Jobs jobs(node_);
    hosts_ = jobs.largest();
    for (const Hosts& others : jobs.others()) {
      others_.push_back(fmt::format("{}", fmt::join(others, ", ")));
    }
    own_ = captured_address(node_, hosts_);
    one_ways_ = one_ways_of(node_, own_);
  }

  // The captured one first; the record as it was where it shows no job.
  std::vector<NodeData> nodes(std::vector<std::string>& missing) {
    if (own_.empty()) {
      missing.push_back(
          fmt::format("no connection in the capture {} carried data of a job", node_.name));
      return {std::move(node_)};
    }
    for (const std::string& others : others_) {
      missing.push_back(fmt::format(
          "the capture {} shows another job, of {}: 'chokepoint capture -r FILE --record DIR host "
          "ADDRESS' records it alone",
          node_.name, others));
    }
    std::vector<NodeData> nodes{node_of(own_)};
    for (const std::string& host : hosts_) {
      if (host != own_) {
        nodes.push_back(node_of(host));
      }
    }
    return nodes;
  }

 private:
  NodeData node_of(const std::string& host) {
    NodeData node{.name = host,
                  .host = host,
                  .boot_id = "capture " + node_.name,
                  .is_complete = node_.is_complete,
                  .why_without_end = node_.why_without_end,
                  .span = node_.span,
                  .wall_start_ns = node_.wall_start_ns,
                  .windows = node_.windows,
                  .labels = node_.labels};
    node.is_capture = true;
    node.is_inferred = host != own_;
    node.processes.push_back({.id = 1, .rank = 0});
    const auto number = numbers_.find(host);
    for (const record::Collective& row : node_.collectives) {
      if (number != numbers_.end() && row.rank.value_or(-1) == number->second) {
        node.collectives.push_back(node.is_inferred ? as_at_peer(row, one_ways_[host]) : row);
      }
    }
    take_flows(host, node);
    if (!node.is_inferred) {
      node.events = node_.events;
      node.damage = node_.damage;
      take_steps(number == numbers_.end() ? -1 : number->second, node);
      add_series(node);
    }
    return node;
  }

  // A connection between two peers, at a point between hosts, is taken as its end a saw it.
  void take_flows(const std::string& host, NodeData& node) {
    for (const FlowData& flow : node_.flows) {
      const bool is_a = address_of(flow, 0) == host;
      const bool is_b = address_of(flow, 1) == host;
      const bool is_at_own = address_of(flow, 0) == own_ || address_of(flow, 1) == own_;
      if ((!is_a && !is_b) || (is_a && is_b)) {
        continue;
      }
      const bool has_packets = is_at_own ? host == own_ : is_a;
      if (!is_jobs(flow) && !has_packets) {
        continue;
      }
      FlowData& taken = node.flows.emplace_back();
      taken.row = flow.row;
      taken.row.local_end = is_a ? 0 : 1;
      if (has_packets) {
        taken.totals = flow.totals;
        taken.packets = flow.packets;
        taken.marks = flow.marks;
        node.is_inferred = node.is_inferred && is_at_own;
      }
      if (node.interfaces.empty()) {
        node.interfaces.push_back(
            interface_of(has_packets ? flow.row.interface : std::string(), host));
      }
    }
  }

  // All hosts of a job have the same steps; those of the captured one are seen best.
  void take_steps(std::int64_t number, NodeData& node) {
    for (const record::Step& step : node_.steps) {
      if (!step.rank.known() || step.rank.value() == number) {
        node.steps.push_back(step);
      }
    }
  }

  // What counters of the host would have told of its interfaces: all traffic, and the job's.
  static void add_series(NodeData& node) {
    for (const std::size_t way : {0U, 1U}) {
      Volumes all;
      Volumes jobs;
      for (const FlowData& flow : node.flows) {
        const auto own = static_cast<std::size_t>(flow.row.local_end.value_or(0));
        const std::size_t side = way == 0 ? own : 1 - own;
        for (const record::FlowSample& sample : flow.packets.at(side)) {
          all[flow.row.interface][sample.t_ns] += bytes_of(sample);
          jobs[flow.row.interface][sample.t_ns] += is_jobs(flow) ? bytes_of(sample) : 0;
        }
      }
      add_counters(way == 0 ? record::kNicSentBytes : record::kNicReceivedBytes, all, node);
      add_counters(way == 0 ? record::kJobSentBytes : record::kJobReceivedBytes, jobs, node);
    }
  }

  // By interface and moment.
  using Volumes = std::map<std::string, std::map<std::int64_t, double>>;

  static double bytes_of(const record::FlowSample& sample) {
    return static_cast<double>(sample.bytes.value_or(sample.payload_bytes.value_or(0)));
  }

  static void add_counters(std::string_view name, const Volumes& volumes, NodeData& node) {
    for (const auto& [interface, bytes_at] : volumes) {
      SeriesData series{.row = {.name = std::string(name), .subject = interface, .unit = "bytes"}};
      double sum = 0;
      for (const auto& [t_ns, bytes] : bytes_at) {
        sum += bytes;
        series.readings.push_back({.t_ns = t_ns, .value = sum});
      }
      node.series.push_back(std::move(series));
    }
  }

  NodeData node_;
  std::map<std::string, std::int64_t> numbers_;
  Hosts hosts_;
  std::vector<std::string> others_;
  std::string own_;
  std::map<std::string, std::int64_t> one_ways_;
};

template <class Row>
void add_sorted(std::vector<Row>& rows, std::vector<Row>&& more) {
  std::ranges::move(more, std::back_inserter(rows));
  std::ranges::stable_sort(rows, {}, [](const Row& row) { return record::end_of(row); });
}

bool are_apart(const NodeData& one, const NodeData& other) {
  return one.span.end_ns <= other.span.start_ns || other.span.end_ns <= one.span.start_ns;
}

// What another file of the same capture shows: tcpdump begins a new one when the old one is large.
void join(NodeData& node, NodeData&& more) {
  std::int64_t above = 0;
  for (const FlowData& flow : node.flows) {
    above = std::max(above, flow.row.id);
  }
  for (FlowData& flow : more.flows) {
    flow.row.id += above;
    node.flows.push_back(std::move(flow));
  }
  for (record::Collective& row : more.collectives) {
    row.flow = row.flow.known() ? record::Figure(row.flow.value() + above) : row.flow;
  }
  add_sorted(node.collectives, std::move(more.collectives));
  add_sorted(node.steps, std::move(more.steps));
  std::ranges::move(more.events, std::back_inserter(node.events));
  node.span = {std::min(node.span.start_ns, more.span.start_ns),
               std::max(node.span.end_ns, more.span.end_ns)};
}

// One node for each address: what was captured there, else what one capture shows of it.
void keep_one_each(std::vector<NodeData>& nodes) {
  std::ranges::stable_sort(nodes, [](const NodeData& one, const NodeData& other) {
    return one.name != other.name ? AddressOrder()(one.name, other.name)
                                  : one.is_inferred < other.is_inferred;
  });
  std::vector<NodeData> kept;
  for (NodeData& node : nodes) {
    const bool is_same = !kept.empty() && kept.back().name == node.name;
    if (!is_same) {
      kept.push_back(std::move(node));
    } else if (kept.back().is_inferred == node.is_inferred && are_apart(kept.back(), node)) {
      join(kept.back(), std::move(node));
    }
  }
  nodes = std::move(kept);
}

void number_ranks(std::vector<NodeData>& nodes) {
  for (std::size_t place = 0; place < nodes.size(); ++place) {
    const auto rank = static_cast<std::int64_t>(place);
    for (record::Process& process : nodes[place].processes) {
      process.rank = rank;
      process.world_size = static_cast<std::int64_t>(nodes.size());
    }
    for (record::Collective& row : nodes[place].collectives) {
      row.rank = rank;
    }
    for (record::Step& step : nodes[place].steps) {
      step.rank = step.rank.known() ? record::Figure(rank) : step.rank;
    }
  }
}

}  // namespace

bool is_captured(const RunData& run) { return !run.nodes.empty() && run.nodes.front().is_capture; }

void separate_captured_hosts(RunData& run) {
  // Beside a record of 'run' a capture adds nothing that this would not have better.
  if (run.nodes.empty() || !std::ranges::all_of(run.nodes, &NodeData::is_capture)) {
    return;
  }
  std::vector<NodeData> nodes;
  for (NodeData& node : run.nodes) {
    std::ranges::move(Separation(std::move(node)).nodes(run.missing), std::back_inserter(nodes));
  }
  keep_one_each(nodes);
  if (std::ranges::none_of(nodes, [](const NodeData& node) { return node.processes.empty(); })) {
    number_ranks(nodes);
  }
  run.nodes = std::move(nodes);
}

}  // namespace chokepoint::analysis
