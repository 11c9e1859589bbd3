"""One-step methods for differential equations."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from topics.paper import Paper, say, sci, section, some, table

Field = Callable[[float, float], float]


METHODS: dict[str, tuple[int, str]] = {
    "Euler": (1, "1"),
    "midpoint": (2, "2"),
    "Heun": (2, "2"),
    "Kutta 3": (3, "3"),
    "classical RK4": (4, "4"),
}


PROBLEMS: dict[str, tuple[str, str, Field, Callable[[float], float], float, float]] = {
    "logistic": (
        "y'=y(1-y)",
        "y(t)=\\frac{1}{1+4e^{-t}}",
        lambda t, y: y * (1 - y),
        lambda t: 1 / (1 + 4 * math.exp(-t)),
        0.2,
        2.0,
    ),
    "forced": (
        "y'=-y+\\sin t",
        "y(t)=\\tfrac12(\\sin t-\\cos t)+\\tfrac32e^{-t}",
        lambda t, y: -y + math.sin(t),
        lambda t: (math.sin(t) - math.cos(t)) / 2 + 1.5 * math.exp(-t),
        1.0,
        3.0,
    ),
    "riccati": ("y'=1+y^{2}", "y(t)=\\tan t", lambda t, y: 1 + y * y, math.tan, 0.0, 1.2),
    "gompertz": (
        "y'=-y\\log y",
        "y(t)=\\exp\\bigl(e^{-t}\\log\\tfrac15\\bigr)",
        lambda t, y: -y * math.log(y),
        lambda t: math.exp(math.exp(-t) * math.log(0.2)),
        0.2,
        2.0,
    ),
}


def advance(method: str, f: Field, t: float, y: float, h: float) -> float:
    """One step of size ``h``."""
    k1 = f(t, y)
    if method == "Euler":
        return y + h * k1
    if method == "Heun":
        return y + h / 2 * (k1 + f(t + h, y + h * k1))
    k2 = f(t + h / 2, y + h / 2 * k1)
    if method == "midpoint":
        return y + h * k2
    if method == "Kutta 3":
        return y + h / 6 * (k1 + 4 * k2 + f(t + h, y - h * k1 + 2 * h * k2))
    k3 = f(t + h / 2, y + h / 2 * k2)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(t + h, y + h * k3))


def steps(rng: random.Random, problem: str, start: int) -> Paper:
    """Compare one-step methods on a problem with a known solution."""
    equation, solution, f, exact, y0, end = PROBLEMS[problem]
    sizes, errors = [start, 2 * start, 4 * start, 8 * start], {}
    chosen = ["Euler", rng.choice(["midpoint", "Heun"]), "Kutta 3", "classical RK4"]
    for method in chosen:
        for n in sizes:
            y, h = y0, end / n
            for i in range(n):
                y = advance(method, f, i * h, y, h)
            errors[method, n] = abs(y - exact(end))
    orders = {m: math.log2(errors[m, sizes[-2]] / errors[m, sizes[-1]]) for m in chosen}
    rows = [[m, *(sci(errors[m, n]) for n in sizes), f"{orders[m]:.2f}"] for m in chosen]
    v = {
        "eq": equation,
        "sol": solution,
        "y0": f"{y0:g}",
        "T": f"{end:g}",
        "n1": sizes[0],
        "n4": sizes[-1],
        "second": chosen[1],
        "o1": f"{orders['Euler']:.2f}",
        "o4": f"{orders['classical RK4']:.2f}",
        "e1": sci(errors["Euler", sizes[-1]]),
        "e4": sci(errors["classical RK4", sizes[0]]),
        "cheaper": "smaller" if errors["classical RK4", sizes[0]] < errors["Euler", sizes[-1]] else "larger",
    }
    theory = say(
        rng,
        r"""A one-step method [[computes||produces]] $y_{k+1}=y_{k}+h\,\Phi(t_{k},y_{k},h)$. Its \emph{local} error is what a single step adds [[when started on the exact solution||if it starts from exact data]], and the method has order $p$ if this is $O(h^{p+1})$.
        \begin{theorem}\label{thm:gronwall} Let $\Phi$ be Lipschitz in $y$ with constant $L$ and let the local error be at most $Ch^{p+1}$. Then [[for all $t_{k}\le T$||on $[0,T]$]]
        \begin{equation}|y_{k}-y(t_{k})|\le\frac{C}{L}\left(e^{Lt_{k}}-1\right)h^{p}.\end{equation}\end{theorem}
        \begin{proof} [[Let||Put]] $e_{k}=|y_{k}-y(t_{k})|$. [[Comparing one step from $y_{k}$ with one from $y(t_{k})$||By the triangle inequality]],
        $e_{k+1}\le(1+hL)e_{k}+Ch^{p+1}$. [[Induction gives||Unrolling the recursion,]]
        \[e_{k}\le Ch^{p+1}\sum_{j=0}^{k-1}(1+hL)^{j}=\frac{C h^{p}}{L}\left((1+hL)^{k}-1\right),\]
        and $1+hL\le e^{hL}$ [[completes the proof||finishes the argument]]. \end{proof}
        [[The theorem turns a local estimate into a global one||Thus local errors accumulate but are not amplified beyond an exponential factor]]; the constant is usually [[far too pessimistic||much larger than the truth]], [[but the power of $h$ is right||although the exponent is sharp]].""",
    )
    tableaux = say(
        rng,
        r"""In Butcher's notation the [[methods||schemes]] compared here are
        \[\begin{array}{c|c}0&\\\hline&1\end{array}\qquad <<tab2>>\qquad
        \begin{array}{c|ccc}0&&&\\\frac12&\frac12&&\\1&-1&2&\\\hline&\frac16&\frac46&\frac16\end{array}\qquad
        \begin{array}{c|cccc}0&&&&\\\frac12&\frac12&&&\\\frac12&0&\frac12&&\\1&0&0&1&\\\hline&\frac16&\frac13&\frac13&\frac16\end{array}\]
        [[They need one, two, three and four evaluations per step||with one to four evaluations of the right-hand side per step]].""",
        tab2=r"\begin{array}{c|cc}0&&\\\frac12&\frac12&\\\hline&0&1\end{array}"
        if chosen[1] == "midpoint"
        else r"\begin{array}{c|cc}0&&\\1&1&\\\hline&\frac12&\frac12\end{array}",
    )
    found = say(
        rng,
        r"""Table~\ref{tab:errors} [[lists||gives]] the errors at $t=<<T>>$. Halving the step divides them by roughly $2^{p}$, [[as expected||as the theory demands]]: the last column [[estimates||shows]] the order from the two finest grids. For Euler's method [[it is||we find]] $<<o1>>$, for the classical Runge--Kutta method $<<o4>>$. [[It is instructive to compare equal costs||A fair comparison counts evaluations]]: Euler with <<n4>> steps has the error <<e1>>, while RK4 with only <<n1>> steps, [[which is no more expensive than half of that||at half the price]], has the <<cheaper>> error <<e4>>.""",
        **v,
    )
    return Paper(
        rng.choice(
            [
                f"Observed orders of Runge--Kutta methods for ${equation}$",
                f"Four one-step methods on one equation: ${equation}$",
                f"A convergence study for ${equation}$",
            ]
        ),
        say(
            rng,
            r"""Four explicit one-step methods [[are tested on||are applied to]] the initial value problem $<<eq>>$, $y(0)=<<y0>>$, whose solution is known. [[The observed orders agree with theory.||Theory and experiment agree to two digits.]] [[We include a proof of convergence.||A complete proof of the convergence theorem is given.]]""",
            **v,
        ),
        [
            section(
                "Introduction",
                say(
                    rng,
                    r"""[[Numerical methods for ordinary differential equations are best judged on problems whose solution is known||To judge a numerical method one needs a problem with a known answer]]. [[Our example is||Here we take]]
        \begin{equation}\label{eq:ivp}<<eq>>,\qquad y(0)=<<y0>>,\qquad 0\le t\le<<T>>,\end{equation}
        [[with the solution||which is solved by]]
        \begin{equation}<<sol>>.\end{equation}
        [[The reader may verify this by substitution.||Substitution confirms it.||Separation of variables or variation of constants leads to it.]] [[We ask||The questions are]]: how large are the errors of simple methods, how do they depend on the step $h=<<T>>/n$, and [[which method should one prefer||which method gives the best value for the money]]? For background see~\cite{hnw,butcher}.""",
                    **v,
                ),
            ),
            section(rng.choice(["Convergence", "Theory"]), theory),
            section("Methods", tableaux),
            section(
                rng.choice(["Experiments", "Numerical results"]),
                found,
                table(
                    "tab:errors",
                    f"Errors at $t={end:g}$ for $n$ steps, and the observed order.",
                    "l" + "r" * 5,
                    "method & " + " & ".join(f"$n={n}$" for n in sizes) + " & order",
                    rows,
                ),
            ),
            section(
                "Discussion",
                *some(
                    rng,
                    4,
                    say(
                        rng,
                        r"""\paragraph{Stability.} For the test equation $y'=\lambda y$ a method multiplies $y$ by $R(h\lambda)$. [[For Euler||Euler's method has]] $R(z)=1+z$, for RK4 $R(z)=1+z+\frac{z^{2}}{2}+\frac{z^{3}}{6}+\frac{z^{4}}{24}$. On the negative axis $|R|\le1$ holds for $-2\le z\le0$ and $-2.785\ldots\le z\le0$, respectively. [[Stiff problems therefore need implicit methods||An explicit method cannot take long steps when $\lambda\ll0$]], no matter how smooth the solution is.""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Step control.} [[In practice||Production codes]] one does not fix $h$. Two methods of orders $p$ and $p-1$ that share their evaluations estimate the local error $\mathrm{err}$, and the next step is
        \[h_{\mathrm{new}}=0.9\,h\left(\frac{\mathrm{tol}}{\mathrm{err}}\right)^{1/p}.\] [[The factor $0.9$ is a safety margin||The factor $0.9$ avoids too many rejected steps]]. [[On the present problem little would be gained||For a solution as smooth as ours the gain is modest]].""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Rounding.} With $n$ steps in arithmetic of precision $u$ the accumulated rounding error is about $nu$ in the worst case and $\sqrt n\,u$ if the errors behave like random signs. [[Compensated summation||Kahan's summation]] removes most of it. [[In our table||At the sizes used here]] the discretization error still dominates everywhere.""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Extrapolation.} If $A(h)=y(T)+c_{p}h^{p}+O(h^{p+1})$, then $(2^{p}A(h/2)-A(h))/(2^{p}-1)$ [[has a higher order||is more accurate]] [[and takes one more line of code||at the price of one more line of code]]. Applied to the two finest Euler results this gives an error of <<rich>> instead of <<e1>>.""",
                        rich=sci(richardson(problem, sizes[-2])),
                        **v,
                    ),
                ),
            ),
        ],
        {
            "hnw": "E. Hairer, S. P. N{\\o}rsett, and G. Wanner, \\emph{Solving Ordinary Differential Equations I}, Springer, 1993.",
            "butcher": "J. C. Butcher, \\emph{Numerical Methods for Ordinary Differential Equations}, Wiley, 2008.",
        },
    )


def richardson(problem: str, n: int) -> float:
    """Error of the Richardson extrapolation of Euler's method with ``n`` and ``2n`` steps."""
    _, _, f, exact, y0, end = PROBLEMS[problem]
    values = []
    for count in (n, 2 * n):
        y, h = y0, end / count
        for i in range(count):
            y = advance("Euler", f, i * h, y, h)
        values.append(y)
    return abs(2 * values[1] - values[0] - exact(end))
