// The program's store, as libgloo asks for one. Throws gloo's exceptions, as it expects.
#pragma once

#include <gloo/rendezvous/store.h>

#include <string>
#include <vector>

#include "probe/collective/gloo/module/interface.h"

namespace chokepoint::probe::collective::gloo_module {

class CallbackStore final : public ::gloo::rendezvous::Store {
 public:
  // Keys of one context are apart from another's by the prefix.
  CallbackStore(const StoreCalls& calls, std::string prefix);

  void set(const std::string& key, const std::vector<char>& data) override;
  std::vector<char> get(const std::string& key) override;
  // get() waits by itself, and for no longer than the store's owner allows.
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override;

 private:
  StoreCalls calls_;
  std::string prefix_;
};

}  // namespace chokepoint::probe::collective::gloo_module
