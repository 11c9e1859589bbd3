"""The comparisons of quicksort."""

from __future__ import annotations

import math
import random

from topics.paper import Paper, say, section, some, table


def compare(data: list[int], sample: int, rng: random.Random) -> int:
    """Comparisons of quicksort with a pivot that is the median of ``sample`` elements (the median is counted)."""
    if len(data) < 2:
        return 0
    size = min(sample, len(data)) if len(data) >= sample else 1
    picks = sorted(rng.sample(data, size))
    pivot, extra = picks[size // 2], 3 if size == 3 else 0
    left, right = [x for x in data if x < pivot], [x for x in data if x > pivot]
    return len(data) - 1 + extra + compare(left, sample, rng) + compare(right, sample, rng)


def quicksort(rng: random.Random, sample: int) -> Paper:
    """Average number of comparisons of quicksort."""
    sizes, rows = [10, 30, 100, 300, 1000], []
    for n in sizes:
        runs = [compare(list(range(n)), sample, rng) for _ in range(60)]
        mean = sum(runs) / 60
        harmonic = sum(1 / k for k in range(1, n + 1))
        rows.append(
            [
                n,
                f"{2 * (n + 1) * harmonic - 4 * n:.1f}",
                f"{mean:.1f}",
                f"{min(runs)}",
                f"{max(runs)}",
                f"{math.log2(math.factorial(n)):.1f}",
            ]
        )
    v = {
        "rule": "a random element" if sample == 1 else "the median of three random elements",
        "mean": rows[-1][2],
        "formula": rows[-1][1],
        "bound": rows[-1][5],
        "ratio": f"{mean / math.log2(math.factorial(sizes[-1])):.3f}",
        "low": rows[-1][3],
        "high": rows[-1][4],
    }
    return Paper(
        rng.choice(
            [
                "The average cost of quicksort" if sample == 1 else "Quicksort with median-of-three pivots",
                "Counting comparisons in quicksort: "
                + ("random pivots" if sample == 1 else "median of three"),
            ]
        ),
        say(
            rng,
            r"""[[We count the comparisons of quicksort||Quicksort is analysed]] when the pivot is <<rule>>. [[The exact mean for random pivots is derived in two ways||Two derivations of the mean for random pivots are given]] and compared with [[experiments||counts from sixty runs per size]]. For $1000$ keys the average is <<mean>>, that is $<<ratio>>$ times the information-theoretic bound.""",
            **v,
        ),
        [
            section(
                "Algorithm",
                say(
                    rng,
                    r"""Quicksort [[partitions the keys around a pivot and sorts both parts recursively||splits the keys into those smaller and those larger than a pivot, and recurses]]~\cite{hoare}. [[Here the pivot is <<rule>>||We choose <<rule>> as pivot]]; keys are distinct.

        \begin{algorithm}\caption{Quicksort}\label{alg:qs}
        \begin{algorithmic}[1]
        \Function{Sort}{$S$}
        \If{$|S|\le1$} \State \Return $S$ \EndIf
        \State $p\gets$ <<rule>>
        \State $L\gets\{x\in S: x<p\}$,\quad $R\gets\{x\in S: x>p\}$
        \State \Return \Call{Sort}{$L$}, $p$, \Call{Sort}{$R$}
        \EndFunction
        \end{algorithmic}
        \end{algorithm}

        [[The cost is measured in comparisons||As usual we count comparisons]]. [[In the worst case||If the pivot is always the smallest key]], all $\binom n2$ pairs are compared; [[the point of the analysis is that this is extremely unlikely||but bad luck of this kind is exceedingly rare]].""",
                    **v,
                ),
            ),
            section(
                "Random pivots",
                say(
                    rng,
                    r"""\begin{theorem}With uniformly random pivots the expected number of comparisons is
        \begin{equation}\label{eq:cn}C_{n}=2(n+1)H_{n}-4n,\qquad H_{n}=\sum_{k=1}^{n}\frac1k .\end{equation}\end{theorem}
        \begin{proof}[First proof]Let $z_{1}<\dots<z_{n}$ be the sorted keys. [[The keys $z_{i}$ and $z_{j}$ with $i<j$ are compared if and only if||Two keys $z_{i}<z_{j}$ meet exactly if]] the first pivot chosen from $z_{i},\dots,z_{j}$ is one of the two ends, [[an event of probability||and this has probability]] $2/(j-i+1)$. By linearity of expectation
        \begin{align*}C_{n}&=\sum_{i<j}\frac{2}{j-i+1}=\sum_{d=2}^{n}\frac{2(n-d+1)}{d}\\&=2(n+1)(H_{n}-1)-2(n-1)=2(n+1)H_{n}-4n.\qedhere\end{align*}\end{proof}
        \begin{proof}[Second proof][[The first pivot has rank $k$ with probability $1/n$||All ranks of the pivot are equally likely]], so $C_{n}=n-1+\frac2n\sum_{k<n}C_{k}$. [[Multiply by $n$ and subtract the same equation for $n-1$||Eliminate the sum by subtracting $(n-1)C_{n-1}$ from $nC_{n}$]]: $nC_{n}=(n+1)C_{n-1}+2(n-1)$. Dividing by $n(n+1)$,
        \[\frac{C_{n}}{n+1}=\frac{C_{n-1}}{n}+\frac{2(n-1)}{n(n+1)}=\frac{C_{n-1}}{n}+\frac{4}{n+1}-\frac2n,\]
        and [[summation gives \eqref{eq:cn}||the sum telescopes to \eqref{eq:cn}]].\end{proof}
        [[Asymptotically||For large $n$]] $C_{n}=2n\log n-(4-2\gamma)n+O(\log n)\approx1.386\,n\log_{2}n$, [[only $39\,\%$ above the minimum||i.e.\ thirty-nine per cent more than the unavoidable $\log_{2}n!$]].""",
                    **v,
                ),
            ),
            section(
                "Counts",
                say(
                    rng,
                    r"""Table~\ref{tab:qs} [[shows||collects]] mean, minimum and maximum over sixty runs with <<rule>>, [[next to||together with]] formula \eqref{eq:cn} and the lower bound $\log_{2}n!$. For $n=1000$ the mean <<mean>> [[compares with||stands against]] <<formula>> for random pivots; [[all runs lay between||the extremes were]] <<low>> and <<high>>. [[The spread is small||Large deviations do not occur]]: the standard deviation of quicksort is about $0.65\,n$, [[of smaller order than the mean||small compared with the mean]].""",
                    **v,
                ),
                table(
                    "tab:qs",
                    "Comparisons for $n$ keys.",
                    "rrrrrr",
                    "$n$ & $C_n$ & mean & min & max & $\\log_2n!$",
                    rows,
                ),
            ),
            section(
                "Remarks",
                *some(
                    rng,
                    4,
                    say(
                        rng,
                        r"""\paragraph{Median of three.} [[Choosing the median of three random keys||A pivot that is the median of three]] changes the leading term to $\frac{12}{7}n\log n\approx1.188\,n\log_{2}n$, [[plus the cost of finding medians||if the comparisons for the medians are not forgotten]]. The gain comes from splits that are closer to even: the rank of the pivot has density $6x(1-x)$ instead of $1$.""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Small files.} [[Recursion on short lists is wasteful||For short lists the overhead of recursion dominates]], and libraries switch to insertion sort below some ten elements. Insertion sort needs $\frac{n(n-1)}{4}+n-H_{n}$ comparisons on average, [[which is less than $C_{n}$ as long as $n$ is small||a small number for small $n$]].""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Trees.} [[The comparisons of quicksort with the first key as pivot||If the first key is the pivot, the comparisons]] are those made when the keys are inserted into a binary search tree. Hence $C_{n}$ is also the mean internal path length of a random search tree, [[and the depth of a random node is about $2\log n$||whose average depth is therefore $2\log n+O(1)$]].""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Equal keys.} If many keys are equal, a careless partition puts all of them on one side and [[becomes quadratic||takes quadratic time]]. Dijkstra's three-way partition into $<$, $=$ and $>$ [[avoids this||solves the problem]] and then needs only $O(n\,(1+H))$ comparisons, where $H$ is the entropy of the key frequencies.""",
                    ),
                ),
            ),
        ],
        {
            "hoare": "C. A. R. Hoare, Quicksort, \\emph{Comput.\\ J.} \\textbf{5} (1962), 10--16.",
            "sedgewick": "R. Sedgewick and P. Flajolet, \\emph{An Introduction to the Analysis of Algorithms}, Addison-Wesley, 1996.",
        },
        packages=("amsmath", "amssymb", "amsthm", "booktabs", "algorithm", "algpseudocode"),
    )
