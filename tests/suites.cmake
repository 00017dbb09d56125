# Read by CTest: makes each suite of a program a test, so that the program need not start for every single
# one. What MDH_LEAVE_OUT of the environment names, as --gtest_filter does, is left out.
#   program, label
#   but          patterns of tests that are not meant
#   properties   of all of these tests
if(NOT EXISTS "${program}")
  add_test("${label}_NOT_BUILT" "${program}")
  return()
endif()
set(but "${but}:$ENV{MDH_LEAVE_OUT}")
execute_process(COMMAND "${program}" --gtest_list_tests "--gtest_filter=*-${but}"
  OUTPUT_VARIABLE listed RESULT_VARIABLE result TIMEOUT 60)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${program} does not list its tests: ${result}")
endif()
string(REGEX MATCHALL "\n[^ \n.]+\\." suites "\n${listed}")
foreach(suite IN LISTS suites)
  string(STRIP "${suite}" suite)  # with its dot
  string(REGEX REPLACE "\\.$" "" name "${label}.${suite}")
  add_test("${name}" "${program}" "--gtest_filter=${suite}*-${but}")
  # If no more than that is said at the end: failures of others would be behind it.
  set_tests_properties("${name}" PROPERTIES ${properties}
    SKIP_REGULAR_EXPRESSION "PASSED  \\] 0 tests.*SKIPPED \\] [^\n ]+\n*$")
endforeach()
