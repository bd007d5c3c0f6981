# Everything is driven from here; `make help` lists it. Only Go is needed: the
# toolchain below is fetched by Go itself.
export GOTOOLCHAIN := go1.27.3
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

TOOL := go tool -modfile=test/tools/go.mod
# The race detector needs a C compiler; without one the tests run without it.
RACE := $(shell command -v "$$(go env CC)" >/dev/null 2>&1 && [ "$$(go env CGO_ENABLED)" = 1 ] && echo -race)
# Programs that run as pods are static; tests built alike share their packages.
STATIC := CGO_ENABLED=0

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## the main job on the embedded fake provider: no cluster, no cloud, no root
	go run ./cmd/gatehouse demo

# The transcripts are hundreds of processes of what the other tests have tested: with
# the race detector each starts in four times the time.
.PHONY: test
test: ## all hermetic tests, with the race detector where there is a C compiler
	@[ -n "$(RACE)" ] || echo "no C compiler: the race detector is off"
	go test $(RACE) $$(go list ./... | grep -v '/cmd/gatehouse$$')
	go test ./cmd/gatehouse

.PHONY: kube
kube: ## the API server, controller manager and etcd for tests: 20 CPU minutes the first time
	./test/kube/build.sh

.PHONY: e2e
e2e: kube ## end-to-end tests on a real API server, pods as processes; Linux with user namespaces, or root
	$(STATIC) go test -tags e2e -count=1 -timeout 30m ./test/e2e/...
	$(STATIC) go test -tags e2e -count=1 -timeout 15m -v ./test/soak/ -args -duration=60s

.PHONY: e2e-mesh
e2e-mesh: kube ## against real SPIRE, real istiod and nginx: a C compiler, nginx, 30 CPU minutes more the first time
	./test/realmesh/build.sh
	$(STATIC) go test -tags e2e -count=1 -timeout 30m -v ./test/realmesh/

DURATION ?= 10m
.PHONY: soak
soak: kube ## everything at once under load for DURATION, 10m; FLAGS=-seed=N repeats a choice of edits
	$(STATIC) go test -tags e2e -count=1 -timeout 90m -v ./test/soak/ -args -duration=$(DURATION) $(FLAGS)

.PHONY: bench-cluster
bench-cluster: kube ## figures of the manager: 1,000 routes, 5,000 endpoints, 500 gateways; FLAGS=-figures=FILE for JSON
	$(STATIC) go test -tags e2e -count=1 -timeout 60m -v ./test/scale/ -args -gateways=100 -samples=50 -idle=5m -flat=500 $(FLAGS)

.PHONY: bench-mesh
bench-mesh: ## figures of mesh members: CA rotations, onboarding and 1,000 gateways, at 500 requests a second
	go test -count=1 -timeout 30m -parallel 1 -v -run 'Rotations|Onboarding|Still|Many' ./test/mesh/ -args -rate=500 -breath=2s -pods=3 -gateways=1000 -tables
	go test -run '^$$' -bench 'Verdicts|Mesh' ./meshsync/ ./internal/translate/

.PHONY: bench-aws
bench-aws: ## figures of the AWS provider on the emulator: calls and virtual seconds, with floors and another controller's beside
	go test -count=1 -timeout 30m -v -run Figures ./providers/aws/bench/ -args -tables

.PHONY: bench-gcp
bench-gcp: ## figures of the Google Cloud provider on the emulator: calls, operations and virtual seconds, with floors beside
	go test -count=1 -timeout 30m -v -run Figures ./providers/gcp/bench/ -args -tables

.PHONY: conformance
conformance: kube ## the whole Gateway API conformance suite, in five profiles; the report goes to docs/conformance
	$(STATIC) ./test/conformance/run.sh

.PHONY: conformance-check
conformance-check: kube ## the whole conformance suite, without writing the report
	$(STATIC) ./test/conformance/run.sh -version v0.0.0-check

.PHONY: conformance-core
conformance-core: kube ## its core tests only
	$(STATIC) ./test/conformance/run.sh -core

.PHONY: conformance-aws
conformance-aws: kube ## the suite on the provider aws, over an emulated account whose load balancers serve; the report goes to docs/conformance
	$(STATIC) ./test/conformance/run.sh aws

.PHONY: lint
lint: ## vet, format, golangci-lint, and a tidy go.mod
	for m in . test/conformance test/kube; do (cd $$m && go mod tidy -diff); done
	$(TOOL) golangci-lint run ./...

.PHONY: bench
bench: ## the figures: ratios and counts, printed
	go test -run '^$$' -bench . -cpu 1 ./lbmodel/ ./internal/translate/
	go test -run '^$$' -bench . ./providers/ ./fake/cloud/ ./internal/manifest/
	go test -run '^$$' -bench Proxy -benchtime 15x ./fake/dataplane/

.PHONY: fuzz
fuzz: ## a minute of each fuzz target (not part of test)
	./test/fuzz.sh 60s

.PHONY: generate
generate: ## deepcopy, CRDs, the copies of Gateway API's CRDs, the README's matrix
	$(TOOL) controller-gen object paths=./api/... paths=./fake/settings/... paths=./providers/aws/settings/... paths=./providers/gcp/settings/...
	$(TOOL) controller-gen crd:crdVersions=v1 paths=./api/... output:crd:dir=deploy/crds
	go run ./internal/manifest/gencrds
	go run ./fake/gcpapi/schema/gen
	go run ./cmd/gatehouse docs --write README.md
	go run ./cmd/gatehouse docs --dir docs/reference
	go run ./cmd/gatehouse graph -f examples/shop -o svg > docs/shop.svg

.PHONY: generated
generated: ## regenerate, and fail if anything in the tree was out of date
	@before=$$(git status --porcelain; git diff | sha256sum); \
	$(MAKE) --no-print-directory generate; \
	after=$$(git status --porcelain; git diff | sha256sum); \
	if [ "$$before" != "$$after" ]; then git status --short; git diff --stat; echo "generated files were out of date: run make generate and commit"; exit 1; fi

.PHONY: build
build: ## bin/gatehouse and bin/gatehouse-controller-manager
	go build -trimpath -o bin/ ./cmd/gatehouse ./cmd/gatehouse-controller-manager
