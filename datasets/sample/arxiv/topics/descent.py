"""Gradient descent and momentum on quadratics."""

from __future__ import annotations

import math
import random

from topics.paper import Paper, say, section, some, table, thousands


def iterations(kappa: float, method: str, tolerance: float = 1e-8) -> int:
    """Iterations that a method needs on the quadratic with eigenvalues 1 .. ``kappa`` (twenty, log-spaced)."""
    values = [kappa ** (i / 19) for i in range(20)]
    x, previous, count = [1.0] * 20, [1.0] * 20, 0
    root = math.sqrt(kappa)
    step, inertia = {
        "safe": (1 / kappa, 0.0),
        "best": (2 / (1 + kappa), 0.0),
        "heavy ball": (4 / (1 + root) ** 2, ((root - 1) / (root + 1)) ** 2),
        "Nesterov": (1 / kappa, (root - 1) / (root + 1)),
    }[method]
    while max(map(abs, x)) > tolerance and count < 100_000:
        if method == "Nesterov":
            ahead = [a + inertia * (a - b) for a, b in zip(x, previous, strict=False)]
            x, previous = [a - step * v * a for a, v in zip(ahead, values, strict=False)], x
        else:
            x, previous = (
                [a - step * v * a + inertia * (a - b) for a, b, v in zip(x, previous, values, strict=False)],
                x,
            )
        count += 1
    return count


def descent(rng: random.Random, kappa: int) -> Paper:
    """Gradient descent with and without momentum on an ill-conditioned quadratic."""
    grid = sorted({max(2, kappa // 10), kappa // 4, kappa, 4 * kappa})
    methods = ["safe", "best", "heavy ball", "Nesterov"]
    counts = {(m, k): iterations(k, m) for m in methods for k in grid}
    rows = [
        [
            f"$\\kappa={k}$",
            *(thousands(counts[m, k]) for m in methods),
            f"{counts['best', k] / counts['heavy ball', k]:.1f}",
        ]
        for k in grid
    ]
    v = {
        "k": kappa,
        "q": f"{(kappa - 1) / (kappa + 1):.4f}",
        "r": f"{(math.sqrt(kappa) - 1) / (math.sqrt(kappa) + 1):.4f}",
        "safe": thousands(counts["safe", kappa]),
        "best": thousands(counts["best", kappa]),
        "heavy": thousands(counts["heavy ball", kappa]),
        "nest": thousands(counts["Nesterov", kappa]),
        "gain": f"{counts['best', kappa] / counts['heavy ball', kappa]:.1f}",
        "pred": thousands(math.ceil(math.log(1e8) / math.log((kappa + 1) / (kappa - 1)))),
    }
    return Paper(
        rng.choice(
            [
                f"Momentum at condition number {kappa}",
                f"How much does momentum help when $\\kappa={kappa}$?",
                f"Four gradient methods on a quadratic with $\\kappa={kappa}$",
            ]
        ),
        say(
            rng,
            r"""[[Gradient descent on a quadratic function is fully understood||Quadratic functions are the fruit flies of optimization]]. For condition number $\kappa=<<k>>$ we derive the rates of plain gradient descent and of the heavy-ball method and [[count iterations||compare predicted and observed iteration counts]]. [[Momentum wins by a factor of <<gain>>.||With momentum <<heavy>> steps suffice instead of <<best>>.]]""",
            **v,
        ),
        [
            section(
                "Setting",
                say(
                    rng,
                    r"""[[We minimize||The task is to minimize]] $f(x)=\frac12x^{\top}Ax-b^{\top}x$ with a symmetric matrix $A$ whose eigenvalues lie in $[\mu,L]$, $0<\mu\le L$; the condition number is $\kappa=L/\mu$. [[Near a minimum every smooth function looks like this||Locally every smooth strongly convex function is of this form]], and [[therefore the quadratic case deserves a careful look||so the example is less special than it seems]]. The gradient is $\nabla f(x)=Ax-b$, the minimizer $x^{*}=A^{-1}b$. [[In machine learning $\kappa$ is often large because features have different scales||Badly scaled features make $\kappa$ large]]; [[normalization layers help||whitening the data would make it one]].""",
                    **v,
                ),
            ),
            section(
                "Gradient descent",
                say(
                    rng,
                    r"""The iteration $x_{t+1}=x_{t}-\eta\nabla f(x_{t})$ [[multiplies the error by||changes the error linearly, with matrix]] $I-\eta A$:
        \begin{equation}\label{eq:gd}x_{t}-x^{*}=(I-\eta A)^{t}(x_{0}-x^{*}).\end{equation}
        \begin{theorem}Gradient descent converges for all $x_{0}$ if and only if $0<\eta<2/L$. The best fixed step is $\eta=2/(\mu+L)$ and gives the rate
        \begin{equation}\rho=\frac{\kappa-1}{\kappa+1}.\end{equation}\end{theorem}
        \begin{proof}[[In an eigenbasis||In coordinates along eigenvectors]] component $i$ is multiplied by $1-\eta\lambda_{i}$. [[The spectral radius||The largest factor]] is $\max(|1-\eta\mu|,|1-\eta L|)$, [[a piecewise linear function of $\eta$ that is least where both are equal||which is minimal if $1-\eta\mu=\eta L-1$]].\end{proof}
        For $\kappa=<<k>>$ the rate is $<<q>>$, [[so that a reduction of the error by $10^{-8}$ takes at most <<pred>> steps||and <<pred>> steps reduce the error by $10^{-8}$]]. [[The cautious choice $\eta=1/L$, which does not require $\mu$,||Often $\mu$ is unknown and one takes $\eta=1/L$; this]] costs about twice as many.""",
                    **v,
                ),
            ),
            section(
                "Momentum",
                say(
                    rng,
                    r"""[[Polyak's heavy ball||The heavy-ball method of Polyak~\cite{polyak}]] remembers the last step,
        \begin{equation}\label{eq:hb}x_{t+1}=x_{t}-\eta\nabla f(x_{t})+\beta(x_{t}-x_{t-1}).\end{equation}
        [[Each eigenvalue leads to the $2\times2$ matrix||On an eigenvector the pair $(x_{t+1},x_{t})$ evolves with]]
        \[M(\lambda)=\begin{pmatrix}1+\beta-\eta\lambda&-\beta\\1&0\end{pmatrix},\qquad\det M=\beta.\]
        \begin{proposition}If $(1-\sqrt{\eta\lambda})^{2}\le\beta<1$, both eigenvalues of $M(\lambda)$ have modulus $\sqrt\beta$. With $\eta=4/(\sqrt L+\sqrt\mu)^{2}$ and $\sqrt\beta=\frac{\sqrt\kappa-1}{\sqrt\kappa+1}$ this holds for all $\lambda\in[\mu,L]$.\end{proposition}
        \begin{proof}The eigenvalues are complex conjugates, with product $\beta$, exactly if $(1+\beta-\eta\lambda)^{2}\le4\beta$, i.e.\ if $(1-\sqrt\beta)^{2}\le\eta\lambda\le(1+\sqrt\beta)^{2}$. [[The stated parameters make the left bound sharp for $\mu$ and the right one for $L$||With the parameters given, both bounds are attained, at $\lambda=\mu$ and at $\lambda=L$]].\end{proof}
        The rate $\sqrt\beta=<<r>>$ [[replaces $\kappa$ by $\sqrt\kappa$||has the square root of $\kappa$ where gradient descent has $\kappa$]]. [[No method that only combines gradients can do better in the worst case||By a theorem of Nemirovski this cannot be improved in general]]. Nesterov's variant evaluates the gradient at the extrapolated point [[and is safe for all strongly convex functions||which makes it robust beyond quadratics]]~\cite{nesterov}.""",
                    **v,
                ),
            ),
            section(
                "Experiment",
                say(
                    rng,
                    r"""[[Twenty eigenvalues are placed geometrically between $1$ and $\kappa$||We take twenty eigenvalues $\kappa^{i/19}$, $0\le i\le19$]]; all components of the initial error are one, [[and we stop when all are below $10^{-8}$||and the iteration stops once the largest is below $10^{-8}$]]. Table~\ref{tab:it} [[gives||shows]] the counts. For $\kappa=<<k>>$: gradient descent needs <<safe>> steps with $\eta=1/L$ and <<best>> with the best step, the heavy ball <<heavy>>, and Nesterov's method <<nest>>. [[The gain grows like $\sqrt\kappa$||As predicted the gain in the last column grows with $\kappa$]].""",
                    **v,
                ),
                table(
                    "tab:it",
                    "Iterations until $\\max_i|x_i-x_i^*|<10^{-8}$; the last column is the quotient of the second and third.",
                    "l" + "r" * 5,
                    "& $\\eta=\\frac1L$ & $\\eta=\\frac{2}{\\mu+L}$ & heavy ball & Nesterov & gain",
                    rows,
                ),
            ),
            section(
                "Comments",
                *some(
                    rng,
                    4,
                    say(
                        rng,
                        r"""\paragraph{Noise.} [[With stochastic gradients||If gradients carry noise of variance $\sigma^{2}$]] the error does not tend to zero but to a level [[proportional to $\eta\sigma^{2}$||of order $\eta\sigma^{2}/\mu$]]; momentum multiplies the noise by $1/(1-\beta)$. [[A decaying step size||Decreasing the step size]] or averaging the iterates restores convergence. [[This is one reason why learning rates are annealed||Learning-rate schedules owe their existence to this trade-off]].""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Conjugate gradients.} [[If exact line searches are possible||For quadratics]] one should use conjugate gradients, which need no parameters at all and satisfy $\|x_{t}-x^{*}\|_{A}\le2\left(\frac{\sqrt\kappa-1}{\sqrt\kappa+1}\right)^{t}\|x_{0}-x^{*}\|_{A}$. [[With twenty distinct eigenvalues they stop after twenty steps||In our example they would finish after twenty steps]], in exact arithmetic.""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Chebyshev.} [[Behind all these rates||In the background]] stand Chebyshev polynomials: among polynomials of degree $t$ with $p(0)=1$ the smallest maximum on $[\mu,L]$ is $1/T_{t}\bigl(\frac{\kappa+1}{\kappa-1}\bigr)$. [[The heavy ball is the stationary limit of the Chebyshev iteration||As $t\to\infty$ the parameters of the optimal method tend to those of the heavy ball]].""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Divergence.} A step larger than $2/L$ makes the component of the largest eigenvalue [[explode||grow]] with alternating signs. [[In training curves this looks like a sudden jump of the loss||Practitioners know the picture]]. With momentum the limit moves to $2(1+\beta)/L$, [[so that momentum also widens the stable range||a larger range]].""",
                    ),
                ),
            ),
        ],
        {
            "polyak": "B. T. Polyak, Some methods of speeding up the convergence of iteration methods, \\emph{USSR Comput.\\ Math.\\ Math.\\ Phys.} \\textbf{4} (1964), 1--17.",
            "nesterov": "Y. Nesterov, \\emph{Introductory Lectures on Convex Optimization}, Kluwer, 2004.",
        },
    )
