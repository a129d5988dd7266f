// The small pieces that messages and documents are made of. Pure functions.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/control/message.h"
#include "base/math/statistics.h"
#include "base/sys/error.h"

namespace chokepoint::control {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

// Null where nothing was measured.
inline Json distribution_body(const math::Distribution& values) {
  if (values.count == 0) {
    return {};
  }
  return {{"min", values.min}, {"median", values.median}, {"p99", values.p99},
          {"max", values.max}, {"mean", values.mean},     {"count", values.count}};
}

template <class T, class Body>
Json list_body(const std::vector<T>& list, Body body) {
  Json json = Json::array();
  for (const T& each : list) {
    json.push_back(body(each));
  }
  return json;
}

template <class T, class Read>
Result<std::vector<T>> list_in(const Json& body, const char* name, Read read) {
  std::vector<T> list;
  const auto at = body.find(name);
  if (at == body.end() || !at->is_array()) {
    return fail(ErrorKind::Malformed, "read message", name, "wanted a list");
  }
  for (const Json& each : *at) {
    TRY(T item, read(each));
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace chokepoint::control
