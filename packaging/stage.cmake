# Run by cpack on each package's stage, once everything is installed there.
set(stage ${CPACK_TEMPORARY_DIRECTORY})
if(CPACK_GENERATOR STREQUAL "TGZ")
  set(kind tarball)
else()
  set(kind debian)
endif()
execute_process(
  COMMAND ${CPACK_CHOKEPOINT_PACKAGING}/stage ${kind} ${stage} ${CPACK_CHOKEPOINT_EMULATOR}
  COMMAND_ERROR_IS_FATAL ANY)
