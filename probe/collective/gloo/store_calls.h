// The ranks' store behind the module's C interface. What it is given is binary: it is kept as text
// in hexadecimal, so that any store can carry it. Remembers why it failed.
#pragma once

#include <optional>
#include <string>

#include "probe/collective/communicator.h"
#include "probe/collective/gloo/module/interface.h"

namespace chokepoint::probe::collective {

class StoreAdapter {
 public:
  explicit StoreAdapter(Store& store) : store_(store) {}

  // For as long as this object lives, at the same place.
  gloo_module::StoreCalls calls();
  const std::optional<Error>& problem() const { return problem_; }

 private:
  static int set(void* self, const char* key, const char* data, std::size_t size);
  static int get(void* self, const char* key, void* into,
                 void (*take)(void* into, const char* data, std::size_t size));

  Store& store_;
  std::optional<Error> problem_;
};

}  // namespace chokepoint::probe::collective
