# SPDX-License-Identifier: Apache-2.0
# A short front for CMake: the presets of CMakePresets.json do the work.
#
#   make            build/hull and build/libhull.so
#   make demo       one compile, four refits, 1600 answers compared
#   make test       every test; the last line counts them
#   make bench      what a refit, a cache hit and a run cost here
#   make install    PREFIX=/usr/local DESTDIR=
#   make clean
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

.PHONY: all demo test bench install clean

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

bench: all
	@scripts/bench.sh

install: all
	@cmake -B build -DCMAKE_INSTALL_PREFIX=$(PREFIX) --log-level=NOTICE
	@DESTDIR=$(DESTDIR) cmake --install build

clean:
	rm -rf build
