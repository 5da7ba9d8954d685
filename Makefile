# Tools are built into .tools, pinned here, and kept out of the module's dependencies.
STATICCHECK   := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FUZZTIME      ?= 20000x
VERSION       ?= $(shell git describe --tags --always 2>/dev/null || echo devel)

.PHONY: build demo test torture lint golangci fuzz bench image clean

build: ## the static binary, bin/syncd
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.buildVersion=$(VERSION)" -o bin/syncd ./cmd/syncd

demo: ## watch it work
	go run ./cmd/syncd demo

test: ## every test under the race detector; in CI a skipped test is a failure
	bash .ci/test

torture: ## the tests that count, in full, with their figures, then fuzzing (FUZZTIME=0: none); hours, as root
	bash .ci/torture

lint: .tools/staticcheck ## gofmt, go vet, staticcheck
	@unformatted=$$(gofmt -l cmd internal bench deploy); test -z "$$unformatted" || { echo "gofmt: $$unformatted"; exit 1; }
	go vet ./...
	.tools/staticcheck ./...

golangci: .tools/golangci-lint ## the longer list of .golangci.yml
	.tools/golangci-lint run

fuzz: ## each fuzz target for FUZZTIME
	FUZZTIME=$(FUZZTIME) bash .ci/fuzz

bench: build ## every case of BENCHMARKS.md, whose tables it writes; needs curl, wget2, openssl, aria2
	go run ./bench -syncd bin/syncd -write BENCHMARKS.md

image: ## the container image
	docker build --build-arg VERSION=$(VERSION) -t syncd .

clean:
	rm -rf bin .tools

.tools/staticcheck:
	GOBIN=$(CURDIR)/.tools go install $(STATICCHECK)

.tools/golangci-lint:
	GOBIN=$(CURDIR)/.tools go install $(GOLANGCI_LINT)
