# What CI runs is what you run: make check, make test, make demo.

SHELL       := /bin/sh
GO          ?= go
# Pinned: a newer staticcheck may complain about what an older one accepted.
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: all build check test bench demo fmt generate clean

all: build

# Without a C compiler Go builds without cgo; everything then works but `flameox query`.
build:
	$(GO) build -trimpath -ldflags='-s -w' -o bin/flameox ./cmd/flameox

fmt:
	gofmt -w .

generate:
	$(GO) generate ./...

# Formatting, vet with and without cgo, staticcheck, the shape of the tree, and generated files.
check:
	@unformatted=$$(gofmt -l .) || exit 1; \
	if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	CGO_ENABLED=0 $(GO) build ./...
	CGO_ENABLED=0 $(GO) vet ./...
	cd examples/quickstart && $(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) test -count=1 ./internal/archtest
	$(GO) mod tidy -diff
	@before=$$(./.ci/tree-digest) && $(GO) generate ./... && after=$$(./.ci/tree-digest) && \
	if [ "$$before" != "$$after" ]; then echo "generated files were out of date; they are up to date now, commit them"; exit 1; fi

# Everything once, then the concurrent packages under the race detector. Packages that pull in Arrow or
# DuckDB are left out of the second run: compiling those for it takes longer than all other tests together.
test:
	cd examples/quickstart && $(GO) test ./...
	racy=$$(./.ci/race-packages) && $(GO) run ./internal/testsum ./... -- -race $$racy

# Ratios against named baselines, taken in one run. Wants a quiet machine and ninja (Debian: ninja-build).
bench: build
	$(GO) run ./internal/bench -flameox bin/flameox

demo: build
	FLAMEOX="$(CURDIR)/bin/flameox" sh examples/demo.sh

clean:
	rm -rf bin
