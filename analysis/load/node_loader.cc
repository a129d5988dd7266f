#include "analysis/load/node_loader.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/math/saturating.h"
#include "base/record/runs.h"
#include "base/sys/number.h"

namespace chokepoint::analysis {
namespace {

struct InterfaceFacts {
  Interface interface = {};
  std::optional<bool> has_carrier = {};
  std::optional<bool> is_enabled = {};
  std::string state = {};

  // A driver that has no state reports "unknown"; only the carrier is known then.
  bool is_up() const {
    if (!is_enabled.value_or(true) || !has_carrier.value_or(true)) {
      return false;
    }
    return state == "up" || (state != "down" && (has_carrier || is_enabled));
  }
};

std::optional<double> number_of(const std::string& text) {
  const auto value = sys::parse_number<double>(text);
  return value && *value > 0 ? value : std::nullopt;
}

void take(const record::Fact& fact, InterfaceFacts& sight) {
  if (fact.key == "kind") {
    sight.interface.kind = fact.value;
  } else if (fact.key == "operstate") {
    sight.state = fact.value;
  } else if (fact.key == "enabled") {
    sight.is_enabled = fact.value == "true";
  } else if (fact.key == "carrier") {
    sight.has_carrier = fact.value == "true";
  } else if (fact.key == "speed_mbps") {
    sight.interface.speed_mbps = number_of(fact.value);
  } else if (fact.key == "address_ipv4" || fact.key == "address_ipv6") {
    sight.interface.addresses.push_back(fact.value);
  }
}

void add_packets(const std::vector<record::FlowSample>& packets, record::FlowTotal& total) {
  std::int64_t count = 0;
  std::int64_t payload_bytes = 0;
  std::int64_t retransmitted = 0;
  for (const record::FlowSample& sample : packets) {
    count = math::saturated_sum(count, sample.packets.value_or(0));
    payload_bytes = math::saturated_sum(payload_bytes, sample.payload_bytes.value_or(0));
    retransmitted = math::saturated_sum(retransmitted, sample.retransmitted_packets.value_or(0));
  }
  total.packets = count;
  total.payload_bytes = payload_bytes;
  total.retransmitted_packets = retransmitted;
}

void take_counters(const record::SocketSample& last, record::FlowTotal& total) {
  total.payload_bytes = last.bytes_sent;
  total.retransmitted_packets = last.retransmits;
  if (last.bytes_sent.known() && last.mss_bytes.value_or(0) > 0) {
    total.packets = last.bytes_sent.value() / last.mss_bytes.value();
  }
}

// Levels are written when they change, so the first reading may be the only one: it is always read.
constexpr std::int64_t kFirstReadingsNs = 5'000'000'000;

template <class Row>
constexpr std::size_t kTable = [] {
  return []<std::size_t... Index>(std::index_sequence<Index...>) {
    std::size_t found = 0;
    ((found = std::is_same_v<Row, std::tuple_element_t<Index, LargeTables>> ? Index : found), ...);
    return found;
  }(std::make_index_sequence<kLargeTables>());
}();

template <class Row>
void put_in_order(std::vector<Row>& rows) {
  const auto end = [](const Row& row) { return record::end_of(row); };
  if (!std::ranges::is_sorted(rows, {}, end)) {
    std::ranges::stable_sort(rows, {}, end);
  }
}

// A record that could not be read to its end is damaged.
void note(const Result<>& done, NodeData& node) {
  if (!done && !node.damage) {
    node.damage = done.error();
    node.is_complete = false;
  }
}

class SampleLoader {
 public:
  SampleLoader(record::Reader& reader, const SamplePlan& plan, NodeData& node)
      : reader_(reader), plan_(plan), node_(node), sink_(node) {}

  void load() {
    read<record::FlowSample>([this](const auto& row) { sink_.add(row, &FlowData::packets); });
    read<record::SocketSample>([this](const auto& row) { sink_.add(row, &FlowData::sockets); });
    read<record::FlowMark>([this](const auto& row) { sink_.add(row, &FlowData::marks); });
    read<record::CounterSample>([this](const auto& row) { sink_.add(row); });
    read<record::GaugeSample>([this](const auto& row) { sink_.add(row); });
    read<record::Collective>([this](const auto& row) { node_.collectives.push_back(row); });
    put_together();
    node_.windows = plan_.windows;
  }

 private:
  template <class Row, class F>
  void read(F&& add_row) {
    std::vector<Span> spans = plan_.windows;
    if (plan_.is_whole.at(kTable<Row>)) {
      spans = {plan_.whole};
    } else if constexpr (requires(const Row& row) { row.series; }) {
      if (spans.empty() || first_readings().end_ns < spans[0].start_ns) {
        spans.insert(spans.begin(), first_readings());
      }
    }
    note(reader_.each_in<Row>(spans, add_row), node_);
  }

  Span first_readings() const {
    return {plan_.whole.start_ns, node_.span.start_ns + kFirstReadingsNs};
  }

  void put_together() {
    for (FlowData& flow : node_.flows) {
      for (const std::size_t side : {0U, 1U}) {
        put_in_order(flow.packets.at(side));
        put_in_order(flow.sockets.at(side));
        put_in_order(flow.marks.at(side));
      }
      complete_totals(flow);
    }
    for (SeriesData& series : node_.series) {
      put_in_order(series.readings);
    }
    put_in_order(node_.collectives);
  }

  record::Reader& reader_;
  const SamplePlan& plan_;
  NodeData& node_;
  SampleSink sink_;
};

// Needs the node's span.
void load_steps(record::Reader& reader, NodeData& node) {
  note(reader.each_in<record::Step>({with_slack(node.span)},
                                    [&](const record::Step& step) { node.steps.push_back(step); }),
       node);
  put_in_order(node.steps);
}

class NodeLoader {
 public:
  explicit NodeLoader(record::Reader& reader)
      : reader_(reader), session_(main_session(reader.sessions())) {
    node_.name = reader.node();
    node_.damage = reader.damage();
  }

  NodeData load() {
    take_session();
    take_host();
    take_processes();
    take_flows();
    take_series();
    take_events();
    sort();
    if (node_.is_capture) {
      take_span_of_flows();
    }
    load_steps(reader_, node_);
    node_.is_complete = !node_.damage && session_ != nullptr && session_->end_ns.known();
    if (!node_.is_complete) {
      node_.why_without_end = record::why_without_end(reader_.path());
    }
    return std::move(node_);
  }

 private:
  template <class Row>
  std::vector<Row> all() {
    Result<std::vector<Row>> rows = reader_.all<Row>();
    if (!rows && !node_.damage) {
      node_.damage = rows.error();
    }
    return rows ? std::move(*rows) : std::vector<Row>();
  }

  // Without sessions (a damaged file) all rows count.
  template <class Row>
  bool is_mine(const Row& row) const {
    return session_ == nullptr || row.session == session_->id;
  }
  template <class Row>
  std::vector<Row> mine() {
    std::vector<Row> rows = all<Row>();
    std::erase_if(rows, [this](const Row& row) { return !is_mine(row); });
    return rows;
  }

  void take_session() {
    if (session_ == nullptr) {
      node_.span = {0, record::kMostNs};
      return;
    }
    node_.host = session_->host;
    node_.boot_id = session_->boot_id;
    node_.command = session_->command;
    node_.is_capture = session_->role == "capture" && session_->command.empty();
    if (session_->exit_status.known()) {
      node_.exit_status = session_->exit_status.value();
    }
    node_.span = {session_->start_ns, session_->end_ns.value_or(session_->seen_ns)};
    node_.wall_start_ns = reader_.wall_ns(session_->start_ns);
  }

  // Of a capture that was made before the session that reads it.
  void take_span_of_flows() {
    Span span{record::kMostNs, record::kLeastNs};
    for (const FlowData& flow : node_.flows) {
      span.start_ns = std::min(span.start_ns, flow.row.start_ns.value_or(span.start_ns));
      span.end_ns = std::max(span.end_ns, flow.row.end_ns.value_or(span.end_ns));
    }
    if (span.start_ns < span.end_ns) {
      node_.span = span;
      node_.wall_start_ns = reader_.wall_ns(span.start_ns);
    }
  }

  void take_host() {
    for (const record::Label& label : mine<record::Label>()) {
      node_.labels[label.key] = label.value;
    }
    node_.facts = all<record::Fact>();
    // Another command may have written facts of the same host into the same record.
    if (std::ranges::any_of(node_.facts, [this](const auto& fact) { return is_mine(fact); })) {
      std::erase_if(node_.facts, [this](const auto& fact) { return !is_mine(fact); });
    }
    node_.interfaces = interfaces_of(node_.facts);
  }

  void take_processes() {
    node_.processes = mine<record::Process>();
    std::ranges::stable_sort(node_.processes, {}, [](const record::Process& process) {
      return process.rank.value_or(std::numeric_limits<std::int64_t>::max());
    });
  }

  void take_flows() {
    for (record::Flow& row : mine<record::Flow>()) {
      FlowData& flow = node_.flows.emplace_back();
      flow.row = std::move(row);
      if (const std::int64_t end = flow.row.local_end.value_or(0); end != 0 && end != 1) {
        flow.row.local_end = {};  // it is taken for a place from here on
      }
      for (const record::Direction direction : {record::Direction::AToB, record::Direction::BToA}) {
        auto& total = flow.totals.at(static_cast<std::size_t>(direction));
        total.flow = flow.row.id;
        total.direction = direction;
      }
    }
    std::ranges::sort(node_.flows, {}, [](const FlowData& flow) { return flow.row.id; });
    for (record::FlowTotal& total : all<record::FlowTotal>()) {
      const auto flow = std::ranges::lower_bound(node_.flows, total.flow, {},
                                                 [](const FlowData& each) { return each.row.id; });
      const auto side = static_cast<std::size_t>(total.direction);
      if (flow != node_.flows.end() && flow->row.id == total.flow && side < 2) {
        flow->totals.at(side) = std::move(total);
      }
    }
  }

  void take_series() {
    for (record::Series& row : mine<record::Series>()) {
      node_.series.push_back({.row = std::move(row)});
    }
    std::ranges::sort(node_.series, {}, [](const SeriesData& series) { return series.row.id; });
  }

  void take_events() {
    node_.events = mine<record::Event>();
    node_.probes = all<record::Probe>();
    node_.clock_offsets = all<record::ClockOffset>();
    std::erase_if(node_.clock_offsets,
                  [this](const record::ClockOffset& offset) { return !is_of_this_boot(offset); });
  }

  bool is_of_this_boot(const record::ClockOffset& offset) const {
    const auto session =
        std::ranges::find(reader_.sessions(), offset.session, &record::Session::id);
    return session_ == nullptr || session == reader_.sessions().end() ||
           session->boot_id == session_->boot_id;
  }

  void sort() {
    std::ranges::stable_sort(node_.events, {}, &record::Event::t_ns);
    std::ranges::stable_sort(node_.probes, {}, &record::Probe::t_ns);
    std::ranges::stable_sort(node_.clock_offsets, {}, &record::ClockOffset::t_ns);
  }

  record::Reader& reader_;
  const record::Session* session_;
  NodeData node_;
};

}  // namespace

std::vector<Interface> interfaces_of(const std::vector<record::Fact>& facts) {
  std::vector<InterfaceFacts> sights;
  for (const record::Fact& fact : facts) {
    if (fact.category != "nic" || fact.subject.empty()) {
      continue;
    }
    auto sight = std::ranges::find(sights, fact.subject,
                                   [](const InterfaceFacts& each) { return each.interface.name; });
    if (sight == sights.end()) {
      sights.push_back({.interface = {.name = fact.subject}});
      sight = std::prev(sights.end());
    }
    take(fact, *sight);
  }
  std::vector<Interface> interfaces;
  for (InterfaceFacts& sight : sights) {
    sight.interface.is_up = sight.is_up();
    interfaces.push_back(std::move(sight.interface));
  }
  return interfaces;
}

void complete_totals(FlowData& flow) {
  for (const std::size_t side : {0U, 1U}) {
    record::FlowTotal& total = flow.totals.at(side);
    if (total.packets.known()) {
      continue;
    }
    if (!flow.packets.at(side).empty()) {
      add_packets(flow.packets.at(side), total);
    } else if (!flow.sockets.at(side).empty()) {
      take_counters(flow.sockets.at(side).back(), total);
    }
  }
}

void load_samples(record::Reader& reader, const SamplePlan& plan, NodeData& node) {
  SampleLoader(reader, plan, node).load();
}

const record::Session* main_session(const std::vector<record::Session>& sessions) {
  const auto watched =
      std::ranges::find_if(sessions.rbegin(), sessions.rend(),
                           [](const record::Session& session) { return !session.command.empty(); });
  if (watched != sessions.rend()) {
    return &*watched;
  }
  return sessions.empty() ? nullptr : &sessions.back();
}

NodeData load_node(record::Reader& reader) { return NodeLoader(reader).load(); }

}  // namespace chokepoint::analysis
