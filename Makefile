# make demo    builds bundles of fourteen sample regions, verifies and serves them once, and reconciles generated purchases
# make install  installs the built commands, manual pages and completions into PREFIX (/usr/local); make uninstall removes them
# make dist    writes a tarball and a Debian package into .build/dist
# make test-dist  installs that package in a bare Debian without Swift (debootstrap; as root), uses it and removes it
# make build-times  builds everything from nothing, and prints the processor time of each target
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
# make test-scale  cuts the world relief in 16 shards on a Slurm cluster of two nodes on this host, which it installs: clean, with a killed node, with shards that fail; with GNU parallel over ssh, and on Spark
# make bench-scale  measures 40 shards on Slurm and with GNU parallel, 1, 2 and 4 at a time, and how a tileset of shards is served
# make soak    loads tileserve for an hour (SOAK_SECONDS) and checks that its memory stays within the budget; soak-short takes two minutes
# make tsan    runs the tests of cache, prefetch, map sessions, replay, memory pressure and upstreams under the thread sanitizer, in a build of their own
# make examples  builds the packages in examples/ by themselves, as somebody else's package would
# make docs    builds the DocC documentation of the libraries that an app embeds, into .build/docs; every public symbol needs a comment
# make api-diff  compares the public interface of these libraries with the last tag's, or REF's; CHANGELOG.md must name what breaks
# make fuzz    runs libFuzzer on the readers of evidence and rasters, FUZZ_SECONDS each (120); what it found is kept in .build/fuzz-corpus
# Debug builds compile the loops over pixels with optimisation (Package.swift).
export OPTIMISED_KERNELS := 1
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.PHONY: all install uninstall dist test-dist build-times demo test test-long test-clients test-full test-scale bench-scale tests-built bless build lint format packages web-libraries bench bench-check bench-serve bench-cache bench-ledger bench-store tsan examples docs api-diff fuzz soak soak-short clean

all: build

packages:
	@scripts/install-packages.sh

web-libraries:
	@scripts/install-web-libraries.sh

PREFIX ?= /usr/local
install: build
	@scripts/install.sh "$(PREFIX)"

uninstall:
	@scripts/install.sh --remove "$(PREFIX)"

dist: build
	@scripts/dist.sh

test-dist:
	@scripts/install-packages.sh --dist
	@$(MAKE) --no-print-directory dist
	@scripts/test-dist.sh

build-times: packages
	@scripts/build-times.sh

build: packages web-libraries
	@scripts/build.sh tilecut tileserve purchase-ledger mapstore

# Small maps need no optimisation: unless the optimised commands are there, the demo takes those that the tests go on from.
demo: export DEMO_STARTED := $(shell date +%s)
demo: built := $(if $(wildcard .build/release/mapstore),release,debug)
demo: packages
	@BUILT=$(built) scripts/demo-first-map.sh
	@scripts/build.sh --$(built) tilecut tileserve purchase-ledger mapstore
	@scripts/install-web-libraries.sh
	@BUILT=$(built) scripts/demo.sh

# The tests run the built command as well as the libraries, in debug, where overflow and bounds are checked.
tests-built:
	@scripts/install-packages.sh --tests
	@scripts/install-web-libraries.sh
	@scripts/install-python-tools.sh
	@echo "building the tests and the commands that they run; the first time takes four to eight minutes on two quiet cores"
	@scripts/build.sh --tests

# Without the second option SwiftPM looks for tests in the index, and runs none.
RUN_TESTS := swift test --skip-build --disable-xctest --enable-swift-testing
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

# A job array on a real scheduler (examples/slurm).
test-scale:
	@scripts/install-packages.sh --scale
	@scripts/build.sh tilecut
	@scripts/test-scale.sh

bench-scale:
	@scripts/install-packages.sh --scale
	@scripts/install-packages.sh --bench
	@scripts/build.sh tilecut
	@scripts/build.sh tileserve
	@scripts/bench-scale.sh
	@scripts/bench-sharded.sh

bless: packages
	@scripts/build.sh --tests
	@BLESS=1 $(RUN_TESTS) --filter "HelpTests|CommandReferenceTests|CurlTests|ManifestSchemaTests" 2>&1 | scripts/quiet-tests.sh
	@git --no-pager diff --stat -- Tests/CommandTests/Goldens docs/reference/commands.md docs/reference/regions.schema.json

# Flags of the kernels are not allowed in a package that others depend on.
examples: packages
	@for manifest in examples/*/Package.swift; do \
	  example=$${manifest%/Package.swift}; echo "building $$example"; \
	  env -u OPTIMISED_KERNELS swift build --package-path "$$example" 2>&1 | scripts/quiet-build.sh; done

docs: packages
	@scripts/docs.sh

api-diff: packages
	@scripts/api-diff.sh $(REF)

lint:
	@swift format lint --strict --recursive Sources Tests Benchmarks Fuzz examples Package.swift
	@echo "lint: clean"

format:
	@swift format --in-place --recursive Sources Tests Benchmarks Fuzz examples Package.swift

bench: build
	@scripts/build.sh TileBench
	@scripts/bench.sh

bench-check:
	@scripts/build.sh TileBench
	@scripts/bench-check.sh

bench-serve: build
	@scripts/install-packages.sh --bench
	@scripts/bench-serve.sh

soak:
	@scripts/install-packages.sh --soak
	@scripts/build.sh tileserve
	@scripts/soak.sh

soak-short:
	@SOAK_SECONDS=$${SOAK_SECONDS:-120} $(MAKE) --no-print-directory soak

bench-cache:
	@scripts/build.sh CacheBench
	@.build/release/CacheBench
	@.build/release/CacheBench bundle
	@.build/release/CacheBench warning
	@.build/release/CacheBench day

bench-ledger:
	@scripts/build.sh LedgerBench
	@.build/release/LedgerBench

bench-store: build
	@scripts/install-packages.sh --bench
	@scripts/build.sh StoreBench
	@scripts/bench-store.sh

# The first finding of the sanitizer ends the run, so that its report is the last output.
TSAN := --sanitize thread --scratch-path .build/tsan
tsan:
	@scripts/install-packages.sh --tests
	@echo "building the tests with the thread sanitizer; the first time takes half an hour"
	@swift build --build-tests --disable-index-store $(TSAN) 2>&1 | scripts/quiet-build.sh
	@TSAN_OPTIONS="halt_on_error=1 suppressions=$$PWD/scripts/tsan-suppressions.txt" $(RUN_TESTS) $(TSAN) \
	  --filter "^(TilePrefetchTests|MemoryPressureTests|OfflineMapTests)\.|^PrefetchReplayTests\.BundleReplay|^SupportTests\.LRUTable|^TileServeTests\.(AppServer|ClientView|PrefetchServing|Upstream|RemoteArchive)|^MapStoreClientTests\.(Progress|TransferPolicy)" \
	  2>&1 | scripts/quiet-tests.sh

fuzz: packages
	@scripts/fuzz.sh

clean:
	rm -rf .build demo
