# `make compare` and `make test` do all the set-up on a fresh Debian machine with
# Go: they install Debian packages that are missing and fetch guest kernels.

GO      ?= go
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
VULN     := golang.org/x/vuln/cmd/govulncheck@v1.9.0
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# Arguments of make compare, as in: make compare ARGS="--rounds 9 --cpu 1"
ARGS ?=

.PHONY: all bench compare long soak faults test unit integration lint fuzz memory vuln lab-packages lab-kernels clean nvmepass dist deb

all: nvmepass

nvmepass:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $@ ./cmd/nvmepass

# The table: block, passthru, passthru-poll and block-poll on an emulated drive.
compare: lab-packages lab-kernels nvmepass
	./nvmepass compare --lab --save compare.json $(ARGS)

# Ours against the best C loop, against fio and against os.File; docs/benchmarks.md says how.
# BENCH_ARGS are arguments of it, as in: make bench BENCH_ARGS="-parts ring -rounds 20"
BENCH_ARGS ?=
bench: lab-packages lab-kernels nvmepass
	scripts/packages.sh gcc libc6-dev liburing-dev fio
	mkdir -p dist/bench
	$(MAKE) -C bench/loops OUT=$(CURDIR)/dist/bench
	CGO_ENABLED=0 $(GO) build -trimpath -o dist/bench/bench ./bench
	dist/bench/bench $(BENCH_ARGS)

test: unit integration

# -race needs a C compiler; nothing that ships does.
unit: lab-packages lab-kernels
	scripts/packages.sh gcc make libc6-dev liburing-dev qemu-utils $(if $(CI),chromium groff-base fio)
	env -u NVMEPASS_TEST_DEVICE CGO_ENABLED=1 NVMEPASS_LAB_REQUIRED=$(CI) $(GO) test -race -timeout 30m ./...
	$(GO) -C test/readers test ./...

# On a drive of yours if NVMEPASS_TEST_DEVICE names one, else in the lab.
integration: lab-packages lab-kernels nvmepass
	scripts/packages.sh nvme-cli qemu-utils
ifdef NVMEPASS_TEST_DEVICE
	NVMEPASS_TEST_BINARY=$(CURDIR)/nvmepass CGO_ENABLED=0 $(GO) test -count=1 -v ./test
else
	$(GO) run ./test/matrix
	$(GO) run ./test/faults/run -check
endif

lint:
	test -z "$$(gofmt -l .)"
	$(GO) mod verify
	$(GO) vet ./...
	$(GO) run $(GOLANGCI) run ./...
	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 $(GO) vet ./...
	GOOS=linux GOARCH=s390x $(GO) vet ./nvme

# What takes too long for every change: before a release, for some hours.
long: lab-packages lab-kernels nvmepass
	NVMEPASS_TEST_LONG=1 $(GO) test -count=1 -v -timeout 60m ./test/newcomer
	NVMEPASS_TEST_LONG=1 $(GO) run ./test/matrix
	$(GO) run ./test/faults/run
	scripts/memory.sh -report docs/memory.md
	scripts/fuzz.sh -report docs/fuzzing.md 10m

# The fault laboratory: every fault on the oldest and the newest kernel, into docs/reliability.md. FAULTS are arguments of it, as in: make
# faults FAULTS=-check, a short run.
FAULTS ?=
faults: lab-packages lab-kernels
	$(GO) run ./test/faults/run $(FAULTS)

# What holds rings and arenas, under what finds misuse of memory: some minutes.
memory:
	scripts/packages.sh gcc libc6-dev
	scripts/memory.sh

# Known vulnerabilities in what is used; needs a network that reaches vuln.go.dev.
vuln:
	$(GO) run $(VULN) ./...

# All paths at once under faults, verified; docs/soak.md says how.
# SOAK_ARGS are arguments of it, as in: make soak SOAK_ARGS="-for 8h -kernel all"
SOAK_ARGS ?= -for 10m
soak: lab-packages lab-kernels
	CGO_ENABLED=0 $(GO) run ./test/soak $(SOAK_ARGS)

# A short run of every fuzz target.
FUZZTIME ?= 10s
fuzz:
	scripts/fuzz.sh $(FUZZTIME)

# What a release consists of: static binaries, archives and Debian packages for
# amd64 and arm64 with their SHA-256, in dist/. The same commit gives the same files.
dist:
	GO='$(GO)' VERSION='$(VERSION)' packaging/dist.sh tar deb

# The Debian packages alone.
deb:
	GO='$(GO)' VERSION='$(VERSION)' packaging/dist.sh deb

lab-packages:
	scripts/packages.sh qemu-system-x86

lab-kernels:
	scripts/lab-kernels.sh 6.1 6.12 newest

clean:
	rm -rf nvmepass compare.json bench.json dist
