"""Datashop: from a description of wanted text to a corpus of questions and answers, with a language model in the loop.

Stages, each of which continues where it was stopped: describe → annotate → train-scorer → score → filter → rephrase → check →
decontaminate → card. See ``docs/datashop.md``.
"""
