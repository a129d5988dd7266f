#include "probe/collective/launch/children.h"
#include "probe/collective/launch/started.h"

namespace chokepoint::probe::collective {
namespace {

class Here final : public Started {
 public:
  explicit Here(const sys::Clock& clock) : children_(clock, false) {}

  Children& children() { return children_; }

  Result<> look(Hub& hub) override {
    TRY(const std::vector<ChildEnd> ends, children_.ended());
    for (const ChildEnd& end : ends) {
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
    const RankPlacement seat{.place = {.rank = rank, .ranks = wanted.ranks, .local_rank = rank},
                             .launcher = "chokepoint",
                             .job = wanted.job,
                             .meeting = {"127.0.0.1", wanted.port},
                             .secret = wanted.secret};
    TRY(here->children().start(command, seat, wanted.ranks));
  }
  return here;
}

}  // namespace chokepoint::probe::collective
