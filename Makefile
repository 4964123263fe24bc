# make demo   an environment, the package and its main job: no R, no Stan, no compiler
# make test   everything the tests need, R included, and the whole suite

PYTHON ?= python3
VENV ?= .venv
OUT ?= demo
R ?= yes

.PHONY: demo test validate lint clean

demo: $(VENV)/.installed
	$(VENV)/bin/pyvws demo --out $(OUT) --overwrite

test: $(VENV)/.installed-for-tests
ifneq ($(R),no)
	@sh tools/need-r.sh
	PYVWS_REQUIRE_R=1 $(VENV)/bin/python -m pytest
else
	$(VENV)/bin/python -m pytest
endif

validate: $(VENV)/.installed-for-tests
	$(VENV)/bin/pyvws validate

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
	$(VENV)/bin/python -m pip install --quiet --no-compile --editable '.[dev,dask,dp,ensemble,pystan,cmdstan$(if $(filter no,$(R)),,$(comma)r)]'
	@touch $@

comma := ,

clean:
	rm -rf $(VENV) demo build dist
