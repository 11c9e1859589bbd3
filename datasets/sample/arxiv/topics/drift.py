"""Random genetic drift in the Wright--Fisher model."""

from __future__ import annotations

import math
import random

from topics.paper import Paper, say, section, some, table


def drift(rng: random.Random, n: int, p: float) -> Paper:
    """Wright--Fisher drift of an allele at frequency ``p`` in ``n`` haploid individuals."""
    times: list[int] = []
    runs, fixed, start = 300, 0, round(n * p)
    marks = [1, n // 4 or 1, n // 2, n, 2 * n]
    hetero = dict.fromkeys(marks, 0.0)
    for _ in range(runs):
        count, t = start, 0
        while 0 < count < n or t < marks[-1]:
            t += 1
            x = count / n
            count = sum(rng.random() < x for _ in range(n)) if 0 < count < n else count
            if t in hetero:
                hetero[t] += 2 * (count / n) * (1 - count / n) / runs
            if count in (0, n) and len(times) < _ + 1:
                times.append(t)
        fixed += count == n
    x0 = start / n
    v = {
        "n": n,
        "p": f"{x0:g}",
        "start": start,
        "runs": runs,
        "fixed": f"{fixed / runs:.3f}",
        "mean": f"{sum(times) / runs:.1f}",
        "diff": f"{-2 * n * (x0 * math.log(x0) + (1 - x0) * math.log(1 - x0)):.1f}",
        "se": f"{math.sqrt(x0 * (1 - x0) / runs):.3f}",
        "longest": max(times),
        "h0": f"{2 * x0 * (1 - x0):.3f}",
        "half": f"{math.log(2) / -math.log(1 - 1 / n):.1f}",
    }
    rows = [[t, f"{2 * x0 * (1 - x0) * (1 - 1 / n) ** t:.4f}", f"{hetero[t]:.4f}"] for t in sorted(hetero)]
    return Paper(
        rng.choice(
            [
                f"Random drift in a population of {n}",
                f"How long does an allele survive? Drift with $N={n}$",
                f"The Wright--Fisher model with $N={n}$ and $p={x0:g}$",
            ]
        ),
        say(
            rng,
            r"""[[In a finite population gene frequencies change by chance alone||Chance alone changes gene frequencies]]. For $N=<<n>>$ haploid individuals and an initial frequency $<<p>>$ we compute the fixation probability, the decay of heterozygosity and the time to fixation or loss, and [[compare the formulas with <<runs>> simulated populations||check the results by simulating <<runs>> populations]].""",
            **v,
        ),
        [
            section(
                "The model",
                say(
                    rng,
                    r"""Consider $N$ haploid individuals, of which $X_{t}$ carry the allele $A$ in generation $t$. [[Each member of the next generation chooses its parent at random||Every individual of generation $t+1$ picks a parent uniformly at random]], independently of the others, so that
        \begin{equation}\label{eq:wf}\Pr(X_{t+1}=j\mid X_{t}=k)=\binom Nj\left(\frac kN\right)^{j}\left(1-\frac kN\right)^{N-j}.\end{equation}
        [[There is neither selection nor mutation||Selection and mutation are absent]]. [[The model was introduced by Fisher and Wright around 1930||Fisher and Wright studied the model independently]]; for [[textbook treatments||an introduction]] see~\cite{ewens}. The states $0$ and $N$ are absorbing: [[once lost or fixed, always lost or fixed||nothing happens any more once one of them is reached]]. [[We start from||The initial state is]] $X_{0}=<<start>>$ out of $N=<<n>>$.""",
                    **v,
                ),
            ),
            section(
                "Fixation",
                say(
                    rng,
                    r"""\begin{proposition}The allele is fixed with probability $X_{0}/N$.\end{proposition}
        \begin{proof}[[By \eqref{eq:wf} the expected frequency does not change||The mean of the binomial distribution in \eqref{eq:wf} is $k$]]: $\mathbb{E}(X_{t+1}\mid X_{t})=X_{t}$, [[so $X_{t}$ is a bounded martingale||i.e.\ $(X_{t})$ is a martingale with values in $[0,N]$]]. [[It converges, and the limit can only be $0$ or $N$||The limit is $0$ or $N$ almost surely]]; taking expectations, $X_{0}=N\cdot\Pr(\text{fixation})$.\end{proof}
        [[There is also a proof without any computation||One can also argue as follows]]: far in the future all individuals descend from a single member of generation $0$, and by symmetry each is equally likely to be that ancestor. In our simulations the share of fixations was $<<fixed>>$, [[to be compared with||against a predicted]] $<<p>>$; the standard error is $<<se>>$.""",
                    **v,
                ),
            ),
            section(
                "Heterozygosity",
                say(
                    rng,
                    r"""[[The probability that two individuals drawn with replacement differ is||Let]] $H_{t}=2\frac{X_{t}}{N}\left(1-\frac{X_{t}}{N}\right)$.
        \begin{lemma}$\mathbb{E}H_{t}=\left(1-\frac1N\right)^{t}H_{0}$.\end{lemma}
        \begin{proof}[[Two draws from generation $t+1$ have the same parent||Two individuals drawn with replacement go back to the same parent draw]] with probability $1/N$, [[in which case they agree||and then they are identical]]; otherwise they are two independent draws from generation~$t$. Algebraically, if $Y$ is binomial with parameters $N$ and $x$, then $\mathbb{E}\,Y(N-Y)=N(N-1)x(1-x)$.\end{proof}
        [[Variation is halved every||The half-life of genetic variation is about]] $<<half>>$ generations. [[Table~\ref{tab:het} compares this with the average over the simulated populations, starting at||The simulated averages in Table~\ref{tab:het} start from]] $H_{0}=<<h0>>$. [[The agreement is good||Theory and simulation agree]], although [[individual populations||single populations]] behave very differently: [[the average hides that most of them have lost all variation after $2N$ generations||after $2N$ generations most have no variation left, and a few still have much]].""",
                    **v,
                ),
                table(
                    "tab:het",
                    f"Mean heterozygosity after $t$ generations, $N={n}$.",
                    "rrr",
                    "$t$ & expected & simulated",
                    rows,
                ),
            ),
            section(
                "Time",
                say(
                    rng,
                    r"""[[For large $N$ the process, with time measured in units of $N$ generations, approaches the diffusion with generator $\frac12x(1-x)\frac{d^{2}}{dx^{2}}$||On the time scale of $N$ generations the frequency behaves like a diffusion with variance $x(1-x)$ per unit of time]]. The mean absorption time $T(x)$ solves
        \begin{equation}\tfrac12x(1-x)T''(x)=-N,\qquad T(0)=T(1)=0,\end{equation}
        [[and two integrations give||whence]]
        \begin{equation}T(x)=-2N\bigl[x\log x+(1-x)\log(1-x)\bigr].\end{equation}
        For $x=<<p>>$ this is $<<diff>>$ generations. [[In the simulation the mean was||The simulated mean was]] $<<mean>>$, [[the longest survival||and the longest time]] $<<longest>>$ generations. [[The distribution has an exponential tail||Long times are exponentially rare]], with rate $1/N$ per generation, [[by the lemma||the rate at which heterozygosity decays]].""",
                    **v,
                ),
            ),
            section(
                "Outlook",
                *some(
                    rng,
                    3,
                    say(
                        rng,
                        r"""\paragraph{Selection.} If $A$ has the advantage $s$, the fixation probability becomes $(1-e^{-2sx N})/(1-e^{-2sN})$ in the diffusion limit. For a new mutant, $x=1/N$, it is about $2s$ [[for small positive $s$ and large $N$||if $1/N\ll s\ll1$]]: [[most favourable mutations are lost||even a good mutation usually fails]]. [[Drift rules when $|s|N\ll1$||Selection is invisible if $|s|<1/N$]].""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Mutation.} With mutation at rate $u$ per generation to ever new alleles, the probability that two individuals are identical tends to $F=1/(1+2Nu)$ approximately; [[the derivation again looks one generation back||as one sees by looking one generation back]]: $F=(1-u)^{2}\left[\frac1N+\left(1-\frac1N\right)F\right]$. [[The product $Nu$ alone decides||Everything depends on $Nu$]].""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Effective size.} [[Real populations fluctuate||If the size varies]], and the harmonic mean of the sizes takes the role of $N$: one bottleneck generation of ten individuals costs as much variation as a hundred generations with a thousand. [[Unequal numbers of offspring||A large variance of offspring numbers]] and unequal sex ratios [[reduce the effective size further||act in the same direction]].""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Looking backwards.} [[The ancestry of a sample||Backwards in time a sample of $m$ individuals]] is described by Kingman's coalescent: while there are $j$ lineages, the waiting time to the next merger is exponential with mean $2N/(j(j-1))$. The expected time to the common ancestor is $2N(1-1/m)$, [[half of which is spent with two lineages only||dominated by the last two lineages]].""",
                    ),
                ),
            ),
        ],
        {
            "ewens": "W. J. Ewens, \\emph{Mathematical Population Genetics}, Springer, 2004.",
            "kingman": "J. F. C. Kingman, The coalescent, \\emph{Stochastic Process.\\ Appl.} \\textbf{13} (1982), 235--248.",
        },
    )
