# Tools are built into .tools at a fixed version and are no dependencies of the module.
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
ACTIONLINT    := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
GORELEASER    := github.com/goreleaser/goreleaser/v2@v2.16.0
HELM          := helm.sh/helm/v3/cmd/helm@v3.22.0
FUZZTIME      ?= 20000x
CASE          ?= https-big
VERSION       ?= $(or $(shell git describe --tags --always 2>/dev/null | sed 's/^v//'),devel)
# The image's name, and more options for docker build, such as --platform linux/arm64.
IMAGE         ?= syncd
IMAGE_OPTIONS ?=

# The version of packages: that of the tag, else the next one of the changelog with the time
# of the commit. All files in packages and in the image get that time.
COMMIT_TIME      = $(shell git log -1 --format=%ct)
COMMIT_DATE      = $(shell date -u -d @$(COMMIT_TIME) +%Y-%m-%dT%H:%M:%SZ)
PACKAGE_VERSION ?= $(or $(shell git describe --tags --exact-match 2>/dev/null | sed 's/^v//'),$(shell sed -n 's/^## \([0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)-dev.$(shell date -u -d @$(COMMIT_TIME) +%Y%m%d%H%M%S))

.PHONY: help build demo test torture crash lint fuzz bench profile pictures chart image package clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

build: ## build the static binary bin/syncd
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.buildVersion=$(VERSION)" -o bin/syncd ./cmd/syncd

demo: ## run a provider and a mirror together and tell what happens
	go run ./cmd/syncd demo

test: ## run every test under the race detector; with CI set, a skipped test is a failure
	bash .ci/test

torture: ## run the crash and fault tests at full counts, then fuzz (FUZZTIME=0: no fuzzing); takes hours, needs root
	bash .ci/torture

crash: ## visit every state that a crash can leave of a piece of work, on three kinds of file system, and cut the power of real ones; needs strace and root
	SYNCD_TORTURE=full go test -v -count=1 -timeout 0 ./internal/e2e/crash/states ./internal/e2e/crash/blocks

lint: .tools/golangci-lint .tools/actionlint ## check formatting, the linters of .golangci.yml, links in documents, scripts and workflows
	@unformatted=$$(gofmt -l $$(go list -f '{{.Dir}}' ./...)); test -z "$$unformatted" || { echo "gofmt: $$unformatted"; exit 1; }
	.tools/golangci-lint run
	bash .ci/links
	bash .ci/shellcheck
	bash .ci/workflows

fuzz: ## run each fuzz target for FUZZTIME
	FUZZTIME=$(FUZZTIME) bash .ci/fuzz

bench: build ## run every case of BENCHMARKS.md and write its tables; needs nginx, curl, wget2, openssl, aria2
	go run ./bench -syncd bin/syncd -write BENCHMARKS.md

profile: ## show where one sync of CASE (default https-big) spends its CPU time; needs perf
	CGO_ENABLED=0 go build -trimpath -o bin/syncd-symbols ./cmd/syncd
	go run ./bench -syncd bin/syncd-symbols -only $(CASE) -profile bin/$(CASE).perf

pictures: build ## record the terminal session and take the pictures of docs/images; needs termtosvg, chromium and npm
	bash .ci/pictures

chart: ## render the manifests for kubectl and kustomize from the Helm chart, and test them
	bash .ci/kubernetes update

image: ## build the container image
	SOURCE_DATE_EPOCH=$(COMMIT_TIME) docker build --build-arg VERSION=$(VERSION) --build-arg REVISION=$(shell git rev-parse HEAD) \
		--build-arg CREATED=$(COMMIT_DATE) $(IMAGE_OPTIONS) -t $(IMAGE) .

package: .tools/goreleaser ## build packages, archives, checksums and SBOMs into dist/; the same commit gives the same bytes
	LINUX_ONLY=$(LINUX_ONLY) PACKAGE_VERSION=$(PACKAGE_VERSION) SOURCE_DATE_EPOCH=$(COMMIT_TIME) PACKAGE_TIME=$(COMMIT_DATE) \
		.tools/goreleaser release --snapshot --clean $(GORELEASER_FLAGS)

clean: ## remove what the other targets built
	rm -rf bin dist .cache .tools

.tools/golangci-lint:
	GOBIN=$(CURDIR)/.tools go install $(GOLANGCI_LINT)

.tools/actionlint:
	GOBIN=$(CURDIR)/.tools go install $(ACTIONLINT)

.tools/goreleaser:
	GOBIN=$(CURDIR)/.tools go install $(GORELEASER)

.tools/helm:
	GOBIN=$(CURDIR)/.tools go install $(HELM)
