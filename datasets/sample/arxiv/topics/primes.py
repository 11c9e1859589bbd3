"""Prime number races between residue classes."""

from __future__ import annotations

import itertools
import math
import random

from topics.paper import Paper, say, section, some, table, thousands


def sieve(limit: int) -> list[int]:
    """Primes up to ``limit``."""
    flags = bytearray([1]) * (limit + 1)
    flags[0:2] = b"\0\0"
    for p in range(2, math.isqrt(limit) + 1):
        if flags[p]:
            flags[p * p :: p] = bytes(len(range(p * p, limit + 1, p)))
    return [n for n in range(limit + 1) if flags[n]]


def primes(rng: random.Random, modulus: int, limit: int) -> Paper:
    """Primes in residue classes modulo ``modulus`` up to ``limit``."""
    units = [a for a in range(1, modulus) if math.gcd(a, modulus) == 1]
    listed, marks = sieve(limit), [limit // 100, limit // 30, limit // 10, limit // 3, limit]
    counts = {a: [sum(1 for p in listed if p <= x and p % modulus == a) for x in marks] for a in units}
    squares = sorted({a * a % modulus for a in units})
    final = {a: counts[a][-1] for a in units}
    leader, last = max(units, key=lambda a: final[a]), min(units, key=lambda a: final[a])
    lead = sum(
        1
        for i in range(len(marks))
        if max(counts[a][i] for a in units if a not in squares)
        > max(counts[a][i] for a in units if a in squares)
    )
    v = {
        "q": modulus,
        "x": thousands(limit),
        "phi": len(units),
        "n": thousands(len(listed)),
        "leader": leader,
        "last": last,
        "which": (
            f"The only square among the reduced classes modulo ${modulus}$ is ${squares[0]}$."
            if len(squares) == 1
            else f"The quadratic residues modulo ${modulus}$ are ${', '.join(map(str, squares))}$."
        ),
        "top": thousands(final[leader]),
        "low": thousands(final[last]),
        "gap": final[leader] - final[last],
        "lead": lead,
        "marks": len(marks),
        "expect": f"{limit / math.log(limit) / len(units):,.0f}".replace(",", "\\,"),
    }
    rows = [
        [
            thousands(x),
            *(thousands(counts[a][i]) for a in units),
            thousands(max(counts[a][i] for a in units) - min(counts[a][i] for a in units)),
        ]
        for i, x in enumerate(marks)
    ]
    gaps = sorted(((b - a, a) for a, b in itertools.pairwise(listed)), key=lambda g: (-g[0], g[1]))[:4]
    intro = say(
        rng,
        r"""[[Primes larger than $<<q>>$ fall into||Apart from the divisors of the modulus, the primes are spread over]] $\varphi(<<q>>)=<<phi>>$
        residue classes modulo~$<<q>>$, and Dirichlet's theorem [[says that each of them is met infinitely often||guarantees infinitely many in each]].
        [[How evenly does this happen at the beginning of the sequence?||How fair is the distribution among small primes?||The question of this note is how soon the asymptotic equality becomes visible.]]
        [[We count||We have counted||Below we count]] all <<n>> primes up to $<<x>>$ and [[compare the classes||look at the differences between the classes]].
        Chebyshev [[noticed already in 1853||wrote to Fuss in 1853]] that primes of the form $4k+3$ [[seem to be||appear to be]] slightly ahead of those of the form $4k+1$, a
        phenomenon [[now called||known as]] the \emph{prime number race}~\cite{gm}.""",
        **v,
    )
    theory = say(
        rng,
        r"""Write $\pi(x;q,a)$ for the number of primes $p\le x$ with $p\equiv a\pmod q$. The prime number theorem for arithmetic progressions states that
        \begin{equation}\label{eq:pnt}
        \pi(x;q,a)\sim\frac{1}{\varphi(q)}\,\frac{x}{\log x}\qquad(x\to\infty,\ \gcd(a,q)=1).
        \end{equation}
        For $q=<<q>>$ and $x=<<x>>$ the right-hand side is about $<<expect>>$, [[which is too small by some ten per cent||a noticeable underestimate]], because $x/\log x$ approximates
        $\pi(x)$ [[poorly||less well than the logarithmic integral does]].""",
        **v,
    )
    elementary = say(
        rng,
        r"""\begin{proposition}\label{prop:minus}
        For every $q\ge3$ there are infinitely many primes $p$ with $p\not\equiv1\pmod q$.
        \end{proposition}
        \begin{proof}
        [[Suppose||Assume]] that $p_{1},\dots,p_{k}$ are all [[such primes||the primes with this property]] that do not divide $q$, and [[consider||put]] $N=qp_{1}p_{2}\cdots p_{k}-1$. Then $N\equiv-1\pmod q$ and $N>1$.
        [[If all prime factors of $N$ were congruent to $1$||Were every prime factor $\equiv1$]], so would be $N$ itself, [[a contradiction to||which contradicts]] $-1\not\equiv1$. Hence some prime factor $p\not\equiv1\pmod q$ divides
        $N$; it divides neither $q$ nor any $p_{i}$, [[contrary to our choice||so the list was not complete]].
        \end{proof}
        [[The argument goes back to Euclid||This is Euclid's argument in a new dress]]; classes other than $\pm1$ [[need more work||require characters in general]].""",
    )
    data = say(
        rng,
        r"""Table~\ref{tab:race} [[shows||contains||lists]] the counts. At the end of the range the class of $<<leader>>$ leads with <<top>> primes, and the class of
        $<<last>>$ is last with <<low>>; the difference <<gap>> is [[tiny compared with either number||a small fraction of both numbers]]. <<which>> At
        <<lead>> of the <<marks>> marks in the table a non-residue is strictly ahead of all residues, [[in line with||which agrees with]] the [[heuristic||rule of thumb]] that
        \begin{equation}
        \pi(x;q,a)-\pi(x;q,b)\approx\frac{c(b)-c(a)}{\varphi(q)}\cdot\frac{\sqrt x}{\log x},\qquad c(a)=\#\{y:y^{2}\equiv a\}-1,
        \end{equation}
        up to an oscillating term of the same order. [[The reason is||Behind this stands the fact]] that the natural weight $\log p$ is given to prime \emph{powers}, and squares of primes
        [[always land||can only land]] in residue classes that are squares.""",
        **v,
    )
    remarks = some(
        rng,
        4,
        say(
            rng,
            r"""\paragraph{Large gaps.} The [[longest||largest]] gap between consecutive primes up to $<<x>>$ [[has length||is]] $<<g>>$ and follows $<<p>>$; the next ones on the list are
        <<others>>. Cram\'er's [[model||random model]] predicts a [[maximal gap||record]] of about $\log^{2}x\approx<<cramer>>$, [[so that the record is not exceptional||which exceeds what we see, as it usually does for small $x$]].""",
            g=gaps[0][0],
            p=gaps[0][1],
            others=", ".join(f"${g}$ (after ${p}$)" for g, p in gaps[1:]),
            cramer=f"{math.log(limit) ** 2:.0f}",
            **v,
        ),
        say(
            rng,
            r"""\paragraph{Last digits.} Written in base $<<q>>$, a prime that does not divide $<<q>>$ ends in one of $<<phi>>$ digits. Consecutive primes [[dislike||avoid]] ending in the same digit: among the <<n>> primes considered,
        the residue repeats in $<<same>>$ cases, i.e.\ in $<<pct>>\,\%$ of all pairs, although independence would [[give||suggest]] $<<ind>>\,\%$. The bias decays only like $\log\log x/\log x$.""",
            same=thousands(sum(1 for a, b in itertools.pairwise(listed) if a % modulus == b % modulus)),
            pct=f"{100 * sum(1 for a, b in itertools.pairwise(listed) if a % modulus == b % modulus) / (len(listed) - 1):.1f}",
            ind=f"{100 / len(units):.1f}",
            **v,
        ),
        say(
            rng,
            r"""\paragraph{Twins.} There are <<twins>> pairs $(p,p+2)$ of primes with $p+2\le<<x>>$. The [[conjecture||prediction]] of Hardy and Littlewood, $2C_{2}\int_{2}^{x}dt/\log^{2}t$ with
        $C_{2}=0.6601618\ldots$, gives about $<<hl>>$. [[The agreement is remarkable||The two numbers are close]], considering that nobody can prove that the count is unbounded.""",
            twins=thousands(sum(1 for a, b in itertools.pairwise(listed) if b - a == 2)),
            hl=thousands(round(2 * 0.6601618 * sum(1 / math.log(t + 0.5) ** 2 for t in range(2, limit)))),
            **v,
        ),
        say(
            rng,
            r"""\paragraph{What is proved.} Assuming a generalized Riemann hypothesis and the linear independence of the ordinates of zeros, Rubinstein and Sarnak showed that the logarithmic density of $\{x:\pi(x;4,3)>\pi(x;4,1)\}$ is
        $0.9959\ldots$; [[the first change of lead||the lead changes for the first time]] at $x=26861$. Without hypotheses [[much less||little]] is known, [[but Littlewood||although Littlewood]] proved that the sign changes infinitely often.""",
        ),
    )
    order = [
        section(
            rng.choice(["Counts", "The table", "Results"]),
            data,
            table(
                "tab:race",
                f"Primes $\\le x$ in the classes modulo ${modulus}$; the last column is the spread $\\max-\\min$.",
                "r" * (len(units) + 2),
                "$x$ & " + " & ".join(f"$a={a}$" for a in units) + " & spread",
                rows,
            ),
        )
    ]
    return Paper(
        rng.choice(
            [
                f"A prime number race modulo {modulus}",
                f"How evenly are the primes up to ${thousands(limit)}$ spread modulo {modulus}?",
                f"Primes in the classes modulo {modulus}: a small census",
            ]
        ),
        say(
            rng,
            r"""[[We count the primes up to $<<x>>$ in the reduced residue classes modulo $<<q>>$||The <<n>> primes below $<<x>>$ are sorted by their residue modulo $<<q>>$]] and [[discuss||comment on]] the small but persistent bias against quadratic residues. [[An elementary proof of a weak form of Dirichlet's theorem is included.||The exposition is elementary.]]""",
            **v,
        ),
        [
            section("Introduction", intro),
            section("What theory predicts", theory, elementary),
            *order,
            section("Further observations", *remarks),
        ],
        {
            "gm": "A. Granville and G. Martin, Prime number races, \\emph{Amer.\\ Math.\\ Monthly} \\textbf{113} (2006), 1--33.",
            "dav": "H. Davenport, \\emph{Multiplicative Number Theory}, Springer, 1980.",
        },
    )
