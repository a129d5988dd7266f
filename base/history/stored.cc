#include "base/history/stored.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json/codec.h"

namespace chokepoint::history {

std::string settings_text(const host::Settings& settings) {
  return nlohmann::ordered_json(settings).dump(-1, ' ', false,
                                               nlohmann::ordered_json::error_handler_t::replace);
}

host::Settings settings_of(const std::string& text) {
  return host::settings_in(json::object_or_null(text));
}

std::int64_t shape_of(const host::Settings& settings) {
  std::string names;
  for (const auto& [subject, values] : settings) {
    names += subject + "\n";
    for (const auto& [key, value] : values) {
      names += " " + key + "\n";
    }
  }
  constexpr std::uint64_t kFnvBasis = 0xcbf29ce484222325;
  constexpr std::uint64_t kFnvPrime = 0x100000001b3;
  std::uint64_t hash = kFnvBasis;
  for (const char letter : names) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * kFnvPrime;
  }
  return static_cast<std::int64_t>(hash);
}

std::optional<Series> series_of(Series series, std::string_view kind, std::int64_t better) {
  constexpr auto kLast = static_cast<std::int64_t>(documents::Better::Neither);
  const auto known = subject_kind(kind);
  if (!known || better < 0 || better > kLast) {
    return std::nullopt;
  }
  series.subject.kind = *known;
  series.better = static_cast<documents::Better>(better);
  return series;
}

bool is_wanted(const Series& series, const Wanted& wanted) {
  const std::string subject = text_of(series.subject);
  return (wanted.metric.empty() || series.metric == wanted.metric) &&
         (wanted.subject.empty() || subject == wanted.subject ||
          subject.starts_with(wanted.subject + " "));
}

void StateReader::add_content(std::int64_t id, const std::string& settings) {
  contents_[id] = std::make_shared<const host::Settings>(settings_of(settings));
}

void StateReader::add(StateSpan span, std::int64_t content) {
  const auto found = contents_.find(content);
  if (found != contents_.end() && span.last_ns >= span.first_ns) {
    span.settings = found->second;
    spans_.push_back(std::move(span));
  }
}

std::string sql_that_thins(std::string_view table, std::int64_t until_ns) {
  constexpr const char* kOrder =
      "wall_ns / 1000000000 % 1000003 * 999979 % 1000003, wall_ns";  // mixes the hours of a day
  return fmt::format(
      "DELETE FROM {0} WHERE (series, wall_ns) IN (SELECT series, wall_ns FROM (SELECT series, "
      "wall_ns, row_number() OVER (PARTITION BY series, wall_ns / {1} ORDER BY {3}) AS place FROM "
      "{0} WHERE wall_ns >= 0 AND wall_ns < {2}) AS ranked WHERE place > 1)",
      table, kDayNs, until_ns, kOrder);
}

Error newer_history(std::int64_t version, std::int64_t known) {
  return {.kind = ErrorKind::Unsupported,
          .operation = "history",
          .subject = {},
          .reason = fmt::format("is of version {}, this program knows {}", version, known),
          .next_step = "use a newer chokepoint for this history"};
}

}  // namespace chokepoint::history
