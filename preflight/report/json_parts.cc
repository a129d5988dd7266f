#include "preflight/report/json_parts.h"

#include <fmt/format.h>

#include "base/control/fields.h"
#include "base/control/message.h"

namespace chokepoint::preflight {
namespace {

using cli::Json;

constexpr std::size_t kLongestText = 4096;

Result<HostIndex> index_in(const Json& json, const char* name, std::size_t hosts) {
  const std::optional<std::uint64_t> index = count_in(json);
  if (!index || *index >= hosts) {
    return malformed(name, fmt::format("wanted numbers of hosts, each below {}", hosts));
  }
  return static_cast<HostIndex>(*index);
}

Result<Ends> way_in(const Json& json, const char* name, std::size_t hosts) {
  if (!json.is_array() || json.size() != 2) {
    return malformed(name, "wanted two hosts for each way");
  }
  const Result<HostIndex> from = index_in(json[0], name, hosts);
  const Result<HostIndex> to = index_in(json[1], name, hosts);
  if (!from || !to) {
    return std::unexpected(!from ? from.error() : to.error());
  }
  return Ends(*from, *to);
}

}  // namespace

std::unexpected<Error> malformed(std::string_view subject, std::string_view reason) {
  return fail(ErrorKind::Malformed, "read preflight", subject, reason);
}

std::optional<std::uint64_t> count_in(const Json& json) {
  const bool is_count =
      json.is_number_unsigned() || (json.is_number_integer() && json.get<std::int64_t>() >= 0);
  return is_count ? std::optional(json.get<std::uint64_t>()) : std::nullopt;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json json_of_error(const std::optional<Error>& error) {
  return error ? control::body_of(*error) : Json();
}

Result<std::optional<Error>> error_in(const Json& object, const char* name) {
  const auto at = object.find(name);
  if (at == object.end() || at->is_null()) {
    return std::nullopt;
  }
  if (!at->is_object()) {
    return malformed(name, "wanted an error's words");
  }
  control::Fields in(*at, name);
  Error error{.kind = control::error_in(*at, "").kind,
              .operation = in.text_or("operation", kLongestText, ""),
              .subject = in.text_or("subject", kLongestText, ""),
              .reason = in.text_or("reason", kLongestText, ""),
              .next_step = in.text_or("next_step", kLongestText, "")};
  return in.finish(std::optional(std::move(error)));
}

Json json_of_ways(const std::vector<Ends>& ways) {
  Json list = Json::array();
  for (const auto& [from, to] : ways) {
    list.push_back(Json::array({from, to}));
  }
  return list;
}

Result<const Json*> list_in(const Json& object, const char* name) {
  static const Json none = Json::array();
  const auto at = object.find(name);
  if (at == object.end() || at->is_null()) {
    return &none;
  }
  if (!at->is_array()) {
    return malformed(name, "wanted a list");
  }
  return &*at;
}

Result<std::vector<Ends>> ways_in(const Json& object, const char* name, std::size_t hosts) {
  return each_in<Ends>(object, name, [&](const Json& each) { return way_in(each, name, hosts); });
}

Result<std::vector<HostIndex>> hosts_in(const Json& object, const char* name, std::size_t hosts) {
  return each_in<HostIndex>(object, name,
                            [&](const Json& each) { return index_in(each, name, hosts); });
}

Result<std::vector<std::string>> texts_in(const Json& object, const char* name) {
  return each_in<std::string>(object, name, [&](const Json& each) -> Result<std::string> {
    if (!each.is_string() || each.get_ref<const std::string&>().size() > kLongestText) {
      return malformed(name, "wanted texts");
    }
    return each.get<std::string>();
  });
}

}  // namespace chokepoint::preflight
