# SPDX-License-Identifier: Apache-2.0
# Manual pages and completions, written by the program itself: cmake -DPROGRAM=… -DOUT=… -P pages.cmake.
file(MAKE_DIRECTORY ${OUT}/man1)
execute_process(COMMAND ${PROGRAM} help --form list OUTPUT_VARIABLE commands COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" commands "${commands}")
foreach(command ${commands})
  string(REPLACE " " "-" page "${command}")
  string(REGEX REPLACE "^filigree ?" "" words "${command}")
  separate_arguments(words)
  execute_process(COMMAND ${PROGRAM} help --form man ${words} OUTPUT_FILE ${OUT}/man1/${page}.1
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(shell bash zsh fish)
  execute_process(COMMAND ${PROGRAM} completion ${shell} OUTPUT_FILE ${OUT}/filigree.${shell} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
