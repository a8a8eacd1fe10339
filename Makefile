# Every target works from a fresh clone: what it needs is installed first.
SHELL := /bin/bash
.DEFAULT_GOAL := help
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
APPROVE ?=
FAULTS ?= 1000
SEED ?=
ROUNDS ?= 5

.PHONY: help demo test chaos e2e verify generate bench cluster cluster-down image clean

help: ## print every target with one line each
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-14s %s\n", $$1, $$2 }'

# npm ci leaves a stamp, so that a target costs nothing once the packages are there.
node_modules/.stamp: package.json package-lock.json
	@npm ci --no-audit --no-fund --loglevel=error
	@touch $@

demo: node_modules/.stamp ## run examples/triage locally and stop at its question (APPROVE=all answers it)
	@node src/local/demo.ts $(if $(APPROVE),--approve $(APPROVE))

test: node_modules/.stamp ## run every test against a real API server, Postgres and MCP servers
	@vitest run $(if $(REPORT),--reporter=default --reporter=json --outputFile.json=$(REPORT))

chaos: node_modules/.stamp ## let FAULTS=1000 faults of a seeded plan (SEED=…) hit several dispatchers, and judge what came of it
	@node test/chaos/main.ts --faults $(FAULTS) $(if $(SEED),--seed $(SEED))

e2e: node_modules/.stamp ## not there yet: the end-to-end test on a real node
	@echo "make e2e: the chart and the image are not part of this version" >&2; exit 2

verify: node_modules/.stamp ## check types, style and that generated files are current
	@tsc
	@biome check --error-on-warnings
	@node src/generate/verify.ts

generate: node_modules/.stamp ## write what is made from the code: CRDs, error codes
	@node src/generate/generate.ts

# The peers are packages that nothing else needs: installed here, never by `npm ci` above.
bench/node_modules/.stamp: bench/package.json bench/package-lock.json
	@npm ci --prefix bench --no-audit --no-fund --loglevel=error
	@touch $@

bench: node_modules/.stamp bench/node_modules/.stamp ## measure Holdpoint beside its peers, ROUNDS=5 times, and write bench/REPORT.md
	@node bench/main.ts --rounds $(ROUNDS) --write

cluster: node_modules/.stamp ## start a Kubernetes API with the CRDs and policies, and leave it running
	@node test/cluster/main.ts up

cluster-down: node_modules/.stamp ## stop what make cluster started
	@node test/cluster/main.ts down

image: ## not there yet: the container image
	@echo "make image: there is no image in this version" >&2; exit 2

clean: ## remove what was installed and built inside the repository
	@rm -rf node_modules dist .holdpoint coverage
