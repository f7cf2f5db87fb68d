# make demo    cuts, verifies and pictures the three sample regions
# make test    runs all tests
# make bless   takes over help texts and conversations with curl as golden files
# make web-libraries  installs Leaflet and MapLibre GL for tileserve's viewer pages
# make bench   measures against vips (needs BENCH_RASTERS)
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.PHONY: all demo test bless build lint format packages web-libraries bench clean

all: build

packages:
	@scripts/install-packages.sh

web-libraries:
	@scripts/install-web-libraries.sh

build: packages
	@echo "building tilecut (release); the first time takes a few minutes"
	@swift build -c release --product tilecut 2>&1 | scripts/quiet-build.sh

demo: build web-libraries
	@scripts/demo.sh

# The tests run the built command as well as the libraries, in debug, where overflow and bounds are checked.
test:
	@scripts/install-packages.sh --tests
	@scripts/install-web-libraries.sh
	@echo "building the tests; the first time takes a few minutes"
	@swift build --build-tests 2>&1 | scripts/quiet-build.sh
	@swift test --skip-build --disable-xctest 2>&1 | scripts/quiet-tests.sh

bless: packages
	@swift build --build-tests 2>&1 | scripts/quiet-build.sh
	@BLESS=1 swift test --skip-build --disable-xctest --filter "HelpTests|CurlTests" 2>&1 | scripts/quiet-tests.sh
	@git --no-pager diff --stat -- Tests/CommandTests/Goldens

lint:
	@swift format lint --strict --recursive Sources Tests Benchmarks Package.swift
	@echo "lint: clean"

format:
	@swift format --in-place --recursive Sources Tests Benchmarks Package.swift

bench: build
	@swift build -c release --product TileBench 2>&1 | scripts/quiet-build.sh
	@scripts/bench.sh

clean:
	rm -rf .build demo
