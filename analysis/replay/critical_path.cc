#include "analysis/replay/critical_path.h"

#include <algorithm>

#include "analysis/phases/steps.h"
#include "analysis/replay/graph.h"

namespace chokepoint::analysis {
namespace {

// Of the step. Judgements: what a picture shows.
constexpr double kMinShare = 0.01;     // shorter parts belong to a neighbour
constexpr std::size_t kMaxParts = 40;  // of more, those alike within a window are one
constexpr double kWindowShare = 0.05;
// By so much in all the path may be longer than the moments waited: else it would change between
// ranks that come together, by what their clocks differ.
constexpr double kMaxSlackShare = 0.01;

struct Piece {
  PathKind kind = PathKind::Computing;
  std::size_t list = 0;
  std::size_t to = 0;  // list of the rank at which it ends
  double ns = 0;

  bool is_like(const Piece& other) const {
    return kind == other.kind && list == other.list && to == other.to;
  }
};
using Pieces = std::vector<Piece>;

struct Stretch {
  std::size_t step = 0;
  std::size_t last = 0;  // moment
  double start_ns = 0;
  double ns = 0;
};

std::optional<Stretch> median_step(const WalkedRun& run) {
  const std::vector<bool> follows = follows_settled(run.steps);
  const std::vector<std::size_t> last = last_moments(run.graph, follows.size(), run.times_ns);
  std::vector<Stretch> steps;
  for (std::size_t step = 1; step < last.size(); ++step) {
    if (!follows[step] || last[step] == kNowhere || last[step - 1] == kNowhere) continue;
    const double start_ns = run.times_ns[last[step - 1]];
    const double ns = run.times_ns[last[step]] - start_ns;
    if (ns > 0) steps.push_back({step, last[step], start_ns, ns});
  }
  if (steps.empty()) return std::nullopt;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2);
  std::ranges::nth_element(steps, middle, {}, &Stretch::ns);
  return *middle;
}

// The one of an own moment where another rank's came later by no more than the slack, from which
// that is taken.
const Arc* decisive(const WalkedRun& run, std::size_t moment, double& slack_ns) {
  const auto came_ns = [&](const Arc& arc) {
    return run.times_ns[arc.from] + static_cast<double>(std::max<std::int64_t>(arc.ns, 0));
  };
  const GraphMoment& own = run.graph.moments[moment];
  const Arc* last = nullptr;
  const Arc* last_own = nullptr;
  for (const Arc& arc : own.arcs) {
    const bool is_own = run.graph.moments[arc.from].list == own.list;
    if (last == nullptr || came_ns(arc) > came_ns(*last)) last = &arc;
    if (is_own && (last_own == nullptr || came_ns(arc) > came_ns(*last_own))) last_own = &arc;
  }
  if (last_own == nullptr || came_ns(*last) - came_ns(*last_own) > slack_ns) return last;
  slack_ns -= came_ns(*last) - came_ns(*last_own);
  return last_own;
}

PathKind kind_of(const Arc& arc) {
  return arc.cost == Cost::Computing  ? PathKind::Computing
         : arc.cost == Cost::Transfer ? PathKind::Transfer
                                      : PathKind::Overhead;
}

Pieces walked_back(const WalkedRun& run, const Stretch& step) {
  Pieces pieces;
  const auto add = [&](const Piece& piece) {
    if (piece.ns > 0) pieces.push_back(piece);
  };
  double slack_ns = kMaxSlackShare * step.ns;
  for (std::size_t moment = step.last; run.times_ns[moment] > step.start_ns;) {
    const std::size_t list = run.graph.moments[moment].list;
    const Arc* const arc = decisive(run, moment, slack_ns);
    if (arc == nullptr) {  // nothing is known of what was before
      add({PathKind::Computing, list, list, run.times_ns[moment] - step.start_ns});
      break;
    }
    const double ns = run.times_ns[moment] - std::max(run.times_ns[arc->from], step.start_ns);
    const double late_ns = std::clamp(static_cast<double>(arc->late_ns), 0.0, ns);
    const std::size_t from = run.graph.moments[arc->from].list;
    add({PathKind::Late, list, list, late_ns});
    const bool is_sent = arc->cost == Cost::Transfer;
    add({kind_of(*arc), is_sent ? from : list, list, ns - late_ns});
    moment = arc->from;
  }
  std::ranges::reverse(pieces);
  return pieces;
}

// Those shorter than that belong to the longer neighbour, and neighbours that are alike are one.
Pieces without_short(Pieces pieces, double least_ns) {
  Pieces left;
  for (std::size_t place = 0; place < pieces.size(); ++place) {
    const Piece& piece = pieces[place];
    Piece* const next = place + 1 < pieces.size() ? &pieces[place + 1] : nullptr;
    Piece* const before = left.empty() ? nullptr : &left.back();
    const bool is_short = piece.ns < least_ns;
    if (before != nullptr &&
        (before->is_like(piece) || (is_short && (next == nullptr || before->ns >= next->ns)))) {
      before->ns += piece.ns;
    } else if (is_short && next != nullptr) {
      next->ns += piece.ns;
    } else {
      left.push_back(piece);
    }
  }
  return left;
}

// Those alike within a window are one, where the first of them was.
Pieces gathered(const Pieces& pieces, double window_ns) {
  Pieces left;
  std::ptrdiff_t first = 0;  // of the window
  double at_ns = 0;
  double window_end_ns = window_ns;
  for (const Piece& piece : pieces) {
    if (at_ns >= window_end_ns) {
      first = std::ssize(left);
      window_end_ns = at_ns + window_ns;
    }
    const auto like = std::find_if(left.begin() + first, left.end(),
                                   [&](const Piece& each) { return each.is_like(piece); });
    if (like != left.end()) {
      like->ns += piece.ns;
    } else {
      left.push_back(piece);
    }
    at_ns += piece.ns;
  }
  return left;
}

Pieces shown(const Pieces& all, double step_ns) {
  Pieces pieces = without_short(all, 0);
  if (pieces.size() > kMaxParts) pieces = gathered(pieces, kWindowShare * step_ns);
  return without_short(std::move(pieces), kMinShare * step_ns);
}

}  // namespace

std::optional<CriticalPath> critical_path_of(const WalkedRun& run,
                                             const std::vector<std::string>& nodes) {
  const std::optional<Stretch> step = median_step(run);
  if (!step) return std::nullopt;
  const auto rank_of = [&](std::size_t list) {
    const std::int64_t rank = run.graph.ranks[list].rank;
    return rank < 0 ? std::nullopt : std::optional(rank);
  };
  const auto number = std::ranges::lower_bound(
      run.steps.all, run.steps.settled[step->step].start_ns, {}, &Span::start_ns);
  CriticalPath path{.step = number - run.steps.all.begin() + 1, .length_ms = step->ns / 1e6};
  double start_ns = 0;
  const Pieces pieces = shown(walked_back(run, *step), step->ns);
  for (std::size_t place = 0; place < pieces.size(); ++place) {
    const Piece& piece = pieces[place];
    const std::size_t next = place + 1 < pieces.size() ? pieces[place + 1].list : piece.list;
    const bool goes_on = piece.kind == PathKind::Transfer && next != piece.list;
    const std::size_t to = goes_on ? next : piece.to;
    const std::size_t node = run.graph.ranks[piece.list].node;
    path.parts.push_back({.kind = piece.kind,
                          .rank = rank_of(piece.list),
                          .node = node < nodes.size() ? nodes[node] : "",
                          .to_rank = to == piece.list ? std::nullopt : rank_of(to),
                          .start_ms = start_ns / 1e6,
                          .ms = piece.ns / 1e6});
    start_ns += piece.ns;
  }
  return path;
}

}  // namespace chokepoint::analysis
