# One library target a folder. Its name is the folder's path with '_' for '/', so the link graph
# reads like the tree and a link against the design's arrows is as visible as an include.
function(chokepoint_folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LINKS" ${ARGN})
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE "/" "_" name ${folder})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC chokepoint_settings ${ARG_USES} PRIVATE ${ARG_LINKS})
endfunction()

# The tests of one source folder, in tests/'s mirror of it.
function(chokepoint_tests name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE chokepoint_settings ${ARG_USES} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    CHOKEPOINT_FIXTURES="${PROJECT_SOURCE_DIR}/tests/fixtures")
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 240 LABELS "${ARG_LABELS}")
endfunction()
