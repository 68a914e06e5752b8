#!/usr/bin/env bash
# Installs the Debian packages Ferry needs; silent when nothing is missing.
#   scripts/setup.sh           to build, run and test
#   scripts/setup.sh check     also what `make check` and `make valgrind` use
#   scripts/setup.sh aarch64   also the cross compiler and arm64 libraries
set -euo pipefail

# package, then why. Libraries marked (*) are opened at run time: Ferry works without them, slower.
build_packages='
build-essential       the C compiler and make
cmake                 the build
ninja-build           a faster build than make
pkg-config            tests that an installed Ferry is found
libprotobuf-c-dev     reads and writes TensorFlow messages
protobuf-c-compiler   turns .proto files into C
libcmocka-dev         unit tests
libhwloc-dev          which cores and caches this machine has (*)
libjpeg-dev           reads and writes JPEG images (*)
libpng-dev            reads and writes PNG images (*)
libgif-dev            reads GIF images (*)
ocl-icd-opencl-dev    talks to OpenCL devices (*)
libclblast1           large products of matrices on OpenCL devices, opened at run time (*)
pocl-opencl-icd       an OpenCL device on the CPU, so that the OpenCL tests run anywhere (*)
'
check_packages='
clang                 the second compiler that must accept the code; fuzzers
clang-format          the format check
clang-tidy            the bug check
valgrind              memory errors
'
aarch64_packages='
gcc-aarch64-linux-gnu      the cross compiler
libc6-dev-arm64-cross      its C library
libprotobuf-c-dev:arm64    the one library Ferry links
'

fail() {
  printf 'setup: %s\n' "$1" >&2
  exit 1
}

# The package for this machine (or the architecture its name gives): a foreign copy does not count.
installed() {
  local arch
  case $1 in *:*) arch=${1#*:} ;; *) arch=$(dpkg --print-architecture) ;; esac
  dpkg-query -W -f '${db:Status-Status} ${Architecture}\n' "$1" 2>/dev/null |
    grep -qE "^installed ($arch|all)$"
}

wanted=$build_packages
case ${1:-} in
  '') ;;
  check) wanted+=$check_packages ;;
  aarch64) wanted+=$aarch64_packages ;;
  *) fail "unknown profile '$1': use check or aarch64" ;;
esac

# Another system may bring the same tools under other names: then only say what is needed.
if ! command -v dpkg-query >/dev/null; then
  for tool in cc cmake protoc-c; do
    command -v "$tool" >/dev/null || fail "this is not Debian and '$tool' is missing. Needed (Debian names):$wanted"
  done
  exit 0
fi

missing=()
while read -r package why; do
  [ -n "$package" ] || continue
  installed "$package" && continue
  [ ${#missing[@]} -gt 0 ] || echo 'Ferry needs these Debian packages:'
  printf '  %-24s %s\n' "$package" "$why"
  missing+=("$package")
done <<<"$wanted"
[ ${#missing[@]} -gt 0 ] || exit 0

root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null ||
    fail "not root and there is no sudo. As root, run: apt-get install ${missing[*]}"
  root=(sudo)
  echo 'Installing them needs root; sudo may ask for your password.'
fi
as_root() { "${root[@]}" env DEBIAN_FRONTEND=noninteractive "$@"; }

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ "${1:-}" = aarch64 ] && ! dpkg --print-foreign-architectures | grep -qx arm64; then
  echo 'Adding arm64 as a foreign architecture (dpkg --add-architecture arm64).'
  as_root dpkg --add-architecture arm64 || fail 'could not add arm64'
fi
as_root apt-get update >"$log" 2>&1 ||
  echo 'setup: apt-get update failed; trying with the package lists at hand' >&2
if ! as_root apt-get install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
  tail -n 5 "$log" >&2
  fail "could not install (no network, or no such package here?). By hand: apt-get install ${missing[*]}"
fi
echo "Installed ${#missing[@]} package(s)."
