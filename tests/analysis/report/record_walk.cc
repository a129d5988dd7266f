#include "tests/analysis/report/record_walk.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <charconv>

namespace chokepoint::analysis {
namespace {

using cli::Json;

constexpr const char* kSession =
    "(SELECT id FROM session ORDER BY command<>'' DESC, id DESC LIMIT 1)";

// Rows of one direction of one connection, whichever way its ends are told: ?1 … ?4 are a's address
// and port, then b's, ?5 the direction.
std::string of_way(const char* alias) {
  return fmt::format(
      " JOIN flow f ON f.id={0}.flow WHERE f.session={1} AND "
      "((f.a_address=?1 AND f.a_port=?2 AND f.b_address=?3 AND f.b_port=?4 AND {0}.direction=?5)"
      " OR (f.a_address=?3 AND f.a_port=?4 AND f.b_address=?1 AND f.b_port=?2"
      " AND {0}.direction=1-?5))",
      alias, kSession);
}

RecordWalk::Texts key_of(const Json& flow, int direction) {
  const auto port = [](const Json& side) { return std::to_string(side["port"].get<int>()); };
  return {flow["a"]["address"], port(flow["a"]), flow["b"]["address"], port(flow["b"]),
          std::to_string(direction)};
}

void bind(record::Statement& statement, int place, const std::string& value) {
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), whole);
  if (error == std::errc() && end == value.data() + value.size()) {
    statement.bind(place, whole);
  } else {
    statement.bind(place, std::string_view(value));
  }
}

}  // namespace

RecordWalk::RecordWalk(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".db") {
      auto database = record::Database::open(entry.path(), record::Access::Immutable);
      if (database) {
        records_.emplace(entry.path().stem().string(), std::move(*database));
      }
    }
  }
}

RecordWalk::Texts RecordWalk::texts(const std::string& node, const std::string& sql,
                                    const Texts& values) {
  Texts found;
  const auto record = records_.find(node);
  if (record == records_.end()) {
    return found;
  }
  auto statement = record->second.prepare(
      fmt::format("SELECT CAST(value AS TEXT) FROM ({}) WHERE value IS NOT NULL", sql));
  if (!statement) {
    ADD_FAILURE() << describe(statement.error());
    return found;
  }
  for (std::size_t place = 0; place < values.size(); ++place) {
    bind(*statement, static_cast<int>(place) + 1, values[place]);
  }
  while (statement->step().value_or(false)) {
    statement->read(0, found.emplace_back());
  }
  return found;
}

std::optional<std::string> RecordWalk::text(const std::string& node, const std::string& sql,
                                            const Texts& values) {
  const Texts found = texts(node, sql, values);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

std::optional<double> RecordWalk::number(const std::string& node, const std::string& sql,
                                         const Texts& values) {
  const auto found = text(node, sql, values);
  return found ? std::optional(std::stod(*found)) : std::nullopt;
}

void RecordWalk::same(const Json& shown, std::optional<double> expected, const std::string& what) {
  ++compared_;
  ASSERT_EQ(shown.is_null(), !expected) << what << ": " << shown;
  if (expected) {
    ASSERT_TRUE(shown.is_number()) << what << ": " << shown;
    EXPECT_NEAR(shown.get<double>(), *expected, 1e-9 * std::abs(*expected)) << what;
  }
}

void RecordWalk::same(const Json& shown, const std::optional<std::string>& expected,
                      const std::string& what) {
  ++compared_;
  EXPECT_EQ(shown.is_null() ? "" : shown.get<std::string>(), expected.value_or("")) << what;
}

void RecordWalk::way(const Json& flow, int direction) {
  const Json& shown = flow[direction == 0 ? "a_to_b" : "b_to_a"];
  const std::string sender = flow[direction == 0 ? "a" : "b"]["name"];
  const std::string receiver = flow[direction == 0 ? "b" : "a"]["name"];
  const Texts key = key_of(flow, direction);
  const auto total = [&](const std::string& node, const std::string& column) {
    return number(node, "SELECT t." + column + " AS value FROM flow_total t" + of_way("t"), key);
  };
  for (const char* column :
       {"bytes", "payload_bytes", "packets", "retransmitted_packets", "fast_retransmissions",
        "timeout_retransmissions", "duplicate_acks", "zero_windows", "window_full",
        "max_in_flight_bytes", "max_window_bytes"}) {
    const auto sent = total(sender, column);
    same(shown[column], sent ? sent : total(receiver, column), column);
  }
  const auto arrived = total(receiver, "out_of_order");
  same(shown["out_of_order"], arrived ? arrived : total(sender, "out_of_order"), "out_of_order");
  same(
      shown["max_cwnd_bytes"],
      number(sender,
             "SELECT max(s.cwnd_packets * s.mss_bytes) AS value FROM socket_sample s" + of_way("s"),
             key),
      "max_cwnd_bytes");
  const auto busy_us =
      number(sender, "SELECT max(s.busy_us) AS value FROM socket_sample s" + of_way("s"), key);
  if (busy_us) {
    same(shown["busy_s"], *busy_us / 1e6, "busy_s");
  }
  const auto rtt = text(sender, "SELECT t.rtt_ms AS value FROM flow_total t" + of_way("t"), key);
  const Json expected = Json::parse(rtt.value_or(""), nullptr, false);
  EXPECT_EQ(shown["rtt_ms"].is_null(), !expected.is_object()) << shown["rtt_ms"];
  for (const auto& [member, value] : shown["rtt_ms"].items()) {
    same(value, expected[member].get<double>(), "rtt_ms " + member);
  }
}

void RecordWalk::flows(const Json& flows) {
  for (const Json& flow : flows) {
    way(flow, 0);
    way(flow, 1);
    const std::string seer = flow["seen_by"].at(0);
    const auto life_s = number(
        seer,
        fmt::format("SELECT (coalesce(f.end_ns, s.end_ns, s.seen_ns) - f.start_ns) / 1e9 AS value "
                    "FROM flow f JOIN session s ON s.id = f.session "
                    "WHERE f.session={} AND ((f.a_address=?1 AND f.a_port=?2 AND "
                    "f.b_address=?3 AND f.b_port=?4) OR (f.a_address=?3 AND f.a_port=?4 AND "
                    "f.b_address=?1 AND f.b_port=?2)) AND ?5=?5",
                    kSession),
        key_of(flow, 0));
    for (const char* way : {"a_to_b", "b_to_a"}) {
      const Json& payload = flow[way]["payload_bytes"];
      same(flow[way]["throughput_mbps"],
           payload.is_null() ? std::nullopt
                             : std::optional(payload.get<double>() * 8 / 1e6 / life_s.value_or(0)),
           "throughput_mbps");
    }
  }
}

// Of those without a record the name is the address.
RecordWalk::Texts RecordWalk::addresses_of(const std::string& name) {
  return !records_.contains(name)
             ? Texts{name}
             : texts(name, fmt::format("SELECT DISTINCT substr(value, 1, instr(value, '/') - 1) "
                                       "AS value FROM fact WHERE session={} AND category='nic' "
                                       "AND subject<>'lo' AND key IN ('address_ipv4', "
                                       "'address_ipv6')",
                                       kSession));
}

// By the record of the sender; where there is none, of the receiver.
std::optional<double> RecordWalk::sent(const std::string& from, const std::string& to) {
  const bool has_sender = records_.contains(from);
  std::optional<double> sum;
  for (const std::string& address : addresses_of(has_sender ? to : from)) {
    const auto more = number(
        has_sender ? from : to,
        fmt::format("SELECT sum(t.payload_bytes) AS value FROM flow f JOIN flow_total t "
                    "ON t.flow = f.id AND (t.direction = f.local_end) = {} WHERE f.session={} AND "
                    "f.process IS NOT NULL AND "
                    "CASE f.local_end WHEN 0 THEN f.b_address ELSE f.a_address END = ?1",
                    has_sender ? 1 : 0, kSession),
        {address});
    sum = more ? std::optional(sum.value_or(0) + *more) : sum;
  }
  return sum;
}

void RecordWalk::matrix(const Json& matrix) {
  const Texts names = matrix["names"];
  for (std::size_t row = 0; row < names.size(); ++row) {
    for (std::size_t column = 0; column < names.size(); ++column) {
      if (row != column) {
        same(matrix["bytes"][row][column], sent(names[row], names[column]),
             names[row] + " to " + names[column]);
      }
    }
  }
}

void RecordWalk::interface(const Json& interface, const std::string& node) {
  const std::string name = interface["name"];
  const std::string series = fmt::format(
      " FROM counter_sample c JOIN series s ON s.id = c.series WHERE s.session={} AND "
      "s.name=?1 AND s.subject=?2",
      kSession);
  for (const auto& [key, counter] : {std::pair("sent_bytes", "nic.sent_bytes"),
                                     {"received_bytes", "nic.received_bytes"},
                                     {"job_sent_bytes", "job.sent_bytes"},
                                     {"job_received_bytes", "job.received_bytes"}}) {
    same(interface[key],
         number(node, "SELECT max(c.value) - min(c.value) AS value" + series, {counter, name}),
         counter);
  }
  const auto peak = [&](const char* counter) {
    return number(node,
                  "SELECT max(c.peak_per_s) * 8 / 1e6 AS value" + series + " AND c.peak_per_s > 0",
                  {counter, name});
  };
  same(interface["sent_peak_mbps"], peak("nic.sent_bytes"), "sent_peak_mbps");
  same(interface["received_peak_mbps"], peak("nic.received_bytes"), "received_peak_mbps");
  const std::string fact = fmt::format(
      "SELECT value FROM fact WHERE session={} AND category='nic' AND subject=?1 AND key=?2",
      kSession);
  same(interface["mtu_bytes"], number(node, fact, {name, "mtu"}), "mtu");
  same(interface["driver"], text(node, fact, {name, "driver"}), "driver");
  if (!text(node, "SELECT name AS value FROM series WHERE name='nic.speed_mbps' AND subject=?1",
            {name})) {
    same(interface["speed_mbps"], number(node, fact, {name, "speed_mbps"}), "speed_mbps");
  }
}

void RecordWalk::hosts(const Json& hosts) {
  const std::string fact = fmt::format(
      "SELECT value FROM fact WHERE session={} AND category=?1 AND subject=?2 AND key=?3",
      kSession);
  for (const Json& host : hosts) {
    const std::string node = host["name"];
    same(host["host"],
         text(node, fmt::format("SELECT host AS value FROM session WHERE id={}", kSession)),
         "host");
    same(host["kernel"], text(node, fact, {"kernel", "", "release"}), "kernel");
    same(host["cpu"], text(node, fact, {"cpu", "", "model"}), "cpu");
    same(host["memory_bytes"], number(node, fact, {"memory", "", "total_bytes"}), "memory");
    for (const Json& each : host["interfaces"]) {
      interface(each, node);
    }
    for (const Json& each : host["facts"]) {
      same(each["value"],
           text(node, fact,
                {each["category"], each["subject"].is_null() ? "" : each["subject"], each["key"]}),
           each["key"]);
    }
  }
}

}  // namespace chokepoint::analysis
