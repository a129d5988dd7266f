#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <optional>

#include "base/cli/table.h"
#include "base/cli/text.h"
#include "preflight/report/finding_text.h"
#include "preflight/report/page.h"

namespace chokepoint::preflight {
namespace {

// How many hosts that suffer little are shown where not all fit.
constexpr std::size_t kMaxMildHosts = 12;

// How many ways from or to each host stand out. A host that sends badly has all of its ways here,
// each of its receivers one.
std::vector<std::size_t> poor_paths(const Measured& measured, const ExpectedRates& expected) {
  std::vector<std::size_t> poor(measured.hosts.size());
  const auto note = [&](HostIndex a, HostIndex b, bool is_poor) {
    poor[a] += is_poor ? 1 : 0;
    poor[b] += is_poor ? 1 : 0;
  };
  for (const PairResult& pair : measured.pairs) {
    note(pair.a, pair.b, expected.share(pair.a, pair.b, pair.there).value_or(1) < kFairShare);
    note(pair.a, pair.b, expected.share(pair.b, pair.a, pair.back).value_or(1) < kFairShare);
  }
  for (const Trouble& trouble : measured.troubles) {
    note(trouble.a, trouble.b, true);
  }
  return poor;
}

// Hosts that any pair or any trouble names.
std::vector<HostIndex> hosts_seen(const Measured& measured) {
  std::vector<bool> is_seen(measured.hosts.size());
  for (const PairResult& pair : measured.pairs) {
    is_seen[pair.a] = is_seen[pair.b] = true;
  }
  for (const Trouble& trouble : measured.troubles) {
    is_seen[trouble.a] = is_seen[trouble.b] = true;
  }
  std::vector<HostIndex> hosts;
  for (HostIndex host = 0; host < is_seen.size(); ++host) {
    if (is_seen[host]) {
      hosts.push_back(host);
    }
  }
  return hosts;
}

void keep_worst(std::vector<HostIndex>& hosts, std::size_t most,
                const std::vector<std::size_t>& poor) {
  std::ranges::stable_sort(hosts, std::ranges::greater(),
                           [&](HostIndex host) { return poor[host]; });
  const auto many = static_cast<std::size_t>(
      std::ranges::count_if(hosts, [&](HostIndex host) { return poor[host] > 1; }));
  hosts.resize(std::min({most, hosts.size(), std::max(many, kMaxMildHosts)}));
  std::ranges::sort(hosts);
}

using Places = std::vector<std::optional<std::size_t>>;

Places places_of(const HeatMap& map, std::size_t hosts) {
  Places places(hosts);
  for (std::size_t at = 0; at < map.hosts.size(); ++at) {
    places[map.hosts[at]] = at;
  }
  return places;
}

HeatCell* cell_of(HeatMap& map, const Places& places, HostIndex from, HostIndex to) {
  return places[from] && places[to] ? &map.cells[*places[from] * map.hosts.size() + *places[to]]
                                    : nullptr;
}

void fill(HeatCell* cell, const PathResult& path, const Figure& share) {
  if (cell != nullptr && throughput_mbps(path)) {
    *cell = {HeatState::Measured, throughput_mbps(path), share};
  }
}

void fail(HeatCell* cell) {
  if (cell != nullptr && cell->state == HeatState::Untested) {
    cell->state = HeatState::Failed;
  }
}

using cli::Tint;

constexpr std::size_t kMaxHosts = 40;
constexpr std::size_t kMaxNameWidth = 20;
constexpr int kMaxMapWidth = 160;
constexpr int kWidthOfFile = 110;   // where the width of the output is unknown
constexpr std::size_t kNumber = 6;  // " 9.41!"
constexpr double kMbpsPerGbps = 1000;

// How each way is shown.
struct Look {
  std::size_t name = 0;  // letters
  std::size_t cell = 1;  // letters, the space before it counted
  bool is_number = false;
  bool is_named = false;  // names are short enough to head columns; else hosts' numbers do
  bool is_gigabit = false;
};

std::size_t digits_of(std::size_t number) { return std::to_string(number).size(); }

std::size_t room_of(const cli::Context& context) {
  const cli::Terminal& terminal = context.out_terminal;
  const int widest =
      terminal.interactive || terminal.width < kWidthOfFile ? kMaxMapWidth : kWidthOfFile;
  return static_cast<std::size_t>(std::min(terminal.width, widest));
}

std::string clipped(const std::string& text, std::size_t width) {
  std::string kept;
  std::size_t letters = 0;
  cli::each_letter(cli::printable(text), [&](std::string_view letter) {
    if (++letters <= width) {
      kept += letter;
    }
  });
  return kept + std::string(width - std::min(letters, width), ' ');
}

std::size_t name_width(const Measured& measured, const HeatMap& map) {
  std::size_t width = 0;
  for (const HostIndex host : map.hosts) {
    width = std::max(width, cli::width_of(cli::printable(measured.hosts[host].name)));
  }
  return std::min(width, kMaxNameWidth);
}

std::size_t number_width(const HeatMap& map) {
  return map.hosts.empty() ? 0 : digits_of(map.hosts.back() + 1);
}

std::size_t label_width(const HeatMap& map, const Look& look) {
  return look.name + 1 + (look.is_named ? 0 : number_width(map) + 1);
}

Look look_of(const Measured& measured, const HeatMap& map, std::size_t room) {
  Look look{.name = name_width(measured, map)};
  const std::size_t hosts = map.hosts.size();
  const auto fits = [&](std::size_t cell) { return label_width(map, look) + hosts * cell <= room; };
  look.is_number = fits(kNumber);
  look.is_named = look.is_number && look.name < kNumber;
  look.cell = look.is_number ? kNumber : fits(2) ? 2 : 1;
  look.is_gigabit = std::ranges::any_of(
      map.cells, [](const HeatCell& cell) { return cell.mbps.value_or(0) >= kMbpsPerGbps; });
  return look;
}

Tint tint_of(const HeatCell& cell) {
  switch (cell.state) {
    case HeatState::Own:
    case HeatState::Untested:
      return Tint::Faint;
    case HeatState::Failed:
      return Tint::Bad;
    case HeatState::Measured:
      break;
  }
  const float share = cell.share.value_or(1);
  return share >= kFairShare ? Tint::Good : share >= kPoorShare ? Tint::Notice : Tint::Bad;
}

// "9.41 ", "0.94!": the mark has the meaning of the colour.
std::string number_of(const HeatCell& cell, bool is_gigabit) {
  const double value = cell.mbps.value_or(0) / (is_gigabit ? kMbpsPerGbps : 1);
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  const float share = cell.share.value_or(1);
  const char* mark = share >= kFairShare ? " " : share >= kPoorShare ? "*" : "!";
  return fmt::format("{:.{}f}{}", value, decimals, mark);
}

std::string letter_of(const HeatCell& cell) {
  const float share = std::max(cell.share.value_or(1), 0.F);
  return share >= kFairShare ? "·" : std::to_string(static_cast<int>(share * 10));
}

std::string text_of(const HeatCell& cell, const Look& look) {
  const char* after = look.is_number ? " " : "";
  switch (cell.state) {
    case HeatState::Own:
      return std::string("-") + after;
    case HeatState::Untested:
      return std::string("?") + after;
    case HeatState::Failed:
      return std::string("x") + after;
    case HeatState::Measured:
      break;
  }
  return look.is_number ? number_of(cell, look.is_gigabit) : letter_of(cell);
}

void print_line(const cli::Context& context, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  context.out << line << '\n';
}

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width - std::min(cli::width_of(text), width), ' ');
}

std::string cell_of(const cli::Context& context, const HeatCell& cell, const Look& look) {
  const std::string text = text_of(cell, look);
  const std::string letters = text.substr(0, text.find_last_not_of(' ') + 1);
  return padded(text, look.cell) + cli::tinted(letters, tint_of(cell), context.out_terminal) +
         text.substr(letters.size());
}

// Names or numbers of hosts above their columns; upright, a digit a line, where a column has one
// letter.
void print_heads(const cli::Context& context, const Measured& measured, const HeatMap& map,
                 const Look& look) {
  const std::string margin(label_width(map, look), ' ');
  const std::size_t digits = look.is_number ? 1 : number_width(map);
  for (std::size_t line = 0; line < digits; ++line) {
    std::string text = margin;
    for (const HostIndex host : map.hosts) {
      const std::string number = fmt::format("{:>{}}", host + 1, number_width(map));
      const std::string head = look.is_named    ? measured.hosts[host].name
                               : look.is_number ? number
                                                : number.substr(line, 1);
      const std::string column = cli::printable(head) + (look.is_number ? " " : "");
      text += padded(column, look.cell) + column;
    }
    print_line(context, std::move(text));
  }
}

std::string label_of(const Measured& measured, const HeatMap& map, const Look& look,
                     HostIndex host) {
  const std::string number =
      look.is_named ? "" : fmt::format("{:>{}} ", host + 1, number_width(map));
  return number + clipped(measured.hosts[host].name, look.name) + ' ';
}

void print_legend(const cli::Context& context, const Look& look, bool by_links) {
  const std::string whole = by_links ? "what both links give" : "the fastest path";
  std::string text = look.is_number
                         ? fmt::format("* below 80 %, ! below 50 % of {}", whole)
                         : fmt::format("· 80 % and more of {}, 0 to 7 tens of percent", whole);
  text += ", x a test failed, ? not tested";
  context.out << cli::tinted(cli::wrapped(text, static_cast<int>(room_of(context)), 0), Tint::Faint,
                             context.out_terminal);
}

void print_title(const cli::Context& context, const Look& look) {
  const std::string unit = !look.is_number ? "" : look.is_gigabit ? ", Gb/s" : ", Mb/s";
  fmt::print(context.out, "{}\n",
             cli::tinted("Throughput" + unit + ": rows send, columns receive", Tint::Bold,
                         context.out_terminal));
}

}  // namespace

HeatMap heat_map(const Measured& measured, std::size_t most) {
  const ExpectedRates expected(measured);
  HeatMap map{.hosts = hosts_seen(measured)};
  if (map.hosts.size() > most) {
    map.left_out = map.hosts.size();
    keep_worst(map.hosts, most, poor_paths(measured, expected));
    map.left_out -= map.hosts.size();
  }
  map.cells.resize(map.hosts.size() * map.hosts.size());
  const Places places = places_of(map, measured.hosts.size());
  for (std::size_t at = 0; at < map.hosts.size(); ++at) {
    map.cells[at * map.hosts.size() + at].state = HeatState::Own;
  }
  for (const PairResult& pair : measured.pairs) {
    fill(cell_of(map, places, pair.a, pair.b), pair.there,
         expected.share(pair.a, pair.b, pair.there));
    fill(cell_of(map, places, pair.b, pair.a), pair.back,
         expected.share(pair.b, pair.a, pair.back));
  }
  for (const Trouble& trouble : measured.troubles) {
    fail(cell_of(map, places, trouble.a, trouble.b));
    fail(cell_of(map, places, trouble.b, trouble.a));
  }
  return map;
}

void print_heat_map(const cli::Context& context, const Measured& measured) {
  const std::size_t room = room_of(context);
  constexpr std::size_t kLabel = kMaxNameWidth + 6;
  const HeatMap map =
      heat_map(measured, std::clamp<std::size_t>(room - std::min(room, kLabel), 10, kMaxHosts));
  if (map.hosts.empty()) {
    return;
  }
  const Look look = look_of(measured, map, room);
  print_title(context, look);
  print_heads(context, measured, map, look);
  for (std::size_t row = 0; row < map.hosts.size(); ++row) {
    std::string line = label_of(measured, map, look, map.hosts[row]);
    for (std::size_t column = 0; column < map.hosts.size(); ++column) {
      line += cell_of(context, map.at(row, column), look);
    }
    print_line(context, std::move(line));
  }
  if (map.left_out > 0) {
    fmt::print(context.out, "… and {} hosts more, of which no more paths stand out\n",
               map.left_out);
  }
  print_legend(context, look, ExpectedRates(measured).is_by_links());
  context.out << '\n';
}

}  // namespace chokepoint::preflight
