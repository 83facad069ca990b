# The same few commands on a laptop and in CI. `make help` lists them.
PYTHON ?= python3.11
VENV ?= .venv
BIN := $(VENV)/bin
# A whole file of tests at a time goes to one of so many processes (see tests/conftest.py): one more than there
# are cores, for they wait for a third of their time, for machines that boot and for what ends by itself.
WORKERS ?= 3
UNIT_TESTS := tests/unit tests/golden
INTEGRATION_TESTS := tests/browser tests/integration
# The linear algebra and the loops that a processor of 2004 would run: every other rounds otherwise.
OTHER_PROCESSOR := OPENBLAS_CORETYPE=Prescott NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL AVX512_SPR"
# On two cores, a few of thousands of tests may starve beside the others: what fails is run once more by itself, and
# must pass then.
AGAIN = $(BIN)/python -m pytest --last-failed --last-failed-no-failures=none
# A Spark of a test lives for a minute: what Java spends on fast code and on collectors of its own it never gets back,
# and half of the time of all processors went there.
FOR_SHORT_LIVES := -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
# The classes of Spark as Java has read them before. Who has another class path says nothing of it and reads its own.
SPARK_CLASSES := $(abspath build/spark_classes.jsa)
# The processes of Airflow and of the tests keep what they have compiled: each new one would compile it again.
unexport PYTHONDONTWRITEBYTECODE
# The stock operators look for spark-submit on PATH.
export PATH := $(abspath $(BIN)):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help install java network-tools browser testbeds demo demo-ec2 test check documentation pictures screenshots unit integration format benchmarks release floor matrix constraints clean

help: ## list the commands
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

install: $(VENV)/.installed ## build the virtual environment from pinned versions: all that the other commands need

$(VENV)/.demo: pyproject.toml constraints/install.txt constraints/demo.txt .ci/ensure_packages
	@echo "Building $(VENV) for the demo from constraints/ (a minute or two where nothing is cached)"
	@PYTHON=$(PYTHON) .ci/ensure_packages $(VENV) demo
	@touch $@

$(VENV)/.installed: $(VENV)/.demo constraints/tests.txt
	@echo "Adding to $(VENV) what the tests need"
	@.ci/ensure_packages $(VENV) tests
	@touch $@

java:
	@.ci/ensure_java

network-tools:
	@.ci/ensure_network_tools

browser:
	@.ci/ensure_browser
	@.ci/ensure_axe

testbeds: java
	@.ci/ensure_testbed kubernetes
	@.ci/ensure_testbed yarn

demo: $(VENV)/.demo java ## the whole loop: real Airflow, real Spark, a decision (DEMO_EXIT=1 stops at the end)
	@$(BIN)/python -m benchmarks.demo $(if $(filter 1,$(DEMO_EXIT)),--exit)

demo-ec2: install java network-tools ## the same on machines of a test bed for EC2, with slow ones to cull (root; DEMO_EXIT=1)
	@$(BIN)/python -m benchmarks.demo_ec2 $(if $(filter 1,$(DEMO_EXIT)),--exit)

test: check unit floor integration ## everything, with a real Spark cluster, a real DAG run and a real browser

check: install documentation ## ruff, mypy --strict, import contracts, documentation
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

documentation: install ## build the pages of docs/ into build/docs; a broken link fails
	$(BIN)/sphinx-build --quiet --fail-on-warning docs build/docs

pictures: install ## draw the pictures of docs/ anew, after a change of the predictor
	$(BIN)/python -m benchmarks.pictures

screenshots: install browser ## take the screenshots of docs/ anew, after a change of the pages in Airflow
	$(BIN)/python -m benchmarks.screenshots

unit: install ## tests that start neither Spark nor Airflow; what users see, once more as another processor computes it
	$(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=loadfile $(UNIT_TESTS) || $(AGAIN) $(UNIT_TESTS)
	$(OTHER_PROCESSOR) $(BIN)/python -m pytest --quiet --numprocesses=$(WORKERS) --dist=loadfile tests/golden

$(SPARK_CLASSES): export JDK_JAVA_OPTIONS := $(FOR_SHORT_LIVES)
$(SPARK_CLASSES): $(VENV)/.installed | java
	@echo "Having Java keep the classes of Spark for the tests (a minute)"
	@mkdir -p build && $(BIN)/python -m tests.integration.spark_classes $@ >build/spark_classes.log 2>&1

integration: export JDK_JAVA_OPTIONS := $(FOR_SHORT_LIVES) -XX:SharedArchiveFile=$(SPARK_CLASSES) -Xlog:disable -Xlog:all=error:stderr
integration: install java network-tools browser testbeds $(SPARK_CLASSES) ## tests with real Spark clusters, a real YARN, Airflow and browser
	$(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=loadfile --no-loadscope-reorder \
		--durations=10 -m "not alone" $(INTEGRATION_TESTS) \
		|| $(AGAIN) -m "not alone" $(INTEGRATION_TESTS)
	$(BIN)/python -m pytest --durations=10 -m alone $(INTEGRATION_TESTS)

format: install ## format the code
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

benchmarks: install java ## designs (what they cost, what they are worth), import time, culling, the store, event logs, pages
	$(BIN)/python -m benchmarks.design
	$(BIN)/python -m benchmarks.import_time
	$(BIN)/python -m benchmarks.straggler_culling
	$(BIN)/python -m benchmarks.store
	$(BIN)/python -m benchmarks.survey_speed
	$(BIN)/python -m benchmarks.model_pages

release: ## build sdist and wheel and check them as who installs them would (AUDIT=no: ask no index about them)
	@PYTHON=$(PYTHON) .ci/release

build/floor/.installed: pyproject.toml constraints/install.txt constraints/floor.txt .ci/ensure_packages
	@echo "Building build/floor with the oldest Airflow that is supported"
	@mkdir -p build && PYTHON=$(PYTHON) .ci/ensure_packages build/floor floor
	@touch $@

floor: build/floor/.installed ## the unit tests of what meets Airflow on the oldest that is supported
	PATH="$(abspath build/floor/bin):$$PATH" build/floor/bin/python -m pytest --quiet -p no:cacheprovider \
		--numprocesses=$(WORKERS) --dist=loadfile $$(build/floor/bin/python -m benchmarks.compatibility --print-tests)

matrix: java ## unit tests and a DAG run on each Python, Airflow and Spark that this machine can install (an hour)
	@mkdir -p build && $(BIN)/python -m benchmarks.compatibility | tee build/compatibility.txt
	@mv build/compatibility.txt docs/measured/compatibility.txt

# The oldest Airflow that is supported; of the rest what demo and tests have, where it goes with that: uv keeps the versions
# of the file that it is to write, so that most archives are there already. Airflow 3.1 imports what is gone since
# structlog 25.5, and gives no tokens by PyJWT 2.11 and later (an issuer of None); no package says so, but the
# constraints that Airflow publishes hold both back, too.
FLOOR := $(shell sed -n 's/.*"apache-airflow>=\([0-9.]*\),.*/\1/p' pyproject.toml)
# The whole is resolved first, so that the demo and the tests have the same versions of what both need.
PIN = build/constraints/bin/uv pip compile --quiet --python build/constraints/bin/python --generate-hashes --no-header --no-annotate
constraints: ## pin the newest compatible versions anew, each by the digests of its archives
	rm -rf build/constraints && $(PYTHON) -m venv build/constraints
	build/constraints/bin/pip install --quiet --disable-pip-version-check uv
	$(PIN) --extra dev pyproject.toml --output-file build/constraints/all.txt
	rm -f constraints/*.txt
	printf 'setuptools\nuv\nwheel\n' | $(PIN) - --constraints build/constraints/all.txt --output-file constraints/install.txt
	$(PIN) --extra demo pyproject.toml --constraints build/constraints/all.txt --output-file constraints/demo.txt
	$(PIN) --extra dev pyproject.toml --constraints build/constraints/all.txt --output-file constraints/tests.txt \
		$$(sed -n 's/^\([^ =]*\)==.*/--no-emit-package \1/p' constraints/demo.txt)
	cat constraints/demo.txt constraints/tests.txt >constraints/floor.txt
	printf '%s\n' 'apache-airflow==$(FLOOR)' 'structlog<25.5' 'pyjwt<2.11' apache-airflow-providers-cncf-kubernetes editables flask flask-cors \
		hatchling hypothesis 'moto[ec2,glue,s3,ssm]' pytest pytest-timeout pytest-xdist \
		| $(PIN) --extra local --extra ec2 --extra openlineage --extra databricks pyproject.toml - --output-file constraints/floor.txt
	printf 'build\ncyclonedx-bom\nhatchling\npip-audit\ntwine\nuv\n' \
		| $(PIN) - --constraints build/constraints/all.txt --output-file constraints/release.txt
	rm -rf build/constraints

clean: ## remove what the other commands made
	rm -rf $(VENV) .demo build dist
