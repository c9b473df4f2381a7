# The repository's tasks: `./just` lists them

set positional-arguments
set no-exit-message # tasks say themselves why they fail
export INVOCATION_DIRECTORY := invocation_directory()
export PATH := justfile_directory() / ".tools/bin:" + env("PATH")

python := ".venv/bin/python -X parent=" + just_pid()

# What just starts dies with it
mortal := if os() == "linux" { "setpriv --pdeathsig TERM" } else { "" }

# List the tasks
default:
    @just --list --unsorted

# Serve the contract with one server: serve NAME[/DEPLOYMENT]
serve *ARGS: _environment
    @exec {{ python }} -m harness serve "$@"

# Prove that servers keep the contract: conform NAME…|all|DIR|URL
conform *ARGS: _environment
    @exec {{ python }} -m conformance "$@"

# Show how stacks behave where the contract does not decide: behaviours [NAME…]|URL
behaviours *ARGS: _environment
    @exec {{ python }} -m conformance.matrix "$@"

# Measure servers that have passed: bench WORKLOAD [NAME…]
bench *ARGS: _environment
    @exec {{ python }} -m bench "$@"

# Generate load for a bench that runs on another machine: worker HOST
worker *ARGS: _environment
    @exec {{ python }} -m bench.worker "$@"

# Write results as an HTML page: report [RESULT…]
report *ARGS: _environment
    @exec {{ python }} -m bench.report "$@"

# Compare two results: compare BEFORE AFTER
compare *ARGS: _environment
    @exec {{ python }} -m bench.analysis.compare "$@"

# Check a result and put it among the published ones: submit RESULT
submit *ARGS: _environment
    @exec {{ python }} -m upkeep submit "$@"

# Write the figures in README.md and docs/ from published results; --check only compares
figures *ARGS: _environment
    @exec {{ python }} -m upkeep figures "$@"

# Build the site of published results and recorded behaviours: site [DIR]
site *ARGS: _environment
    @exec {{ python }} -m upkeep site "$@"

# List the servers and their deployments
list *ARGS: _environment
    @exec {{ python }} -m harness list "$@"

# Copy a server as the start of your own, or start one: new NAME DIR|--skeleton LANGUAGE/NAME
new *ARGS: _environment
    @exec {{ python }} -m harness new "$@"

# Install and build all that servers need: setup [NAME…]
setup *ARGS: _environment
    @exec {{ python }} -m harness setup "$@"

# Check this machine's prerequisites
doctor *ARGS: _environment
    @exec {{ python }} -m harness doctor "$@"

# Run only the databases and the slow upstream
services *ARGS: _environment
    @exec {{ python }} -m harness services "$@"

# Reset the databases to the fixtures
reset *ARGS: _environment
    @exec {{ python }} -m harness reset "$@"

# Test everything: harness, suite and servers; `test quick` runs a subset in minutes
test *ARGS: lint
    @[ $# -gt 0 ] || exec {{ mortal }} just _everything; \
    if [ "$1" = quick ]; then shift; set -- -m quick {{ together }} "$@"; fi; \
    exec {{ python }} -m pytest {{ counted }} "$@"

# All servers first: later tests find their verdicts
_everything:
    {{ mortal }} {{ python }} -m pytest {{ counted }} tests/test_all_servers.py
    {{ mortal }} {{ python }} -m pytest {{ counted }} {{ together }} -m "not alone" --ignore tests/test_all_servers.py
    {{ mortal }} {{ python }} -m pytest {{ counted }} -m alone

counted := "-o console_output_style=count"
together := "--numprocesses $(($(getconf _NPROCESSORS_ONLN) + 1)) --dist loadfile --no-loadscope-reorder"

# Run servers' own linters and tests: check [NAME…]
check *ARGS: _environment
    @exec {{ python }} -m harness check "$@"

# Check style and types
[exit-message]
lint: _environment
    exec .venv/bin/ruff check --quiet
    exec .venv/bin/ruff format --check --quiet
    exec .venv/bin/mypy

# Fix style and formatting
fmt: _environment
    @.venv/bin/ruff check --quiet --fix-only
    @.venv/bin/ruff format --quiet

# Upgrade every Python lock file
lock:
    @uv pip compile {{ lock }} --group dev --output-file requirements/project.txt pyproject.toml
    @for one in tools mongodb postgresql node go actionlint; do uv pip compile {{ lock }} --no-deps --group "$one" --output-file "requirements/$one.txt" || exit; done

lock := "--quiet --universal --upgrade --generate-hashes --no-header --no-annotate --python-version 3.11"

# Scripts in .venv contain its path: it is created again after the clone has moved.
_environment:
    @[ -x .venv/bin/python ] && pwd | cat - requirements/project.txt | cmp -s - .venv/.installed-from || exec {{ mortal }} just _install

_install:
    @[ -w . ] || { echo "error: cannot write to $(pwd): clone to a folder that this user can write to" >&2; exit 2; }
    @echo "installing the project's own packages (once)" >&2
    @if [ -f .venv/.installed-from ] && [ "$(head -n 1 .venv/.installed-from)" != "$(pwd)" ]; then rm -rf .venv; fi
    @exec {{ mortal }} uv venv --quiet --allow-existing --python '>=3.11' .venv
    @exec {{ mortal }} uv pip sync --quiet --require-hashes --compile-bytecode requirements/project.txt
    @pwd | cat - requirements/project.txt > .venv/.installed-from.new
    @mv .venv/.installed-from.new .venv/.installed-from
