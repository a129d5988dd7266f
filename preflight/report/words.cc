#include "preflight/report/words.h"

#include <algorithm>
#include <array>
#include <utility>

namespace chokepoint::preflight {
namespace {

template <class T, std::size_t N>
using Names = std::array<std::pair<T, std::string_view>, N>;

constexpr Names<Presence, 7> kPresences{{{Presence::Unresolved, "unresolved"},
                                         {Presence::Unreachable, "unreachable"},
                                         {Presence::NoAgent, "no-agent"},
                                         {Presence::Refused, "refused"},
                                         {Presence::Strange, "strange"},
                                         {Presence::Lost, "lost"},
                                         {Presence::Present, "present"}}};

constexpr Names<Place, 8> kPlaces{{{Place::Cluster, "cluster"},
                                   {Place::Host, "host"},
                                   {Place::Port, "port"},
                                   {Place::Slot, "slot"},
                                   {Place::Name, "name"},
                                   {Place::Way, "way"},
                                   {Place::Pair, "pair"},
                                   {Place::Uplink, "uplink"}}};

constexpr Names<TcpLimit, 6> kLimits{{{TcpLimit::Network, "network"},
                                      {TcpLimit::ReceiveWindow, "receive-window"},
                                      {TcpLimit::SendBuffer, "send-buffer"},
                                      {TcpLimit::SenderCpu, "sender-cpu"},
                                      {TcpLimit::ReceiverCpu, "receiver-cpu"},
                                      {TcpLimit::Application, "application"}}};

constexpr Names<FamilyState, 3> kFamilies{{{FamilyState::Absent, "absent"},
                                           {FamilyState::Works, "works"},
                                           {FamilyState::Fails, "fails"}}};

template <class T, std::size_t N>
std::string_view name_in(const Names<T, N>& names, T value) {
  const auto* at = std::ranges::find(names, value, &std::pair<T, std::string_view>::first);
  return at == names.end() ? std::string_view() : at->second;
}

template <class T, std::size_t N>
std::optional<T> value_in(const Names<T, N>& names, std::string_view name) {
  const auto* at = std::ranges::find(names, name, &std::pair<T, std::string_view>::second);
  return at == names.end() ? std::nullopt : std::optional(at->first);
}

}  // namespace

std::string_view name_of(Presence presence) { return name_in(kPresences, presence); }
std::optional<Presence> presence_named(std::string_view name) { return value_in(kPresences, name); }

std::string_view name_of(Place place) { return name_in(kPlaces, place); }

std::string_view name_of(TcpLimit limit) { return name_in(kLimits, limit); }
std::optional<TcpLimit> tcp_limit_named(std::string_view name) { return value_in(kLimits, name); }

std::string_view name_of(FamilyState state) { return name_in(kFamilies, state); }
std::optional<FamilyState> family_state_named(std::string_view name) {
  return value_in(kFamilies, name);
}

}  // namespace chokepoint::preflight
