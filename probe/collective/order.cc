#include "probe/collective/order.h"

#include <fmt/format.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/json/codec.h"
#include "probe/collective/operation.h"

namespace chokepoint {

template <>
struct EnumNames<probe::collective::Task> {
  using enum probe::collective::Task;
  static constexpr std::string_view kWhat = "prepare, check, run, tell or end";
  static constexpr auto kNames = std::to_array<EnumName<probe::collective::Task>>(
      {{Prepare, "prepare"}, {Check, "check"}, {Run, "run"}, {Tell, "tell"}, {End, "end"}});
};

template <>
struct Fields<probe::collective::Operation> {
  using O = probe::collective::Operation;
  static constexpr std::tuple kList{
      field("collective", &O::collective, "what the ranks do"),
      field("type", &O::type, "of an element"),
      field("bytes", &O::bytes, "the size, as operation.h counts it")
          .between(1, 2.0 * probe::collective::kMaxSize),
      field("ranks", &O::ranks, "all of the job").between(1, probe::collective::kMaxRanks),
      field("root", &O::root, "the rank whose data a broadcast sends").at_least(0)};

  static const char* wrong(const O& operation) {
    return operation.root >= operation.ranks       ? "a root that is one of the ranks"
           : rounded(operation) != operation.bytes ? "a size that the ranks can share"
                                                   : nullptr;
  }
};

template <>
struct Fields<probe::collective::Wrong> {
  using W = probe::collective::Wrong;
  static constexpr std::tuple kList{
      field("offset_bytes", &W::offset_bytes, "of the first element that is wrong")
          .at_most(probe::collective::kMaxSize),
      field("wanted", &W::wanted, "the right value").or_default(),
      field("found", &W::found, "the value received").or_default()};
};

template <>
struct Fields<probe::collective::DataPath> {
  using W = probe::collective::DataPath;
  static constexpr std::size_t kMaxText = 500;
  static constexpr int kMaxCount = 1'000'000;
  // Whatever in a text is no UTF-8 takes three bytes in place of each.
  static constexpr std::size_t kMaxRead = 3 * kMaxText;
  static constexpr std::tuple kList{
      field("library", &W::library, "its name and version").up_to_bytes(kMaxRead).or_default(),
      field("transport", &W::transport, "tcp, socket, ib …").up_to_bytes(kMaxRead).or_default(),
      field("interface", &W::interface, "or RDMA device").up_to_bytes(kMaxRead).or_default(),
      field("family", &W::family, "ipv4 or ipv6").up_to_bytes(kMaxRead).or_default(),
      field("local_address", &W::local_address, "of the first connection")
          .up_to_bytes(kMaxRead)
          .or_default(),
      field("channels", &W::channels, "of NCCL").between(0, kMaxCount),
      field("sockets_per_peer", &W::sockets_per_peer, "connections").between(0, kMaxCount),
      field("link_mbps", &W::link_mbps, "speed of the interface, 10^6 bit/s").between(0, 1e9),
      field("better", &W::better, "why another way is better, and how to take it")
          .up_to_bytes(kMaxRead)
          .or_default()};
};

template <>
struct Fields<probe::collective::Answer> {
  using A = probe::collective::Answer;
  static constexpr std::tuple kList{
      field("times_ns", &A::times, "of each iteration").between(0, 1e15),
      field("wrong", &A::wrong, "the first wrong element; null: none"),
      field("way", &A::way, "how the data went")};
};

}  // namespace chokepoint

namespace chokepoint::probe::collective {
namespace {

using json::Json;

constexpr std::size_t kMaxMessage = std::size_t{1} << 20;
// Beside the rest of an answer they fit into one value of the store.
constexpr std::size_t kMaxSettings = std::size_t{1} << 18;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// What a library's log says of itself is shortened or left out, never an error.
DataPath bounded(DataPath way) {
  using Bounds = Fields<DataPath>;
  for (std::string* text : {&way.library, &way.transport, &way.interface, &way.family,
                            &way.local_address, &way.better}) {
    text->resize(std::min(text->size(), Bounds::kMaxText));
  }
  for (std::optional<int>* count : {&way.channels, &way.sockets_per_peer}) {
    if (*count < 0 || *count > Bounds::kMaxCount) {
      count->reset();
    }
  }
  return way;
}

}  // namespace

std::string order_key(int rank) { return fmt::format("order/{}", rank); }
std::string answer_key(int rank) { return fmt::format("answer/{}", rank); }

std::string to_text(const Order& order) {
  Json body{{"task", chokepoint::name_of(order.task)}};
  if (order.task == Task::Prepare) {
    body.update(json::to_json(order.operation));
  } else if (order.task == Task::Run) {
    body["lead"] = order.lead;
    body["times"] = order.times;
  }
  return text_of(body);
}

Result<Order> parse_order(const std::string& text) {
  TRY(const Json body, json::parse_object(text, kMaxMessage, "order"));
  Order order;
  TRY(order.task, json::field_in<Task>(body, "task", "order"));
  if (order.task == Task::Prepare) {
    TRY(order.operation, json::from_json<Operation>(body, "order"));
  } else if (order.task == Task::Run) {
    TRY(order.lead,
        json::field_in<int>(body, "lead", "order", {.least = 0, .most = kMaxIterations}));
    TRY(order.times,
        json::field_in<int>(body, "times", "order", {.least = 1, .most = kMaxIterations}));
  }
  return order;
}

std::string to_text(const Answer& answer) {
  Answer sent = answer;
  sent.way = bounded(std::move(sent.way));
  Json body = json::to_json(sent);
  // JSON has no NaN and no infinity.
  if (answer.wrong) {
    for (const auto& [name, number] :
         {std::pair("wanted", answer.wrong->wanted), std::pair("found", answer.wrong->found)}) {
      if (!std::isfinite(number)) {
        body["wrong"][name] = fmt::format("{}", number);
      }
    }
  }
  if (Json settings(answer.settings);
      !settings.empty() && text_of(settings).size() <= kMaxSettings) {
    body["settings"] = std::move(settings);
  }
  return text_of(body);
}

Result<Answer> parse_answer(const std::string& text, int rank) {
  TRY(Json body, json::parse_object(text, kMaxMessage, "answer"));
  for (const char* name : {"wanted", "found"}) {
    if (Json& wrong = body["wrong"]; wrong.is_object() && !wrong[name].is_number()) {
      wrong.erase(name);
    }
  }
  TRY(Answer answer, json::from_json<Answer>(body, "answer"));
  if (const auto settings = body.find("settings"); settings != body.end()) {
    answer.settings = host::settings_in(*settings);
  }
  if (answer.wrong) {
    answer.wrong->rank = rank;
  }
  return answer;
}

}  // namespace chokepoint::probe::collective
