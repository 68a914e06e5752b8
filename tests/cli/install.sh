#!/usr/bin/env bash
# An installed Ferry is found: by pkg-config under both names, by CMake from C and C++, and after the tree was
# moved. Programs are built as a user builds them, with nothing of the source tree.
# shellcheck disable=SC2154  # $work is support.bash's
set -uo pipefail
here=$(dirname "$0")
# shellcheck source=support.bash
. "$here/support.bash"
build=${FERRY_BUILD:-$SOURCE/build}
if grep -q '^FERRY_SANITIZE:[A-Z]*=.' "$build/CMakeCache.txt"; then
  echo 'skipped: a sanitized library needs sanitized clients'
  exit 0
fi

expect 0 cmake --install "$build" --prefix "$work/first"
mv "$work/first" "$work/moved"
prefix=$work/moved
lib=$(dirname "$(find "$prefix" -name libferry.so | head -n 1)")
for file in bin/ferry include/ferry/ferry.h include/tensorflow/c/c_api.h share/man/man1/ferry.1 \
  share/ferry/models/digits.pb; do
  [ -e "$prefix/$file" ] || fail "$file is not installed"
done
for name in libtensorflow.so libtensorflow.so.2 libtensorflow_framework.so libtensorflow_framework.so.2; do
  [ -e "$lib/$name" ] || fail "$name is not installed"
done
expect 0 "$prefix/bin/ferry" run "$prefix/share/ferry/models/half_plus_two" --input 'x=[2]'
contains 'y = float[1] 3'

cat >"$work/api.c" <<'EOF'
#include <stdio.h>
#include <tensorflow/c/c_api.h>
int main(void) { return puts(TF_Version()) < 0; }
EOF
cat >"$work/own.cc" <<'EOF'
#include <ferry/ferry.h>
#include <tensorflow/c/eager/c_api.h>
#include <iostream>
int main() {
  ferry_runtime *rt = nullptr;
  if (ferry_open("sim=gpu:1", &rt, nullptr)) return 1;
  std::cout << ferry_device_count(rt) << " devices\n";
  ferry_close(rt);
}
EOF
if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$lib/pkgconfig
  for name in ferry tensorflow; do
    # shellcheck disable=SC2046  # flags are words
    expect 0 "${CC:-cc}" "$work/api.c" -o "$work/api" $(pkg-config --cflags --libs "$name") "-Wl,-rpath,$lib"
    expect 0 "$work/api"
    contains 2.21
  done
  # Programs ask for the version of the API.
  expect 0 pkg-config --atleast-version=2.0 tensorflow
fi

mkdir "$work/client"
mv "$work/api.c" "$work/own.cc" "$work/client"
cat >"$work/client/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.16)
project(client C CXX)
find_package(Ferry REQUIRED)
add_executable(api api.c)
target_link_libraries(api Ferry::tensorflow)
add_executable(own own.cc)
target_link_libraries(own PRIVATE Ferry::ferry)
EOF
expect 0 cmake -S "$work/client" -B "$work/client/build" "-DCMAKE_PREFIX_PATH=$prefix"
expect 0 cmake --build "$work/client/build"
expect 0 "$work/client/build/api"
contains 2.21
expect 0 "$work/client/build/own"
contains '2 devices'
finish
