# Sets everything up in a virtual environment and runs it. Needs Python >= 3.11, a C compiler and make; no root.
#
#   make demo               measure this machine, fit a model, show it (MPI=openmpi for the other library)
#   make quick              lint and the tests that start no MPI: to be run often
#   make test               lint and all tests, with MPICH and with Open MPI; on emulated hosts with Open MPI alone
#   make thorough           all tests, with more examples for each property and both libraries on emulated hosts; the
#                           benchmarks and the commands of the documentation, on a small scale
#   make lint docs bench    parts of it; make bench compares our loops with plain C, what we measure with what a C
#                           program gets, thread levels with each other, formulas with numpy, scaling models with
#                           those of the package extrap: EXTRAP=an interpreter that has it,
#                           and the simulator with SMPI where it is installed, with LogGOPSim: LOGGOPSIM=its folder
#   make sanitize           the simulator's tests with checks of memory and undefined operations in its core
#   make fuzz               damaged input for every reader, FUZZ_SECONDS each; by atheris where it can be installed
#   make mutations          counts how many faults the unit tests find, of a sample: SAMPLE=100; an hour
#   make cluster-test       the tests that need a network: on two emulated hosts, as root on Linux, else skipped
#   make slurm-test         the tests that need Slurm: on three nodes of one machine, as root on Linux with slurm-wlm and
#                           munge (and libpmix-dev for Open MPI), else skipped
#   make cluster-bench      on emulated hosts: collectives predicted and checked, overlap chosen: as root on Linux
#   make pictures           the pictures of README, gallery and documentation, from the pages of today; needs Chromium
#   make leaks              memory of a process that simulates ten thousand times
#   make wheel              the wheel to install, in dist; needs no compiler
#   make wheels             the source distribution and the wheel of a release, built twice, tried with each MPI library
#                           and Python, into dist: PROCESSOR=aarch64 builds for another, untried; SDIST=FILE takes
#                           a source distribution, which make sdist makes alone
#   make recipes            the recipes for Spack, EasyBuild, conda-forge with the release's checksum, into dist/recipes:
#                           MAINTAINERS="name name" are those who look after them there
#   make manuals            man pages and completions of the command for bash, zsh and fish, into dist/manuals
#   make clean              remove what was built

MPI ?= mpich
PYTHON ?= python3
SHELL := /bin/bash -o pipefail

VENV_mpich := .venv
VENV_openmpi := .venv-openmpi
VENV := $(VENV_$(MPI))
ifeq ($(VENV),)
$(error MPI=$(MPI): choose mpich or openmpi)
endif
BIN := $(CURDIR)/$(VENV)/bin
MPIEXEC := $(BIN)/mpiexec
SOURCES := pyproject.toml setup.py conf/backend.py $(foreach kind,pyx pxd h hpp c cpp,$(wildcard src/commmodel/_core/*/*.$(kind) src/commmodel/_core/*/*/*.$(kind)))

# Two ranks bound to two cores, where there are two.
BIND := $(shell test "$$(nproc 2>/dev/null || echo 1)" -ge 2 && echo -bind-to core)
ifeq ($(MPI),openmpi)
BIND := $(subst -bind-to,--bind-to,$(BIND))
endif
# Open MPI starts neither more ranks than cores nor any as root (as in a container) unless told to.
export PRTE_MCA_rmaps_default_mapping_policy := :oversubscribe
ifeq ($(shell id -u),0)
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
endif

# Programs of ours that start MPI themselves do so as the benchmark does, not at mpi4py's default.
AT_SINGLE := env MPI4PY_RC_THREAD_LEVEL=single

UNIT_TESTS := tests src --ignore tests/mpi --ignore tests/cluster --ignore tests/slurm
PROFILE ?= quick

# Messages of one protocol, between two ranks that share memory.
ONE_PROTOCOL_mpich := 1:4KiB
ONE_PROTOCOL_openmpi := 1:256

# Else every program that a test starts would compile our modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo quick test thorough openmpi openmpi-library test-one test-documented test-without-mpi test-mpi test-launched test-simulated test-ranks test-mpich test-openmpi cluster-test sanitize slurm-test leaks fuzz mutations freeze lint docs pictures bench cluster-bench sdist wheel wheels recipes manuals clean

demo:
	@echo "commmodel: measures this machine's MPI ($(MPI)), fits a model of it and writes a report. About a minute."
	@test -e $(VENV)/.demo-ready || echo "0/3 setting up $(VENV) with $(MPI) and commmodel: the first time only, some minutes"
	@$(MAKE) --no-print-directory $(VENV)/.demo-ready
	@mkdir -p demo/$(MPI)
	@rm -f demo/$(MPI)/*
	@echo "1/3 measuring for half a minute: 2 ranks, messages of 1 B to 16 MiB -> demo/$(MPI)/results.jsonl"
	$(MPIEXEC) -n 2 $(BIND) $(BIN)/python -m commmodel.bench --time 30s -o demo/$(MPI)/results.jsonl
	@echo "2/3 fitting a model of each protocol -> demo/$(MPI)/machine.toml"
	@$(BIN)/commmodel fit demo/$(MPI)/results.jsonl -o demo/$(MPI)/machine.toml
	@echo "3/3 writing the report -> demo/$(MPI)/report.html"
	@$(BIN)/commmodel report demo/$(MPI)/results.jsonl demo/$(MPI)/machine.toml -o demo/$(MPI)/report.html > /dev/null
	@echo
	@echo "Look at demo/$(MPI)/report.html in a browser. Then ask the model:"
	@echo "  $(VENV)/bin/commmodel predict demo/$(MPI)/machine.toml send -n 1MiB           # how long does a message take?"
	@echo "  $(VENV)/bin/commmodel predict demo/$(MPI)/machine.toml halo -n 64KiB --neighbours 6 # and a halo exchange?"
	@echo "or a machine that you do not have:"
	@echo "  $(VENV)/bin/commmodel simulate graphene alltoall -p 32 -n 100KiB -o demo/alltoall.html"
	@echo "or measure what collectives and overlap need:"
	@echo "  $(VENV)/bin/mpiexec -n 2 $(BIND) $(VENV)/bin/python -m commmodel.bench pingpong loggp collective -o demo/more.jsonl"

quick: lint
	$(MAKE) test-without-mpi MARKS="not slow"

# Both libraries are set up before any test: one test needs the other library beside its own. Their environments are made
# side by side, but what is compiled for one is there for the other.
test:
	$(MAKE) --jobs=2 .venv/.test-ready openmpi-library
	$(MAKE) --jobs=2 --output-sync=recurse lint openmpi
	$(MAKE) test-without-mpi
	$(MAKE) --jobs=2 --output-sync=recurse test-mpich test-simulated test-openmpi docs
	$(MAKE) test-ranks MPI=mpich
	$(MAKE) test-ranks MPI=openmpi
	$(MAKE) cluster-test MPI=openmpi

thorough: test
	$(MAKE) test-without-mpi PROFILE=thorough
	$(MAKE) test-documented MPI=mpich
	$(MAKE) cluster-test MPI=mpich
	$(MAKE) slurm-test MPI=mpich
	$(MAKE) slurm-test MPI=openmpi

# The commands of the documentation and the benchmarks, on a small scale: an hour on two cores.
test-documented: $(VENV)/.test-ready
	$(BIN)/python -m pytest tests/test_documented_commands.py tests/test_benchmarks.py tests/test_notebook.py tests/bench/test_visits.py -m thorough

openmpi-library:
	$(MAKE) .venv-openmpi/.mpi-ready MPI=openmpi

openmpi:
	$(MAKE) .venv-openmpi/.test-ready MPI=openmpi

# Side by side, as much of these tests is Python that starts.
test-mpich test-openmpi: test-%:
	$(MAKE) test-launched MPI=$*

test-one:
	$(MAKE) test-without-mpi
	$(MAKE) test-mpi

# Tests that start no MPI give the same answers with any library: they run once, side by side, where none can start.
test-without-mpi: $(VENV)/.test-ready
	$(BIN)/python -m pytest $(UNIT_TESTS) -p no:mpi-pytest --without-mpi --hypothesis-profile $(PROFILE) \
		--numprocesses auto --maxprocesses 8 --dist worksteal $(if $(MARKS),-m "$(MARKS)")

test-mpi: $(VENV)/.test-ready
	$(MAKE) test-launched
	$(if $(filter mpich,$(MPI)),$(MAKE) test-simulated)
	$(MAKE) test-ranks

# Ranks of one host need no network, which takes Open MPI's MPI_Init a second to set up.
test-launched test-ranks: export OMPI_MCA_btl := self,sm
# Tests that start ranks of their own, one after the other, or need one. Those of our own words, plans and files run with MPICH
# alone.
test-launched: $(VENV)/.test-ready
	$(BIN)/python -m pytest $(UNIT_TESTS) -m "mpi and not simulated$(if $(filter openmpi,$(MPI)), and not any_library)"
	$(MPIEXEC) -n 1 $(BIN)/python -m pytest tests/mpi -m "parallel[1]"

# Programs on our own MPI library, which has MPICH's ABI.
test-simulated: .venv/.test-ready
	.venv/bin/python -m pytest $(UNIT_TESTS) -m "mpi and simulated"

# Tests on several ranks, which each of them collects.
test-ranks: $(VENV)/.test-ready
	for ranks in 2 4; do $(MPIEXEC) -n $$ranks $(BIN)/python -m pytest tests/mpi -m "parallel[$$ranks]" || exit 1; done

# Seconds for each reader; a finding is kept in fuzz/found.
FUZZ_SECONDS ?= 30

fuzz: $(VENV)/.test-ready
	@$(BIN)/python -c 'import atheris' 2>/dev/null || $(BIN)/pip install --quiet atheris 2>/dev/null \
		|| echo "make fuzz: atheris cannot be installed here: plain mutations, which find less"
	$(BIN)/python fuzz/run.py --seconds $(FUZZ_SECONDS)

SAMPLE ?= 100

mutations: .venv/.test-ready
	.venv/bin/python -m tools.mutations --sample $(SAMPLE) $(if $(BEFORE),--before $(BEFORE))

# The modules without MPI, compiled so that each access beside its memory and each undefined operation ends the tests.
SANITIZED := build/sanitize
SANITIZED_TESTS := tests/core tests/simulate tests/test_fuzz.py
# The sanitizer takes terabytes of addresses, more memory, and signals of crashes: tests that limit or count these are left out.
NOT_SANITIZED := --ignore tests/simulate/test_trace_memory.py -k "not limit_of_the_shell and not memory_is_taken and not SIGSEGV"
LIBASAN := $(shell gcc -print-file-name=libasan.so 2>/dev/null)

sanitize: $(VENV)/.test-ready
	@test -e "$(LIBASAN)" || { echo "make sanitize: no libasan: install a gcc with its sanitizers"; exit 3; }
	rm -rf $(SANITIZED)
	COMMMODEL_SANITIZE=1 CC=gcc CXX=g++ MPICC=$(BIN)/mpicc $(BIN)/pip install --quiet --no-deps --target $(SANITIZED) .
	PYTHONPATH=$(SANITIZED) $(BIN)/python -c 'import commmodel; assert "$(SANITIZED)" in commmodel.__file__'
	PYTHONPATH=$(SANITIZED) PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
		LD_PRELOAD="$(LIBASAN) $(shell g++ -print-file-name=libstdc++.so 2>/dev/null)" \
		$(BIN)/python -m pytest -p no:mpi-pytest -p no:cacheprovider --without-mpi -q $(SANITIZED_TESTS) $(NOT_SANITIZED)

leaks: $(VENV)/.test-ready
	$(BIN)/python -m tools.leaks

PROCESSOR ?= $(shell uname -m)

sdist:
	@$(PYTHON) packaging/wheels.py --sdist

wheel:
	@$(PYTHON) packaging/wheels.py --once --processor $(PROCESSOR) $(if $(SDIST),--sources "$(SDIST)")

wheels:
	$(PYTHON) packaging/wheels.py --processor $(PROCESSOR) $(if $(SDIST),--sources "$(SDIST)") $(if $(FIGURES),--figures $(FIGURES))

recipes: sdist
	@$(PYTHON) packaging/recipes.py dist/commmodel-*.tar.gz dist/recipes $(MAINTAINERS)

manuals: $(VENV)/.demo-ready
	@$(BIN)/python -m pip install --quiet argparse-manpage shtab
	@$(BIN)/python packaging/manuals.py dist/manuals

# What every command says, compared with the record in tools; after a wanted change: python tools/freeze.py record tools
freeze: $(VENV)/.test-ready
	$(BIN)/python tools/freeze.py compare tools --text

cluster-test: $(VENV)/.test-ready
	$(BIN)/python -m pytest tests/cluster

slurm-test: $(VENV)/.test-ready
	$(BIN)/python -m pytest tests/slurm

lint: .venv/.test-ready
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/basedpyright --pythonpath .venv/bin/python
	PATH=$(CURDIR)/.venv/bin:$$PATH cython-lint src
	.venv/bin/clang-format --dry-run -Werror $(wildcard src/commmodel/_core/*/*.[ch] src/commmodel/_core/*/*/*.[ch] src/commmodel/_core/*/*.[ch]pp tests/core/online/*.[ch] bench_c/*.[ch] tools/emulated_cluster/*.c)
	.venv/bin/codespell src tests tools benchmarks bench_c fuzz packaging docs conf setup.py Makefile *.md
	.venv/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	.venv/bin/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	.venv/bin/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/*.yml
	.venv/bin/check-jsonschema --builtin-schema vendor.github-actions action.yml
	.venv/bin/check-jsonschema --builtin-schema vendor.gitlab-ci --data-transform gitlab-ci packaging/gitlab/*.yml
	.venv/bin/zizmor --quiet --offline .github/workflows action.yml

# Pages are read once for both.
docs: .venv/.test-ready
	.venv/bin/sphinx-build -E -W -n -q --keep-going -b html -d docs/_build/read docs docs/_build/html
	.venv/bin/sphinx-build -W -q -b doctest -d docs/_build/read docs docs/_build/doctest
	.venv/bin/python -m pytest -q tests/test_docs_search.py -p no:mpi-pytest --without-mpi

# NAMES="report gantt" makes only these; without, it takes a minute or two.
pictures: .venv/.test-ready
	.venv/bin/python -m tools.drawings
	.venv/bin/python -m tools.pictures $(NAMES)

bench: $(VENV)/.test-ready
	$(MAKE) -C bench_c MPICC=$(BIN)/mpicc
	for loop in pingpong touched-pingpong blocking-train immediate-train; do \
		$(MPIEXEC) -n 2 $(BIND) $(AT_SINGLE) $(BIN)/python bench_c/compare.py $$loop || exit 1; done
	$(BIN)/python -m benchmarks.speed.against_c --mpiexec "$(MPIEXEC) $(BIND)" --build bench_c/build/$(MPI)
	$(BIN)/python -m benchmarks.speed.thread_level --mpiexec "$(MPIEXEC) $(BIND)"
	$(MPIEXEC) -n 2 $(BIND) $(AT_SINGLE) $(BIN)/python -m benchmarks.speed.collective_starts
	$(BIN)/python -m benchmarks.speed.recorder --mpiexec "$(MPIEXEC) $(BIND)"
	$(BIN)/python -m benchmarks.speed.start_up
	$(BIN)/python -m benchmarks.speed.start_up_of_ranks
	$(BIN)/python -m benchmarks.speed.page_opening
	$(BIN)/python -m benchmarks.speed.model_surfaces
	$(BIN)/python -m benchmarks.speed.overlap_surfaces
	$(BIN)/python -m benchmarks.speed.critical_path
	$(BIN)/python -m benchmarks.speed.slopes
	$(BIN)/python -m benchmarks.validation.scaling_models $(if $(EXTRAP),--extrap $(EXTRAP))
	$(BIN)/python -m benchmarks.validation.guard_alarms
	$(BIN)/python -m benchmarks.validation.smpi_accuracy
	$(BIN)/python -m benchmarks.validation.collective_messages --mpiexec "$(MPIEXEC)"
	$(if $(filter mpich,$(MPI)),$(BIN)/python -m benchmarks.speed.online)
	$(if $(filter mpich,$(MPI)),$(BIN)/python -m benchmarks.speed.online_scale)
	$(if $(filter mpich,$(MPI)),$(BIN)/python -m benchmarks.validation.online_agreement)
	$(BIN)/python -m benchmarks.speed.simulators $(if $(LOGGOPSIM),--loggopsim $(LOGGOPSIM))
	$(BIN)/python -m benchmarks.validation.speedup_curves
	$(BIN)/python -m benchmarks.validation.loggp_under_load --mpiexec "$(MPIEXEC) $(BIND)" --sizes $(ONE_PROTOCOL_$(MPI))

# Predictions and choices against an emulated network: as root on Linux, on an otherwise idle machine. Half an hour.
cluster-bench: $(VENV)/.test-ready
	$(BIN)/python -m benchmarks.validation.emulated_collectives
	$(BIN)/python -m benchmarks.validation.emulated_levels
	$(BIN)/python -m benchmarks.validation.emulated_overlap
	$(BIN)/python -m benchmarks.validation.emulated_guard
	$(BIN)/python -m benchmarks.validation.emulated_simulation
	$(BIN)/python -m benchmarks.validation.emulated_queues
	$(BIN)/python -m benchmarks.validation.emulated_senders
	$(BIN)/python -m benchmarks.validation.emulated_nodes --visits 3
	$(if $(filter mpich,$(MPI)),$(BIN)/python -m benchmarks.validation.changed_network)

# Python compiles what is imported when it is: less than all that is installed.
PIP := $(BIN)/pip install --quiet --no-compile
EXTRAS_mpich := mpich,test,browser,lint,docs
EXTRAS_openmpi := openmpi,test

$(VENV)/.mpi-ready:
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(PIP) $(MPI)
	touch $@

$(VENV)/.demo-ready: $(VENV)/.mpi-ready $(SOURCES)
	MPICC=$(BIN)/mpicc $(PIP) --editable '.[$(MPI),report]'
	touch $@

$(VENV)/.test-ready: $(VENV)/.mpi-ready $(SOURCES)
	MPICC=$(BIN)/mpicc $(PIP) --editable '.[$(EXTRAS_$(MPI))]'
	touch $@ $(VENV)/.demo-ready

ifneq ($(MPI),mpich)
.venv/.test-ready:
	$(MAKE) $@ MPI=mpich
endif

clean:
	rm -rf .venv .venv-openmpi build dist demo docs/_build bench_c/build src/*.egg-info
	find src -name '*.so' -delete
