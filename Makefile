# Needs python3 with its venv module, and gcc. Everything else goes into .venv, and is built again when
# its sources change.

PYTHON ?= python3
PYTEST_ARGS ?=
FUZZ_SECONDS ?= 60
DEEP_SECONDS ?= 600
DEEP_SEED ?=
BENCH_ARGS ?=
MUTANTS ?= 200
MUTANTS_ARGS ?=
COVERAGE ?= 94
# A worker runs whole files: what a file's tests share is made once. In the order of their names: xdist
# would have those with the fewest tests last, which are the longest, and a worker would wait.
WORKERS ?= -n 2 --dist loadfile --no-loadscope-reorder

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Fetched only where the Python headers are not installed.
HEADERS := build/python-headers

# The tests start hundreds of processes of Python, each of which would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

KERNELS := $(wildcard $(addprefix src/tracetime/_kernels/,*.pyx *.pxd */*.pyx */*.pxd */*.pxi */*/*.pxi))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: help install demo test test-all test-deep lint docs bench accuracy soundness coverage mutants fuzz asan wheel clean

help: ## this list
	@echo 'make TARGET [PYTHON=$(PYTHON)] [PYTEST_ARGS=] [BENCH_ARGS=] [FUZZ_SECONDS=$(FUZZ_SECONDS)]'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile

install: $(VENV)/.installed ## tracetime, editable, in .venv

LONGEST := select name, wall_time, dur / 1e6 as ms, track_name from slices order by dur desc limit 5

demo: $(VENV)/.installed-report ## convert the demo trace; record the clocks of this machine
	@mkdir -p out
	$(call show,tracetime convert demo/demo.pftrace -o out/demo.parquet)
	$(call show,tracetime clocks demo/demo.pftrace)
	$(call show,tracetime at demo/demo.pftrace 40376950728 --from com.example.gpu --to BOOTTIME)
	$(call show,tracetime at demo/demo.pftrace 18723683250240 --from BOOTTIME --to REALTIME)
	$(call show,tracetime doctor demo/demo.pftrace)
	$(call show,tracetime sql demo/demo.pftrace "$(LONGEST)")
	$(call show,tracetime calibrate)
	$(call show,python demo/record_demo.py -o out/recording.pftrace)
	$(call show,tracetime convert out/recording.pftrace -o out/floor.parquet)
	$(call show,tracetime convert out/recording.pftrace -o out/tube.parquet --policy tube)
	$(call show,tracetime doctor out/recording.pftrace)
	$(call show,tracetime report out/recording.pftrace -o out/recording.html)

# $(call show,COMMAND): print it as one would type it, and run it.
show = @printf '\n$$ %s\n' '$(1)'; PATH="$(CURDIR)/$(BIN):$$PATH" $(1)

test: $(VENV)/.installed-test ## run what tells whether all works here (PYTEST_ARGS goes to pytest)
	@tools/system-packages
	@$(BIN)/python -m pytest $(WORKERS) -m 'not sweep and not outside' --hypothesis-profile=few $(PYTEST_ARGS)

test-all: $(VENV)/.installed-test $(VENV)/.installed-docs ## run every test
	@tools/system-packages
	@$(BIN)/python -m pytest $(WORKERS) $(PYTEST_ARGS)

test-deep: $(VENV)/.installed-test ## draw new examples, from random seeds, for DEEP_SECONDS
	@tools/system-packages
	@$(BIN)/python -m tools.deep_search --seconds $(DEEP_SECONDS) \
	$(if $(DEEP_SEED),--seed $(DEEP_SEED)) -- $(PYTEST_ARGS)

lint: $(VENV)/.installed-lint $(VENV)/.installed ## ruff, mypy, stubtest of the kernels, import-linter
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python tools/check_functions.py src tests tools benchmarks mutants fuzz demo examples
	@$(BIN)/mypy
	@$(BIN)/mypy tests/typed_calls.py
	@$(BIN)/python -m mypy.stubtest tracetime._kernels --mypy-config-file pyproject.toml \
	--ignore-disjoint-bases --allowlist tools/stubtest_allowlist.txt
	@$(BIN)/lint-imports --cache-dir build/import-linter

# Without this variable Material for MkDocs warns of a MkDocs that is not released.
docs: $(VENV)/.installed-docs ## build the site of docs/ in build/site; fails on a broken link
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet --clean
	@echo 'open build/site/index.html'

bench: $(VENV)/.installed-test ## measure speed and memory, and those of alternatives
	@$(BIN)/python -m benchmarks $(BENCH_ARGS)
	@$(BIN)/python -m benchmarks.small

accuracy: $(VENV)/.installed-test ## compare error bars with what they must reach (BENCH_ARGS=--quick)
	@$(BIN)/python -m benchmarks.accuracy $(BENCH_ARGS)
	@$(BIN)/python -m benchmarks.orders $(BENCH_ARGS)

soundness: $(VENV)/.installed-test ## check that every bar contains the truth, in 1,000 random worlds
	@$(BIN)/python -m benchmarks.soundness $(BENCH_ARGS)

coverage: $(VENV)/.installed-test $(VENV)/.installed-docs $(VENV)/.installed-mutants ## run every test, and check that they cover enough lines; mutants uses the same run
	@tools/system-packages
	@$(BIN)/python -m mutants.coverage_floor $(COVERAGE)

mutants: $(VENV)/.installed-test $(VENV)/.installed-mutants ## check that the tests notice changed lines: MUTANTS=200 of them
	@tools/system-packages
	@$(BIN)/python -m mutants --sample $(MUTANTS) $(MUTANTS_ARGS)

fuzz: $(VENV)/.installed-test ## feed hostile bytes to the reader for FUZZ_SECONDS
	@$(BIN)/python -m fuzz --seconds $(FUZZ_SECONDS)
	@$(BIN)/python -m fuzz.baked --seconds $(FUZZ_SECONDS)
	@printf '%s\n' $(basename $(notdir $(wildcard fuzz/formats/[a-z]*.py))) | \
	xargs -P 2 -I {} $(BIN)/python -m fuzz.any_format {} --seconds $(FUZZ_SECONDS)

asan: $(VENV)/.installed-lint ## run tests of the kernels, and fuzzing, under AddressSanitizer
	@tools/asan $(FUZZ_SECONDS)

wheel: $(VENV)/.installed-lint $(VENV)/.headers ## build sdist and wheel in dist
	@mkdir -p build dist
	@$(with_headers) $(BIN)/python -m build --outdir dist . > build/wheel.log 2>&1 \
	|| { cat build/wheel.log; exit 1; }
	@tail -n 1 build/wheel.log

clean: ## remove everything that was built
	rm -rf $(VENV) build dist out
	rm -rf src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src/tracetime/_kernels '(' -name '*.c' -o -name '*.so' ')' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An incomplete venv of this Makefile (without the stamp) is made again. A venv that somebody else made
# there is used as it is.
$(VENV)/.made:
	@if [ -e $(VENV)/.ours ] || [ ! -e $(VENV) ]; then \
		echo 'making $(VENV) with $(PYTHON)' && rm -rf $(VENV) && mkdir $(VENV) \
		&& touch $(VENV)/.ours && $(PYTHON) -m venv $(VENV); \
	else \
		$(PIP) --version > /dev/null || { echo '$(VENV) has no pip: remove it' >&2; exit 1; }; \
	fi
	@touch $@

$(VENV)/.headers: tools/python-headers $(VENV)/.made
	@tools/python-headers $(BIN)/python $(HEADERS) > $@

# Empty where gcc finds Python.h by itself: CPATH must be unset then, since "" means the directory.
with_headers = h="$$(cat $(VENV)/.headers)"; $${h:+env "CPATH=$$h$${CPATH:+:$$CPATH}"}

$(VENV)/.installed: pyproject.toml setup.py src/tracetime/_version.py $(KERNELS) $(VENV)/.headers
	@echo 'building the kernels, installing tracetime in $(VENV)'
	@$(with_headers) $(PIP) install -q -e .
	@touch $@

# The extras alone: installing ".[test]" would build the kernels once more.
$(VENV)/.installed-%: pyproject.toml $(VENV)/.installed
	@echo 'installing what "$*" needs'
	@$(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb")); \
	print(*p["project"]["optional-dependencies"]["$*"], sep="\n")' > $(VENV)/$*.txt
	@$(PIP) install -q -r $(VENV)/$*.txt
	@touch $@
