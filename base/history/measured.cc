#include "base/history/measured.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/documents/doctor.h"
#include "base/documents/host_facts.h"
#include "base/documents/test_head.h"
#include "base/json/codec.h"
#include "base/sys/wall_time.h"

namespace chokepoint::history {
namespace {

using documents::MainFigure;
using json::Json;

constexpr std::size_t kMostPairs = 1 << 20;  // of a preflight's document

// What all rows of a document have.
struct Head {
  std::string schema = {};
  std::string host = {};
  std::string peer = {};
  std::int64_t wall_ns = 0;
  Origin origin = {};

  Measured measured(double value) const {
    return {.wall_ns = wall_ns, .value = value, .source = origin.source, .program = origin.program};
  }
};

Subject path(const std::string& from, const std::string& to) {
  return {.kind = SubjectKind::Path, .host = from, .to = to};
}

using Settings = std::map<std::string, std::string>;

std::string text_of(const Settings& settings) {
  std::vector<std::string> words;
  for (const auto& [key, value] : settings) {
    words.push_back(key + "=" + value);
  }
  return fmt::format("{}", fmt::join(words, " "));
}

Subject subject_of(const Head& head, const Settings& settings) {
  namespace schemas = documents::schemas;
  const auto setting = [&](const char* key) {
    const auto found = settings.find(key);
    return found == settings.end() ? std::string() : found->second;
  };
  if (head.schema == schemas::kStorage) {
    return {.kind = SubjectKind::Disk, .host = head.host, .name = setting("place")};
  }
  if (head.schema == schemas::kPcie) {
    return {.kind = SubjectKind::Gpu, .host = head.host};
  }
  if (head.schema == schemas::kCollective) {
    return {.kind = SubjectKind::Group, .host = head.host, .name = setting("collective")};
  }
  return path(head.host, head.peer);
}

// A rate one way is one of that way, whichever end asked for it.
void turn_by_direction(const Head& head, const Settings& settings, Series& series) {
  const auto direction = settings.find("direction");
  const bool is_received = direction != settings.end() && direction->second == "receive";
  if (series.metric == "receive_mbps" || (series.metric == "throughput_mbps" && is_received)) {
    series.subject = path(head.peer, head.host);
  }
  if (series.metric == "receive_mbps" || series.metric == "send_mbps") {
    series.metric = "throughput_mbps";
  }
}

Series series_of(const Head& head, Settings settings, const MainFigure& figure) {
  Series series{.subject = subject_of(head, settings),
                .metric = figure.key,
                .unit = figure.unit,
                .better = figure.better};
  if (series.subject.kind == SubjectKind::Path) {
    turn_by_direction(head, settings, series);
  }
  settings.erase("direction");
  settings.erase("place");
  settings["test"] = documents::kind_of(head.schema);
  series.setting = text_of(settings);
  return series;
}

// Both ways at once are told by each way's own.
bool is_sum_of_ways(const MainFigure& figure, const Json& document) {
  return std::string_view(figure.key) == "throughput_mbps" &&
         documents::number_at(document, "/send/throughput_mbps") &&
         documents::number_at(document, "/receive/throughput_mbps");
}

void add_test(const Json& document, const Head& head, Batch& batch) {
  const Settings settings = documents::settings_of(document, head.schema);
  for (const MainFigure& figure : documents::kMainFigures) {
    const auto value = head.schema == figure.schema ? documents::number_at(document, figure.pointer)
                                                    : std::nullopt;
    if (!value || is_sum_of_ways(figure, document)) {
      continue;
    }
    Row row{.series = series_of(head, settings, figure), .measured = head.measured(*value)};
    const auto is_there = [&](const Row& other) { return other.series.is_same(row.series); };
    if (std::ranges::none_of(batch.rows, is_there)) {
      batch.rows.push_back(std::move(row));
    }
  }
}

struct PairColumn {
  const char* name;
  const char* metric;
  const char* unit;
  documents::Better better;
};
constexpr std::array kOfEachWay{
    PairColumn{"tcp_mbps", "throughput_mbps", "Mb/s", documents::Better::More},
    PairColumn{"alone_mbps", "alone_mbps", "Mb/s", documents::Better::More},
    PairColumn{"retransmitted_percent", "retransmitted_percent", "%", documents::Better::Less},
    PairColumn{"loss_percent", "loss_percent", "%", documents::Better::Less},
    PairColumn{"mtu_bytes", "path_mtu_bytes", "B", documents::Better::Neither},
    PairColumn{"rdma_mbps", "rdma_mbps", "Mb/s", documents::Better::More}};
constexpr PairColumn kRoundTrip{"rtt_ms", "rtt_ms", "ms", documents::Better::Less};

std::vector<std::string> names_of_hosts(const Json& document) {
  std::vector<std::string> names;
  if (const Json* hosts = documents::found_at(document, "/hosts"); hosts && hosts->is_array()) {
    for (const Json& host : *hosts) {
      const Json* own = documents::found_at(host, "/facts/host");
      const Json* given = documents::found_at(host, "/name");
      const Json* name =
          own != nullptr && own->is_string() && own->get_ref<const std::string&>() != "" ? own
                                                                                         : given;
      names.push_back(name != nullptr && name->is_string()
                          ? documents::label_of(name->get_ref<const std::string&>())
                          : std::string());
    }
  }
  return names;
}

const Json* list_at(const Json& document, const std::string& pointer) {
  const Json* list = documents::found_at(document, pointer);
  return list != nullptr && list->is_array() ? list : nullptr;
}

// By the places in its lists, each of which has a value a pair.
class PairRows {
 public:
  PairRows(const Json& document, const Head& head, Batch& batch)
      : document_(document), head_(head), batch_(batch), names_(names_of_hosts(document)) {}

  void add() {
    add_column("/pairs/rtt_ms", kRoundTrip, false);
    for (const PairColumn& column : kOfEachWay) {
      add_column(fmt::format("/pairs/there/{}", column.name), column, false);
      add_column(fmt::format("/pairs/back/{}", column.name), column, true);
    }
  }

 private:
  const std::string* name_at(const Json& places, std::size_t pair) const {
    const auto place = pair < places.size() && places[pair].is_number_unsigned()
                           ? places[pair].get<std::size_t>()
                           : names_.size();
    return place < names_.size() && !names_[place].empty() ? &names_[place] : nullptr;
  }

  void add_column(const std::string& pointer, const PairColumn& column, bool is_back) {
    const Json* values = list_at(document_, pointer);
    const Json* from = list_at(document_, is_back ? "/pairs/b" : "/pairs/a");
    const Json* to = list_at(document_, is_back ? "/pairs/a" : "/pairs/b");
    if (values == nullptr || from == nullptr || to == nullptr) {
      return;
    }
    for (std::size_t pair = 0; pair < std::min(values->size(), kMostPairs); ++pair) {
      const std::string* sender = name_at(*from, pair);
      const std::string* receiver = name_at(*to, pair);
      const Json& value = (*values)[pair];
      if (sender != nullptr && receiver != nullptr && value.is_number()) {
        batch_.rows.push_back({.series = {.subject = path(*sender, *receiver),
                                          .metric = column.metric,
                                          .setting = "test=preflight",
                                          .unit = column.unit,
                                          .better = column.better},
                               .measured = head_.measured(value.get<double>())});
      }
    }
  }

  const Json& document_;
  const Head& head_;
  Batch& batch_;
  std::vector<std::string> names_;
};

// A check that fails where it did not before is worth a line; which one, its document says.
void add_checks(const Json& document, const Head& head, Batch& batch) {
  const auto doctor = documents::read<documents::Doctor>(document);
  if (!doctor) {
    return;
  }
  for (const auto& [status, metric] : {std::pair{checks::Status::Critical, "checks_critical"},
                                       {checks::Status::Warning, "checks_warning"}}) {
    const auto count = std::ranges::count(doctor->checks, status, &checks::Check::status);
    batch.rows.push_back({.series = {.subject = {.kind = SubjectKind::Host, .host = head.host},
                                     .metric = metric,
                                     .better = documents::Better::Less},
                          .measured = head.measured(static_cast<double>(count))});
  }
}

void add_states(const documents::HostFacts& facts, const Head& head, Batch& batch) {
  const auto add = [&](const std::string& host, const documents::Settings& settings) {
    if (!host.empty() && !settings.empty()) {
      batch.hosts.push_back({.host = host, .wall_ns = head.wall_ns, .settings = settings});
    }
  };
  add(head.host, facts.own);
  // On one machine both ends may have one name; its facts are told once.
  if (facts.peer && head.peer != head.host) {
    add(head.peer, *facts.peer);
  }
  for (const auto& [name, settings] :
       facts.peers.value_or(std::map<std::string, documents::Settings>())) {
    add(documents::label_of(name), settings);
  }
}

}  // namespace

Batch measured_in(const Json& document, const Origin& origin) {
  Batch batch;
  const auto told = json::from_json<documents::TestHead>(document, "document");
  const auto wall_ns = told ? sys::wall_ns_in(told->started_at) : std::nullopt;
  if (!wall_ns || told->interrupted || told->host.empty()) {
    return batch;
  }
  const documents::TestedPeer peer = told->peer.value_or(documents::TestedPeer());
  const Head head{.schema = told->schema,
                  .host = documents::label_of(told->host),
                  .peer = documents::label_of(peer.name.empty() ? peer.host : peer.name),
                  .wall_ns = *wall_ns,
                  .origin = origin};
  if (head.schema == Fields<documents::Doctor>::kSchema) {
    add_checks(document, head, batch);
  } else if (head.schema == "chokepoint.preflight/1") {
    PairRows(document, head, batch).add();
  } else {
    add_test(document, head, batch);
  }
  if (told->host_facts) {
    add_states(*told->host_facts, head, batch);
  }
  return batch;
}

}  // namespace chokepoint::history
