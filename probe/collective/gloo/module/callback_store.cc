#include "probe/collective/gloo/module/callback_store.h"

#include <gloo/common/error.h>

#include <utility>

namespace chokepoint::probe::collective::gloo_module {
namespace {

void append(void* into, const char* data, std::size_t size) {
  static_cast<std::vector<char>*>(into)->assign(data, data + size);
}

}  // namespace

CallbackStore::CallbackStore(const StoreCalls& calls, std::string prefix)
    : calls_(calls), prefix_(std::move(prefix)) {}

void CallbackStore::set(const std::string& key, const std::vector<char>& data) {
  if (calls_.set(calls_.store, (prefix_ + key).c_str(), data.data(), data.size()) != 0) {
    throw ::gloo::IoException("the store failed");
  }
}

std::vector<char> CallbackStore::get(const std::string& key) {
  std::vector<char> found;
  if (calls_.get(calls_.store, (prefix_ + key).c_str(), &found, append) != 0) {
    throw ::gloo::IoException("the store failed");
  }
  return found;
}

void CallbackStore::wait(const std::vector<std::string>& /*keys*/) {}

void CallbackStore::wait(const std::vector<std::string>& /*keys*/,
                         const std::chrono::milliseconds& /*timeout*/) {}

}  // namespace chokepoint::probe::collective::gloo_module
