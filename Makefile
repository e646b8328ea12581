# `make` lists what there is. Python 3.11 or newer with its venv module is all that must be installed.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help setup setup-dev docs docs-write constraints crawl example merge test test-system test-all lint types layers check test-browser test-cluster test-corpus \
	model schedules test-fleet test-examples test-interrupts test-kills test-merge-kills test-mounts test-faults test-power soak fuzz \
	bench bench-broad bench-corpus bench-empty bench-fleet bench-frontier bench-guard bench-language bench-latency bench-merge bench-parent bench-parts bench-past-runs bench-read bench-render bench-same bench-scale bench-search bench-sick bench-status bench-texts bench-versions man dist test-dist test-install clean

# every process of a test would compile the package anew
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
BIN := .venv/bin
JOBS ?= 2
help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' Makefile
	@echo '  Options of crawl: ROOT=DIR SEED=URL SEEDS=FILE WORKERS=N THREADS=M SET="K=V K=V".'

setup: .venv/.run  ## create .venv with what a crawl needs; EXTRAS=merge,dashboard adds optional packages
	$(if $(EXTRAS),$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]')

setup-dev: .venv/.dev  ## create .venv with what development and tests need

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
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[merge,main-text,fast-text,language]'
	@touch $@ .venv/.run

.venv/.dev: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@ .venv/.run .venv/.merge .venv/.dist .venv/.docs

.venv/.docs: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@ .venv/.run

# all that tools/build_pyz.py runs besides pip
.venv/.dist: constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt shiv build
	@touch $@

constraints:  ## resolve the newest versions and pin them in constraints.txt
	rm -rf .venv/resolve
	$(MAKE) .venv/bin/python
	$(PYTHON) -m venv .venv/resolve
	.venv/resolve/bin/python -m pip install --quiet --disable-pip-version-check '.[dev]'
	{ sed -n '/^#/p' constraints.txt; \
		.venv/resolve/bin/python -m pip freeze --disable-pip-version-check --exclude fscrawl; } > .venv/constraints.txt
	mv .venv/constraints.txt constraints.txt
	rm -rf .venv/resolve

# a variable that the target does not know is a mistake: make crawl WORKER=8
ours = $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
only = $(if $(filter-out $1 BIN PYTHON,$(ours)),echo 'make $@: $(filter-out $1 BIN PYTHON,$(ours)): unknown; there are $1' >&2; exit 2)
# one word for the shell, whatever is in it
quoted = '$(subst ','\'',$1)'

merge: .venv/.merge  ## export the tree ROOT as a dataset into OUT; FORMAT and ARGS for more options
	@$(call only,ROOT OUT FORMAT ARGS)
	@$(if $(and $(ROOT),$(OUT)),,echo 'make merge ROOT=DIR OUT=DIR: name the tree and the dataset' >&2; exit 2)
	$(BIN)/python -m fscrawl merge --root $(call quoted,$(ROOT)) --out $(call quoted,$(OUT)) \
		$(foreach format,$(FORMAT),--format $(format)) $(ARGS)

# without ROOT, these would be left out in silence, and the demo crawled; so would be an empty ROOT, as of ROOT=$DIR
of_root = $(filter ROOT SEED SEEDS SET,$(ours))
crawl: .venv/.run  ## crawl into ROOT; without ROOT, crawl the bundled demo web
	@$(call only,ROOT SEED SEEDS WORKERS THREADS SET)
	@$(if $(ROOT),,$(if $(of_root),echo 'make crawl: $(of_root): name the tree with ROOT=DIR' >&2; exit 2))
ifdef ROOT
	$(BIN)/python crawl.py --root $(call quoted,$(ROOT)) $(if $(WORKERS),--workers $(WORKERS)) \
		$(if $(THREADS),--threads $(THREADS)) $(if $(SEEDS),--seeds $(call quoted,$(SEEDS))) \
		$(foreach url,$(SEED),--seed $(call quoted,$(url))) $(foreach pair,$(SET),--set $(call quoted,$(pair)))
else
	@$(BIN)/python -m demo.run $(if $(WORKERS),--workers $(WORKERS)) $(if $(THREADS),--threads $(THREADS))
endif

example: .venv/.merge  ## crawl the imitation of a site: NAME=journals, see examples/README.md; INTO=DIR: a new directory
	@$(call only,NAME INTO)
	@$(if $(NAME),,echo 'make example NAME=journals: name an example; examples/README.md lists them' >&2; exit 2)
	@$(BIN)/python -m examples.run "$(NAME)" $(if $(INTO),--into "$(INTO)")

docs: .venv/.docs  ## the documentation as a site: build/site/index.html, to be opened from the disk or served
	$(BIN)/python -m tools.site

docs-write: .venv/.dev  ## write the parts of docs/ that are made from the code
	$(BIN)/python -m tools.reference

test: .venv/.dev  ## quick tests: unit and component, in parallel; four minutes, no network, no root
	$(BIN)/python -m pytest -q $(if $(COVERAGE),--cov --cov-report=)

NOT_HERE = browser or cluster or corpus or dist or faults or fleet or install or mounts
# COVERAGE=1 for `test` and then for this: together they run each line. Whole commands, which would be half as slow again,
# ran nothing more of what must be covered.
test-system: .venv/.dev  ## system tests, and all that quick tests try only a part of; a quarter of an hour
	FSCRAWL_TESTS=all $(BIN)/python -m pytest -q -n $(JOBS) tests -m "thorough and not ($(NOT_HERE) or system)" \
		$(if $(COVERAGE),--cov --cov-append --cov-report=json:.coverage.json --cov-report=)
	$(if $(COVERAGE),$(BIN)/python tests/support/coverage_gate.py .coverage.json)
	FSCRAWL_TESTS=all $(BIN)/python -m pytest -q -n $(JOBS) tests/system -m "not ($(NOT_HERE))"

test-all: COVERAGE = 1
test-all: test test-system test-dist test-install test-browser test-corpus test-faults test-power test-mounts test-cluster test-fleet  ## every test; needs root and Debian

lint: .venv/.dev  ## ruff: rules and format
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .

types: .venv/.dev  ## mypy, strict
	$(BIN)/python -m mypy

layers: .venv/.dev  ## import-linter: imports run downwards only
	$(BIN)/python -c 'import sys; from importlinter.cli import lint_imports_command as run; sys.exit(run())'

check: test lint types layers  ## what every change must pass

test-fleet: .venv/.dev  ## eight machines on one tree, undisturbed and under faults; three minutes
	$(BIN)/python -m pytest -n 0 tests/system -m fleet -s

test-kills: .venv/.dev  ## kill a crawl fifty times at random moments; nothing may be lost
	FSCRAWL_KILLS=50 $(BIN)/python -m pytest -n 0 tests/system/test_kill.py -s --timeout 600

test-merge-kills: .venv/.dev  ## kill a merge twenty times; the dataset must be the same in the end
	FSCRAWL_KILLS=20 $(BIN)/python -m pytest -n 0 tests/system/test_merge_kill.py -s --timeout 330

test-examples: .venv/.dev  ## crawl each example with three machines, killed twenty times; the dataset must be what the site has
	FSCRAWL_KILLS=20 $(BIN)/python -m pytest -n 0 tests/system/test_examples.py -s

test-interrupts: .venv/.dev  ## interrupt every command fifty times at random moments; a word, and nothing is left behind
	FSCRAWL_INTERRUPTS=50 $(BIN)/python -m pytest -n 0 tests/system/test_interrupts.py -s

test-mounts: SOME = $(if $(ON),-k "$(ON)" || [ $$? -eq 5 ])
test-mounts: .venv/.dev  ## root: sshfs, GlusterFS, and NFS in virtual machines; ON="nfs" selects, FULL=1 runs everything
	tools/debian.sh openssh-server openssh-client sshfs glusterfs-server glusterfs-client iproute2 nftables strace \
		qemu-system-x86 debootstrap busybox-static e2fsprogs
	$(if $(FULL),FSCRAWL_TROUBLE_S=120) $(BIN)/python -m pytest tests/system/mounts -n 3 $(SOME)
	$(if $(FULL),FSCRAWL_NFS=all) $(BIN)/python -m pytest tests/system/nfs -n 0 $(SOME)

test-faults: .venv/.dev  ## root: make file system calls fail, one after the other; FULL=1: each call with each fault
	tools/debian.sh fuse3
	$(if $(FULL),FSCRAWL_FAULTS=all) $(BIN)/python -m pytest -n $(JOBS) tests/faults -m "not power" --timeout $(if $(FULL),7200,600)

test-power: .venv/.dev  ## root: lose power at random points, and check the disk; FULL=1: more points
	tools/debian.sh fuse3
	$(if $(FULL),FSCRAWL_POWER_POINTS=300) $(BIN)/python -m pytest -n 0 tests/faults/power --timeout $(if $(FULL),7200,600)

soak: .venv/.dev  ## root: ten machines and random faults for MINUTES (30); SEED repeats a run
	tools/debian.sh fuse3 openssh-server openssh-client sshfs
	$(BIN)/python -m tests.support.soak --minutes $(or $(MINUTES),30) $(if $(SEED),--seed $(SEED))

test-browser: .venv/.dev  ## the dashboard and the report in Debian's chromium, by axe-core, too; FSCRAWL_SCREENSHOTS=1 makes new pictures for docs/images
	$(BIN)/python -m pytest -n 0 tests/system/browser

test-cluster: .venv/.dev  ## root: the files of deploy/: a Slurm of one node, the image and its containers, and the others by their tools
	tools/debian.sh slurm-wlm slurmctld slurmd munge buildah runc debootstrap strace systemd cloud-init
	$(BIN)/python -m pytest -n 2 --dist loadfile tests/system/cluster

test-corpus: .venv/.dev  ## crawl Debian's python3-doc and rust-doc, served by nginx, and compare with wget2
	$(BIN)/python -m pytest -n 0 tests/system/corpus

model: .venv/.dev  ## random schedules of the model of the fleet's protocol: SCHEDULES (20000) of them, from FIRST (0) on
	$(BIN)/python -m tests.model $(or $(SCHEDULES),20000) $(or $(FIRST),0)

schedules: .venv/.dev  ## random schedules of real machines over a share in memory, for SECONDS (60) of processor time
	$(BIN)/python -m tests.component.schedules --seconds $(or $(SECONDS),60) $(if $(FIRST),--from $(FIRST))

fuzz: .venv/.dev  ## random hostile input for SECONDS (60) for each TARGET (all of them)
	$(BIN)/python -m tests.support.fuzz --seconds $(or $(SECONDS),60) $(TARGET)

bench: .venv/.dev  ## pages per second of one machine, beside Scrapy, wget2, and the checkout --base
	$(BIN)/python -m benchmarks.speed $(ARGS)

bench-broad: .venv/.dev  ## names, TLS handshakes, connections and memory of a crawl of 2,000 hosts; ARGS="--hosts 300" is quick
	$(BIN)/python -m benchmarks.broad $(ARGS)

bench-corpus: .venv/.dev  ## pages per second on real documentation
	$(BIN)/python -m benchmarks.corpus

bench-fleet: .venv/.dev  ## pages per second of 1, 2, 4 and 10 machines on one sshfs; calls per page
	$(BIN)/python -m benchmarks.fleet

bench-frontier: .venv/.dev  ## memory and speed of a frontier of 1 and 10 million URLs
	$(BIN)/python -m benchmarks.frontier

bench-guard: .venv/.dev  ## what keeps pages from hanging the HTML parser, beside the parser's own time
	$(BIN)/python -m benchmarks.guard

bench-language: .venv/.dev  ## how often the language of a text is detected, and how often rightly, beside other detectors
	$(BIN)/python -m benchmarks.language --others

bench-latency: .venv/.dev  ## pages per second when servers answer slowly
	$(BIN)/python -m benchmarks.latency

bench-merge: .venv/.dev  ## pages per second and memory of merge, beside loops with Beautiful Soup and trafilatura
	$(BIN)/python -m benchmarks.merge

bench-parent: .venv/.dev  ## how many pages per second one parent process can drive
	$(BIN)/python -m benchmarks.parent $(ARGS)

bench-parts: .venv/.dev  ## the cost of each step of a page
	$(BIN)/python -m benchmarks.parts

bench-past-runs: .venv/.dev  ## what a start and `fscrawl status` cost on a slow mount after hundreds of runs; ARGS="--base DIR"
	$(BIN)/python -m benchmarks.past_runs $(ARGS)

bench-read: .venv/.dev  ## pages per second and memory of reading a tree from Python, beside loops over its files
	$(BIN)/python -m benchmarks.read $(ARGS)

bench-same: .venv/.dev  ## are trees and datasets those of the checkout BASE?
	@$(if $(BASE),,echo 'make bench-same BASE=DIR: name the other checkout' >&2; exit 2)
	$(BIN)/python -m benchmarks.same --base "$(BASE)" $(ARGS)

bench-scale: .venv/.dev  ## fleets of 1 to 1,000 machines in one process: calls, bytes and CPU of a page, joins
	$(BIN)/python -m benchmarks.scale $(ARGS)

bench-search: .venv/.dev  ## the index of searches: its size, what it costs to make, and the time of a search; PAGES=N (20000)
	$(BIN)/python -m benchmarks.search --pages $(or $(PAGES),20000) $(ARGS)

bench-empty: .venv/.dev  ## which real pages the rule of render.when = "empty" takes for empty
	$(BIN)/python -m benchmarks.emptiness

bench-render: .venv/.dev  ## pages per second and CPU of rendered pages, beside Playwright and scrapy-playwright; memory
	$(BIN)/python -m benchmarks.render $(ARGS)

bench-sick: .venv/.dev  ## the speed of healthy hosts among sick ones, and beside hosts that mean harm
	$(BIN)/python -m benchmarks.sick

bench-status: .venv/.dev  ## seconds of `fscrawl status` on logs of 20 machines and a day
	$(BIN)/python -m benchmarks.status

bench-texts: .venv/.dev  ## CPU of a page's visible text, main content by both libraries, and language
	$(BIN)/python -m benchmarks.texts

bench-versions: .venv/.dev  ## CPU and speed of crawl and merge beside those of the checkout BASE
	@$(if $(BASE),,echo 'make bench-versions BASE=DIR: name the other checkout' >&2; exit 2)
	$(BIN)/python -m benchmarks.versions --base "$(BASE)" $(ARGS)

man: .venv/.dev  ## write docs/man/fscrawl.1 from the parsers of the commands
	$(BIN)/python -m tools.man_page

dist: .venv/.dist  ## wheel, source, and dist/fscrawl.pyz: one file for machines that have only Python; PYTHONS: for others
	$(BIN)/python tools/build_pyz.py dist $(foreach python,$(PYTHONS),--python $(python))

test-dist: .venv/.dev  ## build both and crawl with them; needs the package index
	$(BIN)/python -m pytest -n 0 tests/system/packaging

test-install: .venv/.dev  ## root: type what docs/how-to/install.md says in a fresh Debian 12; needs its mirror and the package index
	tools/debian.sh debootstrap iproute2
	$(BIN)/python -m pytest -n 0 tests/system/install

clean:  ## remove .venv and the files of tools; never a tree
	rm -rf .venv dist build htmlcov .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
