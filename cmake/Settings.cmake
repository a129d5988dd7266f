# What every target is compiled with. The sanitizers are whole-program choices.
option(CHOKEPOINT_WERROR "warnings are errors: for compilers that are known, as CI's" OFF)
add_library(chokepoint_settings INTERFACE)
target_compile_features(chokepoint_settings INTERFACE cxx_std_23)
target_include_directories(chokepoint_settings INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(chokepoint_settings INTERFACE
  -Wall -Wextra -Wpedantic $<$<BOOL:${CHOKEPOINT_WERROR}>:-Werror> -Wshadow -Wconversion
  -Wnon-virtual-dtor -Wold-style-cast
  -Woverloaded-virtual -Wcast-align -Wunused -Wimplicit-fallthrough -pthread)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees an overlap in "literal" + std::string where there is none (GCC bug 105651).
  target_compile_options(chokepoint_settings INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC sees the value of an empty std::optional or std::expected read where it is moved (GCC bug
  # 80635), version 14 as well.
  target_compile_options(chokepoint_settings INTERFACE -Wno-maybe-uninitialized)
  # GCC takes the sources that a folder's unit includes for headers, where this warning would be right.
  target_compile_options(chokepoint_settings INTERFACE -Wno-subobject-linkage)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12 calls deprecated functions of its own inside std::stable_sort. GCC's -Wconversion
  # leaves signs alone.
  target_compile_options(chokepoint_settings INTERFACE -Wno-deprecated-declarations
    -Wno-sign-conversion)
endif()

# CMake's own choice, -O3, takes longer to compile.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

set(CHOKEPOINT_SANITIZE "" CACHE STRING "sanitizers for every target, e.g. address,undefined")
option(CHOKEPOINT_COVERAGE "count executed lines with gcov" OFF)
# Sanitizers and counters change what programs need and how fast they are: there is nothing to be
# measured or packaged then.
if(CHOKEPOINT_SANITIZE OR CHOKEPOINT_COVERAGE)
  set(CHOKEPOINT_INSTRUMENTED ON)
endif()
# libFuzzer comes with clang, and its targets are of use under the address sanitizer.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CHOKEPOINT_SANITIZE MATCHES "address")
  set(CHOKEPOINT_FUZZ ON)
endif()

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

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# Without ccache, the headers that most units include are compiled once. With ccache they would only
# be in its way.
if(NOT CCACHE)
  set(precompile ON)
endif()
option(CHOKEPOINT_PRECOMPILE "precompile the headers that most units include" ${precompile})

option(CHOKEPOINT_UNITY "compile each folder as one translation unit, so that its headers are parsed once" ON)
