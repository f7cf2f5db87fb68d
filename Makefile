# make demo    builds bundles of fourteen sample regions, verifies and serves them once, and reconciles a fake shop
# make test    installs what the tests need, and runs all but the slow ones; before the summary it lists what was not tried, and how to try it
# make test-long  runs the slow tests that make test leaves out: kills, builds of sample regions, one case of each browser test, schemathesis
# make test-clients  runs all cases of the tests with real clients: GDAL, Chromium, and QGIS, which it installs; pictures of the pages go to .build/screenshots
# make test-full  runs the tests whose names match FILTER with all their rounds, seeds and cases: hours without FILTER
# make bless   accepts the current help texts and conversations with curl as golden files
# make web-libraries  installs Leaflet and MapLibre GL for tileserve's viewer pages
# make bench   measures cutting beside vips, gdal2tiles, GDAL and rio (needs BENCH_RASTERS)
# make bench-check  counts the instructions of the hot kernels (callgrind) and compares them with Benchmarks/instructions.txt
# make bench-serve  measures tileserve against nginx, mod_tile and MapProxy (about ten minutes; BENCH_RASTERS is used when set)
# make bench-cache  measures what a hit of the tile cache costs, and replays a day in virtual time, hour by hour
# make bench-ledger  measures the purchase ledger beside OpenSSL (LEDGER_BENCH_COUNT transactions, a million unless given)
# make bench-store  measures mapstore: downloads beside nginx, libraries, purchases
# make soak    loads tileserve for an hour (SOAK_SECONDS) and checks that its memory stays within the budget; soak-short takes two minutes
# make tsan    runs the tests of cache, prefetch, replay, memory pressure and upstreams under the thread sanitizer, in a build of their own
# make docs    builds the DocC documentation of the libraries that an app embeds, into .build/docs
# make fuzz    runs libFuzzer on the evidence parsers, FUZZ_SECONDS each (120); what it found is kept in .build/fuzz-corpus
# Release binaries contain Swift's own libraries: they run on machines without Swift, start sooner, and a request costs a tenth less.
RELEASE := -c release --static-swift-stdlib
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.PHONY: all demo test test-long test-clients test-full tests-built bless build lint format packages web-libraries bench bench-check bench-serve bench-cache bench-ledger bench-store tsan docs fuzz soak soak-short clean

all: build

packages:
	@scripts/install-packages.sh

web-libraries:
	@scripts/install-web-libraries.sh

build: packages
	@echo "building tilecut, tileserve, purchase-ledger and mapstore (release); the first time takes a quarter of an hour on two cores"
	@swift build $(RELEASE) --product tilecut 2>&1 | scripts/quiet-build.sh
	@swift build $(RELEASE) --product tileserve 2>&1 | scripts/quiet-build.sh
	@swift build $(RELEASE) --product purchase-ledger 2>&1 | scripts/quiet-build.sh
	@swift build $(RELEASE) --product mapstore 2>&1 | scripts/quiet-build.sh

demo: build web-libraries
	@scripts/demo.sh

# The tests run the built command as well as the libraries, in debug, where overflow and bounds are checked.
tests-built:
	@scripts/install-packages.sh --tests
	@scripts/install-web-libraries.sh
	@scripts/install-schemathesis.sh
	@echo "building the tests; the first time takes a few minutes"
	@swift build --build-tests 2>&1 | scripts/quiet-build.sh

RUN_TESTS := swift test --skip-build --disable-xctest
test: tests-built
	@$(RUN_TESTS) 2>&1 | scripts/quiet-tests.sh

# What make test leaves out. Tests say so themselves, by the trait .long.
test-long: tests-built
	@LONG_TESTS=1 $(RUN_TESTS) --filter "$$(scripts/long-tests.sh)" 2>&1 | scripts/quiet-tests.sh

test-full: tests-built
	@LONG_TESTS=full $(RUN_TESTS) --filter "$(FILTER)" 2>&1 | scripts/quiet-tests.sh

# All cases of the browser tests, of which make test-long tries one each, and QGIS.
test-clients: tests-built
	@scripts/install-packages.sh --clients
	@LONG_TESTS=full $(RUN_TESTS) --filter '^ClientTests\.' 2>&1 | scripts/quiet-tests.sh

bless: packages
	@swift build --build-tests 2>&1 | scripts/quiet-build.sh
	@BLESS=1 swift test --skip-build --disable-xctest --filter "HelpTests|CurlTests|ReplayCommandTests" 2>&1 | scripts/quiet-tests.sh
	@git --no-pager diff --stat -- Tests/CommandTests/Goldens

docs: packages
	@scripts/docs.sh TileIndex TilePrefetch MapStoreClient PurchaseLedger TileServe

lint:
	@swift format lint --strict --recursive Sources Tests Benchmarks Fuzz Package.swift
	@echo "lint: clean"

format:
	@swift format --in-place --recursive Sources Tests Benchmarks Fuzz Package.swift

bench: build
	@swift build $(RELEASE) --product TileBench 2>&1 | scripts/quiet-build.sh
	@scripts/bench.sh

bench-check:
	@swift build $(RELEASE) --product TileBench 2>&1 | scripts/quiet-build.sh
	@scripts/bench-check.sh

bench-serve: build
	@scripts/install-packages.sh --bench
	@scripts/bench-serve.sh

soak:
	@scripts/install-packages.sh --soak
	@swift build $(RELEASE) --product tileserve 2>&1 | scripts/quiet-build.sh
	@scripts/soak.sh

soak-short:
	@SOAK_SECONDS=$${SOAK_SECONDS:-120} $(MAKE) --no-print-directory soak

bench-cache:
	@swift build $(RELEASE) --product CacheBench 2>&1 | scripts/quiet-build.sh
	@.build/release/CacheBench
	@.build/release/CacheBench day

bench-ledger:
	@swift build $(RELEASE) --product LedgerBench 2>&1 | scripts/quiet-build.sh
	@.build/release/LedgerBench

bench-store: build
	@scripts/install-packages.sh --bench
	@swift build $(RELEASE) --product StoreBench 2>&1 | scripts/quiet-build.sh
	@scripts/bench-store.sh

# The first finding of the sanitizer ends the run, so that its report is the last output.
TSAN := --sanitize thread --scratch-path .build/tsan
tsan:
	@scripts/install-packages.sh --tests
	@echo "building the tests with the thread sanitizer; the first time takes half an hour"
	@swift build $(TSAN) --build-tests 2>&1 | scripts/quiet-build.sh
	@TSAN_OPTIONS="halt_on_error=1 suppressions=$$PWD/scripts/tsan-suppressions.txt" swift test $(TSAN) --skip-build --disable-xctest \
	  --filter "^(TilePrefetchTests|MemoryPressureTests)\.|^PrefetchReplayTests\.BundleReplay|^SupportTests\.LRUTable|^TileServeTests\.(ClientView|PrefetchServing|Upstream|RemoteArchive)" \
	  2>&1 | scripts/quiet-tests.sh

fuzz: packages
	@scripts/fuzz.sh

clean:
	rm -rf .build demo
