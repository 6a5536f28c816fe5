# The two commands of the README, and what they are made of. Everything the project needs, `make deps` installs.
BUILD ?= build
JOBS ?= 2
CMAKE_FLAGS ?=
RUN ?= runs/demo

.PHONY: help deps build demo test bench sanitize clean

help:
	@echo "make demo      install what is missing, build, train on the built-in sample, leave a report"
	@echo "make test      install what is missing, build, run the tests"
	@echo "make build     build only        make bench     step benchmarks"
	@echo "make sanitize  the tests under AddressSanitizer and UndefinedBehaviorSanitizer"

deps:
	@./cmake/install_deps.sh

build: deps
	cmake -S . -B $(BUILD) -G Ninja $(CMAKE_FLAGS)
	cmake --build $(BUILD) -j $(JOBS)

# A second `make demo` starts over: what the directory holds is moved to $(RUN)/old-N.
demo: build
	$(BUILD)/bin/lm_train --sample --run $(RUN) --restart \
	  --layers 1 --hidden 128 --embed 128 --batch 16 --lr 0.004 --schedule plateau --after 8e

test: build
	cd $(BUILD) && ctest --output-on-failure -j $(JOBS)

bench: build
	$(BUILD)/bin/bench_ops
	$(BUILD)/bin/bench_lm --vocab 10000
	$(BUILD)/bin/bench_lm --vocab 30000
	$(BUILD)/bin/bench_lm --vocab 30000 --score
	$(BUILD)/bin/bench_lm --vocab 1000 --dim 64

sanitize: deps
	cmake -S . -B build-sanitize -G Ninja $(CMAKE_FLAGS) -DNINE_SANITIZE=ON
	cmake --build build-sanitize -j $(JOBS)
	cd build-sanitize && ctest --output-on-failure -j $(JOBS)

clean:
	rm -rf $(BUILD) build-sanitize
