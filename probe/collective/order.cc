#include "probe/collective/order.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json/codec.h"
#include "probe/collective/operation.h"

namespace chokepoint {

template <>
struct EnumNames<probe::collective::Task> {
  using enum probe::collective::Task;
  static constexpr std::string_view kWhat = "prepare, check, run, tell or end";
  static constexpr auto kNames = std::to_array<EnumName<probe::collective::Task>>(
      {{Prepare, "prepare"}, {Check, "check"}, {Run, "run"}, {Describe, "tell"}, {End, "end"}});
};

template <>
struct Fields<probe::collective::Operation> {
  using O = probe::collective::Operation;
  static constexpr FieldList kList{
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
struct Fields<probe::collective::Answer> {
  using A = probe::collective::Answer;
  static constexpr FieldList kList{
      field("times_ns", &A::times, "of each iteration").between(0, 1e15),
      field("wrong", &A::wrong, "the first wrong element; null: none"),
      field("way", &A::data_path, "how the data went")};
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

// Text and numbers from a library's log are shortened or left out, never an error.
DataPath bounded(DataPath data_path) {
  using Bounds = Fields<DataPath>;
  for (std::string* text : {&data_path.library, &data_path.transport, &data_path.interface,
                            &data_path.family, &data_path.local_address, &data_path.better}) {
    text->resize(std::min(text->size(), Bounds::kMaxText));
  }
  for (std::optional<int>* count : {&data_path.channels, &data_path.sockets_per_peer}) {
    if (*count < 0 || *count > Bounds::kMaxConnections) {
      count->reset();
    }
  }
  return data_path;
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
  sent.data_path = bounded(std::move(sent.data_path));
  Json body = json::to_json(sent);
  if (Json settings(answer.settings);
      !settings.empty() && text_of(settings).size() <= kMaxSettings) {
    body["settings"] = std::move(settings);
  }
  return text_of(body);
}

Result<Answer> parse_answer(const std::string& text, int rank) {
  TRY(const Json body, json::parse_object(text, kMaxMessage, "answer"));
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
