// Appends what is known about one subject to a list of facts; what could not be read leaves none.
// Borrows the list for as long as it lives; one thread.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/host/fact.h"

namespace chokepoint::host {

class FactList {
 public:
  FactList(Facts& facts, std::string category, std::string subject = {})
      : facts_(facts), category_(std::move(category)), subject_(std::move(subject)) {}

  template <class T>
  void add(std::string_view key, const std::optional<T>& value, std::string_view source) {
    if (value) {
      add_text(key, fmt::format("{}", *value), source);
    }
  }

  void add_text(std::string_view key, std::string value, std::string_view source) {
    facts_.push_back(
        {category_, subject_, std::string(key), std::move(value), std::string(source)});
  }

 private:
  Facts& facts_;
  std::string category_;
  std::string subject_;
};

}  // namespace chokepoint::host
