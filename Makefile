# Sets everything up in a virtual environment and runs it. Needs Python >= 3.11, a C compiler and make; no root.
#
#   make demo               measure this machine, fit a model, show it (MPI=openmpi for the other library)
#   make test               lint and all tests, with MPICH and with Open MPI
#   make lint docs bench    parts of it; make bench compares our loops with plain C, formulas with numpy,
#                           scaling models with those of the package extrap: EXTRAP=an interpreter that has it,
#                           and the simulator with SMPI where it is installed, with LogGOPSim: LOGGOPSIM=its folder
#   make cluster-test       the tests that need a network: on two emulated hosts, as root on Linux, else skipped
#   make cluster-bench      on emulated hosts: collectives predicted and checked, overlap chosen: as root on Linux
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
SOURCES := pyproject.toml setup.py conf/backend.py $(wildcard src/commmodel/_core/*.py[xd] src/commmodel/_core/*.h src/commmodel/_core/*.hpp)

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

UNIT_TESTS := tests src --ignore tests/mpi --ignore tests/cluster

# Messages of one protocol, between two ranks that share memory.
ONE_PROTOCOL_mpich := 1:4KiB
ONE_PROTOCOL_openmpi := 1:256

# Else every program that a test starts would compile our modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-one test-without-mpi test-mpi cluster-test lint docs html doctest bench cluster-bench clean

demo: $(VENV)/.demo-ready
	@mkdir -p demo/$(MPI)
	@rm -f demo/$(MPI)/*
	$(MPIEXEC) -n 2 $(BIND) $(BIN)/python -m commmodel.bench --time 30s -o demo/$(MPI)/results.jsonl
	$(BIN)/commmodel fit demo/$(MPI)/results.jsonl -o demo/$(MPI)/machine.toml
	$(BIN)/commmodel report demo/$(MPI)/results.jsonl demo/$(MPI)/machine.toml -o demo/$(MPI)/report.html

# Both libraries are set up before any test: one test needs the other library beside its own.
test: lint
	$(MAKE) .venv-openmpi/.test-ready MPI=openmpi
	$(MAKE) test-without-mpi
	$(MAKE) test-mpi MPI=mpich
	$(MAKE) test-mpi MPI=openmpi
	$(MAKE) cluster-test MPI=mpich
	$(MAKE) cluster-test MPI=openmpi
	$(MAKE) docs

test-one:
	$(MAKE) test-without-mpi
	$(MAKE) test-mpi

# Tests that start no MPI give the same answers with any library: they run once, side by side, where none can start.
test-without-mpi: $(VENV)/.test-ready
	$(BIN)/python -m pytest $(UNIT_TESTS) -p no:mpi-pytest --without-mpi --numprocesses auto --maxprocesses 8 --dist loadfile

# Tests on several ranks are collected by each of them; the others start ranks of their own, one test after the other.
test-mpi: $(VENV)/.test-ready
	$(BIN)/python -m pytest $(UNIT_TESTS) -m mpi
	for ranks in 1 2 4; do $(MPIEXEC) -n $$ranks $(BIN)/python -m pytest tests/mpi -m "parallel[$$ranks]" || exit 1; done

cluster-test: $(VENV)/.test-ready
	$(BIN)/python -m pytest tests/cluster

lint: .venv/.test-ready
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	PATH=$(CURDIR)/.venv/bin:$$PATH cython-lint src

docs: .venv/.test-ready
	$(MAKE) --jobs=2 html doctest

html: .venv/.test-ready
	.venv/bin/sphinx-build -W -n -q --keep-going -b html docs docs/_build/html

doctest: .venv/.test-ready
	.venv/bin/sphinx-build -W -q -b doctest docs docs/_build/doctest

bench: $(VENV)/.test-ready
	$(MAKE) -C bench_c MPICC=$(BIN)/mpicc
	for loop in pingpong blocking-train immediate-train; do \
		$(MPIEXEC) -n 2 $(BIND) $(BIN)/python bench_c/compare.py $$loop || exit 1; done
	$(MPIEXEC) -n 2 $(BIND) $(BIN)/python benchmarks/collective_starts.py
	$(BIN)/python benchmarks/model_surfaces.py
	$(BIN)/python benchmarks/overlap_surfaces.py
	$(BIN)/python benchmarks/critical_path.py
	$(BIN)/python benchmarks/scaling_models.py $(if $(EXTRAP),--extrap $(EXTRAP))
	$(BIN)/python benchmarks/guard_alarms.py
	PYTHONPATH=tests $(BIN)/python benchmarks/smpi_accuracy.py
	PYTHONPATH=tests $(BIN)/python benchmarks/simulators.py $(if $(LOGGOPSIM),--loggopsim $(LOGGOPSIM))
	$(BIN)/python benchmarks/speedup_curves.py
	$(BIN)/python benchmarks/loggp_under_load.py --mpiexec "$(MPIEXEC) $(BIND)" --sizes $(ONE_PROTOCOL_$(MPI))

# Predictions and choices against an emulated network: as root on Linux, on an otherwise idle machine. A quarter of an hour.
cluster-bench: $(VENV)/.test-ready
	PYTHONPATH=tests $(BIN)/python benchmarks/emulated_collectives.py
	PYTHONPATH=tests $(BIN)/python benchmarks/emulated_overlap.py
	PYTHONPATH=tests $(BIN)/python benchmarks/emulated_guard.py
	PYTHONPATH=tests $(BIN)/python benchmarks/emulated_simulation.py

$(VENV)/.mpi-ready:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet $(MPI)
	touch $@

$(VENV)/.demo-ready: $(VENV)/.mpi-ready $(SOURCES)
	MPICC=$(BIN)/mpicc $(BIN)/pip install --quiet --editable '.[$(MPI),report]'
	touch $@

$(VENV)/.test-ready: $(VENV)/.mpi-ready $(SOURCES)
	MPICC=$(BIN)/mpicc $(BIN)/pip install --quiet --editable '.[$(MPI),test,lint,docs]'
	touch $@ $(VENV)/.demo-ready

ifneq ($(MPI),mpich)
.venv/.test-ready:
	$(MAKE) $@ MPI=mpich
endif

clean:
	rm -rf .venv .venv-openmpi build demo docs/_build bench_c/build src/*.egg-info
	find src -name '*.so' -delete
