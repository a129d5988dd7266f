#include "base/history/batch_text.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/history/stored.h"
#include "base/json/codec.h"

namespace chokepoint::history {
namespace {

using json::Json;

constexpr std::size_t kRowFields = 13;
constexpr std::size_t kStateFields = 3;

Json json_of(const Row& row) {
  const Series& series = row.series;
  const Measured& measured = row.measured;
  return Json::array({name_of(series.subject.kind), bounded(series.subject.host),
                      bounded(series.subject.name), bounded(series.subject.to),
                      bounded(series.metric), bounded(series.setting), bounded(series.unit),
                      static_cast<int>(series.better), measured.wall_ns, measured.value,
                      measured.spread ? Json(*measured.spread) : Json(), measured.count,
                      Json::array({bounded(measured.source), bounded(measured.program)})});
}

std::string string_at(const Json& fields, std::size_t at) {
  return fields.is_array() && at < fields.size() && fields[at].is_string()
             ? fields[at].get<std::string>()
             : std::string();
}

std::int64_t number_at(const Json& fields, std::size_t at) {
  return fields[at].is_number_integer() ? fields[at].get<std::int64_t>() : 0;
}

std::optional<Row> row_in(const Json& fields) {
  if (!fields.is_array() || fields.size() != kRowFields || !fields[9].is_number()) {
    return std::nullopt;
  }
  auto series = series_of({.subject = {.host = string_at(fields, 1),
                                       .name = string_at(fields, 2),
                                       .to = string_at(fields, 3)},
                           .metric = string_at(fields, 4),
                           .setting = string_at(fields, 5),
                           .unit = string_at(fields, 6)},
                          string_at(fields, 0), number_at(fields, 7));
  if (!series) {
    return std::nullopt;
  }
  return Row{.series = *std::move(series),
             .measured = {.wall_ns = number_at(fields, 8),
                          .value = fields[9].get<double>(),
                          .spread = fields[10].is_number() ? std::optional(fields[10].get<double>())
                                                           : std::nullopt,
                          .count = number_at(fields, 11),
                          .source = string_at(fields[12], 0),
                          .program = string_at(fields[12], 1)}};
}

}  // namespace

std::string text_of(const Batch& batch) {
  Json rows = Json::array();
  for (const Row& row : batch.rows) {
    if (std::isfinite(row.measured.value)) {
      rows.push_back(json_of(row));
    }
  }
  Json hosts = Json::array();
  for (const HostState& state : batch.hosts) {
    hosts.push_back(Json::array({state.host, state.wall_ns, state.settings}));
  }
  return Json{{"rows", std::move(rows)}, {"hosts", std::move(hosts)}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

Batch batch_in(const std::string& text) {
  Batch batch;
  const Json document = json::object_or_null(text);
  const auto list = [&](const char* key) {
    const bool is_there = document.is_object() && document.contains(key);
    return is_there && document[key].is_array() ? document[key] : Json::array();
  };
  for (const Json& fields : list("rows")) {
    if (auto row = row_in(fields)) {
      batch.rows.push_back(*std::move(row));
    }
  }
  for (const Json& fields : list("hosts")) {
    if (fields.is_array() && fields.size() == kStateFields) {
      batch.hosts.push_back({.host = string_at(fields, 0),
                             .wall_ns = number_at(fields, 1),
                             .settings = host::settings_in(fields[2])});
    }
  }
  return batch;
}

}  // namespace chokepoint::history
