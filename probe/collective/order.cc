#include "probe/collective/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/control/bodies.h"
#include "base/control/fields.h"
#include "probe/collective/operation.h"

namespace chokepoint::probe::collective {
namespace {

using control::Fields;
using control::Json;

constexpr std::array<std::string_view, 5> kTasks{"prepare", "check", "run", "tell", "end"};
constexpr std::size_t kMaxNameLength = 32;
constexpr std::size_t kMaxTextLength = 500;
constexpr std::int64_t kMaxCount = 1'000'000;
constexpr double kNsPerUs = 1000;
constexpr double kMaxNs = 1e15;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Json> object_in(const std::string& text, std::string_view what) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) {
    return fail(ErrorKind::Malformed, "read message", what, "wanted an object");
  }
  return json;
}

Json times_body(const std::vector<double>& times_us) {
  Json times = Json::array();
  for (const double each : times_us) {
    times.push_back(std::llround(each * kNsPerUs));
  }
  return times;
}

Result<double> time_in(const Json& body) {
  if (!body.is_number_integer() || body.get<double>() < 0 || body.get<double>() > kMaxNs) {
    return fail(ErrorKind::Malformed, "read message", "times_ns", "wanted nanoseconds");
  }
  return body.get<double>() / kNsPerUs;
}

// JSON has no NaN and no infinity.
Json number_or_text(double value) {
  return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value));
}

double number_in(const Json& body, const char* name) {
  const auto at = body.find(name);
  return at != body.end() && at->is_number() ? at->get<double>() : std::nan("");
}

Json wrong_body(const std::optional<Wrong>& wrong) {
  return wrong ? Json{{"offset_bytes", wrong->offset_bytes},
                      {"wanted", number_or_text(wrong->wanted)},
                      {"found", number_or_text(wrong->found)}}
               : Json();
}

Result<std::optional<Wrong>> wrong_in(const Json& body, int rank) {
  const auto at = body.find("wrong");
  if (at == body.end() || !at->is_object()) {
    return std::nullopt;
  }
  Fields in(*at, "wrong");
  return in.finish(std::optional(Wrong{.rank = rank,
                                       .offset_bytes = static_cast<std::uint64_t>(in.integer(
                                           "offset_bytes", 0, static_cast<std::int64_t>(kMaxSize))),
                                       .wanted = number_in(*at, "wanted"),
                                       .found = number_in(*at, "found")}));
}

// Text from a library's log is shortened, never an error.
std::string shortened(const std::string& text) { return text.substr(0, kMaxTextLength); }

std::optional<int> in_range(const std::optional<int>& count) {
  return count && *count >= 0 && *count <= kMaxCount ? count : std::nullopt;
}

Json way_body(const Way& way) {
  return {{"library", shortened(way.library)},
          {"transport", shortened(way.transport)},
          {"interface", shortened(way.interface)},
          {"family", shortened(way.family)},
          {"local_address", shortened(way.local_address)},
          {"channels", control::or_null(in_range(way.channels))},
          {"sockets_per_peer", control::or_null(in_range(way.sockets_per_peer))},
          {"link_mbps", control::or_null(way.link_mbps)},
          {"better", shortened(way.better)}};
}

std::optional<int> to_int(const std::optional<std::int64_t>& value) {
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

Result<Way> way_in(const Json& body) {
  Fields in(body, "way");
  // The sender replaced each byte that is no UTF-8 by three.
  const auto text = [&](const char* name) { return in.text_or(name, 3 * kMaxTextLength, ""); };
  Way way{.library = text("library"),
          .transport = text("transport"),
          .interface = text("interface"),
          .family = text("family"),
          .local_address = text("local_address"),
          .channels = to_int(in.maybe_integer("channels", 0, kMaxCount)),
          .sockets_per_peer = to_int(in.maybe_integer("sockets_per_peer", 0, kMaxCount)),
          .link_mbps = in.maybe_number("link_mbps", 0, 1e9),
          .better = text("better")};
  return in.finish(std::move(way));
}

Result<Operation> operation_in(const Json& body) {
  Fields in(body, "order");
  const auto collective = parse_collective(in.text("collective", kMaxNameLength));
  const auto type = parse_element_type(in.text("type", kMaxNameLength));
  Operation operation{.bytes = static_cast<std::uint64_t>(
                          in.integer("bytes", 1, static_cast<std::int64_t>(2 * kMaxSize))),
                      .ranks = static_cast<int>(in.integer("ranks", 1, kMaxRanks)),
                      .root = static_cast<int>(in.integer("root", 0, kMaxRanks - 1))};
  if (!collective || !type || operation.root >= operation.ranks) {
    return fail(ErrorKind::Malformed, "read message", "order", "there is no such operation");
  }
  operation.collective = *collective;
  operation.type = *type;
  if (rounded(operation) != operation.bytes) {
    return fail(ErrorKind::Malformed, "read message", "order", "a size that ranks cannot share");
  }
  return in.finish(operation);
}

}  // namespace

std::string order_key(int rank) { return fmt::format("order/{}", rank); }
std::string answer_key(int rank) { return fmt::format("answer/{}", rank); }

std::string to_text(const Order& order) {
  Json body{{"task", kTasks.at(static_cast<std::size_t>(order.task))}};
  if (order.task == Task::Prepare) {
    body["collective"] = name_of(order.operation.collective);
    body["type"] = name_of(order.operation.type);
    body["bytes"] = order.operation.bytes;
    body["ranks"] = order.operation.ranks;
    body["root"] = order.operation.root;
  } else if (order.task == Task::Run) {
    body["lead"] = order.lead;
    body["times"] = order.times;
  }
  return text_of(body);
}

Result<Order> parse_order(const std::string& text) {
  TRY(const Json body, object_in(text, "order"));
  Fields in(body, "order");
  const std::string name = in.text("task", kMaxNameLength);
  const auto* task = std::ranges::find(kTasks, name);
  if (task == kTasks.end()) {
    return fail(ErrorKind::Malformed, "read message", "order", "there is no such task");
  }
  Order order{.task = static_cast<Task>(task - kTasks.begin())};
  if (order.task == Task::Prepare) {
    TRY(const Operation operation, operation_in(body));
    order.operation = operation;
  } else if (order.task == Task::Run) {
    order.lead = static_cast<int>(in.integer("lead", 0, kMaxIterations));
    order.times = static_cast<int>(in.integer("times", 1, kMaxIterations));
  }
  return in.finish(order);
}

std::string to_text(const Answer& answer) {
  return text_of({{"times_ns", times_body(answer.times_us)},
                  {"wrong", wrong_body(answer.wrong)},
                  {"way", way_body(answer.way)}});
}

Result<Answer> parse_answer(const std::string& text, int rank) {
  TRY(const Json body, object_in(text, "answer"));
  Fields in(body, "answer");
  const Json& way_of_rank = in.object("way");
  TRY(in.finish(true));
  Result<std::vector<double>> times = control::list_in<double>(body, "times_ns", time_in);
  Result<std::optional<Wrong>> wrong = wrong_in(body, rank);
  Result<Way> way = way_in(way_of_rank);
  if (!times || !wrong || !way) {
    return std::unexpected(!times ? times.error() : !wrong ? wrong.error() : way.error());
  }
  return Answer{.times_us = std::move(*times), .wrong = *wrong, .way = std::move(*way)};
}

}  // namespace chokepoint::probe::collective
