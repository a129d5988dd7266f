#include "capture/source/single_live.h"

#include <utility>

#include "capture/source/tap_reading.h"

namespace chokepoint::capture::source {
namespace {

constexpr std::chrono::milliseconds kTapPatience{100};

class SingleLive final : public LiveSource {
 public:
  SingleLive(ListenedTo listened_to, std::vector<std::string> remarks)
      : interfaces_{std::move(listened_to.interface)},
        remarks_(std::move(remarks)),
        reading_(std::move(listened_to.tap), 0, stop_, kTapPatience) {}

  Result<Progress> read(Batch& batch) override { return reading_.read(batch); }
  const std::vector<Interface>& interfaces() const override { return interfaces_; }
  std::vector<std::string> remarks() const override { return remarks_; }
  void stop() override { stop_.ask(); }
  Result<> narrow(const std::string& filter) override { return reading_.tap().narrow(filter); }

 private:
  StopFlag stop_;
  std::vector<Interface> interfaces_;
  std::vector<std::string> remarks_;
  TapReading reading_;
};

}  // namespace

std::unique_ptr<LiveSource> single_live(ListenedTo listened_to, std::vector<std::string> remarks) {
  return std::make_unique<SingleLive>(std::move(listened_to), std::move(remarks));
}

}  // namespace chokepoint::capture::source
