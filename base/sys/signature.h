// Holds a function's type that is declared here against that of a library's own header, where a
// build finds one: a wrong order or width of arguments would be told by nobody else, since the
// library is opened at run time. Names of enumerations and of handles do not count.
#pragma once

#include <type_traits>

namespace chokepoint::sys {

// May be specialised for a struct of the header.
template <class Own>
struct Plain {
  using Type = Own;
};
template <class Own>
  requires std::is_enum_v<Own>
struct Plain<Own> {
  using Type = int;
};
template <class Target>
struct Plain<Target*> {
  using Type = std::conditional_t<
      std::is_arithmetic_v<Target>, Target*,
      std::conditional_t<std::is_enum_v<Target>, int*,
                         std::conditional_t<std::is_const_v<Target>, const void*, void*>>>;
};

template <class Function>
struct Shape;
template <class Told, class... Given>
struct Shape<Told (*)(Given...)> {
  using Type = typename Plain<Told>::Type (*)(typename Plain<Given>::Type...);
};

template <class Own, class Theirs>
constexpr bool kAlike = std::is_same_v<typename Shape<Own>::Type, typename Shape<Theirs>::Type>;

}  // namespace chokepoint::sys
