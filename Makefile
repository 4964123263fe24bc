# make demo   an environment, the package and its main job: no R, no Stan, no compiler
# make docs   the documentation site, in site/; any warning stops it
# make quick  pure functions and the architecture, in seconds: for every save
# make test   everything the tests need, R included, and the whole suite
# make bench  speed beside the installed peers, and growth; BENCH="--small --check" for two minutes

PYTHON ?= python3
VENV ?= .venv
OUT ?= demo
R ?= yes
# A file's tests share what they have fitted, so one process takes the whole file, in the order that
# tests/conftest.py gives the files.
TWO_AT_ONCE = --numprocesses 2 --dist loadfile --no-loadscope-reorder
# Tests start hundreds of processes. Each imports in 2 s what Python has kept compiled, else in 9 s.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo docs quick test bench validate sbom lint clean

demo: $(VENV)/.installed
	$(VENV)/bin/pyvws demo --out $(OUT) --overwrite

test: $(VENV)/.installed-for-tests
ifneq ($(R),no)
	@sh tools/need-r.sh
	PYVWS_REQUIRE_R=1 $(VENV)/bin/python -m pytest $(TWO_AT_ONCE)
else
	$(VENV)/bin/python -m pytest $(TWO_AT_ONCE)
endif

quick: $(VENV)/.installed-for-tests
	$(VENV)/bin/python -m pytest -q -m quick

bench: $(VENV)/.installed-for-tests
	$(VENV)/bin/python -m benchmarks $(BENCH)

validate: $(VENV)/.installed-for-tests
	$(VENV)/bin/pyvws validate

docs: $(VENV)/.installed-for-docs
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/python -m mkdocs build --strict --quiet

# The parts of requirements.lock as CycloneDX, for those who keep lists of software.
sbom:
	@$(PYTHON) -m venv $(VENV)-sbom
	@$(VENV)-sbom/bin/python -m pip install --quiet cyclonedx-bom
	$(VENV)-sbom/bin/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml -o sbom.json

lint: $(VENV)/.installed-for-tests
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

$(VENV)/.installed: pyproject.toml
	@sh tools/make-venv.sh $(PYTHON) $(VENV)
	$(VENV)/bin/python -m pip install --quiet --no-compile --editable .
	@touch $@

$(VENV)/.installed-for-tests: pyproject.toml $(VENV)/.installed
	@if [ "$(R)" != no ]; then sh tools/need-r.sh; fi
	$(VENV)/bin/python -m pip install --quiet --no-compile --editable '.[dev,docs,dask,dp,pystan,cmdstan$(if $(filter no,$(R)),,$(comma)r)]'
	@touch $@

$(VENV)/.installed-for-docs: pyproject.toml $(VENV)/.installed
	$(VENV)/bin/python -m pip install --quiet --no-compile --editable '.[docs]'
	@touch $@

comma := ,

clean:
	rm -rf $(VENV) demo build dist site
