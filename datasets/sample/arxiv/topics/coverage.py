"""The coverage of confidence intervals."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from topics.paper import Paper, say, section, some, table

TRIALS = 4000


def binomial(k: int, n: int, p: float) -> float:
    """Probability of ``k`` successes."""
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


def cover_proportion(n: int, p: float) -> tuple[float, float]:
    """Exact coverage of the Wald and Wilson intervals."""
    z, wald, wilson = 1.959964, 0.0, 0.0
    for k in range(n + 1):
        q = k / n
        half = z * math.sqrt(q * (1 - q) / n)
        middle, width = (
            (q + z * z / (2 * n)) / (1 + z * z / n),
            z / (1 + z * z / n) * math.sqrt(q * (1 - q) / n + z * z / (4 * n * n)),
        )
        wald += binomial(k, n, p) * (abs(q - p) <= half)
        wilson += binomial(k, n, p) * (abs(middle - p) <= width)
    return wald, wilson


def cover_rate(n: int, rate: float) -> tuple[float, float]:
    """Exact coverage for a Poisson rate with exposure ``n``: plug-in and score intervals."""
    z, plug, score = 1.959964, 0.0, 0.0
    for k in range(int(rate * n + 14 * math.sqrt(rate * n) + 20)):
        weight = math.exp(k * math.log(rate * n) - rate * n - math.lgamma(k + 1))
        plug += weight * (abs(k - rate * n) <= z * math.sqrt(k))
        score += weight * (abs(k - rate * n) <= z * math.sqrt(rate * n))
    return plug, score


def cover_mean(rng: random.Random, n: int, spread: float) -> tuple[float, float]:
    """Simulated coverage for the mean of a normal law mixed with a share of outliers: z and t intervals."""
    quantile = {8: 2.364624, 6: 2.570582, 12: 2.200985}[n]
    hits_z = hits_t = 0
    for _ in range(TRIALS):
        data = [rng.gauss(0, 1) * (spread if rng.random() < 0.1 else 1) for _ in range(n)]
        mean = sum(data) / n
        error = math.sqrt(sum((x - mean) ** 2 for x in data) / (n - 1) / n)
        hits_z += abs(mean) <= 1.959964 * error
        hits_t += abs(mean) <= quantile * error
    return hits_z / TRIALS, hits_t / TRIALS


def coverage(rng: random.Random, kind: str, n: int) -> Paper:
    """How often does a 95 % interval contain the truth?"""
    settings: dict[
        str, tuple[str, str, list[float], str, str, Callable[[float], tuple[float, float]], str, str, str]
    ] = {
        "proportion": (
            "a proportion",
            "p",
            [0.05, 0.1, 0.2, 0.3, 0.5],
            "Wald",
            "Wilson",
            lambda x: cover_proportion(n, x),
            r"\hat p\pm z\sqrt{\frac{\hat p(1-\hat p)}{n}}",
            r"\frac{\hat p+\frac{z^{2}}{2n}\pm z\sqrt{\frac{\hat p(1-\hat p)}{n}+\frac{z^{2}}{4n^{2}}}}{1+\frac{z^{2}}{n}}",
            r"|\hat p-p|\le z\sqrt{p(1-p)/n}",
        ),
        "rate": (
            "a Poisson rate",
            r"\lambda",
            [0.1, 0.25, 0.5, 1.0, 2.0],
            "plug-in",
            "score",
            lambda x: cover_rate(n, x),
            r"\hat\lambda\pm z\sqrt{\frac{\hat\lambda}{n}}",
            r"\hat\lambda+\frac{z^{2}}{2n}\pm z\sqrt{\frac{\hat\lambda}{n}+\frac{z^{2}}{4n^{2}}}",
            r"|\hat\lambda-\lambda|\le z\sqrt{\lambda/n}",
        ),
        "mean": (
            "a mean",
            r"\kappa",
            [1, 2, 3, 5, 10],
            "normal",
            "Student",
            lambda x: cover_mean(rng, n, x),
            r"\bar x\pm z\,\frac{s}{\sqrt n}",
            r"\bar x\pm t_{n-1}\,\frac{s}{\sqrt n}",
            r"|\bar x-\mu|\le t_{n-1}\,s/\sqrt n",
        ),
    }
    what, symbol, values, first, second, cover, formula1, formula2, pivot = settings[kind]
    rows = [(x, *cover(x)) for x in values]
    worst1, worst2 = min(rows, key=lambda r: r[1]), min(rows, key=lambda r: r[2])
    v = {
        "what": what,
        "sym": symbol,
        "n": n,
        "a": first,
        "b": second,
        "fa": formula1,
        "fb": formula2,
        "pivot": pivot,
        "w1": f"{100 * worst1[1]:.1f}",
        "x1": f"{worst1[0]:g}",
        "w2": f"{100 * worst2[2]:.1f}",
        "x2": f"{worst2[0]:g}",
        "how": f"simulation with {TRIALS} samples per line"
        if kind == "mean"
        else "exact summation over all possible counts",
    }
    model = {
        "proportion": "Let $X$ be binomial with parameters $n$ and $p$, and let $\\hat p=X/n$.",
        "rate": "Let $X$ be a Poisson variable with mean $n\\lambda$, where $n$ is the exposure, and let $\\hat\\lambda=X/n$.",
        "mean": "Let $x_1,\\dots,x_n$ be drawn independently from a law with mean $\\mu$. With probability $0.9$ an observation comes from $N(\\mu,1)$, and with probability $0.1$ from $N(\\mu,\\kappa^2)$; for $\\kappa=1$ the law is normal.",
    }[kind]
    return Paper(
        rng.choice(
            [
                f"What does 95\\,\\% mean for {what}?",
                f"The true coverage of two intervals for {what}",
                f"Confidence intervals for {what} when $n={n}$",
            ]
        ),
        say(
            rng,
            r"""[[Two popular $95\,\%$ confidence intervals||The <<a>> and the <<b>> interval]] for <<what>> are compared at the small sample size $n=<<n>>$ [[by <<how>>||; the coverage is found by <<how>>]]. [[The simpler one can miss its nominal level badly.||The textbook interval falls short.]] In the worst line of the table it covers the truth in $<<w1>>\,\%$ of the cases.""",
            **v,
        ),
        [
            section(
                "Question",
                say(
                    rng,
                    r"""A confidence interval of level $95\,\%$ is a recipe that [[catches the true parameter in $95\,\%$ of all repetitions||is right nineteen times out of twenty]]. [[Most recipes do so only approximately||In practice the level is reached only in the limit $n\to\infty$]], and [[one would like to know||it is fair to ask]] how good the approximation is when $n=<<n>>$. <<model>> [[The two intervals are||We compare the interval]]
        \begin{equation}\label{eq:first}<<fa>>\end{equation}
        [[called||which we call]] \emph{<<a>>}, and
        \begin{equation}\label{eq:second}<<fb>>\end{equation}
        [[called||to be called]] \emph{<<b>>}, with $z=1.96$. [[Brown, Cai and DasGupta||An influential review]]~\cite{bcd} recommended [[abandoning the first||against the first]] for the binomial case, [[yet it is still taught everywhere||but old habits persist]].""",
                    model=model,
                    **v,
                ),
            ),
            section(
                "Where the intervals come from",
                say(
                    rng,
                    r"""[[Both||The two formulas]] start from the central limit theorem. [[The first replaces the unknown standard error by an estimate||In \eqref{eq:first} the unknown standard error is replaced by its estimate]]; [[this is harmless for large $n$ but not for small $n$, because estimate and error are correlated||when $n$ is small, the estimate of the error is itself in error, and not independently of the estimate]].
        \begin{proposition}The <<b>> interval consists of all values $<<par>>$ with $<<pivot>>$.\end{proposition}
        \begin{proof}<<proof>>\end{proof}
        [[It inverts a test||In other words it is obtained by inverting a test]]: a value belongs to the interval if the test of level $5\,\%$ does not reject it.""",
                    par={"proportion": "p", "rate": r"\lambda", "mean": r"\mu"}[kind],
                    proof={
                        "proportion": r"Squaring gives the quadratic inequality $(1+z^{2}/n)p^{2}-(2\hat p+z^{2}/n)p+\hat p^{2}\le0$. Its solutions are the numbers between the two roots, which are the end points in \eqref{eq:second}.",
                        "rate": r"Squaring gives $\lambda^{2}-(2\hat\lambda+z^{2}/n)\lambda+\hat\lambda^{2}\le0$, and the roots of the quadratic polynomial are the end points in \eqref{eq:second}.",
                        "mean": r"This is a rearrangement. What is not trivial is that $(\bar x-\mu)\sqrt n/s$ has Student's distribution with $n-1$ degrees of freedom if the data are normal, so that in this case the level is exact.",
                    }[kind],
                    **v,
                ),
            ),
            section(
                "Coverage",
                say(
                    rng,
                    r"""Table~\ref{tab:cov} [[reports||shows]] the coverage, computed by <<how>>. The <<a>> interval is worst at $<<sym>>=<<x1>>$ with $<<w1>>\,\%$; the <<b>> interval never falls below $<<w2>>\,\%$, a value [[reached||attained]] at $<<sym>>=<<x2>>$. [[A deviation of a few per cent may look small||One might shrug at this]], but [[an error probability of $10\,\%$ instead of $5\,\%$ is twice what was promised||doubling the error rate is not a detail]].""",
                    **v,
                ),
                table(
                    "tab:cov",
                    f"Coverage of nominal $95\\,\\%$ intervals, $n={n}$.",
                    "rrrc",
                    f"${symbol}$ & {first} & {second} & {first} $<90\\,\\%$?",
                    [
                        [f"{x:g}", f"{100 * a:.1f}\\,\\%", f"{100 * b:.1f}\\,\\%", "yes" if a < 0.9 else "no"]
                        for x, a, b in rows
                    ],
                ),
            ),
            section(
                "Discussion",
                *some(
                    rng,
                    4,
                    say(
                        rng,
                        r"""\paragraph{Oscillation.} [[Coverage is not a smooth function of the parameter when the data are discrete||For discrete data the coverage jumps]]: as the parameter moves, possible outcomes enter or leave the acceptance region one at a time. [[No nonrandomized interval can have exactly the nominal level everywhere||Exact level at every parameter is impossible without randomization]]. [[The Clopper--Pearson construction guarantees at least $95\,\%$||Guaranteed intervals exist]] at the price of being too long on average.""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Bayes.} [[A Bayesian with Jeffreys' prior||With Jeffreys' prior one]] obtains intervals whose frequentist coverage is close to nominal, [[even for small samples||a happy coincidence with higher-order theory]]. They answer a different question, however: what to believe about the parameter given \emph{these} data. [[The two questions are often confused||It is a pity that both answers are called intervals]].""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Sample size.} [[To halve the length of an interval||If an interval is to be half as long]] one needs four times as many observations. For planning, the half-width $w$ [[demands||requires]] roughly $n\approx(z\sigma/w)^{2}$; with $\sigma=0.5$ and $w=0.03$, [[as in opinion polls||the values of a typical poll]], this is $1067$. [[Polls are wrong for other reasons||The errors of polls have other sources as well]], but not for this one.""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Bootstrap.} Resampling the data [[does not help here||is no cure]]: the percentile bootstrap imitates \eqref{eq:first} and inherits its faults when $n=<<n>>$. [[Studentized versions are better||Better versions exist]], but they need an estimate of the standard error in every resample, [[and hence more computing||which multiplies the cost]].""",
                        **v,
                    ),
                ),
            ),
        ],
        {
            "bcd": "L. D. Brown, T. T. Cai, and A. DasGupta, Interval estimation for a binomial proportion, \\emph{Statist.\\ Sci.} \\textbf{16} (2001), 101--133.",
            "efron": "B. Efron and R. J. Tibshirani, \\emph{An Introduction to the Bootstrap}, Chapman \\& Hall, 1993.",
        },
    )
