# Everything is made inside this folder: .venv, .venv-peers and the others of .venv-*, target, dist.
# Stamp files make a second run quick, and able to run without a network.

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo "$$p" && break; done)
CARGO ?= cargo
CARGO_FLAGS ?=
VENV := .venv
PEERS := .venv-peers
PY := $(VENV)/bin/python
DENY_VERSION := 0.20.2
DENY := target/tools/cargo-deny-$(DENY_VERSION)/bin/cargo-deny
SEMVER_VERSION := 0.51.0
SEMVER := target/tools/cargo-semver-checks-$(SEMVER_VERSION)/bin/cargo-semver-checks

DEV_STAMP := $(VENV)/.stamp-requirements
NVRTC_STAMP := $(VENV)/.stamp-nvrtc
NVDISASM_STAMP := $(VENV)/.stamp-nvdisasm
TYPES_STAMP := $(VENV)/.stamp-types
DOCS_STAMP := $(VENV)/.stamp-docs
EXT_STAMP := $(VENV)/.stamp-extension
PEERS_STAMP := $(PEERS)/.stamp-requirements
KERAS := .venv-keras
ONNX := .venv-onnx
LIBRARIES := .venv-libraries
SCREENSHOTS := .venv-screenshots
SCREENSHOTS_STAMP := $(SCREENSHOTS)/.stamp-requirements
RELEASE := .venv-release
RELEASE_STAMP := $(RELEASE)/.stamp-requirements
LIBRARIES_STAMP := $(LIBRARIES)/.stamp-requirements
KERAS_STAMP := $(KERAS)/.stamp-requirements
ONNX_STAMP := $(ONNX)/.stamp-requirements
TENSORFLOW := .venv-tensorflow
TENSORFLOW_STAMP := $(TENSORFLOW)/.stamp-requirements

RUST_SOURCES := Cargo.toml Cargo.lock rust-toolchain.toml pyproject.toml \
	$(shell find crates -type d \( -name target -o -name tests -o -name benches \) -prune -o -type f -print 2>/dev/null)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help bench bench-against bench-calls bench-embedding bench-families bench-functions bench-growth bench-keras bench-ops bench-passes bench-peers \
	bench-profiling bench-scaling bench-table bench-unknown-sizes bless build calibrate check-crates \
	check-packages check-semver check-wheels clean conda-recipe demo deny docs fmt fuzz-formats generate gpu-check \
	gpu-orders gpu-programs gpu-python gpu-races gpu-registers lint lint-python lint-rust lint-workflows new-user peers \
	quick screenshots setup sizes test test-aarch64 test-agreement test-features test-interpreters test-keras test-keras-nightly test-libraries \
	test-onnx test-onnx-models test-python test-recipe test-rust test-sanitizers test-tensorflow test-tutorials test-wheel \
	types wheel

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- environments -------------------------------------------------------------

$(DEV_STAMP): requirements/dev.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "$(PYTHON) is older than Python 3.11: make PYTHON=/path/to/python3" >&2; exit 1; }
	test -x $(PY) || "$(PYTHON)" -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	@touch $@

$(PEERS_STAMP): requirements/peers.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3" >&2; exit 1; }
	test -x $(PEERS)/bin/python || "$(PYTHON)" -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/peers.txt
	@touch $@

$(NVRTC_STAMP): $(DEV_STAMP) requirements/nvrtc.txt
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements/nvrtc.txt
	@touch $@

$(NVDISASM_STAMP): $(DEV_STAMP) requirements/nvdisasm.txt
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements/nvdisasm.txt
	@touch $@

$(TYPES_STAMP): $(DEV_STAMP) requirements/types.txt
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements/types.txt
	@touch $@

$(DOCS_STAMP): $(DEV_STAMP) requirements/docs.txt
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements/docs.txt
	@touch $@

$(KERAS_STAMP): requirements/dev.txt requirements/keras.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3" >&2; exit 1; }
	test -x $(KERAS)/bin/python || "$(PYTHON)" -m venv $(KERAS)
	$(KERAS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt -r requirements/keras.txt
	@touch $@

$(LIBRARIES_STAMP): requirements/dev.txt requirements/libraries.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3" >&2; exit 1; }
	test -x $(LIBRARIES)/bin/python || "$(PYTHON)" -m venv $(LIBRARIES)
	$(LIBRARIES)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/dev.txt
	$(LIBRARIES)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/libraries.txt
	@touch $@

$(SCREENSHOTS_STAMP): requirements/screenshots.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3" >&2; exit 1; }
	test -x $(SCREENSHOTS)/bin/python || "$(PYTHON)" -m venv $(SCREENSHOTS)
	$(SCREENSHOTS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/screenshots.txt
	@touch $@

$(RELEASE_STAMP): requirements/release.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3" >&2; exit 1; }
	test -x $(RELEASE)/bin/python || "$(PYTHON)" -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/release.txt
	@touch $@

$(ONNX_STAMP): requirements/onnx.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3" >&2; exit 1; }
	test -x $(ONNX)/bin/python || "$(PYTHON)" -m venv $(ONNX)
	$(ONNX)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/onnx.txt
	@touch $@

$(TENSORFLOW_STAMP): requirements/tensorflow.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3" >&2; exit 1; }
	test -x $(TENSORFLOW)/bin/python || "$(PYTHON)" -m venv $(TENSORFLOW)
	$(TENSORFLOW)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/tensorflow.txt
	@touch $@

$(EXT_STAMP): $(DEV_STAMP) $(RUST_SOURCES)
	VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(PY) -m maturin develop --release $(CARGO_FLAGS)
	@touch $@

setup: $(DEV_STAMP) ## make .venv with the pinned tools

build: $(EXT_STAMP) ## build the extension in release mode into .venv

# Whatever asks for the extension next builds it as it ships.
quick: $(DEV_STAMP) ## the same without optimisation across crates: for work on the engine
	VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(PY) -m maturin develop --profile quick $(CARGO_FLAGS)
	@rm -f $(EXT_STAMP)

peers: $(PEERS_STAMP) ## make .venv-peers with the other frameworks (several GB)

# --- what people run ----------------------------------------------------------

demo: $(EXT_STAMP) ## build, then train on handwritten digits, with tf.optimizers and with Keras
	$(PY) examples/digits.py target/demo/digits.svg
	$(PY) examples/keras_digits.py target/demo/keras_digits.svg

test: test-rust test-python ## every test: Rust, Python, doctests

test-rust: $(NVRTC_STAMP)
	$(CARGO) test --no-fail-fast $(CARGO_FLAGS)

# A process for each core; make test-python PYTEST_PROCESSES=0 runs them in one.
PYTEST_PROCESSES ?= auto

test-python: $(EXT_STAMP)
	$(PY) -m pytest -n $(PYTEST_PROCESSES) --dist worksteal

# The interpreters that there are, or those named; INTERPRETER_TESTS are arguments of pytest.
INTERPRETERS ?=
INTERPRETER_TESTS ?= tests/python
test-interpreters: $(EXT_STAMP) ## the Python tests on each Python that there is (INTERPRETERS="python3.14" INTERPRETER_TESTS="tests/python/autograph")
	$(PY) tools/interpreters.py $(INTERPRETERS:%=--interpreter %) -q -n $(PYTEST_PROCESSES) --dist worksteal $(INTERPRETER_TESTS)

test-onnx: $(EXT_STAMP) $(ONNX_STAMP) ## the cases of ONNX's backend tests, and exported models in onnxruntime
	$(ONNX)/bin/python tools/peers/onnx_cases.py target/onnx_cases
	$(CARGO) run --quiet --locked --release -p penstock-onnx --example cases target/onnx_cases tests/onnx_refusals.txt
	PYTHONPATH=tests/python:tests/keras $(PY) tools/peers/onnx_exports.py write target/onnx_exports
	$(ONNX)/bin/python tools/peers/onnx_exports.py check target/onnx_exports

ONNX_MODELS := target/onnx_models
test-onnx-models: $(EXT_STAMP) $(ONNX_STAMP) ## published models of ONNX beside onnxruntime: results, and times on one thread
	$(ONNX)/bin/python -m pip download --quiet --disable-pip-version-check --no-deps -r requirements/onnx_models.txt -d $(ONNX_MODELS)
	$(ONNX)/bin/python tools/peers/onnx_models.py write $(ONNX_MODELS)
	$(PY) tools/peers/onnx_models.py check $(ONNX_MODELS)

# What TensorFlow writes is read here, and what is written here is read by TensorFlow.
CROSSING := target/tensorflow
test-tensorflow: $(EXT_STAMP) $(TENSORFLOW_STAMP) ## SavedModels and checkpoints between TensorFlow and here, both ways
	rm -rf $(CROSSING)
	$(TENSORFLOW)/bin/python tools/peers/tensorflow_models.py $(CROSSING)/models
	$(TENSORFLOW)/bin/python tools/peers/tensorflow_models.py --large $(CROSSING)/models
	PENSTOCK_TENSORFLOW_MODELS=$(CURDIR)/$(CROSSING)/models $(PY) -m pytest -q tests/python/saving/test_tensorflow_models.py
	$(TENSORFLOW)/bin/python tools/peers/tensorflow_checkpoints.py write $(CROSSING)/theirs tensorflow
	$(PY) tools/peers/tensorflow_checkpoints.py check $(CROSSING)/theirs penstock
	$(PY) tools/peers/tensorflow_checkpoints.py write $(CROSSING)/ours penstock
	$(TENSORFLOW)/bin/python tools/peers/tensorflow_checkpoints.py check $(CROSSING)/ours tensorflow
	PYTHONPATH=tests/python $(PY) tools/peers/tensorflow_exports.py write $(CROSSING)/exports
	$(TENSORFLOW)/bin/python tools/peers/tensorflow_exports.py check $(CROSSING)/exports

# Three others of each call; empty for all. The answers are for `tools/agreement/answers.jsonl.xz`, by `agreement keep`.
AGREEMENT := target/agreement
AGREEMENT_CALLS ?= --sample 3
test-agreement: $(EXT_STAMP) $(TENSORFLOW_STAMP) ## public functions here and in TensorFlow, called with the same arguments
	mkdir -p $(AGREEMENT)
	PYTHONPATH=tools $(PY) -m agreement calls $(AGREEMENT_CALLS) $(AGREEMENT)/calls.jsonl
	PYTHONPATH=$(CURDIR)/tools $(TENSORFLOW)/bin/python -m agreement answer tensorflow $(AGREEMENT)/calls.jsonl $(AGREEMENT)/theirs.jsonl
	PYTHONPATH=$(CURDIR)/tools $(PY) -m agreement answer penstock $(AGREEMENT)/calls.jsonl $(AGREEMENT)/ours.jsonl
	PYTHONPATH=tools $(PY) -m agreement compare --reasons $(addprefix $(AGREEMENT)/,calls.jsonl ours.jsonl theirs.jsonl)

fuzz-formats: $(EXT_STAMP) ## a hundred thousand damaged files of each format that is read
	PENSTOCK_MUTATIONS=100000 $(PY) -m pytest -q tests/python/saving/test_hostile_files.py
	PENSTOCK_TEXTS=100000 $(CARGO) test --release $(CARGO_FLAGS) -p penstock-engine --test hostile_texts

test-keras: $(EXT_STAMP) $(KERAS_STAMP) ## the tests that Keras's wheel ships, some 15 minutes (KERAS_TESTS="ops/nn_test.py")
	PYTHONPATH=python $(KERAS)/bin/python tests/keras_suite/run.py -q $(KERAS_TESTS)

KERAS_NIGHTLY := target/keras-nightly

test-keras-nightly: $(EXT_STAMP) ## tests/keras with the newest keras-nightly
	rm -rf $(KERAS_NIGHTLY)
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --pre --target $(KERAS_NIGHTLY) keras-nightly
	PYTHONPATH=$(KERAS_NIGHTLY):python $(PY) -m pytest -q tests/keras --deselect tests/keras/test_own_tests_of_keras.py

test-libraries: $(EXT_STAMP) $(LIBRARIES_STAMP) ## libraries written for TensorFlow, by their own tests (LIBRARY_SUITES="sonnet")
	PYTHONPATH=python $(LIBRARIES)/bin/python tests/libraries/run.py $(if $(LIBRARY_SUITES),$(LIBRARY_SUITES),--write)

TUTORIALS_DOCS ?= target/tensorflow-docs
TUTORIALS := .venv-tutorials
TUTORIALS_STAMP := $(TUTORIALS)/.stamp-requirements
$(TUTORIALS_STAMP): requirements/dev.txt requirements/tutorials.txt
	test -x $(TUTORIALS)/bin/python || "$(PYTHON)" -m venv $(TUTORIALS)
	$(TUTORIALS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/dev.txt
	$(TUTORIALS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/tutorials.txt
	touch $@

test-tutorials: $(EXT_STAMP) $(TUTORIALS_STAMP) ## TensorFlow's guides and tutorials (NOTEBOOKS="guide/data"), from a checkout of github.com/tensorflow/docs
	test -d $(TUTORIALS_DOCS) || git clone --quiet --depth 1 https://github.com/tensorflow/docs $(TUTORIALS_DOCS)
	PYTHONPATH=python $(TUTORIALS)/bin/python tests/tutorials/run.py $(if $(NOTEBOOKS),,--write) $(TUTORIALS_DOCS) $(NOTEBOOKS)

test-features: ## the tests of programs without the features of Cargo
	$(CARGO) test $(CARGO_FLAGS) -p penstock-engine --no-default-features --test features

# Each sanitizer has a target directory, since the compiler's flags are part of what is built. LeakSanitizer is a part of
# AddressSanitizer. ThreadSanitizer has to see how the locks and channels of the standard library order threads, so it is built anew.
SANITIZER ?= address
CRATES_address := data kernels ir ops jit exec trace format codec collectives plugin capi
CRATES_thread := data kernels ops exec trace collectives
CRATES ?= $(CRATES_$(SANITIZER))
STD_SOURCE = $(shell $${RUSTC:-rustc} --print sysroot)/lib/rustlib/src/rust/library
STD_address :=
STD_thread := -Zbuild-std
# Which programs of tests are built: "--test NAME" is one file of them.
SANITIZER_PROGRAMS ?= --lib --tests
# Arguments of the tests: NAME, or --skip NAME.
SANITIZER_TESTS ?=
# Kernels and dependencies are optimised less than in other tests, so that they are built sooner. Frames of the stack are larger here.
SANITIZER_PROFILE := --config 'profile.dev.package."*".opt-level=1' --config profile.dev.package.penstock-kernels.opt-level=1
test-sanitizers: ## tests under AddressSanitizer (SANITIZER=thread CRATES="kernels exec" SANITIZER_TESTS="--skip NAME")
	@case "$(SANITIZER)" in address) ;; \
		thread) test -d "$(STD_SOURCE)" || { echo "the source of the standard library is not in $(STD_SOURCE):" \
			"rustup component add rust-src" >&2; exit 1; } ;; \
		*) echo "SANITIZER is address or thread, not $(SANITIZER)" >&2; exit 1 ;; esac
	RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=target/sanitizers/$(SANITIZER) \
		RUSTFLAGS="-Zsanitizer=$(SANITIZER) --cfg penstock_sanitizers" \
		ASAN_OPTIONS="allocator_may_return_null=1:$$ASAN_OPTIONS" TSAN_OPTIONS="allocator_may_return_null=1:$$TSAN_OPTIONS" \
		LSAN_OPTIONS="suppressions=$(CURDIR)/tests/sanitizers/leaks.txt:$$LSAN_OPTIONS" PENSTOCK_THREADS=4 \
		RUST_MIN_STACK=33554432 \
		$(CARGO) test --no-fail-fast $(CARGO_FLAGS) $(STD_$(SANITIZER)) $(SANITIZER_PROFILE) $(SANITIZER_PROGRAMS) \
		$(CRATES:%=-p penstock-%) \
		--target "$$($${RUSTC:-rustc} -vV | sed -n 's/^host: //p')" -- $(SANITIZER_TESTS)

test-recipe: ## the recipe for an operator in CONTRIBUTING.md, on a copy of the tree
	python3 tools/check_recipe.py

test-aarch64: ## a sample of the tests on aarch64, emulated on other machines; skipped where what it needs is missing
	CARGO="$(CARGO)" CARGO_FLAGS="$(CARGO_FLAGS)" tools/test_aarch64.sh

calibrate: ## measure the rates of the machine, print the table of costs
	$(CARGO) run $(CARGO_FLAGS) --release -q -p penstock-kernels --example calibrate

# Built beside the binding, so that everything has the features that it has in `make build`, and is made once.
GPU_CARGO := $(CARGO_FLAGS) --release -p penstock-python -p penstock-cuda
GPU_TESTS := device graphs loops rounds steps
gpu-programs: ## build what gpu-check runs of the Rust crate into target/gpu
	mkdir -p target/gpu
	$(CARGO) build $(GPU_CARGO) --example gpu_bench
	cp target/release/examples/gpu_bench target/gpu/gpu_bench
	$(CARGO) test $(GPU_CARGO) $(GPU_TESTS:%=--test %) --no-run --message-format=json \
		| sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' > target/gpu/built
	for test in $(GPU_TESTS); do cp "$$(grep "/$$test-[^/]*$$" target/gpu/built)" target/gpu/$$test || exit 1; done
	strip $(GPU_TESTS:%=target/gpu/%) target/gpu/gpu_bench

# The emulated driver keeps what it compiles, the tests compile every kind of kernel, and NVRTC says what each takes.
GPU_WHEELS = $$(echo $(VENV)/lib/python3*/site-packages/nvidia/cu13)
gpu-registers: $(NVRTC_STAMP) $(NVDISASM_STAMP) ## registers and memory accesses of kernels, in docs/cuda-registers.md, without a GPU
	rm -rf target/kernels && mkdir -p target/kernels/code
	PENSTOCK_CUDA_CACHE=$(CURDIR)/target/kernels/code PENSTOCK_MOCK_CACHE=$(CURDIR)/target/kernels \
		$(CARGO) test $(CARGO_FLAGS) -p penstock-cuda --test device --test rounds --test steps --test sass
	$(PYTHON) tools/kernel_registers.py target/kernels $(GPU_WHEELS)/lib/libnvrtc.so.13 $(GPU_WHEELS)/bin/nvdisasm \
		> target/cuda-registers.md
	mv target/cuda-registers.md docs/cuda-registers.md

gpu-orders: ## each sample of each operator on the emulated device in five orders of threads, and 1,000 random programs
	PENSTOCK_TEST_SEEDS=5 $(CARGO) test $(CARGO_FLAGS) -p penstock-cuda --test device every_
	PENSTOCK_TEST_PROGRAMS=1000 $(CARGO) test $(CARGO_FLAGS) -p penstock-cuda --test placement random_programs

gpu-races: ## run the tests of the CUDA device on the emulated one, with all kernels watched for races
	rm -f target/races.txt
	PENSTOCK_MOCK_RACES=1 PENSTOCK_MOCK_FINDINGS=$(CURDIR)/target/races.txt \
		$(CARGO) test $(CARGO_FLAGS) -p penstock-cuda --test device --test graphs --test loops --test placement --test rounds --test steps
	@test ! -s target/races.txt || { sort target/races.txt | uniq -c; exit 1; }

# The folders that are about tensors, functions and what is computed. What is about the host by its subject has the mark `of_host`.
GPU_PYTHON_TESTS ?= $(addprefix tests/python/,values function control autodiff optimizers data ops)
gpu-python: $(EXT_STAMP) ## the Python tests with the emulated GPU as the device of everything, its queues late and at once
	$(CARGO) build $(CARGO_FLAGS) --release -p penstock-mockcuda
	rm -f target/findings.txt
	for eager in 0 1; do env PENSTOCK_MOCK_EAGER=$$eager PENSTOCK_MOCK_CACHE=$(CURDIR)/target/kernels \
		PENSTOCK_MOCK_FINDINGS=$(CURDIR)/target/findings.txt \
		$(patsubst %,%=$(CURDIR)/target/release/libpenstock_mockcuda.so,PENSTOCK_CUDA_DRIVER PENSTOCK_NVRTC PENSTOCK_CUDNN) \
		$(PY) -m pytest -n $(PYTEST_PROCESSES) --dist worksteal --timeout 900 --default-device GPU:0 $(GPU_PYTHON_TESTS) || exit 1; done
	@test ! -s target/findings.txt || { sort target/findings.txt | uniq -c; exit 1; }

gpu-check: ## check and measure the CUDA device, on a machine with a GPU (GPU_STAGES="machine kernels")
	python3 tools/gpu_check.py $(GPU_STAGES)

docs: $(EXT_STAMP) $(DOCS_STAMP) ## the documentation as a site, in target/site/html
	$(PY) tools/documentation.py

# SCREENSHOTS_FLAGS=--check looks at the pages, and writes nothing.
screenshots: $(EXT_STAMP) $(SCREENSHOTS_STAMP) ## pictures of pages and of TensorBoard for the documentation (needs Chromium)
	PYTHONPATH=python $(SCREENSHOTS)/bin/python tools/screenshots.py $(SCREENSHOTS_FLAGS)

sizes: ## how large a Rust program with the engine is, by feature
	python3 tools/program_sizes.py

lint: lint-rust lint-python ## formats, clippy, ruff, mypy, generated files, layers, signatures, licences

lint-rust:
	$(CARGO) fmt --check
	$(CARGO) clippy --workspace --all-targets $(CARGO_FLAGS) -- -D warnings

lint-python: $(EXT_STAMP)
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	$(PY) tools/generate.py --check
	$(PY) tools/check_layers.py
	$(PY) tools/check_cycles.py
	$(PY) tools/check_signatures.py
	$(PY) tools/check_licences.py

types: $(TYPES_STAMP) $(EXT_STAMP) ## pyright in strict mode over tests/typing, how many public types it knows (installs it first), stubs
	$(PY) -m pyright --pythonpath $(PY)
	$(PY) tools/check_types.py
	$(PY) -m mypy.stubtest penstock._core --mypy-config-file pyproject.toml --allowlist tools/stubtest_allowlist.txt \
		--ignore-unused-allowlist

$(DENY):
	$(CARGO) install --quiet --locked cargo-deny --version $(DENY_VERSION) --root $(dir $(@D)) --target-dir target/tools/build
	@rm -rf target/tools/build
	@touch $@

deny: $(DENY) ## cargo-deny: licences, banned crates, sources (installs it, some minutes the first time)
	PATH="$(CURDIR)/$(dir $(DENY)):$$PATH" $(CARGO) deny check licenses bans sources

fmt: $(DEV_STAMP) ## format every source file
	$(CARGO) fmt --all
	$(PY) -m ruff check --quiet --fix --exit-zero
	$(PY) -m ruff format

bless: ## accept the present output of the file tests and the kernels
	BLESS=1 $(CARGO) test --test filetests --test golden --test recorded $(CARGO_FLAGS)

generate: $(EXT_STAMP) ## write the generated Python files anew
	$(PY) tools/generate.py

wheel: $(DEV_STAMP) ## build a release wheel into dist/
	rm -rf dist
	VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(PY) -m maturin build --release --out dist $(CARGO_FLAGS)

# --- releases -----------------------------------------------------------------

test-wheel: wheel ## build a wheel, install it into a fresh environment, run the programs of the first pages there
	"$(PYTHON)" tools/try_wheel.py dist

new-user: wheel docs ## the path of a new user, timed: wheel, programs of the first pages, answers in the built documentation
	"$(PYTHON)" tools/try_wheel.py dist --site target/site/html

check-wheels: $(RELEASE_STAMP) ## look at the files in dist/ as PyPI and old systems will
	$(RELEASE)/bin/twine check --strict dist/*
	$(RELEASE)/bin/abi3audit --strict --summary dist/*-abi3-*.whl
	for wheel in dist/*linux*.whl; do $(RELEASE)/bin/auditwheel show "$$wheel" || exit 1; done

check-crates: ## package every crate and build it from the package, as for crates.io
	$(CARGO) publish --workspace --locked --dry-run $(PUBLISH_FLAGS)

# PACKAGES="--build penstock-data penstock-ir" builds these, so that check-crates can be done in pieces.
check-packages: ## package every crate and check it from the package, in less time than check-crates
	$(PYTHON) tools/check_packages.py $(PACKAGES)

# With the release before as the baseline; it is installed once there is one.
check-semver: ## cargo-semver-checks: whether the version fits the changes of the crates' interfaces since the last release
	@tag=$$(git describe --tags --abbrev=0 --match 'v*' HEAD^ 2>/dev/null); \
	if [ -z "$$tag" ]; then echo "there is no release before to compare with"; else \
	$(MAKE) --no-print-directory $(SEMVER) && \
	PATH="$(CURDIR)/$(dir $(SEMVER)):$$PATH" $(CARGO) semver-checks --workspace --baseline-rev "$$tag"; fi

$(SEMVER):
	$(CARGO) install --quiet --locked cargo-semver-checks --version $(SEMVER_VERSION) --root $(dir $(@D)) --target-dir target/tools/build
	@rm -rf target/tools/build
	@touch $@

conda-recipe: $(DEV_STAMP) ## make the source distribution, and the recipe for conda-forge with its checksum in dist/recipe.yaml
	rm -f dist/penstock_engine-*.tar.gz
	VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(PY) -m maturin sdist --out dist
	$(PY) tools/conda_recipe.py dist/penstock_engine-*.tar.gz

lint-workflows: $(RELEASE_STAMP) ## the workflows of GitHub: actionlint, and zizmor for what could be misused
	$(RELEASE)/bin/actionlint
	$(RELEASE)/bin/zizmor --offline --quiet --min-severity medium .github/workflows

# --- measurements -------------------------------------------------------------

bench: $(EXT_STAMP) wheel ## measure Penstock beside NumPy in every family, keep the others' figures
	$(PY) benches/run.py --python penstock=$(PY) --python numpy=$(PY) $(BENCH_FLAGS)
	$(PY) benches/table.py

bench-ops: $(EXT_STAMP) ## measure every operator beside NumPy, write benches/ops.md
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(PY) benches/ops.py $(BENCH_FLAGS)

bench-functions: $(EXT_STAMP) $(TENSORFLOW_STAMP) ## measure functions and their gradients beside TensorFlow, write benches/functions.md
	$(PY) benches/functions.py --python penstock=$(PY) --python tensorflow=$(TENSORFLOW)/bin/python --write $(BENCH_FLAGS)

bench-peers: $(EXT_STAMP) $(PEERS_STAMP) wheel ## measure every framework, interleaved, in one run
	$(PY) benches/run.py --python penstock=$(PY) --python peers=$(PEERS)/bin/python $(BENCH_FLAGS)
	$(PY) benches/table.py

bench-families: $(EXT_STAMP) $(PEERS_STAMP) ## the same without what README shows
	$(PY) benches/run.py --python penstock=$(PY) --python peers=$(PEERS)/bin/python \
		--families pyhpc,npbench,applications,machine $(BENCH_FLAGS)
	$(PY) benches/table.py

bench-against: $(EXT_STAMP) ## measure this tree beside a built one in BEFORE, write the table in docs/benchmarks.md
	$(PY) benches/against.py --python $(BEFORE)/.venv/bin/python --commit $$(git -C $(BEFORE) rev-parse --short HEAD) --write $(BENCH_FLAGS)

bench-growth: $(EXT_STAMP) ## measure growth with the size of graphs, write docs/growth.md and its picture
	$(PY) benches/growth.py $(BENCH_FLAGS)

bench-calls: $(EXT_STAMP) ## measure calls, tracing, variables and callbacks, write the table in docs/benchmarks.md
	$(PY) benches/dispatch.py --write $(BENCH_FLAGS)

bench-scaling: $(EXT_STAMP) ## measure some cases on 1, 2, 4, ... threads, write the table in docs/benchmarks.md
	$(PY) benches/scaling.py

bench-embedding: ## measure how programs load and run in a Rust process, write the table in docs/benchmarks.md
	python3 benches/embedding.py

bench-passes: $(EXT_STAMP) ## measure each case without each optimisation, write the table in docs/benchmarks.md
	$(PY) benches/passes.py

bench-profiling: $(EXT_STAMP) ## measure what recording a profile costs, write the table in docs/profiling.md
	$(PY) benches/profiling.py --write

bench-unknown-sizes: $(EXT_STAMP) ## measure programs traced for unknown sizes, write the table in docs/benchmarks.md
	$(PY) benches/unknown_sizes.py --write $(BENCH_FLAGS)

bench-keras: $(EXT_STAMP) $(PEERS_STAMP) ## measure training with Keras on each backend, write the tables in docs/benchmarks.md
	$(PY) benches/keras_fit.py --python penstock=$(PY) --python tensorflow=$(PEERS)/bin/python \
		--python jax=$(PEERS)/bin/python --python torch=$(PEERS)/bin/python --write $(BENCH_FLAGS)

bench-table: $(DEV_STAMP) ## write README's picture and benches/RESULTS.md anew from benches/results.json
	$(PY) benches/table.py

clean: ## remove the environments and everything built
	$(CARGO) clean
	rm -rf .venv* dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f python/penstock/_core*.so python/penstock/_core*.pyd
	find python tests benches tools examples -name __pycache__ -type d -prune -exec rm -rf {} +
