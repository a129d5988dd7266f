#include "probe/collective/gloo/store_calls.h"

#include "probe/collective/hex.h"

namespace chokepoint::probe::collective {

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
