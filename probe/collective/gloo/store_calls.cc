#include "probe/collective/gloo/store_calls.h"

#include <span>
#include <utility>

namespace chokepoint::probe::collective {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string to_hex(std::string_view bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) {
    return std::nullopt;
  }
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t at = 0; at < text.size(); at += 2) {
    const std::size_t high = kDigits.find(text[at]);
    const std::size_t low = kDigits.find(text[at + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) {
      return std::nullopt;
    }
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

gloo_module::StoreCalls StoreAdapter::calls() { return {.store = this, .set = set, .get = get}; }

int StoreAdapter::set(void* self, const char* key, const char* data, std::size_t size) {
  auto& adapter = *static_cast<StoreAdapter*>(self);
  const Result<> done = adapter.store_.set(key, to_hex({data, size}));
  if (!done) {
    adapter.problem_ = done.error();
  }
  return done ? 0 : 1;
}

int StoreAdapter::get(void* self, const char* key, void* into,
                      void (*take)(void* into, const char* data, std::size_t size)) {
  auto& adapter = *static_cast<StoreAdapter*>(self);
  const Result<std::string> found = adapter.store_.get(key);
  if (!found) {
    adapter.problem_ = found.error();
    return 1;
  }
  const std::optional<std::string> bytes = from_hex(*found);
  if (!bytes) {
    adapter.problem_ = Error{ErrorKind::Malformed, "backend gloo", key, 0,
                             "another rank left what is no address of Gloo's"};
    return 1;
  }
  take(into, bytes->data(), bytes->size());
  return 0;
}

}  // namespace chokepoint::probe::collective
