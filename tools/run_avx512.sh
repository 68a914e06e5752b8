#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_avx512.sh: runs programs on a CPU with AVX-512 where there is none: in Bochs, which boots a Debian
# kernel with the programs, their libraries and the golden cases in its initial file system.
#
#   apt-get install bochs bochs-term bochsbios vgabios isolinux xorriso busybox-static cpio
#   tools/run_avx512.sh 'build/tests/test_ops_fused' 'FERRY_GOLDENS=_nn build/tests/test_ops_goldens'
#
# Each argument is a command line for the guest's shell; words that are executable files go along with
# what they are linked with, and so do files that DATA names (patterns). The guest has one CPU, and some
# 20 million instructions a second: booting takes a minute of a core, a native second of a test several.
# What the guest says ends up here; the exit code is 0 if every command's was. Not part of "make test",
# which runs the tests *_avx512 on a machine that has it.
#
#   MODEL    Bochs' name of the CPU (corei7_skylake_x; bochs --help cpu lists them)
#   KERNEL   a vmlinuz; without it, Debian's cloud kernel is fetched with apt-get download
#   DATA     tests/data/op_goldens*.txt
#   WORK     a folder for all this (build/avx512)
#   LIMIT    seconds (3600)
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { sed -n '3,22s/^# \{0,1\}//p' "$0"; exit 2; }
model=${MODEL:-corei7_skylake_x} work=${WORK:-build/avx512} limit=${LIMIT:-3600}
data=${DATA-tests/data/op_goldens*.txt}
mkdir -p "$work"
work=$(cd "$work" && pwd)

mkdir -p "$work/kernel"
kernel=${KERNEL:-$(find "$work/kernel" -name 'vmlinuz-*' | head -1)}
if [ -z "$kernel" ]; then
  package=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends:/ {print $2; exit}')
  (cd "$work/kernel" && apt-get download "$package" && dpkg -x ./*.deb . && rm -f ./*.deb)
  kernel=$(find "$work/kernel" -name 'vmlinuz-*' | head -1)
fi

# ---------------------------------------------------------------- the guest's files
root=$work/root
rm -rf "$root"
mkdir -p "$root"/{bin,proc,dev,tmp} "$root$PWD"
cp /bin/busybox "$root/bin/"
ln -s busybox "$root/bin/sh"
put() { mkdir -p "$root$(dirname "$1")" && cp -L "$1" "$root$1"; }
for command in "$@"; do
  for word in $command; do
    [ -f "$word" ] && [ -x "$word" ] || continue
    put "$(realpath -s "$word")"
    for library in $(ldd "$word" 2>/dev/null | grep -o '/[^ ]*'); do put "$library"; done
  done
done
for file in $data; do put "$PWD/$file"; done
{
  echo '#!/bin/busybox sh'
  echo 'busybox() { /bin/busybox "$@"; }'
  echo 'busybox mount -t proc proc /proc; busybox mount -t devtmpfs dev /dev'
  echo 'exec >/dev/ttyS0 2>&1'
  echo "cd '$PWD'; export FERRY_CPU=avx512 FERRY_SOURCE='$PWD' FERRY_REGISTRY=off HOME=/tmp; bad=0"
  echo 'busybox grep -m1 "model name" /proc/cpuinfo; busybox grep -o "avx512[a-z]*" /proc/cpuinfo'
  for command in "$@"; do
    printf 'echo %q; %s; code=$?; [ $code = 0 ] || bad=1; echo "exit code $code"\n' "\$ $command" "$command"
  done
  echo 'echo "GUEST DONE $bad"; busybox sleep 3; busybox poweroff -f'
} >"$root/init"
chmod +x "$root/init"

# ---------------------------------------------------------------- the machine
iso=$work/iso
rm -rf "$iso" && mkdir -p "$iso"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$iso/initrd"
cp "$kernel" "$iso/vmlinuz"
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$iso/"
cat >"$iso/isolinux.cfg" <<END
DEFAULT run
PROMPT 0
LABEL run
 KERNEL /vmlinuz
 APPEND initrd=/initrd console=ttyS0 nokaslr mitigations=off nosmp panic=1 loglevel=1 random.trust_cpu=on
END
xorriso -as mkisofs -quiet -o "$work/disc.iso" -b isolinux.bin -c boot.cat -no-emul-boot \
  -boot-load-size 4 -boot-info-table "$iso" 2>/dev/null
cat >"$work/bochsrc" <<END
display_library: term
cpu: model=$model, count=1, ips=100000000, reset_on_triple_fault=0
memory: guest=1024, host=1024
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/vgabios/vgabios.bin
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path=$work/disc.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$work/serial.txt
log: $work/bochs.log
clock: sync=none, time0=0
sound: waveoutdrv=dummy
speaker: enabled=0
panic: action=fatal
error: action=ignore
info: action=ignore
END
echo c >"$work/rc"  # Debian's Bochs has the debugger, which waits for a word
: >"$work/serial.txt"
tail -f "$work/serial.txt" &
show=$!
trap 'kill $show 2>/dev/null' EXIT
# Bochs draws its screen on a terminal of its own and would stop if nobody read it.
: >"$work/screen.txt"
TERM=xterm timeout "$limit" script -qfc "bochs -q -f '$work/bochsrc' -rc '$work/rc'" /dev/null \
  </dev/null >"$work/screen.txt" 2>&1 &
machine=$!
while kill -0 $machine 2>/dev/null; do
  screen=$(sed -n 's/.*connected to screen "\(.*\)".*/\1/p' "$work/screen.txt")
  if [ -n "$screen" ]; then cat "$screen" >/dev/null 2>&1 || true; fi
  sleep 1
done
sleep 1
grep -q "^GUEST DONE 0" "$work/serial.txt" || { echo "run_avx512: a command failed, or the guest did not get there" >&2; exit 1; }
