# The two commands of the README, and what they are made of. Everything the project needs, `make deps` installs.
BUILD ?= build
JOBS ?= 2
CMAKE_FLAGS ?=
RUN ?= runs/demo
SECONDS = 60
SLICE = 1/1
CLANG = -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++

.PHONY: help deps test-deps build programs demo test bench package sanitize tsan fuzz allocations tidy format clean

help:
	@echo "make demo      install what is missing, build, train on the built-in sample, leave a report"
	@echo "make test      install what is missing, build, run the tests"
	@echo "make build     install what is missing, build programs and tests; make programs: without the tests"
	@echo "make bench     step benchmarks"
	@echo "make package   a Debian package and a tarball, in build-package (docs/install.md)"
	@echo "make sanitize  the tests under AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make tsan      the tests of what runs in threads under ThreadSanitizer"
	@echo "make fuzz      every reader's fuzzer for SECONDS=60 (clang)"
	@echo "make allocations   every allocation of a short run of each program fails, one by one"
	@echo "make tidy      clang-tidy over the tree; SLICE=2/6: the second of six parts of it"
	@echo "make format    clang-format over the tree; CI fails where it would change something"

deps:
	@./cmake/install_deps.sh

test-deps:
	@./cmake/install_deps.sh test

build: deps
	cmake -S . -B $(BUILD) -G Ninja $(CMAKE_FLAGS)
	cmake --build $(BUILD) -j $(JOBS)

programs: deps
	cmake -S . -B $(BUILD) -G Ninja $(CMAKE_FLAGS)
	cmake --build $(BUILD) -j $(JOBS) --target programs

# A second `make demo` starts over: what the directory holds is moved to $(RUN)/old-N.
demo: programs
	$(BUILD)/bin/lm_train --sample --run $(RUN) --restart \
	  --layers 1 --hidden 128 --embed 128 --batch 16 --lr 0.004 --schedule plateau --after 8e
	$(BUILD)/bin/mt_train --sample --run $(RUN)-mt --restart \
	  --layers 2 --hidden 128 --ffn 256 --dropout 0.1 --lr 0.003 --warmup 200 --batch-tokens 1024 --after 4e

test: test-deps build
	cd $(BUILD) && ctest --output-on-failure -j $(JOBS)

bench: build
	$(BUILD)/bin/bench_ops
	$(BUILD)/bin/bench_lm --vocab 10000
	$(BUILD)/bin/bench_lm --vocab 30000
	$(BUILD)/bin/bench_lm --vocab 30000 --score
	$(BUILD)/bin/bench_lm --vocab 1000 --dim 64

# With the date of the last commit, the same sources give the same files, byte for byte (cmake/package_stage.cmake).
package: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || date +%s)
package:
	@./cmake/install_deps.sh package
	cmake -S . -B build-package -G Ninja $(CMAKE_FLAGS) -DNINE_TESTS=OFF -DNINE_PACKAGE=ON
	umask 022 && cmake --build build-package -j $(JOBS) --target package

# The test files: what CTest runs beside them starts the same programs once more or compiles what lives outside.
sanitize: deps
	cmake -S . -B build-sanitize -G Ninja $(CMAKE_FLAGS) -DNINE_SANITIZE=address
	cmake --build build-sanitize -j $(JOBS) --target nine_tests cuda_tests
	cd build-sanitize && ctest --output-on-failure -j $(JOBS) -R '^(test_|cuda_on_host|avx2$$)'

# Without libxsmm: code that it writes at run time cannot be instrumented. Of the tests, those of what runs in threads (tests/CMakeLists.txt).
# With clang: its OpenMP tells ThreadSanitizer (by archer, a library beside it) how threads wait for each other; GCC's does not.
tsan:
	@./cmake/install_deps.sh clang
	cmake --fresh -S . -B build-tsan -G Ninja $(CMAKE_FLAGS) $(CLANG) -DNINE_SANITIZE=thread -DNINE_XSMM=OFF
	cmake --build build-tsan -j $(JOBS) --target nine_tests
	cd build-tsan && OMP_TOOL_LIBRARIES=$$(clang -print-file-name=libarcher.so) TSAN_OPTIONS=ignore_noninstrumented_modules=1 \
	  ctest --output-on-failure -j $(JOBS) -R ^test_

fuzz:
	@./cmake/install_deps.sh clang
	cmake -S . -B build-fuzz -G Ninja $(CMAKE_FLAGS) $(CLANG) -DNINE_FUZZ=ON
	cmake --build build-fuzz -j $(JOBS) --target fuzzers
	tests/fuzz/run.sh build-fuzz $(SECONDS)

# tests/test_out_of_memory.cpp, whose cases take a sample of the allocations in `make test`.
allocations: build
	cd $(BUILD) && NINE_EVERY_ALLOCATION=1 ctest --output-on-failure -R '^test_out_of_memory$$'

# clang-tidy reads clang's command lines; nothing has to be built for it.
tidy:
	@./cmake/install_deps.sh clang tidy
	cmake -S . -B build-tidy -G Ninja $(CMAKE_FLAGS) $(CLANG) -DNINE_UNITY=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DNINE_DISPATCH=OFF
	git ls-files '*.cpp' | grep -v -e ^examples/ -e ^tests/consumer/ -e ^tests/fuzz/entry -e ^tests/fuzz/host -e ^core/cpu/amx/ -e ^core/cpu/avx512_bf16/ | \
	  awk -v slice=$(SLICE) 'BEGIN { split(slice, part, "/") } NR % part[2] == part[1] % part[2]' | \
	  xargs -P $(JOBS) -n 1 clang-tidy -p build-tidy --quiet --warnings-as-errors='*'

format:
	@./cmake/install_deps.sh format
	git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs clang-format -i

clean:
	rm -rf $(BUILD) build-package build-sanitize build-tsan build-fuzz build-tidy
