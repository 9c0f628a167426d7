# Deliberately thin: every target is one Go command per module. `make help` lists the targets.
SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help

VERSION ?= v2.0.0
# All providers, the one with the slowest tests first.
PROVIDERS := vsphere $(filter-out vsphere,$(sort $(patsubst providers/%/main.go,%,$(wildcard providers/*/main.go))))
PROVIDER ?= vsphere
TEST_FLAGS ?=
# Number of modules tested in parallel.
JOBS ?= 2
# Modules that third parties import: docs/decisions/modules.md.
APIS := shared/api $(PROVIDERS:%=providers/%/api)
MODULES := $(APIS) shared kubectl-fd $(PROVIDERS:%=providers/%) e2e
ifeq ($(filter $(PROVIDER),$(PROVIDERS)),)
$(error Unknown provider "$(PROVIDER)": PROVIDER must be one of $(PROVIDERS))
endif
ifneq ($(filter-out $(MODULES),$(MODULE)),)
$(error Unknown module "$(MODULE)": MODULE must be one of $(MODULES))
endif
# Modules that test, lint, build and generate process: one, or all.
CHOSEN := $(or $(MODULE),$(MODULES))
.DEFAULT: ; $(error Unknown target "$@": make help lists all targets)

CACHE := $(CURDIR)/.cache
BIN := $(CACHE)/bin
OUT := $(CURDIR)/out
# Nothing that make builds has debug information: panics and profiles need none, and compiling takes 6 % less time, linking 10 %.
export GOFLAGS := -buildvcs=false -trimpath -gcflags=all=-dwarf=false
# cgo is disabled everywhere, so that images and tests share one build cache. Only the race detector needs it.
export CGO_ENABLED := 0
# Each module is built without the workspace, as its users build it: go.work is for editors.
export GOWORK := off
# One Go version builds all modules, tools and releases: the one in go.mod, regardless of the installed version.
export GOTOOLCHAIN := $(shell awk '$$1 == "toolchain" {print $$2}' shared/go.mod)

GOLANGCI_LINT := $(BIN)/golangci-lint

.PHONY: demo test help test-full assets deflake operator kubevirt e2e bench storm takeover lint fuzz vulncheck build kubectl-fd generate tidy verify release images docs docs-serve clean

##@ Start here
demo: ## Create a cluster over failure domains, lose and repair one. STORY=, PROVIDER=, FLAVOR=topology and KEEP=1: docs/demo.md
	@echo "Compiling the demo (takes some minutes the first time, without output)"
	@cd e2e && $(if $(BMO),$(REAL_OPERATOR) )$(if $(KUBEVIRT),$(REAL_KUBEVIRT) )go run ./cmd/e2e demo --provider=$(PROVIDER) $(if $(STORY),--story=$(STORY)) $(if $(FLAVOR),--flavor=$(FLAVOR)) $(if $(KEEP),--keep)

test: assets ## Run the unit and integration tests of every module, or of MODULE, in a few minutes (no Docker)
	@$(MAKE) --no-print-directory --keep-going --jobs=$(JOBS) $(CHOSEN:%=test/%)

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-zA-Z0-9_\/-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Develop
# Test programs have no symbol table, and `make lint` runs vet. Tests mostly wait, so more run in parallel than there are cores. With four times
# the heap they take three quarters of the CPU time; each program may use a twelfth of the free memory, and at least 1 GiB.
TEST := go test -ldflags=-s -vet=off -parallel=6 -timeout=60m
test test-full deflake: export GOGC := 400
# A program with the race detector would sleep for a second before it exits.
test-full deflake: export GORACE := atexit_sleep_ms=0
test test-full deflake: export GOMEMLIMIT := $(shell awk '$$1 == "MemAvailable:" {print int($$2 > 12582912 ? $$2 / 12 : 1048576) "KiB"}' /proc/meminfo)
ASSETS = KUBEBUILDER_ASSETS=$$(cd $(CURDIR)/e2e && go run ./cmd/binaries --print-path)
test-full: assets ## Run what `make test` leaves out, of every module or of MODULE: tests tagged full, and all but e2e's with the race detector (no Docker)
	@$(MAKE) --no-print-directory --keep-going --jobs=$(JOBS) $(CHOSEN:%=test-full/%)
.PHONY: $(MODULES:%=test/%) $(MODULES:%=test-full/%)
$(MODULES:%=test/%): test/%: ; cd $* && $(ASSETS) $(TEST) $(TEST_FLAGS) ./...
$(MODULES:%=test-full/%): test-full/%: ; $(ASSETS) e2e/scripts/test-full $* $(TEST) $(TEST_FLAGS)

assets: ## Build etcd, kube-apiserver, kube-scheduler and kubectl for the integration tests (once)
	@echo "Preparing the API server for the tests (takes some minutes the first time)"
	@cd e2e && go run ./cmd/binaries --assets

deflake: assets ## Run the tests of one module until one fails: make deflake MODULE=providers/vsphere
	$(if $(MODULE),,$(error MODULE is required: make deflake MODULE=..., one of $(MODULES)))
	@$(ASSETS) e2e/scripts/test-full --repeat $(MODULE) $(TEST)

CLUSTER ?= faultline
# Specs run in parallel if they mostly wait; booting machines use two cores completely.
# On Harvester, pools assign the only address of simulated control planes, so parallel specs would compete for it.
PROCS ?= $(if $(and $(FAST),$(filter-out harvester,$(PROVIDER))),3,1)
LABEL ?= !long
# Third-party programs, named by BMO=FILE or KUBEVIRT=FOLDER, or else copied from their images. BMO_RELEASE is the kustomize folder of the
# operator's release, by default that of its module.
BMO_VERSION := v0.13.2
BMO_IMAGE := quay.io/metal3-io/baremetal-operator
BMO_RELEASE ?= $(shell e2e/scripts/module github.com/metal3-io/baremetal-operator@$(BMO_VERSION))/config/default
REAL_OPERATOR = FAULTLINE_BMO=$(abspath $(or $(BMO),$(BIN)/baremetal-operator)) FAULTLINE_BMO_RELEASE=$(BMO_RELEASE)
operator:
	@e2e/scripts/program BMO "$(BMO)" $(BIN)/baremetal-operator $(BMO_IMAGE):$(BMO_VERSION) /baremetal-operator
KUBEVIRT_VERSION := v1.6.3
KUBEVIRT_IMAGES := quay.io/kubevirt
REAL_KUBEVIRT = FAULTLINE_KUBEVIRT=$(abspath $(or $(KUBEVIRT),$(BIN)/kubevirt))
kubevirt: kubevirt/virt-api kubevirt/virt-controller kubevirt/virt-operator
kubevirt/%: ; @e2e/scripts/program KUBEVIRT "$(KUBEVIRT:%=%/$*)" $(BIN)/$@ $(KUBEVIRT_IMAGES)/$*:$(KUBEVIRT_VERSION) /usr/bin/$*

# AUTOSCALER=FILE is the program cluster-autoscaler; RKE2=FOLDER has rke2-bootstrap and rke2-controlplane. RKE2_RELEASE is the folder of their
# sources, by default that of their module. The environment does not set it, because templates have a variable of the same name.
RKE2_VERSION := v0.25.0
RKE2_RELEASE = $(shell e2e/scripts/module github.com/rancher/cluster-api-provider-rke2@$(RKE2_VERSION))
REAL_RKE2 = FAULTLINE_RKE2=$(abspath $(RKE2)) FAULTLINE_RKE2_RELEASE=$(RKE2_RELEASE)

# Missing Debian packages of the kind environment are installed only with INSTALL=1 or CI=true.
e2e images: export FAULTLINE_INSTALL := $(or $(INSTALL),$(FAULTLINE_INSTALL))
e2e: ## Run Cluster API's specs and Faultline's in kind. FAST=1, PROVIDER=, LABEL=: e2e/specs/README.md; real programs: CONTRIBUTING.md
ifneq ($(RKE2),)
e2e:
	cd e2e && $(REAL_RKE2) $(TEST) -v -tags=e2e -count=1 -timeout=40m $(TEST_FLAGS) ./realrke2
else ifneq ($(AUTOSCALER),)
e2e:
	cd e2e && FAULTLINE_AUTOSCALER=$(abspath $(AUTOSCALER)) $(TEST) -v -tags=e2e -count=1 -timeout=40m $(TEST_FLAGS) ./realautoscaler
else ifneq ($(OPERATOR)$(KUBEVIRT),)
ifeq ($(PROVIDER),harvester)
e2e: kubevirt assets
	cd providers/harvester && $(REAL_KUBEVIRT) $(ASSETS) $(TEST) -v -tags=full -count=1 -p 1 -timeout=40m $(TEST_FLAGS) ./simulator ./internal/controller/harvestermachine ./internal/setup
else
e2e: operator
	$(if $(filter metal3,$(PROVIDER)),,$(error OPERATOR=real is for PROVIDER=metal3 and PROVIDER=harvester))
	cd e2e && $(REAL_OPERATOR) $(TEST) -v -tags=e2e -count=1 -timeout=40m $(TEST_FLAGS) ./realoperator
endif
else
e2e:
	e2e/scripts/specs $(CLUSTER) $(PROVIDER) '$(LABEL)' $(PROCS) $(FAST)
endif

bench: assets ## Print planner times and the cost of a machine in calls, seconds, CPU and memory. PROVIDER=, SCALE=: docs/benchmarks.md
ifdef SCALE
	cd e2e && go run ./cmd/e2e bench --provider=$(PROVIDER) --scale=$(SCALE)
else
	cd shared && go test -run=NONE -bench . -benchmem ./failuredomain/
	$(if $(filter metal3,$(PROVIDER)),cd providers/metal3 && go test -run=NONE -bench Ask ./internal/hosts/)
	$(if $(filter harvester,$(PROVIDER)),cd providers/harvester && $(ASSETS) go test -run=NONE -bench AllAddresses -benchtime 1x -timeout 3h ./internal/ipam/)
	$(if $(filter harvester,$(PROVIDER)),cd providers/harvester && $(ASSETS) go test -run=NONE -bench LoadBalancers -benchtime 1x -timeout 1h ./internal/loadbalancer/controllers/)
	cd e2e && go run ./cmd/e2e bench --provider=$(PROVIDER)
endif

storm: ## Kill the manager at random moments while machines come and go. PROVIDER=, MODE=, KILLS=, SEED=: e2e/chaos/README.md
	cd e2e && $(if $(RKE2),$(REAL_RKE2)) go run ./cmd/e2e storm --provider=$(PROVIDER) $(if $(KILLS),--kills=$(KILLS)) $(if $(MODE),--mode=$(MODE)) $(if $(SEED),--seed=$(SEED)) $(if $(SEEDS),--seeds=$(SEEDS)) $(if $(CONTROL_PLANE),--control-plane=$(CONTROL_PLANE)) $(if $(CLUSTERS),--clusters=$(CLUSTERS)) $(if $(API_SERVER),--api-server=$(API_SERVER))

takeover: ## Take over a cluster of upstream's manager, on simulators. PROVIDER=metal3, CAPM3=FOLDER: e2e/takeover/README.md
	$(if $(filter harvester,$(PROVIDER)),$(error Takeover does not support harvester: PROVIDER must be one of vsphere metal3))
	$(if $(filter metal3,$(PROVIDER)),$(if $(CAPM3)$(FAULTLINE_CAPM3),,$(error CAPM3 must be a checkout of cluster-api-provider-metal3, v1.12 or later: make takeover PROVIDER=metal3 CAPM3=FOLDER)))
	cd e2e && $(if $(CAPM3),FAULTLINE_CAPM3=$(abspath $(CAPM3)) )$(TEST) -v -tags=e2e -count=1 -timeout=25m -run 'TestTakeOver(?i:$(PROVIDER))' $(TEST_FLAGS) ./takeover

lint: ## Check the words of comments, messages and pages, and run golangci-lint in every module, or in MODULE
	@cd e2e && go run ./cmd/prose $(MODULE)
	@cd e2e && go run ./cmd/binaries golangci-lint
	@status=0; for module in $(CHOSEN); do echo "lint $$module"; (cd $$module && $(GOLANGCI_LINT) run --allow-parallel-runners --config $(CURDIR)/.golangci.yml ./...) || status=1; done; exit $$status

RUNS ?= 10000
fuzz: ## Run each fuzz target of all modules, or of MODULE, with RUNS=10000 inputs. Commit failing inputs, in testdata, with the fix
	@e2e/scripts/fuzz $(RUNS) $(CHOSEN)

vulncheck: ## Fail if a program of any module, or of MODULE, has a known vulnerability, by the database in e2e/build/vulncheck
	@cd e2e && go run ./cmd/e2e vulncheck --modules="$(CHOSEN)"

build: ## Build every module separately, or MODULE
	@for module in $(CHOSEN); do echo "build $$module"; (cd $$module && go build ./...) || exit 1; done

kubectl-fd: ## Build the kubectl plugin, out/bin/kubectl-fd
	@mkdir -p $(OUT)/bin
	cd kubectl-fd && go build -ldflags '-s -w -X main.version=$(VERSION)' -o $(OUT)/bin/kubectl-fd . && cp kubectl_complete-fd $(OUT)/bin/

docs: ## Build the documentation site of VERSION: out/site/<version>. BASE_URL= is the address of all versions. First compiles Hugo
	@cd e2e && go run ./cmd/e2e docs --version=$(VERSION) $(if $(BASE_URL),--base-url=$(BASE_URL)) --out=$(OUT)/site

docs-serve: ## Build the documentation site and show it on http://localhost:1313
	@cd e2e && go run ./cmd/e2e docs --version=$(VERSION) --out=$(OUT)/site --serve=localhost:1313

##@ Generated files
generate: export CONTROLLER_GEN := sigs.k8s.io/controller-tools/cmd/controller-gen@v0.21.0
generate: ## Write deepcopy functions, CRDs, RBAC, webhook manifests, charts' files and templates' add-ons, of every module or of MODULE
	@for module in $(CHOSEN); do (cd $$module && go generate ./...) || exit 1; done

tidy:
	@for module in $(MODULES); do (cd $$module && go mod tidy) || exit 1; done

verify: generate tidy ## Fail if a generated file or a go.mod is out of date
	@git status --porcelain; test -z "$$(git status --porcelain)"

##@ Release
# Not read from the environment, where other projects may set it.
REGISTRY :=
KUBECTL_FD_PLATFORMS := linux-amd64 linux-arm64 darwin-amd64 darwin-arm64 windows-amd64
# Architectures of the images in out/images/<version>/.
ARCHITECTURES := amd64,arm64
# The version and commit that programs in images report. The Dockerfile takes both as arguments.
COMMIT = $(shell git rev-parse HEAD 2>/dev/null)$(if $(shell git status --porcelain 2>/dev/null),-dirty)
release images: export FAULTLINE_RELEASE := $(VERSION)
release images: export FAULTLINE_COMMIT = $(COMMIT)
release: ## Write all files of VERSION= to out/: RELEASE.md. REGISTRY= replaces docker.io/faultline, ARCHITECTURES= (empty) omits images
	rm -rf $(OUT)/*/$(VERSION)
	e2e/scripts/kubectl-fd $(VERSION) $(OUT)/kubectl-fd/$(VERSION) $(KUBECTL_FD_PLATFORMS)
	cd e2e && go run ./cmd/e2e release --version=$(VERSION) $(if $(REGISTRY),--registry=$(REGISTRY)) --out=$(OUT) --architectures=$(ARCHITECTURES) --commit=$(COMMIT) --created=$$(git log -1 --format=%cI 2>/dev/null)

images: ## Build the images of providers and charts in Docker, REGISTRY= as for `make release`. INSTALL=1 installs Docker from Debian
	cd e2e && go run ./cmd/e2e kind --providers=$(subst $(space),$(comma),$(PROVIDERS)) --version=$(VERSION) $(if $(REGISTRY),--registry=$(REGISTRY)) managers
comma := ,
space := $(subst ,, )

clean: ## Remove everything that this clone has built. ALL=1 also removes the programs that all clones on this machine share
	@ALL=$(ALL) e2e/scripts/clean $(CACHE) $(OUT)
