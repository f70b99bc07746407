# Every target sets itself up; a second run is quick.
PYTHON ?= python3
BIN := .venv/bin
PRODUCT := .venv/.product
STAMP := .venv/.ready
# Every core has a worker; threads of linear algebra beside them would only wait for one another.
PYTEST ?= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadgroup

.PHONY: help setup demo study test test-fast test-slow test-r check format bench bench-page docs test-docs test-wheel clean constraints

help:           ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## */\t/' | expand -t 16

setup: $(STAMP)  ## build .venv with everything the project needs

$(STAMP): pyproject.toml constraints.txt scripts/setup.sh
	@PYTHON=$(PYTHON) sh scripts/setup.sh all
	@touch $(PRODUCT) $@

$(PRODUCT): pyproject.toml product.txt scripts/setup.sh
	@PYTHON=$(PYTHON) sh scripts/setup.sh product
	@touch $@

demo: $(PRODUCT)  ## the main job, on built-in data
	@$(BIN)/pramble demo

study: $(PRODUCT)  ## the source paper, reproduced and corrected, into study/
	@$(BIN)/pramble study --out study

test: setup     ## every test but the long studies
	$(PYTEST)

test-fast: setup  ## what a change most likely breaks, within a minute on two cores
	$(PYTEST) --fast

test-slow: setup  ## the long studies
	$(PYTEST) -m slow

test-r: setup   ## the scripts of releases in R, which is installed if it is missing
	@sh scripts/need_r.sh
	$(PYTEST) -m r

check: setup    ## format, lint, types, architecture
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py tests/test_public_api.py

format: setup   ## format and fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup    ## measure, side by side with peers
	$(BIN)/python -m bench $(or $(NAME),all)

bench-page: setup  ## measure all that docs/benchmarks.rst shows, into bench/results
	$(BIN)/python -m bench page

docs: setup     ## build the pages into docs/_build/html
	rm -rf docs/_build docs/examples
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html
	@touch docs/_build/fresh

test-docs: setup  ## every page in a real browser: fits, links, pictures, formulas
	$(PYTEST) tests/docs -m "slow or not slow"

test-wheel: setup  ## wheel and sdist, built, installed afresh for each Python, and used far from here
	@sh scripts/test_wheel.sh

constraints: setup  ## write constraints.txt anew from what is newest, with hashes
	$(BIN)/uv pip compile -q --upgrade --generate-hashes --no-header --no-annotate --no-emit-index-url --universal \
	  --python-version 3.11 --all-extras --group dev --group docs pyproject.toml -o constraints.txt
	$(BIN)/uv pip compile -q --generate-hashes --no-header --no-annotate --no-emit-index-url --universal \
	  --python-version 3.11 --group build -c constraints.txt pyproject.toml -o product.txt

clean:          ## remove what the other targets made
	rm -rf .venv docs/_build docs/examples docs/generated docs/tutorials/*.ipynb docs/tutorials/images .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-release
