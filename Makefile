# What CI runs is what you run: make check, make test, make demo.

SHELL       := /bin/sh
GO          ?= go
# Pinned: a newer staticcheck may complain about what an older one accepted.
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: all build man install check test bench demo fmt generate clean

all: build

# What every start of the program would pay for and nothing needs: the symbols of DuckDB exported to libraries that are
# never loaded, which are looked up one by one, and the manual pages that cli makes, beside our own.
LDFLAGS := -s -w
ifeq ($(shell uname -s),Linux)
LDFLAGS += -extldflags=-Wl,--no-export-dynamic
endif
TAGS    := urfave_cli_no_docs

# Without a C compiler Go builds without cgo; everything then works but `flameox query`.
build:
	$(GO) build -trimpath -tags=$(TAGS) -ldflags='$(LDFLAGS)' -o bin/flameox ./cmd/flameox

# A manual page for the program and one for each command, made from the commands themselves.
man: build
	@mkdir -p bin/man
	bin/flameox man > bin/man/flameox.1
	@bin/flameox man -list | while read -r command; do \
		bin/flameox man $$command > "bin/man/flameox-$$(echo "$$command" | tr ' ' -).1" || exit 1; \
	done

PREFIX ?= /usr/local

install: man
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install -m 755 bin/flameox $(DESTDIR)$(PREFIX)/bin/flameox
	install -m 644 bin/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	bin/flameox completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/flameox
	bin/flameox completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_flameox
	bin/flameox completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/flameox.fish

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
	racy=$$(./.ci/race-packages) && $(GO) run ./internal/testsum -timeout=30m ./... -- -timeout=30m -race $$racy

# Ratios against named baselines, taken in one run. Wants a quiet machine. What is not installed is skipped and said: ninja (Debian: ninja-build),
# snakemake, wrk, tofu; DVC is installed into the user's caches. FULL=-full adds 10,000 and 100,000 instances.
bench: build
	$(GO) run ./internal/bench -flameox bin/flameox $(FULL)

demo: build
	FLAMEOX="$(CURDIR)/bin/flameox" sh examples/demo.sh

clean:
	rm -rf bin
