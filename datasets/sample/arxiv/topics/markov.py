"""Small Markov chains: equilibrium and mixing."""

from __future__ import annotations

import math
import random

from topics.paper import Paper, say, sci, section, some, table

CHAINS: dict[str, tuple[str, list[str], list[list[int]], int]] = {
    "weather": (
        "a three-state weather model",
        ["dry", "cloudy", "wet"],
        [[6, 3, 1], [3, 4, 3], [2, 4, 4]],
        10,
    ),
    "umbrellas": (
        "an absent-minded walker with three umbrellas",
        ["0", "1", "2", "3"],
        [[0, 0, 0, 10], [0, 0, 7, 3], [0, 7, 3, 0], [7, 3, 0, 0]],
        10,
    ),
    "board": (
        "a board game with five squares",
        ["A", "B", "C", "D", "E"],
        [[0, 3, 3, 0, 0], [0, 0, 3, 3, 0], [0, 0, 0, 3, 3], [3, 0, 0, 0, 3], [3, 3, 0, 0, 0]],
        6,
    ),
}


def multiply(a: list[list[float]], b: list[list[float]]) -> list[list[float]]:
    """Matrix product."""
    return [
        [sum(x * y for x, y in zip(row, column, strict=False)) for column in zip(*b, strict=False)]
        for row in a
    ]


def markov(rng: random.Random, kind: str) -> Paper:
    """Stationary distribution and mixing of a small chain."""
    what, names, integers, unit = CHAINS[kind]
    matrix = [[x / unit for x in row] for row in integers]
    size, power = len(names), matrix
    distances: list[float] = []
    limit = matrix
    for _ in range(12):
        limit = multiply(limit, limit)
    pi = limit[0]
    for _ in range(200):
        distances.append(max(sum(abs(x - y) for x, y in zip(row, pi, strict=False)) / 2 for row in power))
        power = multiply(power, matrix)
    mixing = next(i + 1 for i, d in enumerate(distances) if d < 0.01)
    ratio = (distances[11] / distances[7]) ** 0.25 if distances[11] > 1e-13 else 0.0
    entries = " \\\\\n".join(
        " & ".join(f"{x:.2g}" if kind != "board" else ("\\frac12" if x else "0") for x in row)
        for row in matrix
    )
    v = {
        "what": what,
        "size": size,
        "m": entries,
        "pi": ", ".join(f"{x:.4f}" for x in pi),
        "mixing": mixing,
        "ratio": f"{ratio:.3f}",
        "top": names[max(range(size), key=lambda i: pi[i])],
        "names": ", ".join(names),
        "ret": f"{1 / pi[0]:.3f}",
        "first": names[0],
        "p": f"{pi[0]:.4f}",
        "ent": f"{-sum(p * sum(x * math.log2(x) for x in row if x) for p, row in zip(pi, matrix, strict=False)):.3f}",
    }
    story = {
        "weather": "The states are the kinds of day, and the rows of the matrix say what follows a day of each kind.",
        "umbrellas": "A professor walks between home and office with three umbrellas in all, takes one if it rains (probability $0.3$) and one is at hand; the state is the number of umbrellas at the place where the walk starts.",
        "board": "A token stands on one of five squares in a circle; a fair coin decides whether it advances by one or by two squares.",
    }[kind]
    return Paper(
        rng.choice(
            [
                f"How fast does {what} forget?",
                f"Mixing in a small Markov chain: {what}",
                f"Equilibrium of {what}",
            ]
        ),
        say(
            rng,
            r"""[[We study||This is a complete analysis of]] <<what>> as a Markov chain with <<size>> states. [[The stationary distribution is found exactly||We determine its stationary distribution]], convergence is proved by coupling, and the distance to equilibrium is tabulated [[step by step||for the first steps]]. [[The chain is within one per cent of equilibrium after <<mixing>> steps.||After <<mixing>> steps the initial state hardly matters.]]""",
            **v,
        ),
        [
            section(
                "The chain",
                say(
                    rng,
                    r"""<<story>> [[Number the states <<names>>;||With the states ordered as <<names>>,]] the transition matrix is
        \begin{equation}\label{eq:P}P=\begin{pmatrix}<<m>>\end{pmatrix}.\end{equation}
        [[Its rows sum to one||Each row is a probability distribution]]. [[The chain is irreducible||Every state can be reached from every other]], and [[it is aperiodic, since some power of $P$ has only positive entries||a sufficiently high power of $P$ has no zero entry]]. [[The distribution after $n$ steps is||If $\mu$ is the distribution at the start, the one after $n$ steps is]] $\mu P^{n}$.""",
                    story=story,
                    **v,
                ),
            ),
            section(
                "Equilibrium",
                say(
                    rng,
                    r"""A row vector $\pi$ with $\pi P=\pi$ and $\sum_{i}\pi_{i}=1$ is [[called stationary||a stationary distribution]]. [[Solving the linear system||Elimination]] gives
        \[\pi=(<<pi>>),\] [[rounded to four decimals||to four decimals]]. The state visited most often is \emph{<<top>>}. By the ergodic theorem $\pi_{i}$ is the long-run fraction of time spent in state $i$, and $1/\pi_{i}$ the mean return time: [[for the first state, \emph{<<first>>}, this is||one returns to \emph{<<first>>} on average after]] $<<ret>>$ steps. <<extra>>""",
                    extra={
                        "weather": r"A forecaster who always announces the climatological distribution $\pi$ is right on average, but useless.",
                        "umbrellas": r"He gets wet if it rains while no umbrella is at hand, that is, in the fraction $0.3\,\pi_{0}$ of all walks. In general, with $r$ umbrellas and dry probability $q$, one finds $\pi_{0}=q/(r+q)$ and $\pi_{j}=1/(r+q)$ for $j\ge1$.",
                        "board": r"Here the column sums are one as well. A matrix with this property is doubly stochastic, and its stationary distribution is uniform.",
                    }[kind],
                    **v,
                ),
            ),
            section(
                "Convergence",
                say(
                    rng,
                    r"""[[Distances between distributions are measured by||We use the total variation distance]] $\|\mu-\nu\|=\frac12\sum_{i}|\mu_{i}-\nu_{i}|=\max_{A}|\mu(A)-\nu(A)|$, and $d(n)=\max_{i}\|P^{n}(i,\cdot)-\pi\|$.
        \begin{theorem}If $P^{m}(i,j)\ge\varepsilon\,\pi_{j}$ for some $m$ and all $i,j$, then $d(n)\le(1-\varepsilon)^{\lfloor n/m\rfloor}$.\end{theorem}
        \begin{proof}[[Write||Decompose]] $P^{m}(i,\cdot)=\varepsilon\pi+(1-\varepsilon)Q(i,\cdot)$ with a stochastic matrix $Q$. [[Let two copies of the chain, one of them stationary, use the same coin of bias $\varepsilon$||Run two copies, one of them started from $\pi$, and toss a coin of bias $\varepsilon$ for both]] every $m$ steps; at the first success both jump to the same point and [[stay together||move together ever after]]. The probability that they have not met by time $n$ is at most $(1-\varepsilon)^{\lfloor n/m\rfloor}$, [[and it bounds the distance||which is an upper bound for the total variation distance]].\end{proof}
        [[The bound is crude||In practice convergence is faster]]. The true rate is governed by the second largest modulus of an eigenvalue, $|\lambda_{2}|$; [[from the table we estimate||the table suggests]] $|\lambda_{2}|\approx<<ratio>>$. The distance falls below $0.01$ for the first time at $n=<<mixing>>$.""",
                    **v,
                ),
                table(
                    "tab:mix",
                    "Distance to equilibrium after $n$ steps from the worst start.",
                    "rr@{\\qquad}rr",
                    "$n$ & $d(n)$ & $n$ & $d(n)$",
                    [[n, f"{distances[n - 1]:.5f}", n + 8, sci(distances[n + 7], 1)] for n in range(1, 9)],
                ),
            ),
            section(
                "Further quantities",
                *some(
                    rng,
                    4,
                    say(
                        rng,
                        r"""\paragraph{Entropy rate.} [[A typical trajectory||A long trajectory of the chain]] can be compressed to $-\sum_{i,j}\pi_{i}P_{ij}\log_{2}P_{ij}=<<ent>>$ bits per step. [[A sequence of independent draws from $\pi$ would need||Without memory one would need]] $<<h>>$ bits; the difference is the information that the present gives about the next step.""",
                        h=f"{-sum(x * math.log2(x) for x in pi):.3f}",
                        **v,
                    ),
                    say(
                        rng,
                        r"""\paragraph{Reversibility.} The chain is reversible if $\pi_{i}P_{ij}=\pi_{j}P_{ji}$ for all $i,j$, [[i.e.\ if a film of it looks the same when run backwards||that is, if time has no direction in equilibrium]]. Here the largest violation $\max_{i,j}|\pi_{i}P_{ij}-\pi_{j}P_{ji}|$ is $<<viol>>$, [[so that the chain <<isnot>> reversible||and the chain <<isnot>> reversible]]. [[Kolmogorov's criterion decides this without computing $\pi$||Reversible chains have real eigenvalues]].""",
                        viol=f"{max(abs(pi[i] * matrix[i][j] - pi[j] * matrix[j][i]) for i in range(size) for j in range(size)):.4f}",
                        isnot="is"
                        if max(
                            abs(pi[i] * matrix[i][j] - pi[j] * matrix[j][i])
                            for i in range(size)
                            for j in range(size)
                        )
                        < 1e-9
                        else "is not",
                        **v,
                    ),
                    say(
                        rng,
                        r"""\paragraph{Coupling in practice.} [[Two copies that use the same random numbers often meet quickly||If two copies are driven by common random numbers, they may coalesce]]; from then on they are one. Propp and Wilson turned this around: by starting all copies in the distant past one obtains an \emph{exact} sample from $\pi$ [[in finite time||without knowing the mixing time]]. See~\cite{lpw} [[for details||for this and much more]].""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Estimation.} [[Suppose the matrix is unknown and only a trajectory of length $n$ is given||If only a trajectory is observed]]. The maximum likelihood estimate of $P_{ij}$ is the fraction of visits to $i$ that are followed by $j$; its standard error is about $\sqrt{P_{ij}(1-P_{ij})/(n\pi_{i})}$. Rare states are [[therefore||thus]] the ones whose rows are known worst.""",
                    ),
                ),
            ),
        ],
        {
            "lpw": "D. A. Levin, Y. Peres, and E. L. Wilmer, \\emph{Markov Chains and Mixing Times}, AMS, 2009.",
            "norris": "J. R. Norris, \\emph{Markov Chains}, Cambridge University Press, 1997.",
        },
    )
