"""How often the check of languages is wrong, and how often it finds what is in another language, by the length of a text.

Texts are the beginnings, 2 to 40 words long, of sentences of documents that are in one language. Each is held against the longest
of the other documents of its language, where an alarm is false, and against that of each other language, where it is right.

    python benchmarks/datashop_languages.py en='corpora/*.jsonl' de='pages/*.html' [--sentences 4000]

Files are documents (.jsonl) or pages (.html), of which the paragraphs are read; a page that is not in its language is left out.
"""

from __future__ import annotations

import argparse
import glob
import html
import json
import random
import re
from itertools import pairwise

from tootsie.curate.datashop.languages import fault_of_language
from tootsie.curate.datashop.passages import sentences
from tootsie.curate.language import identify

BINS = (0, 20, 30, 40, 60, 80, 120, 10**9)
WORDS = (2, 3, 4, 5, 7, 9, 12, 16, 40)
DOCUMENTS = 80
"""Of a file."""


def read(pattern: str, language: str) -> list[str]:
    found = []
    source = random.Random(0)
    for name in sorted(glob.glob(pattern)):
        with open(name, encoding="utf-8", errors="replace") as stream:
            if name.endswith(".jsonl"):
                lines = stream.readlines()
                texts = [
                    str(json.loads(line)["text"]) for line in source.sample(lines, min(DOCUMENTS, len(lines)))
                ]
            else:
                paragraphs = re.findall(r"<p[^>]*>(.*?)</p>", stream.read(), re.DOTALL)
                texts = ["\n".join(html.unescape(re.sub("<[^>]+>", "", part)) for part in paragraphs)]
        found += [text[:6000] for text in texts if identify(text[:6000]) == language]
    return found


def beginnings(texts: list[str], count: int) -> list[str]:
    source = random.Random(0)
    every = [sentence for text in texts for sentence in sentences(text)]
    source.shuffle(every)
    return [" ".join(one.split()[: source.choice(WORDS)]) for one in every[:count]]


def letters(text: str) -> int:
    return sum(character.isalpha() for character in text)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpora", nargs="+", metavar="LANGUAGE=GLOB")
    parser.add_argument("--sentences", type=int, default=4000)
    arguments = parser.parse_args()
    texts = {}
    for corpus in arguments.corpora:
        language, _, pattern = corpus.partition("=")
        texts[language] = read(pattern, language)
    passages = {language: max(found, key=letters) for language, found in texts.items()}
    for own in texts:
        items = beginnings([text for text in texts[own] if text != passages[own]], arguments.sentences)
        for other, passage in passages.items():
            what = "false alarms" if other == own else f"found beside {other}"
            for low, high in pairwise(BINS):
                these = [item for item in items if low <= letters(item) < high]
                alarms = [item for item in these if fault_of_language([item], passage)]
                print(f"{own}\t{what}\t{low} letters or more\t{len(alarms)} of {len(these)}")
                for item in alarms[:5] if other == own else ():
                    print(f"\t\t{fault_of_language([item], passage)}: {item}")


if __name__ == "__main__":
    main()
