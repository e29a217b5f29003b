# find_package(tband): the sources are installed, and compiled with the firmware.
get_filename_component(tband_prefix "${CMAKE_CURRENT_LIST_DIR}" ABSOLUTE)
find_file(tband_cmake tband.cmake PATHS "${tband_prefix}/../../../share/tband/cmake" "${tband_prefix}/../../../../share/tband/cmake"
    NO_DEFAULT_PATH REQUIRED)
include("${tband_cmake}")
