# What every target is compiled with. Warnings are errors; the sanitizers are whole-program choices.
add_library(chokepoint_settings INTERFACE)
target_compile_features(chokepoint_settings INTERFACE cxx_std_23)
target_include_directories(chokepoint_settings INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(chokepoint_settings INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast
  -Woverloaded-virtual -Wcast-align -Wunused -Wimplicit-fallthrough)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees an overlap in "literal" + std::string where there is none (GCC bug 105651).
  target_compile_options(chokepoint_settings INTERFACE -Wno-restrict)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12 calls deprecated functions of its own inside std::stable_sort. GCC's -Wconversion
  # leaves signs alone.
  target_compile_options(chokepoint_settings INTERFACE -Wno-deprecated-declarations
    -Wno-sign-conversion)
endif()

set(CHOKEPOINT_SANITIZE "" CACHE STRING "sanitizers for every target, e.g. address,undefined")
option(CHOKEPOINT_COVERAGE "count executed lines with gcov" OFF)
option(CHOKEPOINT_FUZZ "build the fuzz targets (needs clang)" OFF)

if(CHOKEPOINT_SANITIZE)
  # Whatever compiles fastest: most of the time goes into compiling, not into running.
  set(optimised $<IF:$<CXX_COMPILER_ID:Clang>,-O0,-Og>)
  set(flags -fsanitize=${CHOKEPOINT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer ${optimised} -g1)
  target_compile_options(chokepoint_settings INTERFACE ${flags})
  target_link_options(chokepoint_settings INTERFACE ${flags})
endif()
if(CHOKEPOINT_COVERAGE)
  target_compile_options(chokepoint_settings INTERFACE --coverage -O0)
  target_link_options(chokepoint_settings INTERFACE --coverage)
endif()
if(CHOKEPOINT_FUZZ)
  set(flags -fsanitize=address,undefined -fno-sanitize-recover=all -O1 -g1)
  target_compile_options(chokepoint_settings INTERFACE ${flags} -fsanitize=fuzzer-no-link)
  target_link_options(chokepoint_settings INTERFACE ${flags})
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# Without ccache, the headers that most tests include are compiled once: half of what compiling the
# tests takes. With ccache they would only be in its way.
if(NOT CCACHE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(precompile ON)
endif()
option(CHOKEPOINT_PRECOMPILE "precompile the headers that most tests include" ${precompile})
