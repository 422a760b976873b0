# SPDX-License-Identifier: Apache-2.0
# A short front for CMake: the presets of CMakePresets.json do the work.
#
#   make            build/hull and build/libhull.so
#   make demo       one compile, four refits, 1600 answers compared
#   make test       every test; the last line counts them
#   make fuzz       every fuzz target for a while: SECONDS_EACH=60
#                   TARGETS=npy,model; what crashes is in build/fuzz/crashes
#   make fuzz-merge what they found and need, packed, into tests/fuzz/corpus
#   make bench      Hull beside its peers: scripts/bench.py tells the method;
#                   BENCH=latency,refit,start,process,memory,scale,lowp MODELS=resnet18,...
#                   ROUNDS=5 ARGS="--threads 2 --docs"
#   make install    PREFIX=/usr/local DESTDIR=
#   make clean
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

.PHONY: all demo test fuzz fuzz-merge bench install clean

all:
	@scripts/setup.sh build
	@cmake --preset release --log-level=NOTICE
	@cmake --build build -j $(JOBS)

demo: all
	@scripts/demo.sh

test:
	@scripts/setup.sh test
	@cmake --preset dev --log-level=NOTICE
	@cmake --build build -j $(JOBS)
	@scripts/run_tests.py build

fuzz fuzz-merge:
	@scripts/setup.sh test
	@scripts/fuzz.py $(if $(SECONDS_EACH),--seconds $(SECONDS_EACH)) \
	  $(if $(TARGETS),--targets $(TARGETS)) $(if $(@:fuzz=),--merge)

bench: all
	@scripts/bench.py $(if $(BENCH),--bench $(BENCH)) \
	  $(if $(MODELS),--models $(MODELS)) \
	  $(if $(ROUNDS),--rounds $(ROUNDS)) $(ARGS)

install: all
	@cmake -B build -DCMAKE_INSTALL_PREFIX=$(PREFIX) --log-level=NOTICE
	@DESTDIR=$(DESTDIR) cmake --install build

clean:
	rm -rf build
