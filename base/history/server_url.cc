#include "base/history/server_url.h"

#include <algorithm>

namespace chokepoint::history {
namespace {

constexpr std::string_view kHidden = "***";

// The value of each parameter whose name ends with "password".
void hide_parameters(std::string& url) {
  constexpr std::string_view kName = "password=";
  std::size_t at = url.find('?');
  while (at != std::string::npos && (at = url.find(kName, at)) != std::string::npos) {
    at += kName.size();
    const std::size_t end = std::min(url.find('&', at), url.size());
    url.replace(at, end - at, kHidden);
  }
}

}  // namespace

bool is_server_url(std::string_view place) {
  return place.starts_with("postgresql://") || place.starts_with("postgres://");
}

// A password with a '/' or an '@' that should have been encoded is hidden, too: rather too much is
// hidden than too little.
std::string shown_place(const std::string& place) {
  if (!is_server_url(place)) {
    return place;
  }
  std::string shown = place;
  const std::size_t begin = shown.find("://") + 3;
  const std::size_t colon = shown.find(':', begin);
  const std::size_t at = shown.rfind('@');
  if (at != std::string::npos && colon < at) {
    shown.replace(colon + 1, at - colon - 1, kHidden);
  }
  hide_parameters(shown);
  return shown;
}

}  // namespace chokepoint::history
