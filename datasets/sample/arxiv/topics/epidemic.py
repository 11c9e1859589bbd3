"""The SIR epidemic."""

from __future__ import annotations

import math
import random

from topics.paper import Paper, say, section, some, table


def final_size(r: float) -> float:
    """Positive root of ``1 - z = exp(-r z)``."""
    z = 0.99
    for _ in range(500):
        z = 1 - math.exp(-r * z)
    return z


def outbreak(r: float, recovery: float) -> tuple[float, float, float]:
    """Integrate the SIR equations by RK4; return peak prevalence, its day, and the share infected in the end."""

    def rate(s: float, i: float) -> tuple[float, float]:
        return -r * recovery * s * i, r * recovery * s * i - recovery * i

    s, i, t, h, peak, day = 0.999, 0.001, 0.0, 0.05, 0.0, 0.0
    while i > 1e-7 or t < 5:
        a = rate(s, i)
        b = rate(s + h / 2 * a[0], i + h / 2 * a[1])
        c = rate(s + h / 2 * b[0], i + h / 2 * b[1])
        d = rate(s + h * c[0], i + h * c[1])
        s, i, t = (
            s + h / 6 * (a[0] + 2 * b[0] + 2 * c[0] + d[0]),
            i + h / 6 * (a[1] + 2 * b[1] + 2 * c[1] + d[1]),
            t + h,
        )
        if i > peak:
            peak, day = i, t
    return peak, day, 1 - s


def epidemic(rng: random.Random, r: float, recovery: float) -> Paper:
    """The SIR model with basic reproduction number ``r`` and recovery rate ``recovery`` per day."""
    peak, day, attack = outbreak(r, recovery)
    rows = []
    for reduction in (0, 10, 20, 30, 40, 50):
        value = r * (1 - reduction / 100)
        p, d, a = outbreak(value, recovery)
        rows.append(
            [
                f"{reduction}\\,\\%",
                f"{value:.2f}",
                f"{100 * p:.1f}\\,\\%",
                f"{d:.0f}" if value > 1.02 else "---",
                f"{100 * a:.1f}\\,\\%",
                "yes" if value > 1 else "no",
            ]
        )
    chain = 4000
    big = sum(1 for _ in range(chain) if branching(rng, r))
    v = {
        "R": f"{r:g}",
        "g": f"{recovery:g}",
        "days": f"{1 / recovery:g}",
        "peak": f"{100 * peak:.1f}",
        "day": f"{day:.0f}",
        "z": f"{100 * final_size(r):.1f}",
        "attack": f"{100 * attack:.1f}",
        "herd": f"{100 * (1 - 1 / r):.1f}",
        "double": f"{math.log(2) / (recovery * (r - 1)):.1f}",
        "overshoot": f"{100 * (final_size(r) - 1 + 1 / r):.1f}",
        "ipeak": f"{100 * (1 - (1 + math.log(r)) / r):.1f}",
        "chain": chain,
        "big": f"{100 * big / chain:.1f}",
        "theory": f"{100 * (1 - 1 / r):.1f}",
        "cut": f"{100 * (1 - 1 / r):.0f}",
    }
    return Paper(
        rng.choice(
            [
                f"An epidemic with $R_0={r:g}$: peak, final size and chance",
                f"The SIR model at $R_0={r:g}$",
                f"Herd immunity and overshoot for $R_0={r:g}$",
            ]
        ),
        say(
            rng,
            r"""[[We work out||This note works out]] the classical SIR epidemic for the basic reproduction number $R_{0}=<<R>>$ and a mean infectious period of <<days>> days. [[The prevalence peaks at $<<peak>>\,\%$, and $<<z>>\,\%$ of the population are infected in the end||In the end $<<z>>\,\%$ of the population have been infected, $<<overshoot>>$ points more than herd immunity requires]]. [[The effect of reducing contacts and the role of chance are discussed.||We also treat reduced contacts and the early stochastic phase.]]""",
            **v,
        ),
        [
            section(
                "Equations",
                say(
                    rng,
                    r"""[[Divide the population into fractions $s$, $i$ and $r$ of||Let $s$, $i$ and $r$ denote the fractions of]] susceptible, infectious and recovered individuals. [[Kermack and McKendrick~\cite{km} assume||The model of Kermack and McKendrick~\cite{km} assumes]] mass action,
        \begin{align}\frac{ds}{dt}&=-\beta si,&\frac{di}{dt}&=\beta si-\gamma i,&\frac{dr}{dt}&=\gamma i,\label{eq:sir}\end{align}
        [[so that an infection lasts $1/\gamma$ on average||with mean infectious period $1/\gamma$]], and one case among susceptibles causes $R_{0}=\beta/\gamma$ new ones. [[We take||Our parameters are]] $\gamma=<<g>>$ per day and $R_{0}=<<R>>$. [[At the beginning $s\approx1$ and||As long as $s\approx1$,]] $i$ grows like $e^{(\beta-\gamma)t}$; the doubling time is $\log2/(\gamma(R_{0}-1))\approx<<double>>$ days.""",
                    **v,
                ),
            ),
            section(
                "Peak and final size",
                say(
                    rng,
                    r"""[[Dividing the second equation by the first||The quotient of the first two equations]] gives $di/ds=-1+1/(R_{0}s)$, hence
        \begin{equation}\label{eq:inv}i+s-\frac{1}{R_{0}}\log s=\text{const}.\end{equation}
        \begin{proposition}For a small initial infection in a fully susceptible population the largest prevalence is $i_{\max}=1-(1+\log R_{0})/R_{0}$, and the fraction $z$ that is ever infected solves
        \begin{equation}\label{eq:final}1-z=e^{-R_{0}z}.\end{equation}\end{proposition}
        \begin{proof}[[The prevalence is stationary where||$di/dt=0$ means]] $s=1/R_{0}$. Insert this and the initial values $s=1$, $i=0$ in \eqref{eq:inv}. At the end $i=0$ again and $s=1-z$, [[so $1-z-\frac{1}{R_{0}}\log(1-z)=1$||and \eqref{eq:inv} becomes $1-z-\frac{1}{R_{0}}\log(1-z)=1$]], which is \eqref{eq:final}. [[For $R_{0}>1$ concavity of $1-e^{-R_{0}z}$ yields exactly one positive root||The positive root exists and is unique if and only if $R_{0}>1$]].\end{proof}
        For $R_{0}=<<R>>$ [[the formulas give||we get]] $i_{\max}=<<ipeak>>\,\%$ and $z=<<z>>\,\%$. A numerical integration of \eqref{eq:sir} from $i(0)=0.1\,\%$ [[confirms||agrees with]] them: the peak is $<<peak>>\,\%$ on day <<day>>, and the attack rate is $<<attack>>\,\%$. [[Herd immunity is reached||New infections decline]] once $1-1/R_{0}=<<herd>>\,\%$ are immune. [[The epidemic overshoots this mark||But momentum carries the epidemic beyond this mark]] by $<<overshoot>>$ percentage points.""",
                    **v,
                ),
            ),
            section(
                rng.choice(["Reducing contacts", "Intervention"]),
                say(
                    rng,
                    r"""[[If contacts are reduced by a fraction $x$ throughout,||Suppose that everybody has only the fraction $1-x$ of the usual contacts. Then]] $R_{0}$ is replaced by $(1-x)R_{0}$. Table~\ref{tab:cut} shows [[the consequences||what happens]]: a lower and later peak, and fewer infections in total. [[Above $x=<<cut>>\,\%$ there is no epidemic at all||The epidemic is prevented if $x><<cut>>\,\%$]]. [[If the measures end too early, the remaining susceptibles are still above the threshold and a second wave follows||A temporary measure only shifts the peak unless it brings $s$ below $1/R_{0}$]].""",
                    **v,
                ),
                table(
                    "tab:cut",
                    f"Effect of reduced contacts; $1/\\gamma={1 / recovery:g}$ days, $i(0)=0.1\\,\\%$.",
                    "rrrrrc",
                    "$x$ & $R$ & peak & day & infected & $R>1$",
                    rows,
                ),
            ),
            section(
                "Chance",
                say(
                    rng,
                    r"""[[While only few are infected, \eqref{eq:sir} is not adequate||Differential equations describe large numbers only]]. If each case infects others at rate $\beta$ during an exponentially distributed time, the number of cases caused by one is geometric, and the probability $q$ that a single introduction dies out satisfies
        \begin{equation}q=\sum_{k\ge0}\frac{1}{1+R_{0}}\left(\frac{R_{0}}{1+R_{0}}\right)^{k}q^{k}=\frac{1}{1+R_{0}-R_{0}q},\end{equation}
        with the roots $q=1$ and $q=1/R_{0}$. [[So a major outbreak has the probability||The probability of a major outbreak is therefore]] $1-1/R_{0}=<<theory>>\,\%$ [[per introduction||for each imported case]]. We simulated <<chain>> introductions and saw $<<big>>\,\%$ take off. [[A single case is thus no reason for fatalism||Many sparks, as one says, do not start a fire]].""",
                    **v,
                ),
            ),
            section(
                "Limitations",
                *some(
                    rng,
                    3,
                    say(
                        rng,
                        r"""\paragraph{Heterogeneity.} [[Real contact numbers vary a lot||People differ in their numbers of contacts]]. If activity has mean $m$ and variance $\sigma^{2}$, the reproduction number is multiplied by $1+\sigma^{2}/m^{2}$, [[but the final size becomes smaller||while the epidemic ends earlier]], since the most active are infected and removed first.""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Generation times.} An exponential infectious period is [[convenient but unrealistic||chosen for convenience]]. With a fixed period $1/\gamma$ the relation between growth rate $\rho$ and $R_{0}$ changes from $R_{0}=1+\rho/\gamma$ to $R_{0}=(\rho/\gamma)/(1-e^{-\rho/\gamma})$. The final size equation \eqref{eq:final}, [[remarkably||by contrast]], is the same for all distributions.""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Reporting.} If a constant share of the cases is reported, estimates of $R_{0}$ from growth are unaffected, [[as only the slope of $\log i$ matters||because a constant factor shifts $\log i$ but does not tilt it]]. [[A changing share, however, mimics a change in transmission||When testing expands, cases seem to grow faster than they do]].""",
                    ),
                ),
            ),
        ],
        {
            "km": "W. O. Kermack and A. G. McKendrick, \\emph{Proc.\\ R.\\ Soc.\\ Lond.\\ A} \\textbf{115} (1927), 700--721.",
            "diek": "O. Diekmann, H. Heesterbeek, and T. Britton, \\emph{Mathematical Tools for Understanding Infectious Disease Dynamics}, Princeton, 2013.",
        },
    )


def branching(rng: random.Random, r: float) -> bool:
    """Does a single introduction reach 200 cases?"""
    alive = total = 1
    while alive and total < 200:
        if rng.random() < r / (1 + r):
            alive, total = alive + 1, total + 1
        else:
            alive -= 1
    return alive > 0
