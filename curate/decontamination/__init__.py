"""Find what a corpus has of evaluation sets, and leave those documents out; what is made from them stays marked.

N-grams propose, the words themselves decide (:mod:`.index`); n-grams that are common speak for nothing (:mod:`.verdict`).
"""
