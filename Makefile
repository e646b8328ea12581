# `make` lists what there is. Python 3.11 or newer with its venv module is all that must be installed.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help setup setup-dev crawl merge example test gate test-all check lint types docs docs-write bench fuzz soak \
	dist constraints clean

# every process of a test would compile the package anew
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
BIN := .venv/bin
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
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[merge,main-text,language]'
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

# a variable that the target does not know is a mistake: make crawl WORKER=8
ours = $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
only = $(if $(filter-out $1 BIN PYTHON,$(ours)),echo 'make $@: $(filter-out $1 BIN PYTHON,$(ours)): unknown; there are $1' >&2; exit 2)
# one word for the shell, whatever is in it
quoted = '$(subst ','\'',$1)'

# the value of a variable if there is one, also an empty one, as of ROOT=$DIR; else the default
given = $(call quoted,$(if $(filter $1,$(ours)),$($1),$2))

merge: .venv/.merge  ## export the tree ROOT (shared-tree) into OUT (dataset); FORMAT and ARGS for more options
	@$(call only,ROOT OUT FORMAT ARGS)
	$(BIN)/python -m fscrawl merge --root $(call given,ROOT,shared-tree) --out $(call given,OUT,dataset) \
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
	DISABLE_MKDOCS_2_WARNING=true NO_MKDOCS_2_WARNING=1 $(BIN)/python -m properdocs build --strict --quiet -f mkdocs.yml
	@echo build/site/index.html

docs-write: .venv/.dev  ## write the parts of docs/ that are made from the code, and the manual page
	$(BIN)/python -m tools.reference

test: .venv/.dev  ## quick tests: unit and component, in parallel; two minutes, no network, no root
	$(BIN)/python -m pytest -q

gate: .venv/.dev  ## what every commit must pass, as .ci/run does: test, check, system tests, a wheel; root and Debian
	$(BIN)/python -m tools.suites gate

test-all: .venv/.dev  ## every test, with a table of suites; ONLY="nfs power" selects, PART=1/3 is a third; root and Debian
	$(BIN)/python -m tools.suites all $(if $(ONLY),--only "$(ONLY)") $(if $(PART),--part $(PART))

check: lint types test  ## rules, layers and types, then the quick tests

lint: .venv/.dev  ## ruff: rules and format; import-linter: imports run downwards only
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -c 'import sys; from importlinter.cli import lint_imports_command as run; sys.exit(run())'

types: .venv/.dev  ## mypy, strict
	$(BIN)/python -m mypy

bench: .venv/.dev  ## a benchmark: NAME=speed is the first; benchmarks/README.md has all; ARGS for its options
	@$(if $(NAME),,echo 'make bench NAME=speed: name a benchmark; benchmarks/README.md lists them' >&2; exit 2)
	$(BIN)/python -m benchmarks.$(NAME) $(ARGS)

fuzz: .venv/.dev  ## random hostile input for SECONDS (60) for each TARGET (all of them)
	$(BIN)/python -m tests.support.fuzz --seconds $(or $(SECONDS),60) $(TARGET)

soak: .venv/.dev  ## root: ten machines and random faults for MINUTES (30), LAYOUT=packs too; SEED repeats a run
	tools/debian.sh fuse3 openssh-server openssh-client sshfs
	$(BIN)/python -m tests.support.soak --minutes $(or $(MINUTES),30) $(if $(LAYOUT),--layout $(LAYOUT)) $(if $(SEED),--seed $(SEED))

dist: .venv/.dist  ## wheel, source, and dist/fscrawl.pyz: one file for machines that have only Python; PYTHONS: for others
	$(BIN)/python tools/build_pyz.py dist $(foreach python,$(PYTHONS),--python $(python))

constraints:  ## resolve the newest versions and pin them in constraints.txt
	rm -rf .venv/resolve
	$(MAKE) .venv/bin/python
	$(PYTHON) -m venv .venv/resolve
	.venv/resolve/bin/python -m pip install --quiet --disable-pip-version-check '.[dev]'
	{ sed -n '/^#/p' constraints.txt; \
		.venv/resolve/bin/python -m pip freeze --disable-pip-version-check --exclude fscrawl; } > .venv/constraints.txt
	mv .venv/constraints.txt constraints.txt
	rm -rf .venv/resolve

clean:  ## remove .venv and the files of tools; never a tree
	rm -rf .venv dist build htmlcov .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
