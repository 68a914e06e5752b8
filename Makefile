# A thin front for CMake: every target is one or two lines. `make help` lists them.
BUILD  ?= build
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
CMAKE_ARGS ?=
GENERATOR := $(if $(shell command -v ninja 2>/dev/null),-G Ninja,)

configure = cmake -S . -B $(1) $(GENERATOR) $(2) $(CMAKE_ARGS)
compile = cmake --build $(1) -j $(JOBS)
ctest = ctest --test-dir $(1) --output-on-failure -j 2

.PHONY: all build setup run test check bench bench-memory bench-ops asan ubsan tsan valgrind fuzz aarch64 format install \
        clean help

all: build  ## optimised release into build/ (the default)

build: $(BUILD)/.configured
	@$(call compile,$(BUILD))

$(BUILD)/.configured:
	@$(call configure,$(BUILD),-DCMAKE_BUILD_TYPE=Release)
	@touch $@

setup:  ## install the Debian packages Ferry needs (nothing to do on the second run)
	@scripts/setup.sh

run: setup  ## a small model on CPU + one simulated GPU: where it runs, why, and the result
	@mkdir -p $(BUILD)
	@$(MAKE) --no-print-directory build >$(BUILD)/run.log 2>&1 || { cat $(BUILD)/run.log; exit 1; }
	@scripts/run.sh

test: setup  ## every test
	@$(MAKE) --no-print-directory build
	@$(call ctest,$(BUILD))

check: setup  ## format, warnings as errors (gcc, clang), clang-tidy, include order, exports, fuzzers
	@scripts/setup.sh check
	@scripts/check.sh

bench: setup  ## Ferry against TensorFlow, interleaved, as a table
	@$(call configure,$(BUILD),-DCMAKE_BUILD_TYPE=Release -DFERRY_BUILD_BENCH=ON)
	@touch $(BUILD)/.configured
	@$(call compile,$(BUILD))
	@bench/run.sh $(BUILD)

bench-memory: setup  ## pools beside malloc, and planning 10,000 lives, against their targets
	@$(call configure,$(BUILD),-DCMAKE_BUILD_TYPE=Release -DFERRY_BUILD_BENCH=ON)
	@touch $(BUILD)/.configured
	@$(call compile,$(BUILD))
	@$(BUILD)/bench/memory

bench-ops: setup  ## every op of bench/ops.txt against TensorFlow, as a table
	@$(call configure,$(BUILD),-DCMAKE_BUILD_TYPE=Release -DFERRY_BUILD_BENCH=ON)
	@touch $(BUILD)/.configured
	@$(call compile,$(BUILD))
	@bench/ops.sh $(BUILD)

asan: SANITIZE = address
ubsan: SANITIZE = undefined
tsan: SANITIZE = thread
asan ubsan tsan: setup  ## the tests under a sanitizer
	@$(call configure,$(BUILD)/$@,-DCMAKE_BUILD_TYPE=RelWithDebInfo -DFERRY_SANITIZE=$(SANITIZE))
	@$(call compile,$(BUILD)/$@)
	@ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:$$ASAN_OPTIONS LSAN_OPTIONS=suppressions=$(CURDIR)/tests/lsan.supp:print_suppressions=0:$$LSAN_OPTIONS TSAN_OPTIONS=halt_on_error=1:allocator_may_return_null=1:$$TSAN_OPTIONS \
	  UBSAN_OPTIONS=print_stacktrace=1:$$UBSAN_OPTIONS $(call ctest,$(BUILD)/$@)

valgrind: setup  ## the tests under Valgrind, a fair part of the longest (VALGRIND_PART=1/8)
	@scripts/setup.sh check
	@$(call configure,$(BUILD)/valgrind,-DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  "-DFERRY_TEST_WRAPPER=valgrind;-q;--error-exitcode=99;--leak-check=full;--show-leak-kinds=definite;--errors-for-leak-kinds=definite;--fair-sched=try;--suppressions=$(CURDIR)/tests/valgrind.supp")
	@$(call compile,$(BUILD)/valgrind)
	@scripts/valgrind.sh $(BUILD)/valgrind

fuzz: setup  ## every fuzzer for FUZZ_SECONDS (60)
	@scripts/setup.sh check
	@scripts/fuzz.sh

aarch64:  ## cross-compile for aarch64 (adds Debian's arm64 packages)
	@scripts/setup.sh aarch64
	@$(call configure,$(BUILD)/aarch64,-DCMAKE_TOOLCHAIN_FILE=cmake/toolchain-aarch64.cmake \
	  -DFERRY_BUILD_TESTS=OFF)
	@$(call compile,$(BUILD)/aarch64)

format:  ## let clang-format rewrite what it would complain about
	@scripts/check.sh format-fix

install: build  ## into PREFIX (/usr/local), below DESTDIR if given
	@cmake --install $(BUILD) --prefix $(PREFIX) --strip

clean:  ## remove build/
	@rm -rf $(BUILD)

help:  ## this list
	@awk -F '##' '/^[a-z0-9 -]+:.*##/ { split($$1, t, ":"); printf "  make %-16s %s\n", t[1], $$2 }' $(MAKEFILE_LIST)
