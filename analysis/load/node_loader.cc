#include "analysis/load/node_loader.h"

#include <algorithm>
#include <limits>

#include "analysis/load/interfaces.h"
#include "analysis/load/main_session.h"
#include "analysis/load/sample_loader.h"

namespace chokepoint::analysis {
namespace {

using record::Figure;

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
    take_happenings();
    sort();
    load_steps(reader_, node_);
    node_.is_complete = !node_.damage && session_ != nullptr && session_->end_ns.known();
    return std::move(node_);
  }

 private:
  // What could not be read to its end is damaged, whatever else was found.
  template <class Row>
  std::vector<Row> all() {
    Result<std::vector<Row>> rows = reader_.all<Row>();
    if (!rows && !node_.damage) {
      node_.damage = rows.error();
    }
    return rows ? std::move(*rows) : std::vector<Row>();
  }

  // Of a file that lost its sessions, whatever is left.
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
      node_.span = {0, std::numeric_limits<std::int64_t>::max()};
      return;
    }
    node_.host = session_->host;
    node_.boot_id = session_->boot_id;
    node_.command = session_->command;
    if (session_->exit_status.known()) {
      node_.exit_status = session_->exit_status.value();
    }
    node_.span = {session_->start_ns, session_->end_ns.value_or(session_->seen_ns)};
    node_.wall_start_ns = reader_.wall_ns(session_->start_ns);
  }

  void take_host() {
    for (const record::Label& label : mine<record::Label>()) {
      node_.labels[label.key] = label.value;
    }
    node_.facts = all<record::Fact>();
    // Another command may have looked at the same host into the same record.
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

  void take_happenings() {
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

NodeData load_node(record::Reader& reader) { return NodeLoader(reader).load(); }

}  // namespace chokepoint::analysis
