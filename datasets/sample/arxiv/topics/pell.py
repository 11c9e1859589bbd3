"""Pell's equation and continued fractions."""

from __future__ import annotations

import math
import random

from topics.paper import Paper, say, sci, section, some, table, thousands


def expand(d: int) -> tuple[int, list[int]]:
    """Integer part and period of the continued fraction of the square root of ``d``."""
    root, period = math.isqrt(d), []
    m, c, a = 0, 1, math.isqrt(d)
    while a != 2 * root:
        m = c * a - m
        c = (d - m * m) // c
        a = (root + m) // c
        period.append(a)
    return root, period


def pell(rng: random.Random, d: int) -> Paper:
    """Pell's equation for the non-square ``d``."""
    root, period = expand(d)
    h, k, terms = [1, root], [0, 1], period * 2
    for a in terms:
        h.append(a * h[-1] + h[-2])
        k.append(a * k[-1] + k[-2])
    length = len(period)
    index = length if length % 2 == 0 else 2 * length
    x, y = h[index], k[index]
    rows = [
        [
            i,
            root if i == 0 else terms[i - 1],
            thousands(h[i + 1]),
            thousands(k[i + 1]),
            f"${h[i + 1] ** 2 - d * k[i + 1] ** 2}$",
        ]
        for i in range(min(index, 9))
    ]
    v = {
        "d": d,
        "r": root,
        "x": thousands(x),
        "y": thousands(y),
        "length": length,
        "period": ",".join(map(str, period)),
        "x2": thousands(2 * x * x - 1),
        "y2": thousands(2 * x * y),
        "parity": "even" if length % 2 == 0 else "odd",
        "index": index - 1,
        "eps": sci(1 / (2 * y * y * math.sqrt(d))),
        "other": "for $d=109$ it is $x=158\\,070\\,671\\,986\\,249$"
        if d == 61
        else "for $d=61$ it is $x=1\\,766\\,319\\,049$",
        "bits": x.bit_length(),
    }
    negative = (
        say(
            rng,
            r"""[[Since the period is odd, the negative equation is solvable too||The odd period has a bonus: $x^{2}-<<d>>y^{2}=-1$ has solutions as well]]. Its smallest solution is $(<<nx>>,\;<<ny>>)$, and squaring $<<nx>>+<<ny>>\sqrt{<<d>>}$ [[returns||gives back]] the solution above.""",
            nx=thousands(h[length]),
            ny=thousands(k[length]),
            **v,
        )
        if length % 2
        else say(
            rng,
            r"""[[The period is even; consequently $x^{2}-<<d>>y^{2}=-1$ has no solution in integers||Because of the even period the equation with right-hand side $-1$ is not solvable]]. [[Sometimes this can be seen directly from a congruence||For some $d$ a congruence modulo $4$ or modulo a prime $p\equiv3\pmod 4$ dividing $d$ shows the same at once]], [[but the period decides in every case||but not always]].""",
            **v,
        )
    )
    return Paper(
        rng.choice(
            [
                f"Pell's equation for $d={d}$",
                f"The equation $x^2-{d}y^2=1$ and the continued fraction of $\\sqrt{{{d}}}$",
                f"Solving $x^2-{d}y^2=1$ by hand",
            ]
        ),
        say(
            rng,
            r"""[[We solve||This note solves]] Pell's equation $x^{2}-<<d>>y^{2}=1$ with the continued fraction of $\sqrt{<<d>>}$, whose period has length <<length>>. The fundamental solution is $(<<x>>,\;<<y>>)$. [[All steps are given in full.||Proofs are included.||We also explain why the method must succeed.]]""",
            **v,
        ),
        [
            section(
                "Introduction",
                say(
                    rng,
                    r"""The equation
        \begin{equation}\label{eq:pell} x^{2}-<<d>>y^{2}=1 \end{equation}
        [[always has the trivial solutions||has two trivial solutions]] $(\pm1,0)$. [[Are there others, and how does one find them?||The interesting question is whether there are others.]] [[Trying $y=1,2,3,\dots$ works in principle||One can try all values of $y$ in turn]], [[but for some $d$ the least solution is astronomically large||but patience may not suffice]]: <<other>>.
        [[The name of Pell was attached to the equation by a mistake of Euler||Euler named the equation after Pell, who had little to do with it]]; Brahmagupta and Bh\=askara [[knew how to solve it||solved it]] centuries before Fermat [[posed it as a challenge||challenged the English with it]]~\cite{weil}.""",
                    **v,
                ),
            ),
            section(
                rng.choice(["The continued fraction", f"Expanding $\\sqrt{{{d}}}$"]),
                say(
                    rng,
                    r"""[[Let $a_{0}=\lfloor\sqrt{<<d>>}\rfloor=<<r>>$ and repeat||Start with $a_{0}=<<r>>$ and iterate]]
        \begin{align}
        m_{i+1}&=c_{i}a_{i}-m_{i}, & c_{i+1}&=\frac{<<d>>-m_{i+1}^{2}}{c_{i}}, & a_{i+1}&=\left\lfloor\frac{<<r>>+m_{i+1}}{c_{i+1}}\right\rfloor,
        \end{align}
        [[beginning with||where at first]] $m_{0}=0$ and $c_{0}=1$. [[The process becomes periodic when $a_{i}=2a_{0}$ is reached||As soon as $a_{i}=2a_{0}$ appears, the sequence repeats]]. [[Here one finds||In our case the result is]]
        \[\sqrt{<<d>>}=[<<r>>;\overline{<<period>>}],\]
        a period of <<parity>> length~<<length>>. [[Note the symmetry||It is no accident]]: the period without its last term [[reads the same backwards||is a palindrome]]. The convergents $h_{i}/k_{i}$ obey $h_{i}=a_{i}h_{i-1}+h_{i-2}$ and $k_{i}=a_{i}k_{i-1}+k_{i-2}$; Table~\ref{tab:conv} [[lists||shows]] the first of them.""",
                    **v,
                ),
                table(
                    "tab:conv",
                    f"Convergents of $\\sqrt{{{d}}}$ and their norms.",
                    "rrrrr",
                    f"$i$ & $a_i$ & $h_i$ & $k_i$ & $h_i^2-{d}k_i^2$",
                    rows,
                ),
            ),
            section(
                "The solution",
                say(
                    rng,
                    r"""\begin{theorem} The least solution of \eqref{eq:pell} with $y>0$ is $(x,y)=(<<x>>,\;<<y>>)$, and all positive solutions $(x_{n},y_{n})$ are given by
        \begin{equation}\label{eq:all} x_{n}+y_{n}\sqrt{<<d>>}=\bigl(<<x>>+<<y>>\sqrt{<<d>>}\bigr)^{n},\qquad n=1,2,3,\dots \end{equation}\end{theorem}
        \begin{proof} [[If $x^{2}-dy^{2}=1$ with $y>0$, then||A solution with $y>0$ satisfies]]
        \[0<\frac xy-\sqrt d=\frac{1}{y\,(x+y\sqrt d)}<\frac{1}{2y^{2}\sqrt d}<\frac{1}{2y^{2}},\]
        so [[by Legendre's criterion $x/y$ is a convergent||$x/y$ must be a convergent, by a theorem of Legendre]]. The norms $h_{i}^{2}-dk_{i}^{2}=(-1)^{i+1}c_{i+1}$ equal $\pm1$ only at the ends of periods, [[and the sign is $+$ for the first time at||and the first plus sign occurs at]] $i=<<index>>$. Now let $\varepsilon=<<x>>+<<y>>\sqrt{<<d>>}$ and let $\eta=u+v\sqrt{<<d>>}>1$ come from any solution. [[Choose $n$ with $\varepsilon^{n}\le\eta<\varepsilon^{n+1}$||There is $n$ with $\varepsilon^{n}\le\eta<\varepsilon^{n+1}$]]. Then $\eta\varepsilon^{-n}$ has norm $1$ and lies in $[1,\varepsilon)$; [[by minimality it is $1$||since $\varepsilon$ is least, it equals $1$]]. \end{proof}
        [[The second solution, from squaring, is||Squaring yields]] $(<<x2>>,\;<<y2>>)$, because $x_{2}=2x_{1}^{2}-1$ and $y_{2}=2x_{1}y_{1}$. In general [[the solutions satisfy a linear recurrence||both coordinates follow the recurrence]] $x_{n+1}=2x_{1}x_{n}-x_{n-1}$.""",
                    **v,
                ),
                negative,
            ),
            section(
                rng.choice(["Remarks", "Complements", "Discussion"]),
                *some(
                    rng,
                    4,
                    say(
                        rng,
                        r"""\paragraph{Approximation.} The quotient $<<x>>/<<y>>$ differs from $\sqrt{<<d>>}$ by [[only||about]] <<eps>>. [[Ancient mathematicians used such fractions to extract roots||Solutions of Pell's equation are thus excellent approximations]]: the error is always close to $1/(2y^{2}\sqrt{<<d>>})$, and one step $n\mapsto2n$ in \eqref{eq:all}, which is Newton's method in disguise, doubles the number of correct digits.""",
                        **v,
                    ),
                    say(
                        rng,
                        r"""\paragraph{Units.} [[In algebraic terms||Algebraically]], the numbers $x+y\sqrt{<<d>>}$ with \eqref{eq:pell} form the group of units of norm $1$ in the ring $\mathbb{Z}[\sqrt{<<d>>}]$. [[The theorem says that this group is||It is]] $\{\pm\varepsilon^{n}:n\in\mathbb{Z}\}\cong\mathbb{Z}/2\times\mathbb{Z}$, a special case of Dirichlet's unit theorem. The regulator is $\log\varepsilon\approx<<reg>>$.""",
                        reg=f"{math.log(2 * x):.3f}",
                        **v,
                    ),
                    say(
                        rng,
                        r"""\paragraph{Size.} The least $x$ has <<bits>> binary digits. [[It is known||One can show]] that $\log\varepsilon<\sqrt{d}\,(\log 4d+2)$, [[so the solution has at most||hence at most]] $O(\sqrt d\log d)$ digits; [[a lower bound of similar order is expected for infinitely many $d$||numbers $d$ with long periods are common]]. For $d=r^{2}+1$, by contrast, the period is as short as possible and $(2r^{2}+1,2r)$ solves the equation.""",
                        **v,
                    ),
                    say(
                        rng,
                        r"""\paragraph{Brahmagupta's identity.} From $(x^{2}-dy^{2})(u^{2}-dv^{2})=(xu+dyv)^{2}-d(xv+yu)^{2}$ one can \emph{compose} approximate solutions. [[With luck||Often]] two triples with small norm combine to a solution, which is the idea of the \emph{cakrav\=ala}, the cyclic method. [[It needs fewer steps than the continued fraction||Its steps correspond to nearest-integer continued fractions]].""",
                    ),
                ),
            ),
        ],
        {
            "weil": 'A. Weil, \\emph{Number Theory: An Approach through History}, Birkh\\"auser, 1984.',
            "hw": "G. H. Hardy and E. M. Wright, \\emph{An Introduction to the Theory of Numbers}, Oxford, 1938.",
        },
    )
