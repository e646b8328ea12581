# `make` lists what there is. Python 3.11 or newer with its venv module is all that must be installed.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help setup setup-dev constraints crawl merge test lint types layers check test-browser test-corpus test-fleet test-kills test-merge-kills \
	test-mounts test-faults test-power soak \
	fuzz bench bench-corpus bench-fleet bench-frontier bench-latency bench-merge bench-parts bench-sick bench-status bench-versions dist test-dist clean

PYTHON ?= python3
BIN := .venv/bin
JOBS ?= 2
# the corpora are for test-corpus; tests that need root skip themselves without it
FAST := -m "not corpus and not fleet and not dist and not browser and not mounts and not faults and not power"

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' Makefile
	@echo '  crawl takes ROOT=DIR SEED=URL SEEDS=FILE WORKERS=N THREADS=M SET="K=V K=V"; with no ROOT it is the demo.'

setup: .venv/.run  ## create .venv with what crawling needs

setup-dev: .venv/.dev  ## the same, with what testing needs

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
		|| { echo 'fscrawl needs Python 3.11 or newer; name one: make PYTHON=python3.12 …' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { echo 'the venv module is missing; on Debian and Ubuntu: apt-get install python3-venv' >&2; exit 1; }
	$(PYTHON) -m venv .venv

# `python -m pip`, never .venv/bin/pip: its first line cannot name a path with a space
.venv/.run: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

.venv/.merge: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[merge,main-text]'
	@touch $@ .venv/.run

.venv/.dev: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@ .venv/.run .venv/.merge

constraints:  ## resolve the newest versions and pin them in constraints.txt
	rm -rf .venv/resolve
	$(MAKE) .venv/bin/python
	$(PYTHON) -m venv .venv/resolve
	.venv/resolve/bin/python -m pip install --quiet --disable-pip-version-check '.[dev]'
	{ sed -n '/^#/p' constraints.txt; \
		.venv/resolve/bin/python -m pip freeze --disable-pip-version-check --exclude fscrawl; } > .venv/constraints.txt
	mv .venv/constraints.txt constraints.txt
	rm -rf .venv/resolve

merge: .venv/.merge  ## export the tree ROOT as a dataset into OUT; FORMAT, and ARGS for more options
	@$(if $(and $(ROOT),$(OUT)),,echo 'make merge ROOT=DIR OUT=DIR: name the tree and the dataset' >&2; exit 2)
	$(BIN)/python -m fscrawl merge --root "$(ROOT)" --out "$(OUT)" $(foreach format,$(FORMAT),--format $(format)) $(ARGS)

crawl: .venv/.run  ## crawl into ROOT; with no words, the bundled demo web
ifdef ROOT
	$(BIN)/python crawl.py --root "$(ROOT)" $(if $(WORKERS),--workers $(WORKERS)) $(if $(THREADS),--threads $(THREADS)) \
		$(if $(SEEDS),--seeds "$(SEEDS)") $(foreach url,$(SEED),--seed '$(url)') $(foreach pair,$(SET),--set '$(pair)')
else
	@$(BIN)/python -m demo.run $(if $(WORKERS),--workers $(WORKERS)) $(if $(THREADS),--threads $(THREADS))
endif

test: .venv/.dev  ## run the tests, measured, and hold them to the coverage thresholds; no network, no root
	$(BIN)/python -m pytest -n $(JOBS) $(FAST) --cov --cov-report=json:.coverage.json --cov-report=
	$(BIN)/python tests/support/coverage_gate.py .coverage.json

lint: .venv/.dev  ## ruff: rules and format
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .

types: .venv/.dev  ## mypy, strict
	$(BIN)/python -m mypy

layers: .venv/.dev  ## import-linter: imports run downwards only
	$(BIN)/python -c 'import sys; from importlinter.cli import lint_imports_command as run; sys.exit(run())'

check: test lint types layers  ## everything but the corpora

test-fleet: .venv/.dev  ## eight machines on one tree, undisturbed and under chaos; three minutes
	$(BIN)/python -m pytest -m fleet -s

test-kills: .venv/.dev  ## fifty kills at random moments, and the crawl whole after each
	FSCRAWL_KILLS=50 $(BIN)/python -m pytest tests/system/test_kill.py -s --timeout 600

test-merge-kills: .venv/.dev  ## twenty kills of a merge, and the same dataset at the end
	FSCRAWL_KILLS=20 $(BIN)/python -m pytest tests/system/test_merge_kill.py -s --timeout 330

test-mounts: SOME = $(if $(ON),-k "$(ON)" || [ $$? -eq 5 ])
test-mounts: .venv/.dev  ## root: sshfs, GlusterFS, and kernel NFS in guests; ON="nfs" for some, FULL=1 for all there is
	tools/debian.sh openssh-server openssh-client sshfs glusterfs-server glusterfs-client iproute2 nftables strace \
		qemu-system-x86 debootstrap busybox-static e2fsprogs
	$(if $(FULL),FSCRAWL_TROUBLE_S=120) $(BIN)/python -m pytest -m "mounts and not nfs" -n 3 $(SOME)
	$(if $(FULL),FSCRAWL_NFS=all) $(BIN)/python -m pytest -m nfs $(SOME)

test-faults: .venv/.dev  ## root: a fault of the file system at every call in turn; FULL=1 for each call and each fault
	tools/debian.sh fuse3
	$(if $(FULL),FSCRAWL_FAULTS=all) $(BIN)/python -m pytest -n $(JOBS) -m "faults and not power" --timeout $(if $(FULL),7200,600)

test-power: .venv/.dev  ## root: what is on the disk after a power loss, at random points; FULL=1 for more of them
	tools/debian.sh fuse3
	$(if $(FULL),FSCRAWL_POWER_POINTS=300) $(BIN)/python -m pytest -m power --timeout $(if $(FULL),7200,600)

soak: .venv/.dev  ## root: ten machines, every fault at random, for MINUTES (30); SEED
	tools/debian.sh fuse3 openssh-server openssh-client sshfs
	$(BIN)/python -m tests.support.soak --minutes $(or $(MINUTES),30) $(if $(SEED),--seed $(SEED))

test-browser: .venv/.dev  ## the dashboard in Debian's chromium; FSCRAWL_SCREENSHOTS=1 draws docs/images anew
	$(BIN)/python -m pytest -m browser

test-corpus: .venv/.dev  ## tests against Debian's nginx, wget2, python3-doc and rust-doc
	$(BIN)/python -m pytest -m corpus

fuzz: .venv/.dev  ## hostile bytes for the pure rooms; SECONDS (60) for each TARGET (all)
	$(BIN)/python -m tests.support.fuzz --seconds $(or $(SECONDS),60) $(TARGET)

bench: .venv/.dev  ## pages per second of one machine
	$(BIN)/python -m benchmarks.speed

bench-corpus: .venv/.dev  ## pages per second on real documentation
	$(BIN)/python -m benchmarks.corpus

bench-fleet: .venv/.dev  ## pages per second of 1, 2, 4 and 10 machines on one sshfs; calls per page
	$(BIN)/python -m benchmarks.fleet

bench-frontier: .venv/.dev  ## memory and speed of a frontier of 1 and 10 million URLs
	$(BIN)/python -m benchmarks.frontier

bench-latency: .venv/.dev  ## pages per second when answers take their time
	$(BIN)/python -m benchmarks.latency

bench-merge: .venv/.dev  ## pages per second and memory of merge, beside loops with Beautiful Soup and trafilatura
	$(BIN)/python -m benchmarks.merge

bench-parts: .venv/.dev  ## what each part of a page costs
	$(BIN)/python -m benchmarks.parts

bench-sick: .venv/.dev  ## the pace of healthy hosts among dead, slow and overwhelmed ones
	$(BIN)/python -m benchmarks.sick

bench-status: .venv/.dev  ## seconds of `fscrawl status` on logs of 20 machines and a day
	$(BIN)/python -m benchmarks.status

bench-versions: .venv/.dev  ## CPU and speed of crawl and merge beside those of the checkout BASE
	@$(if $(BASE),,echo 'make bench-versions BASE=DIR: name the other checkout' >&2; exit 2)
	$(BIN)/python -m benchmarks.versions --base "$(BASE)" $(ARGS)

dist: .venv/.dev  ## the wheel, and dist/fscrawl.pyz: one file for machines that have only Python
	$(BIN)/python tools/build_pyz.py dist

test-dist: .venv/.dev  ## build both, and crawl with a Python that has nothing else; needs the package index
	$(BIN)/python -m pytest -m dist

clean:  ## remove .venv and what tools left behind; never a tree
	rm -rf .venv dist build htmlcov .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
