#include "base/documents/test_head.h"

#include "base/documents/main_figures.h"

namespace chokepoint::documents {
namespace {

constexpr std::size_t kLongestLabel = 256;

// Texts as they are, numbers and truths as JSON has them; else nothing.
std::string setting_at(const Json& document, std::string_view pointer) {
  const Json* found = found_at(document, pointer);
  if (found == nullptr || found->is_null() || found->is_structured()) {
    return "";
  }
  return found->is_string() ? label_of(found->get_ref<const std::string&>())
                            : found->dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string kind_of(std::string_view schema) {
  for (const std::string_view prefix : {"chokepoint.", "probe."}) {
    if (schema.starts_with(prefix)) {
      schema.remove_prefix(prefix.size());
    }
  }
  return std::string(schema.substr(0, schema.find('/')));
}

std::string label_of(const std::string& text) { return text.substr(0, kLongestLabel); }

std::map<std::string, std::string> settings_of(const Json& document, std::string_view schema) {
  std::map<std::string, std::string> settings;
  for (const MainSetting& setting : kMainSettings) {
    if (schema == setting.schema) {
      if (std::string value = setting_at(document, setting.pointer); !value.empty()) {
        settings[setting.key] = std::move(value);
      }
    }
  }
  return settings;
}

}  // namespace chokepoint::documents
