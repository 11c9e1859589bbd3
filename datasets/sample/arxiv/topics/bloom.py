"""Bloom filters."""

from __future__ import annotations

import hashlib
import math
import random

from topics.paper import Paper, say, sci, section, some, table, thousands


def bloom(rng: random.Random, n: int, bits: int) -> Paper:
    """False positives of a Bloom filter with ``bits`` bits for each of ``n`` keys."""
    m, rows = n * bits, []
    best = max(1, round(bits * math.log(2)))
    for k in sorted({1, 2, 3, max(1, best - 2), best, best + 3}):
        filled = bytearray(m)
        for key in range(n):
            for slot in slots(key, k, m):
                filled[slot] = 1
        false = sum(all(filled[s] for s in slots(key, k, m)) for key in range(n, n + 20_000))
        theory = (1 - math.exp(-k / bits)) ** k
        rows.append(
            [
                k,
                f"{sum(filled) / m:.3f}",
                f"{1 - math.exp(-k / bits):.3f}",
                sci(false / 20_000),
                sci(theory),
                "yes" if theory < 0.01 else "no",
            ]
        )
    v = {
        "n": thousands(n),
        "c": bits,
        "m": thousands(m),
        "best": best,
        "opt": f"{bits * math.log(2):.2f}",
        "p": sci(0.5 ** (bits * math.log(2))),
        "kb": f"{m / 8 / 1024:.1f}",
        "percent": f"{100 * (1 - math.exp(-best / bits)) ** best:.3g}",
        "need": f"{-math.log2(0.001) / math.log(2):.1f}",
    }
    return Paper(
        rng.choice(
            [
                f"A Bloom filter with {bits} bits per key",
                f"{bits} bits per key: theory and practice of Bloom filters",
                f"How many hash functions? Bloom filters at {bits} bits per key",
            ]
        ),
        say(
            rng,
            r"""A Bloom filter with <<c>> bits per key is analysed and tested on <<n>> keys. [[The optimal number of hash functions is $<<c>>\log2\approx<<opt>>$||We show that about $<<opt>>$ hash functions are optimal]], which gives a false-positive rate of <<p>>. [[Measured rates agree with the formula.||The classical formula is confirmed by experiment.]]""",
            **v,
        ),
        [
            section(
                "Data structure",
                say(
                    rng,
                    r"""[[A set $S$ of $n$ keys is to be stored so compactly that membership queries may err||Suppose that we want to represent a set $S$ of $n$ keys in so little space that some errors must be tolerated]], but only in one direction: [[a key in $S$ must never be denied||no member may be rejected]]. Bloom~\cite{bloom} proposed [[an array||a table]] of $m$ bits and $k$ hash functions $h_{1},\dots,h_{k}$:
        \begin{itemize}
        \item \emph{insert} $x$: set the bits $h_{1}(x),\dots,h_{k}(x)$ to one;
        \item \emph{query} $x$: answer ``yes'' if and only if all of these bits are one.
        \end{itemize}
        [[The filter is used||Such filters serve]] in databases to avoid disk accesses, in crawlers to remember visited addresses, and [[in corpus building||in the preparation of text corpora]] to find repeated paragraphs. [[We set||Our example has]] $n=<<n>>$ and $m=<<m>>$, i.e.\ $c=m/n=<<c>>$ bits per key, or <<kb>> KiB in total.""",
                    **v,
                ),
            ),
            section(
                "Analysis",
                say(
                    rng,
                    r"""[[After all insertions||Once all $n$ keys are in]], a given bit is still zero with probability $(1-1/m)^{kn}\approx e^{-k/c}$. [[Treating bits as independent||If the bits were independent]], a key outside $S$ is accepted with probability
        \begin{equation}\label{eq:fp}\varepsilon(k)\approx\left(1-e^{-k/c}\right)^{k}.\end{equation}
        \begin{proposition}For real $k$ the right-hand side of \eqref{eq:fp} is least at $k=c\log2$, where half of the bits are set and $\varepsilon=2^{-k}=(0.6185\ldots)^{c}$.\end{proposition}
        \begin{proof}[[Let||Put]] $p=e^{-k/c}$. Then $\log\varepsilon=k\log(1-p)=-c\log p\,\log(1-p)$, [[which is symmetric||a function symmetric]] under $p\leftrightarrow1-p$. [[The product $\log p\log(1-p)$ of two positive numbers||The function $\log p\,\log(1-p)$ on $(0,1)$]] has its only maximum at $p=\frac12$.\end{proof}
        [[Half-full is what information theory suggests as well||That half of the bits should be ones is plausible]]: a bit string with a different density could be compressed. [[Here $k\approx<<opt>>$ and one uses||For our filter $c\log2=<<opt>>$, and we round to]] $k=<<best>>$, [[with a false-positive rate of||which gives]] $<<percent>>\,\%$.""",
                    **v,
                ),
            ),
            section(
                "Measurement",
                say(
                    rng,
                    r"""[[We inserted||The experiment inserts]] <<n>> keys and [[queried||then queries]] $20\,000$ others. Slots were [[derived from two halves of one digest by double hashing||computed by double hashing]], $h_{i}(x)=(a+ib)\bmod m$, [[which is known not to harm the rate||a trick that saves time without harm]]~\cite{km}. Table~\ref{tab:bloom} [[shows||compares]] measured and predicted values for several $k$. [[Both the fill ratio and the error follow the formulas closely||Agreement is within the statistical error]]; [[where the predicted rate is tiny, only a handful of false positives were seen||small rates fluctuate, since only a few events are counted]].""",
                    **v,
                ),
                table(
                    "tab:bloom",
                    f"Filter with $m={thousands(m)}$ bits: fraction of ones and false-positive rate $\\varepsilon$.",
                    "rrrrrc",
                    "$k$ & ones & $1-e^{-k/c}$ & measured & formula & $\\varepsilon<1\\,\\%$?",
                    rows,
                ),
            ),
            section(
                "Variations",
                *some(
                    rng,
                    4,
                    say(
                        rng,
                        r"""\paragraph{Lower bound.} Any structure with error rate $\varepsilon$ needs at least $n\log_{2}(1/\varepsilon)$ bits. [[Bloom filters use||A Bloom filter uses]] $1/\log2\approx1.44$ times as much: [[for $\varepsilon=10^{-3}$ it takes||e.g.\ for one false positive in a thousand]] $<<need>>$ bits per key. [[Newer structures such as cuckoo, xor and ribbon filters come closer||Modern filters come within a few per cent of the bound]].""",
                        **v,
                    ),
                    say(
                        rng,
                        r"""\paragraph{Deletion.} [[A bit cannot be cleared||Clearing a bit is not allowed]], since it may belong to several keys. [[Counting filters replace||A counting filter replaces]] bits by small counters; four bits suffice, because the probability that some counter reaches $16$ is less than $m\left(\frac{e\log2}{16}\right)^{16}\approx1.4\times10^{-15}m$.""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Union and size.} Two filters with the same $m$ and hash functions can be merged by a bitwise \textsc{or}. [[The number of keys can be estimated from the number $Z$ of zeros||From the number $Z$ of zero bits one estimates]]: $\hat n=-\frac mk\log\frac Zm$. [[Intersections are less reliable||For intersections only bounds are available]].""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Growing sets.} If $n$ is not known in advance one opens a new filter with tighter error $\varepsilon_{j}=\varepsilon_{0}2^{-j}$ whenever the last one is full. [[The total error stays below $\sum_{j}\varepsilon_{j}\le2\varepsilon_{0}$||By the union bound the total error is at most $2\varepsilon_{0}$]], [[while queries become slower||at the cost of more probes per query]].""",
                    ),
                ),
            ),
        ],
        {
            "bloom": "B. H. Bloom, Space/time trade-offs in hash coding with allowable errors, \\emph{Comm.\\ ACM} \\textbf{13} (1970), 422--426.",
            "km": "A. Kirsch and M. Mitzenmacher, Less hashing, same performance, \\emph{Random Struct.\\ Alg.} \\textbf{33} (2008), 187--218.",
        },
    )


def slots(key: int, k: int, m: int) -> list[int]:
    """Positions of a key, by double hashing."""
    digest = hashlib.sha256(str(key).encode()).digest()
    a, b = int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:16], "big") | 1
    return [(a + i * b) % m for i in range(k)]
