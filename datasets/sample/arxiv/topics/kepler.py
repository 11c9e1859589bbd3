"""Kepler's equation."""

from __future__ import annotations

import math
import random

from topics.paper import Paper, say, section, some, table

BODIES = {
    "Mercury": 0.2056,
    "Mars": 0.0934,
    "Pluto": 0.2488,
    "comet Encke": 0.848,
    "comet Halley": 0.967,
    "Earth": 0.0167,
}


def kepler(rng: random.Random, body: str) -> Paper:
    """Solve Kepler's equation for the eccentricity of ``body`` with three iterations."""
    e = BODIES[body]
    rows, worst = [], {"fixed": 0, "newton": 0, "halley": 0}
    for degrees in (5, 30, 60, 90, 120, 150, 175):
        m, row = math.radians(degrees), [degrees]
        for name in worst:
            x, count = (m + e if e > 0.5 else m), 0
            while count < 2000:
                g, d = x - e * math.sin(x) - m, 1 - e * math.cos(x)
                step = (
                    g
                    if name == "fixed"
                    else g / d
                    if name == "newton"
                    else g / (d - g * e * math.sin(x) / (2 * d))
                )
                x, count = x - step, count + 1
                if abs(step) < 1e-12:
                    break
            worst[name] = max(worst[name], count)
            row.append(count)
        rows.append(
            [
                *row,
                f"{x:.8f}",
                f"{math.degrees(2 * math.atan2(math.sqrt(1 + e) * math.sin(x / 2), math.sqrt(1 - e) * math.cos(x / 2))) % 360:.4f}",
            ]
        )
    v = {
        "body": body,
        "e": f"{e:g}",
        "wf": worst["fixed"],
        "wn": worst["newton"],
        "wh": worst["halley"],
        "start": "M+e" if e > 0.5 else "M",
        "rate": f"{e:.3g}",
        "need": math.ceil(-12 / math.log10(e)),
        "ratio": f"{(1 + e) / (1 - e):.2f}",
        "q": f"{1 - e:.4g}",
        "big": f"{1 + e:.4g}",
    }
    kind = "high" if e > 0.5 else "moderate" if e > 0.05 else "small"
    return Paper(
        rng.choice(
            [
                f"Kepler's equation for {body}",
                f"Where is {body}? Three iterations for Kepler's equation",
                f"Solving $M=E-e\\sin E$ for $e={e:g}$",
            ]
        ),
        say(
            rng,
            r"""[[Fixed-point iteration, Newton's method and Halley's method||Three classical iterations]] are compared on Kepler's equation with the eccentricity $e=<<e>>$ of <<body>>. [[Convergence is proved for all mean anomalies.||We prove convergence and count iterations.]] In the worst case they need <<wf>>, <<wn>> and <<wh>> steps for twelve decimals.""",
            **v,
        ),
        [
            section(
                "Introduction",
                say(
                    rng,
                    r"""A body on an elliptic orbit with semi-major axis $a$ and eccentricity $e$ [[sweeps out equal areas in equal times||obeys Kepler's second law]]. [[To find its position at time $t$||If we want its position]] one computes the mean anomaly $M=2\pi(t-t_{0})/P$, solves
        \begin{equation}\label{eq:kepler}E-e\sin E=M\end{equation}
        for the eccentric anomaly $E$, and [[obtains||then gets]] distance and true anomaly from
        \begin{align}r&=a(1-e\cos E),&\tan\frac{\nu}{2}&=\sqrt{\frac{1+e}{1-e}}\,\tan\frac E2.\end{align}
        [[Equation \eqref{eq:kepler} is transcendental||No elementary formula solves \eqref{eq:kepler}]], and [[a hundred papers||a surprising number of papers]] have been written on its solution~\cite{colwell}. [[For <<body>>||We take <<body>>, for which]] $e=<<e>>$, a <<kind>> value: the distance from the Sun varies between $<<q>>\,a$ and $<<big>>\,a$, [[a ratio of||that is, by a factor]] $<<ratio>>$.""",
                    kind=kind,
                    **v,
                ),
            ),
            section(
                "Existence and fixed-point iteration",
                say(
                    rng,
                    r"""\begin{proposition}For $0\le e<1$ equation \eqref{eq:kepler} has exactly one solution, and the iteration $E_{k+1}=M+e\sin E_{k}$ converges to it from any start, with $|E_{k}-E|\le e^{k}|E_{0}-E|$.\end{proposition}
        \begin{proof}The function $g(E)=E-e\sin E$ has the derivative $1-e\cos E\ge1-e>0$ and [[is unbounded in both directions||tends to $\pm\infty$]], so it is a bijection of $\mathbb{R}$. [[The map $E\mapsto M+e\sin E$ has a derivative of absolute value $\le e$||Moreover $|M+e\sin x-M-e\sin y|\le e|x-y|$]], and [[the contraction principle applies||Banach's theorem does the rest]].\end{proof}
        [[To reduce the error by $10^{-12}$||For twelve decimals]] the bound requires $12/\log_{10}(1/e)$, i.e.\ about <<need>>, iterations. The bound is attained only where $|\cos E|\approx1$.""",
                    **v,
                ),
            ),
            section(
                "Newton and Halley",
                say(
                    rng,
                    r"""Newton's method for $f(E)=E-e\sin E-M$ reads
        \begin{equation}E_{k+1}=E_{k}-\frac{E_{k}-e\sin E_{k}-M}{1-e\cos E_{k}}.\end{equation}
        On $0\le M\le\pi$ the function $f$ is [[convex, as $f''=e\sin E\ge0$||convex because $f''=e\sin E\ge0$ there]]. [[A start to the right of the root, such as $E_{0}=M+e$, therefore gives a decreasing sequence||Starting from $E_{0}=M+e\ge E$ the iterates decrease monotonically]], [[so that convergence is guaranteed||and Newton's method cannot fail]]; near the root the error is squared,
        $\epsilon_{k+1}\approx\frac{e\sin E}{2(1-e\cos E)}\,\epsilon_{k}^{2}$. Halley's method also uses the second derivative [[which costs nothing||at no extra cost]], since $f''=e\sin E$ [[has already been computed||is at hand]]:
        \begin{equation}E_{k+1}=E_{k}-\frac{f}{f'-\dfrac{f\,f''}{2f'}},\qquad\epsilon_{k+1}=O(\epsilon_{k}^{3}).\end{equation}""",
                    **v,
                ),
            ),
            section(
                rng.choice(["Results", "Counting iterations"]),
                say(
                    rng,
                    r"""Table~\ref{tab:count} [[shows||gives]] the number of iterations until a correction falls below $10^{-12}$, with $E_{0}=<<start>>$, together with the results. [[The fixed-point iteration needs up to||In the worst case the simple iteration takes]] <<wf>> steps, [[Newton's method at most||against, for Newton,]] <<wn>> and Halley's <<wh>>. [[Measured in sines and cosines||In terms of trigonometric evaluations]] the difference is smaller, [[since each Newton step needs both $\sin$ and $\cos$||because a step of Newton's method costs two of them]].""",
                    **v,
                ),
                table(
                    "tab:count",
                    f"Iterations for {body}, $e={e:g}$; $E$ in radians, $\\nu$ in degrees.",
                    "rrrrrr",
                    "$M$ [$^\\circ$] & simple & Newton & Halley & $E$ & $\\nu$ [$^\\circ$]",
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
                        r"""\paragraph{Series.} Lagrange's inversion gives $E=M+\sum_{n\ge1}\frac{e^{n}}{2^{n-1}n!}\sum_{k}(-1)^{k}\binom nk(n-2k)^{n-1}\sin(n-2k)M$, where $0\le k<n/2$. Laplace showed that the series converges for all $M$ only if $e<0.6627\ldots$, [[which||a limit that]] <<verdict>>.""",
                        verdict="excludes our case" if e > 0.6627 else "our orbit respects comfortably",
                        **v,
                    ),
                    say(
                        rng,
                        r"""\paragraph{Bessel functions.} [[As $E-M$ is an odd periodic function of $M$||Since $E-M$ is odd and $2\pi$-periodic in $M$]], it has a Fourier series, and Bessel introduced his functions to write it down: $E=M+\sum_{n=1}^{\infty}\frac2nJ_{n}(ne)\sin nM$. This series converges for every $e<1$, but slowly if $e$ is close to one.""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Nearly parabolic orbits.} For $e\to1$ and small $M$ the derivative $1-e\cos E$ almost vanishes and \eqref{eq:kepler} suffers from cancellation: $E-\sin E\approx E^{3}/6$ is the difference of two nearly equal numbers. [[One then uses a power series for $E-\sin E$ or universal variables||It is better to use a power series for $E-\sin E$, or to switch to universal variables]].""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Mean values.} Averaged over time, $\langle r\rangle=a(1+e^{2}/2)$ while $\langle1/r\rangle=1/a$. [[The second identity||That $\langle1/r\rangle$ does not depend on $e$]] is a special case of the virial theorem. For <<body>> the first is $<<mean>>\,a$.""",
                        mean=f"{1 + e * e / 2:.4f}",
                        **v,
                    ),
                ),
            ),
        ],
        {
            "colwell": "P. Colwell, \\emph{Solving Kepler's Equation over Three Centuries}, Willmann-Bell, 1993.",
            "danby": "J. M. A. Danby, \\emph{Fundamentals of Celestial Mechanics}, Willmann-Bell, 1988.",
        },
    )
