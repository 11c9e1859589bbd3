"""Write expected.json: what transformers makes of conversations.json with each template. Needs transformers and tiktoken installed.

    python tests/tokenize/chat/make_expected.py

The vocabulary is the embedded one with the special tokens of the templates added, see ``specials.json``.
"""

from __future__ import annotations

import base64
import json
import tempfile
from pathlib import Path

from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import TikTokenConverter

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
VOCABULARY = ROOT / "tokenize" / "vocabularies" / "tootsie-16k"
TEMPLATES = {
    **{
        name: ROOT / "tokenize" / "chat" / "templates" / f"{name}.jinja"
        for name in ("llama3", "chatml", "tulu")
    },
    "reasoning": HERE / "reasoning.jinja",
}


def main() -> None:
    description = json.loads(VOCABULARY.with_suffix(".json").read_text())
    specials = json.loads((HERE / "specials.json").read_text())
    ranks = VOCABULARY.with_suffix(".tiktoken").read_text().splitlines()
    with tempfile.NamedTemporaryFile("w", suffix=".tiktoken") as file:
        file.write("\n".join(line for line in ranks if line.strip()))
        file.flush()
        converted = TikTokenConverter(vocab_file=file.name, pattern=description["pattern"]).converted()
    converted.add_special_tokens([AddedToken(name, normalized=False, special=True) for name in specials])
    names = {base64.b64decode(line.split()[0]): int(line.split()[1]) for line in ranks if line.strip()}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=converted, bos_token="<|begin_of_text|>", eos_token="<|end_of_text|>"
    )
    assert tokenizer.convert_tokens_to_ids(specials) == list(range(len(names), len(names) + len(specials)))
    expected: dict[str, list[dict[str, object]]] = {}
    for name, path in TEMPLATES.items():
        tokenizer.chat_template = path.read_text()
        expected[name] = []
        for conversation in json.loads((HERE / "conversations.json").read_text()):
            messages = conversation["messages"]
            options = {"tools": conversation.get("tools"), "return_dict": True}
            text = tokenizer.apply_chat_template(messages, tools=conversation.get("tools"), tokenize=False)
            found = tokenizer.apply_chat_template(messages, return_assistant_tokens_mask=True, **options)
            expected[name].append(
                {"text": text, "ids": found["input_ids"], "mask": "".join(map(str, found["assistant_masks"]))}
            )
    (HERE / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
