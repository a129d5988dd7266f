#include "probe/collective/launch/children.h"
#include "probe/collective/launch/started.h"

namespace chokepoint::probe::collective {
namespace {

class Here final : public Started {
 public:
  explicit Here(const sys::Clock& clock) : children_(clock, false) {}

  Children& children() { return children_; }

  Result<> look(Hub& hub) override {
    const Result<std::vector<ChildEnd>> ends = children_.ended();
    if (!ends) {
      return std::unexpected(ends.error());
    }
    for (const ChildEnd& end : *ends) {
      tell(end, hub);
    }
    return {};
  }

 private:
  Children children_;
};

}  // namespace

Result<std::unique_ptr<Started>> start_here(const RanksWanted& wanted, const sys::Clock& clock,
                                            const std::string& program) {
  auto here = std::make_unique<Here>(clock);
  const std::vector<std::string> command = command_of(program, wanted.options);
  for (int rank = 0; rank < wanted.ranks; ++rank) {
    const Seat seat{.place = {.rank = rank, .ranks = wanted.ranks, .local_rank = rank},
                    .launcher = "chokepoint",
                    .job = wanted.job,
                    .meeting = {"127.0.0.1", wanted.port},
                    .secret = wanted.secret};
    if (const Result<> started = here->children().start(command, seat, wanted.ranks); !started) {
      return std::unexpected(started.error());
    }
  }
  return here;
}

}  // namespace chokepoint::probe::collective
