# Thin on purpose: every verb is one Go command per module. `make help` lists them.
SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help

VERSION ?= v2.0.0
# Those that there are, the one whose tests take longest first.
PROVIDERS := vsphere $(filter-out vsphere,$(sort $(patsubst providers/%/main.go,%,$(wildcard providers/*/main.go))))
PROVIDER ?= vsphere
TEST_FLAGS ?=
# Modules tested at the same time.
JOBS ?= 2
# Those that others import: docs/decisions/modules.md.
APIS := shared/api $(PROVIDERS:%=providers/%/api)
MODULES := $(APIS) shared kubectl-fd $(PROVIDERS:%=providers/%) e2e
ifeq ($(filter $(PROVIDER),$(PROVIDERS)),)
$(error There is no provider "$(PROVIDER)": PROVIDER is one of $(PROVIDERS))
endif
ifneq ($(filter-out $(MODULES),$(MODULE)),)
$(error There is no module "$(MODULE)": MODULE is one of $(MODULES))
endif
# What test, lint and build are about: one module, or all.
CHOSEN := $(or $(MODULE),$(MODULES))
.DEFAULT: ; $(error There is no target "$@": make help lists those there are)

CONTROLLER_GEN_VERSION := v0.21.0

CACHE := $(CURDIR)/.cache
BIN := $(CACHE)/bin
OUT := $(CURDIR)/out
export GOFLAGS := -buildvcs=false -trimpath
# cgo is off everywhere, so that images and tests share one build cache. Only the race detector needs it.
export CGO_ENABLED := 0
# Modules are built alone, as their users build them: go.work is for editors.
export GOWORK := off
# One Go builds all modules, tools and what is released: the one that go.mod names, whatever this machine has.
export GOTOOLCHAIN := $(shell awk '$$1 == "toolchain" {print $$2}' shared/go.mod)

CONTROLLER_GEN := go run sigs.k8s.io/controller-tools/cmd/controller-gen@$(CONTROLLER_GEN_VERSION)
GOLANGCI_LINT := $(BIN)/golangci-lint

##@ Start here
.PHONY: demo
demo: ## Bring up a cluster spread over failure domains, lose a domain, repair it. STORY=add, evict, return, workers or logical tells another, PROVIDER=metal3 does it on bare metal, FLAVOR=topology with a ClusterClass, KEEP=1 leaves it running
	@echo "Compiling the demo (some minutes the first time, silent until it is done)"
	@cd e2e && $(if $(BMO),$(REAL_OPERATOR) )$(if $(KUBEVIRT),$(REAL_KUBEVIRT) )go run ./cmd/e2e demo --provider=$(PROVIDER) $(if $(STORY),--story=$(STORY)) $(if $(FLAVOR),--flavor=$(FLAVOR)) $(if $(KEEP),--keep)

.PHONY: test
test: assets ## Run the unit and integration tests of every module, or of MODULE (no Docker). RACE=all has the race detector watch all of them
	@$(MAKE) --no-print-directory --keep-going --jobs=$(JOBS) $(TESTS)

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-zA-Z_\/-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Develop
ASSETS = $$(cd $(CURDIR)/e2e && go run ./cmd/binaries --print-path)
# The end-to-end module goes first: it waits more than it computes, beside the others.
TESTS := $(filter test/e2e,$(CHOSEN:%=test/%)) $(filter-out test/e2e,$(CHOSEN:%=test/%))
# The race detector slows a package down several times. Where that costs minutes it watches the tests in which goroutines of
# ours meet most, and the package's others run without it; with RACE=all it watches every test. Packages in which no goroutines
# of ours meet are left out (UNWATCHED): programs that it watches take longer to link, and they start an API server all the same.
# Tests on vcsim's own collector, which races by itself, skip the detector: STOCK runs those that only it has watched so far.
# What takes longest goes first, as the rest runs beside it.
WATCH = $(if $(filter all,$(RACE)),.,$(MEETINGS))
.PHONY: $(MODULES:%=test/%)
# The API server, etcd and the simulators make much garbage and keep little: with four times the heap, tests take three quarters
# of the CPU. The limit is for machines with little memory. Nobody debugs the programs of tests, which link in half the time so.
$(MODULES:%=test/%): export GOGC := 400
$(MODULES:%=test/%): export GOMEMLIMIT := 1GiB
TEST := go test -ldflags=-w
RACED := CGO_ENABLED=1 $(TEST) -race
# Tests of providers wait for events more than they compute, so more of them run at a time than there are cores. Without
# -shuffle, which CI and deflake add, a module that has not changed need not be tested again.
PROVIDER_FLAGS := -parallel=6 -timeout=25m
# The model of a control plane is one goroutine and most of the CPU.
test/shared: assets ; cd shared && export KUBEBUILDER_ASSETS=$(ASSETS); status=0; \
	$(RACED) -skip NoInterleaving $(TEST_FLAGS) ./... || status=1; $(TEST) -v -run NoInterleaving $(TEST_FLAGS) ./rebalance && exit $$status
$(APIS:%=test/%): test/%: ; cd $* && $(TEST) $(TEST_FLAGS) ./...
test/kubectl-fd: assets ; cd kubectl-fd && KUBEBUILDER_ASSETS=$(ASSETS) $(TEST) $(TEST_FLAGS) ./...
test/providers/vsphere: PARTLY := ./internal/setup ./internal/vcenter ./simulator
test/providers/vsphere: UNWATCHED := ./internal/clustermodule ./internal/conversion ./internal/guestinfo ./internal/ipam ./internal/placement \
	./internal/provider ./internal/webhook ./internal/vcenter/hardware
test/providers/vsphere: MEETINGS := FiftyMachines|SlowNeighbour|SessionsExpire|PasswordRotated|Restart|Another|Outage|WhileVCenterIsDown
test/providers/vsphere: MEETINGS := $(MEETINGS)|JoinAGroup|JoinOneGroup|ManyTasks|ExpiredSession|IdleSession|CloseLogs|ChangesOfAShortTime
test/providers/vsphere: MEETINGS := $(MEETINGS)|SideBySide|OneNameOneVM|WhileTasksCome|CloseWithHeldTask
test/providers/vsphere: STOCK := COLLECTOR=stock $(TEST) $(PROVIDER_FLAGS) -run '$(MEETINGS)' $(TEST_FLAGS) ./internal/vcenter
test/providers/metal3: PARTLY := ./internal/setup ./simulator
test/providers/metal3: UNWATCHED := ./internal/conversion ./internal/placement ./internal/render ./internal/webhook \
	./simulator/internal/lifecycle ./simulator/internal/operator
test/providers/metal3: MEETINGS := TwoManagers|Restart|MachinesAreServed|ADomainIsLost|FaultsOfOneHost|AHostIsMoved
test/providers/harvester: PARTLY := ./internal/setup ./internal/cloudprovider/guest ./internal/controller/harvestermachine
test/providers/harvester: UNWATCHED := ./internal/controller/harvestercluster ./internal/ipam/allocation ./internal/ipam/ipaddr \
	./internal/ipam/ippools ./internal/loadbalancer ./internal/loadbalancer/webhook ./internal/owned ./internal/placement \
	./internal/virtualmachine ./internal/webhook ./simulator ./simulator/internal/cluster ./simulator/internal/virtualmachines
test/providers/harvester: MEETINGS := ComeAndGo|RunsInItsFailureDomain|HarvesterDisobeys
# What takes minutes to build counts against the time that tests may take unless it is there before.
test/providers/vsphere: BEFORE := cd e2e && go run ./cmd/binaries in-cluster-ipam
$(PROVIDERS:%=test/providers/%): test/providers/%: assets ; $(if $(BEFORE),($(BEFORE));) cd providers/$* && export KUBEBUILDER_ASSETS=$(ASSETS); status=0; \
	$(RACED) $(PROVIDER_FLAGS) $(TEST_FLAGS) $$(go list ./... | grep -v -x -F "$$(go list $(PARTLY) $(UNWATCHED))") || status=1; \
	$(RACED) $(PROVIDER_FLAGS) -run '$(WATCH)' $(TEST_FLAGS) $(PARTLY) $(if $(filter all,$(RACE)),$(UNWATCHED)) || status=1; \
	$(TEST) $(PROVIDER_FLAGS) $(if $(filter all,$(RACE)),,-skip '$(MEETINGS)') $(TEST_FLAGS) $(PARTLY) || status=1; \
	$(TEST) $(PROVIDER_FLAGS) $(TEST_FLAGS) $(UNWATCHED) || status=1; \
	$(or $(STOCK),true) && exit $$status
test/e2e: assets ; cd e2e && KUBEBUILDER_ASSETS=$(ASSETS) $(TEST) -timeout=25m $(TEST_FLAGS) ./...

.PHONY: assets
assets: ## Build etcd, kube-apiserver, kube-scheduler and kubectl for the integration tests (once)
	@echo "Preparing the API server for the tests (some minutes the first time)"
	@cd e2e && go run ./cmd/binaries --assets

.PHONY: deflake
deflake: assets ## Run the tests of one module until one fails: make deflake MODULE=providers/vsphere
	$(if $(MODULE),,$(error Say which module: make deflake MODULE=..., one of $(MODULES)))
	@cd $(MODULE) && while KUBEBUILDER_ASSETS=$(ASSETS) $(RACED) -shuffle=on -count=1 -timeout 40m ./...; do :; done

CLUSTER ?= faultline
# Specs run beside each other where they mostly wait; booting machines take all that two cores have.
# On Harvester pools hand out the one address that simulated control planes have, so a spec would take another's.
PROCS ?= $(if $(and $(FAST),$(filter-out harvester,$(PROVIDER))),3,1)
LABEL ?= !long
# The labels that specs have: words in quotes, and constants.
define LABELS
$$({ grep -ho 'Label([^)]*)' e2e/specs/*_test.go | grep -o '"[^"]*"' | tr -d '"'; sed -n 's/^\t\(only[A-Z][a-z]*\|long\|demonstrated\) *= "\(.*\)".*/\2/p' e2e/specs/suite_test.go; } | sort -u)
endef
SPECS = -e2e.cluster=$(CLUSTER) -e2e.provider=$(PROVIDER) $(if $(FAST),-e2e.fast)
# The real bare-metal operator: BMO is its program, BMO_RELEASE the kustomize folder of its release, by default that of its module. BMO_IMAGE
# has the program where images can be pulled.
BMO_VERSION := v0.13.2
BMO_IMAGE := quay.io/metal3-io/baremetal-operator:$(BMO_VERSION)
BMO_RELEASE ?= $(shell cd e2e && go mod download -json github.com/metal3-io/baremetal-operator@$(BMO_VERSION) | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')/config/default
REAL_OPERATOR = FAULTLINE_BMO=$(abspath $(or $(BMO),$(BIN)/baremetal-operator)) FAULTLINE_BMO_RELEASE=$(BMO_RELEASE)
.PHONY: operator
operator:
	@$(if $(BMO),test -x $(BMO) || { echo "BMO=$(BMO) is no program" >&2; exit 1; },mkdir -p $(BIN) && \
		id=$$(docker create $(BMO_IMAGE)) && docker cp $$id:/baremetal-operator $(BIN)/ && docker rm $$id >/dev/null || \
		{ echo "Cannot pull $(BMO_IMAGE): give the program of the bare-metal operator $(BMO_VERSION) with BMO=FILE" >&2; exit 1; })

# The control plane of the real KubeVirt: KUBEVIRT is the folder with its programs, all of one release. Without it they come from upstream's images.
KUBEVIRT_VERSION := v1.6.3
KUBEVIRT_IMAGES := quay.io/kubevirt
KUBEVIRT_PROGRAMS := virt-api virt-controller virt-operator
REAL_KUBEVIRT = FAULTLINE_KUBEVIRT=$(abspath $(or $(KUBEVIRT),$(BIN)/kubevirt))
.PHONY: kubevirt
kubevirt:
	@for program in $(KUBEVIRT_PROGRAMS); do $(if $(KUBEVIRT),test -x $(KUBEVIRT)/$$program || { echo "KUBEVIRT=$(KUBEVIRT) has no program $$program: it is a folder with $(KUBEVIRT_PROGRAMS) of one release" >&2; exit 1; },mkdir -p $(BIN)/kubevirt && \
		id=$$(docker create $(KUBEVIRT_IMAGES)/$$program:$(KUBEVIRT_VERSION)) && docker cp $$id:/usr/bin/$$program $(BIN)/kubevirt/ && docker rm $$id >/dev/null || \
		{ echo "Cannot pull $(KUBEVIRT_IMAGES)/$$program:$(KUBEVIRT_VERSION): give the folder with the programs $(KUBEVIRT_PROGRAMS) of KubeVirt with KUBEVIRT=FOLDER" >&2; exit 1; }); done

# What the kind environment lacks of Debian's packages is installed only where that is asked for, here or with CI=true.
e2e images: export FAULTLINE_INSTALL := $(or $(INSTALL),$(FAULTLINE_INSTALL))
.PHONY: e2e
e2e: ## Run Cluster API's own specs and ours in kind. FAST=1 keeps workload clusters in memory, PROVIDER=metal3 is bare metal, LABEL=... picks specs, LABEL=long the longest. INSTALL=1 installs docker.io and debootstrap from Debian where they are missing and needed. OPERATOR=real does without kind: PROVIDER=metal3 runs a cluster under upstream's bare-metal operator, PROVIDER=harvester our manager under the real virt-controller and virt-api (KUBEVIRT=FOLDER)
ifneq ($(OPERATOR)$(KUBEVIRT),)
ifeq ($(PROVIDER),harvester)
e2e: kubevirt assets
	cd providers/harvester && $(REAL_KUBEVIRT) KUBEBUILDER_ASSETS=$(ASSETS) $(TEST) -v -count=1 -p 1 -timeout=40m $(TEST_FLAGS) ./simulator ./internal/controller/harvestermachine ./internal/setup
else
e2e: operator
	$(if $(filter metal3,$(PROVIDER)),,$(error OPERATOR=real is for PROVIDER=metal3 and PROVIDER=harvester))
	cd e2e && $(REAL_OPERATOR) $(TEST) -v -tags=e2e -count=1 -timeout=40m -run TestTheRealOperator $(TEST_FLAGS) ./realoperator
endif
else
e2e:
	@rm -f $(OUT)/e2e/failure.txt
	@for word in $$(grep -o '[A-Za-z][A-Za-z0-9-]*' <<<'$(LABEL)'); do grep -qx -- "$$word" <<<"$(LABELS)" || \
		{ echo "No spec has the label $$word: LABEL is made of" $(LABELS) >&2; exit 1; }; done
	@mkdir -p $(CACHE)
	@cd e2e && go test -c -tags=e2e -ldflags=-w -o $(CACHE)/specs.test ./specs && cd specs && $(CACHE)/specs.test -ginkgo.dry-run \
		-ginkgo.label-filter='$(LABEL)' $(SPECS) >/dev/null
	cd e2e && go run ./cmd/e2e kind --name=$(CLUSTER) --providers=$(PROVIDER) $(if $(FAST),,--boot) up
	cd e2e && go tool ginkgo -v --tags=e2e --procs=$(PROCS) --timeout=80m --label-filter='$(LABEL)' ./specs -- $(SPECS) || { cat $(OUT)/e2e/failure.txt 2>/dev/null; exit 1; }
endif

.PHONY: bench
bench: assets ## Print planner times and what a machine costs in calls, seconds, CPU and memory. PROVIDER=metal3 for bare metal, SCALE=1 for a large vCenter, with PROVIDER=metal3 for spreading 500 workers and 1,000 control planes. PROVIDER=harvester for a /16 of addresses, 1,000 load balancers and a Harvester that answers late beside another, with SCALE=1 for ten minutes at rest
ifdef SCALE
	cd e2e && go run ./cmd/e2e bench --provider=$(PROVIDER) --scale=$(SCALE)
else
	cd shared && go test -run '^$$' -bench . -benchmem ./failuredomain/
	$(if $(filter metal3,$(PROVIDER)),cd providers/metal3 && go test -run '^$$' -bench Ask ./internal/hosts/)
	$(if $(filter harvester,$(PROVIDER)),cd providers/harvester && KUBEBUILDER_ASSETS=$(ASSETS) go test -run '^$$' -bench AllAddresses -benchtime 1x -timeout 3h ./internal/ipam/)
	$(if $(filter harvester,$(PROVIDER)),cd providers/harvester && KUBEBUILDER_ASSETS=$(ASSETS) go test -run '^$$' -bench LoadBalancers -benchtime 1x -timeout 1h ./internal/loadbalancer/balancer/)
	cd e2e && go run ./cmd/e2e bench --provider=$(PROVIDER)
endif

.PHONY: storm
storm: ## Kill the manager 200 times (KILLS=) at random while machines are made and deleted, with vCenter or hosts (PROVIDER=metal3) obedient and not (MODE=); SEED= repeats. MODE=rebalance moves control planes amid faults (SEEDS=), MODE=soak has clusters come and go (CLUSTERS=). API_SERVER=lagging,busy,failing,cutting,conflicting has the API server disobey the manager
	cd e2e && go run ./cmd/e2e storm --provider=$(PROVIDER) $(if $(KILLS),--kills=$(KILLS)) $(if $(MODE),--mode=$(MODE)) $(if $(SEED),--seed=$(SEED)) $(if $(SEEDS),--seeds=$(SEEDS)) $(if $(CLUSTERS),--clusters=$(CLUSTERS)) $(if $(API_SERVER),--api-server=$(API_SERVER))

.PHONY: takeover
takeover: ## Have our manager for vSphere take over a cluster of upstream's released one, on vcsim as it comes (some minutes the first time). PROVIDER=metal3 does it with simulated hosts, and upstream's of a checkout of its source: CAPM3=FOLDER
	$(if $(filter harvester,$(PROVIDER)),$(error There is no takeover of harvester: PROVIDER is one of vsphere metal3))
	$(if $(filter metal3,$(PROVIDER)),$(if $(CAPM3)$(FAULTLINE_CAPM3),,$(error Give a checkout of the source of cluster-api-provider-metal3, v1.12 or later: make takeover PROVIDER=metal3 CAPM3=FOLDER)))
	cd e2e && $(if $(CAPM3),FAULTLINE_CAPM3=$(abspath $(CAPM3)) )$(TEST) -v -tags=e2e -count=1 -timeout=25m -run 'ManagerFor(?i:$(PROVIDER))GoesOnUnderOurs' $(TEST_FLAGS) ./takeover

.PHONY: lint
lint: ## Run golangci-lint in every module, or in MODULE
	@cd e2e && go run ./cmd/binaries golangci-lint
	@status=0; for module in $(CHOSEN); do echo "lint $$module"; (cd $$module && $(GOLANGCI_LINT) run --allow-parallel-runners --config $(CURDIR)/.golangci.yml ./...) || status=1; done; exit $$status

FUZZTIME ?= 2m
.PHONY: fuzz
fuzz: ## Run each fuzz target of all modules, or of MODULE, for FUZZTIME=2m. What fails is a file in testdata then: commit it with what mends it
	@status=0; for module in $(CHOSEN); do for file in $$(cd $$module && grep -rl --include='*_test.go' '^func Fuzz' .); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\)(.*/\1/p' $$module/$$file); do echo "fuzz $$module $$target"; \
			(cd $$module && go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$(dirname $$file)) || status=1; \
	done; done; done; exit $$status

.PHONY: vulncheck
vulncheck: ## Fail when a program of ours, or of MODULE, has code with a known vulnerability. The database is a Go module: bump it in e2e/build/vulncheck
	@cd e2e && go run ./cmd/e2e vulncheck --modules="$(CHOSEN)"

.PHONY: build
build: ## Compile every module on its own, or MODULE
	@for module in $(CHOSEN); do echo "build $$module"; (cd $$module && go build ./...) || exit 1; done

KUBECTL_FD := kubectl-fd
KUBECTL_FD_BUILD := go build -ldflags '-s -w -X main.version=$(VERSION)'
.PHONY: kubectl-fd
kubectl-fd: ## Build the kubectl plugin, out/bin/kubectl-fd
	@mkdir -p $(OUT)/bin
	cd $(KUBECTL_FD) && $(KUBECTL_FD_BUILD) -o $(OUT)/bin/kubectl-fd . && cp kubectl_complete-fd $(OUT)/bin/

##@ Generated files
.PHONY: generate
generate: ## Write deepcopy functions, CRDs, RBAC and webhook manifests
	cd shared/api && $(CONTROLLER_GEN) object paths=./...
	@for each in $(PROVIDERS) $(BESIDE) charts templates; do $(MAKE) --no-print-directory generate/$$each || exit 1; done

# Versions of the provider's own kinds are in api/v1*. What is beside them in api/ is other people's: their CRDs are not the provider's
# to install. What is below internal/loadbalancer and internal/cloudprovider are programs of their own, with rights of their own.
$(PROVIDERS:%=generate/%): generate/%:
	cd providers/$*/api && $(CONTROLLER_GEN) object paths=./...
	cd providers/$* && $(CONTROLLER_GEN) crd:crdVersions=v1 rbac:roleName=system-manager-role webhook \
		$$(printf 'paths=./%s/... ' api/v1*) $$(go list ./internal/... | grep -v -E '/internal/(loadbalancer|cloudprovider)/' | sed 's/^/paths=/') \
		paths=github.com/faultline-io/faultline/shared/controllers paths=github.com/faultline-io/faultline/shared/remote \
		output:crd:dir=./config/crd/bases output:rbac:dir=./config/rbac output:webhook:dir=./config/webhook

# Managers that run beside what a provider provides for. They are of the provider's module.
BESIDE := harvester-load-balancer
generate/harvester-load-balancer:
	cd providers/harvester && $(CONTROLLER_GEN) crd:crdVersions=v1 rbac:roleName=system-manager-role webhook \
		paths=./api/loadbalancer/... paths=./internal/loadbalancer/... output:crd:dir=./config/loadbalancer/crd/bases \
		output:rbac:dir=./config/loadbalancer/rbac output:webhook:dir=./config/loadbalancer/webhook

# Charts have what is generated word for word: their templates put in what is particular to a release. What the cloud provider may do in
# a cluster is in its chart alone.
CHARTS := providers/harvester/charts
generate/charts: FILES := $(CHARTS)/harvester-load-balancer/files
generate/charts:
	rm -rf $(FILES) && mkdir -p $(FILES)/crds $(FILES)/rbac
	cp providers/harvester/config/loadbalancer/crd/bases/*.yaml $(FILES)/crds/
	cp providers/harvester/config/loadbalancer/rbac/role.yaml shared/config/rbac/diagnostics_role.yaml shared/config/rbac/leader_election_role.yaml $(FILES)/rbac/
	cp providers/harvester/config/loadbalancer/webhook/manifests.yaml $(FILES)/webhooks.yaml
	cd providers/harvester && $(CONTROLLER_GEN) rbac:roleName=cloud-provider-role paths=./cmd/cloud-provider \
		output:rbac:dir=./charts/harvester-cloud-provider/files

# What ClusterResourceSets install in a cluster is the same in all templates for vSphere, but for lines that end with "# with zones", of
# those that describe zones, or with "# without zones", of the others. It follows a line that all templates have.
ADDONS := templates/vsphere/addons
generate/templates: LINE := \# What follows is made from the folder addons: edit that, and run make generate.
generate/templates:
	@for template in templates/vsphere/cluster-template*.yaml; do \
		case $$template in *-zones*) mine=with other=without;; *) mine=without other=with;; esac; \
		grep -qxF '$(LINE)' $$template || { echo "$$template lacks the line '$(LINE)'" >&2; exit 1; }; \
		sed '/^$(LINE)$$/q' $$template >$$template.new && sed -e "/ # $$other zones$$/d" -e "s/ # $$mine zones$$//" \
			$(ADDONS)/*.yaml >>$$template.new && mv $$template.new $$template || exit 1; \
	done

.PHONY: tidy
tidy:
	@for module in $(MODULES); do (cd $$module && go mod tidy) || exit 1; done

.PHONY: verify
verify: generate tidy ## Fail when a generated file or a go.mod is not what the sources say
	@mkdir -p $(CACHE)
	@git status --porcelain | tee $(CACHE)/verify.txt; test ! -s $(CACHE)/verify.txt

##@ Release
# Not from the environment, where others have one for themselves.
REGISTRY :=
.PHONY: release
release: release/components release/kubectl-fd ## Write out/infrastructure-<provider>/<version>/ for clusterctl, out/harvester-load-balancer/<version>/ for kubectl, out/charts/<version>/ for helm, and out/kubectl-fd/<version>/ for krew. VERSION= is the version and the tag of all images, REGISTRY= where they are instead of docker.io/faultline
.PHONY: release/components
release/components:
	cd e2e && go run ./cmd/e2e release --version=$(VERSION) $(if $(REGISTRY),--registry=$(REGISTRY)) --out=$(OUT)

KUBECTL_FD_PLATFORMS := linux-amd64 linux-arm64 darwin-amd64 darwin-arm64 windows-amd64
KREW := $(OUT)/kubectl-fd/$(VERSION)
SHA256SUM := $(shell command -v sha256sum || echo shasum -a 256)
release/kubectl-fd: $(KUBECTL_FD_PLATFORMS:%=release/kubectl-fd/%)
	cd $(KREW) && sed -e 's/@VERSION@/$(VERSION)/' \
		$$($(SHA256SUM) *.tar.gz | sed -E 's|^([0-9a-f]+) +kubectl-fd-(.*)\.tar\.gz$$|-e s/@SHA256-\2@/\1/|') $(CURDIR)/$(KUBECTL_FD)/krew.yaml > fd.yaml
$(KUBECTL_FD_PLATFORMS:%=release/kubectl-fd/%): release/kubectl-fd/%:
	@mkdir -p $(KREW)/$*
	cd $(KUBECTL_FD) && GOOS=$(firstword $(subst -, ,$*)) GOARCH=$(lastword $(subst -, ,$*)) $(KUBECTL_FD_BUILD) -o $(KREW)/$*/ .
	@cp LICENSE $(KUBECTL_FD)/kubectl_complete-fd $(KREW)/$*/ && tar -C $(KREW)/$* -czf $(KREW)/kubectl-fd-$*.tar.gz . && rm -r $(KREW)/$*

# What the programs in images report when they are asked for their version. The Dockerfile takes both as arguments.
COMMIT = $(shell git rev-parse HEAD 2>/dev/null)$(if $(shell git status --porcelain 2>/dev/null),-dirty)
.PHONY: images
images: export FAULTLINE_RELEASE := $(VERSION)
images: export FAULTLINE_COMMIT = $(COMMIT)
images: ## Build the images of providers and charts, with the names that `make release` writes: a static program in each, no registry needed. INSTALL=1 installs docker.io from Debian where no Docker engine is there
	cd e2e && go run ./cmd/e2e kind --providers=$(subst $(space),$(comma),$(PROVIDERS)) --version=$(VERSION) $(if $(REGISTRY),--registry=$(REGISTRY)) managers
comma := ,
space := $(subst ,, )

.PHONY: clean
clean: ## Remove what this clone has built. ALL=1 removes the programs that all clones on this machine share, too
	@shared=$$(cd e2e && go run ./cmd/binaries --print-cache) && rm -rf $(CACHE) $(OUT) && echo "Removed $(CACHE) and $(OUT)" && \
	if [ -n "$(ALL)" ]; then rm -rf "$$shared" && echo "Removed $$shared"; else echo "Kept $$shared, which all clones share: make clean ALL=1 removes it"; fi
