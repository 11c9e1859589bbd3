"""Distances in an expanding universe."""

from __future__ import annotations

import math
import random

from topics.paper import Paper, say, section, some, table

LIGHT = 299_792.458  # km/s


def simpson(f, a: float, b: float, n: int = 400) -> float:  # type: ignore[no-untyped-def]
    """Simpson's rule with ``n`` panels."""
    h = (b - a) / n
    return h / 3 * sum((1 if i in (0, n) else 4 if i % 2 else 2) * f(a + i * h) for i in range(n + 1))


def distances(rng: random.Random, matter: float, hubble: float) -> Paper:
    """Distances and times in a flat universe with matter density ``matter`` and Hubble constant ``hubble``."""

    def expansion(z: float) -> float:
        return math.sqrt(matter * (1 + z) ** 3 + 1 - matter)

    unit, years = LIGHT / hubble, 977.792 / hubble
    total = years * simpson(lambda u: 2 * u * u / math.sqrt(matter + (1 - matter) * u**6) if u else 0.0, 0, 1)

    def comoving(z: float) -> float:
        return unit * simpson(lambda x: 1 / expansion(x), 0, z)

    def age(z: float) -> float:
        return years * simpson(
            lambda u: 2 * u * u / math.sqrt(matter + (1 - matter) * u**6) if u else 0.0,
            0,
            1 / math.sqrt(1 + z),
        )

    rows = []
    for z in (0.1, 0.5, 1, 2, 4, 8):
        d = comoving(z)
        rows.append(
            [
                f"{z:g}",
                f"{d:.0f}",
                f"{d * (1 + z):.0f}",
                f"{d / (1 + z):.0f}",
                f"{d / (1 + z) / 206.265:.2f}",
                f"{total - age(z):.2f}",
            ]
        )
    peak = max((comoving(z / 50) / (1 + z / 50), z / 50) for z in range(1, 300))
    turn = (2 * (1 - matter) / matter) ** (1 / 3) - 1 if matter < 1 else 0.0
    v = {
        "om": f"{matter:g}",
        "ol": f"{1 - matter:g}",
        "h0": f"{hubble:g}",
        "unit": f"{unit:.0f}",
        "years": f"{years:.2f}",
        "age": f"{total:.2f}",
        "zmax": f"{peak[1]:.2f}",
        "dmax": f"{peak[0]:.0f}",
        "turn": f"{turn:.2f}",
        "q0": f"{1.5 * matter - 1:.3f}",
        "d1": rows[2][1],
        "l1": rows[2][5],
        "mu": f"{5 * math.log10(float(comoving(1)) * 2) + 25:.2f}",
        "half": f"{comoving(0.1):.0f}",
        "lin": f"{unit * 0.1:.0f}",
        "quad": f"{unit * (0.1 - 0.5 * 1.5 * matter * 0.01):.0f}",
    }
    closed = (
        say(
            rng,
            r"""[[Without dark energy all integrals are elementary||For $\Omega_{m}=1$ everything is elementary]]: $D_{C}=\frac{2c}{H_{0}}\bigl(1-(1+z)^{-1/2}\bigr)$ and $t_{0}=\frac{2}{3H_{0}}=<<age>>$ billion years, [[less than the age of the oldest stars||too little for the oldest globular clusters]]. [[This conflict was one of the first arguments against the model||The age problem contributed to the fall of this model in the nineties]].""",
            **v,
        )
        if matter == 1
        else say(
            rng,
            r"""[[For a flat universe with a cosmological constant the age has a closed form||The integral for the age is elementary]],
        \begin{equation}t_{0}=\frac{2}{3H_{0}\sqrt{\Omega_{\Lambda}}}\,\operatorname{arsinh}\sqrt{\frac{\Omega_{\Lambda}}{\Omega_{m}}}=<<age>>\ \text{billion years}.\end{equation}
        [[The expansion has been accelerating since||Acceleration set in at]] $1+z=(2\Omega_{\Lambda}/\Omega_{m})^{1/3}$, i.e.\ [[since||at]] $z=<<turn>>$.""",
            **v,
        )
    )
    return Paper(
        rng.choice(
            [
                f"Distances in a flat universe with $\\Omega_m={matter:g}$",
                f"A cosmological distance table for $H_0={hubble:g}$ and $\\Omega_m={matter:g}$",
                f"How far is redshift one? The case $\\Omega_m={matter:g}$",
            ]
        ),
        say(
            rng,
            r"""[[The four common distances of cosmology||Comoving, luminosity and angular-diameter distances and look-back times]] are derived and tabulated for a flat universe with $\Omega_{m}=<<om>>$ and $H_{0}=<<h0>>\ \mathrm{km\,s^{-1}\,Mpc^{-1}}$. [[The universe is then <<age>> billion years old.||Its age is <<age>> billion years.]] [[A galaxy at redshift one is seen as it was <<l1>> billion years ago.||We also discuss the maximum of the angular-diameter distance.]]""",
            **v,
        ),
        [
            section(
                "Expansion",
                say(
                    rng,
                    r"""[[Homogeneity and isotropy restrict the metric to||A homogeneous, isotropic and spatially flat universe has the metric]]
        \begin{equation}ds^{2}=-c^{2}dt^{2}+a(t)^{2}\left(dr^{2}+r^{2}d\Omega^{2}\right),\end{equation}
        [[with a scale factor normalized to $a(t_{0})=1$ today||where $a=1$ today]]. Light emitted at time $t$ [[arrives stretched by||is redshifted by]] $1+z=1/a(t)$. [[Einstein's equations give||From the Friedmann equation]]
        \begin{equation}\label{eq:E}H(z)=\frac{\dot a}{a}=H_{0}E(z),\qquad E(z)=\sqrt{\Omega_{m}(1+z)^{3}+\Omega_{\Lambda}},\end{equation}
        [[if radiation is neglected||radiation being negligible]]. [[Here||In this note]] $\Omega_{m}=<<om>>$ and $\Omega_{\Lambda}=<<ol>>$, so that $\Omega_{m}+\Omega_{\Lambda}=1$. [[The natural units are||Two constants set the scale:]] the Hubble distance $c/H_{0}=<<unit>>$ Mpc and the Hubble time $1/H_{0}=<<years>>$ billion years. The deceleration parameter today is $q_{0}=\frac32\Omega_{m}-1=<<q0>>$.""",
                    **v,
                ),
            ),
            section(
                "Four distances",
                say(
                    rng,
                    r"""\begin{enumerate}
        \item The \emph{comoving distance} is what a [[measuring tape||chain of rulers]] would show today. [[Along a light ray $c\,dt=a\,dr$, hence||Light obeys $c\,dt=a\,dr$, and so]]
        \begin{equation}\label{eq:dc}D_{C}(z)=\frac{c}{H_{0}}\int_{0}^{z}\frac{dz'}{E(z')}.\end{equation}
        \item The \emph{luminosity distance} is defined by $F=L/(4\pi D_{L}^{2})$. [[Photons arrive with less energy and less often||Each photon loses energy, and photons arrive at a lower rate]], both by the factor $1+z$, so $D_{L}=(1+z)D_{C}$.
        \item The \emph{angular-diameter distance} $D_{A}=\ell/\theta$ [[refers to||uses]] the size of the universe when the light was emitted: $D_{A}=D_{C}/(1+z)$.
        \item The \emph{look-back time} is $t_{L}(z)=\frac{1}{H_{0}}\int_{0}^{z}\frac{dz'}{(1+z')E(z')}$.
        \end{enumerate}
        [[The relation $D_{L}=(1+z)^{2}D_{A}$||Etherington's relation $D_{L}=(1+z)^{2}D_{A}$]] holds in every metric theory of gravity in which photons are conserved~\cite{hogg}.""",
                    **v,
                ),
                closed,
            ),
            section(
                rng.choice(["Numbers", "Table"]),
                say(
                    rng,
                    r"""Table~\ref{tab:d} [[was computed with||has been obtained by]] Simpson's rule. [[A galaxy at $z=1$||At redshift one a galaxy]] is $<<d1>>$ Mpc away, measured today, and its light has travelled for $<<l1>>$ billion years. [[The distance modulus there is||The corresponding distance modulus is]] $5\log_{10}(D_{L}/\mathrm{Mpc})+25=<<mu>>$. [[The most striking column is that of the angular-diameter distance||Note that $D_{A}$ does not increase for ever]]: it has a maximum of about $<<dmax>>$ Mpc at $z\approx<<zmax>>$. [[Beyond that redshift, objects of given size look \emph{larger} the farther away they are||More distant galaxies appear bigger again]], [[because they were closer to us when the light set out||for their light left them when the universe was small]].""",
                    **v,
                ),
                table(
                    "tab:d",
                    f"Distances in Mpc, the scale in kpc per arcsecond, and look-back time in billion years; $\\Omega_m={matter:g}$, $H_0={hubble:g}$.",
                    "rrrrrr",
                    "$z$ & $D_C$ & $D_L$ & $D_A$ & kpc/$''$ & $t_L$",
                    [[*r[:4], f"{float(r[3]) / 206.265:.2f}", r[5]] for r in rows],
                ),
            ),
            section(
                "Discussion",
                *some(
                    rng,
                    4,
                    say(
                        rng,
                        r"""\paragraph{Small redshifts.} [[Expanding \eqref{eq:dc}||Taylor's formula]] gives $D_{C}=\frac{c}{H_{0}}\left(z-\frac{1+q_{0}}{2}z^{2}+\dots\right)$. At $z=0.1$ Hubble's law alone yields <<lin>> Mpc, the quadratic formula <<quad>>, and the integral <<half>>. [[The linear law is good to a few per cent||Up to there the linear law suffices for many purposes]], [[but it knows nothing about $\Omega_{m}$||and supernovae must be observed much farther away to measure $q_{0}$]].""",
                        **v,
                    ),
                    say(
                        rng,
                        r"""\paragraph{The tension.} The Hubble constant [[inferred||obtained]] from the microwave background, about $67$, and that from Cepheids and supernovae, about $73$, differ by [[more than their errors allow||several standard errors]]. All distances in the table scale as $1/H_{0}$; [[between the two values they change||replacing one value by the other changes them]] by $8\,\%$. [[Whether this is new physics or an unknown systematic error is open||The cause is not known]].""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Curvature.} [[If space is curved||With curvature $\Omega_{k}=1-\Omega_{m}-\Omega_{\Lambda}\ne0$]], $D_{C}$ has to be replaced in the formulas for $D_{L}$ and $D_{A}$ by $\frac{c}{H_{0}\sqrt{\Omega_{k}}}\sinh\left(\sqrt{\Omega_{k}}\,\frac{H_{0}D_{C}}{c}\right)$, with $\sin$ and $|\Omega_{k}|$ if $\Omega_{k}<0$. [[Observations allow $|\Omega_{k}|<0.01$ or so||The observed curvature is compatible with zero]].""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Horizons.} [[Light emitted today||A signal sent today]] reaches only galaxies within $\frac{c}{H_{0}}\int_{-1}^{0}\frac{dz}{E(z)}$, an integral over the future. [[If $\Omega_{\Lambda}>0$ it converges||It is finite if $\Omega_{\Lambda}>0$]]: most galaxies that we see are already out of reach, although their old light keeps arriving. [[The particle horizon, by contrast, is the integral from $0$ to $\infty$||The integral from zero to infinity is the radius of the observable universe]].""",
                    ),
                    say(
                        rng,
                        r"""\paragraph{Surface brightness.} Since $D_{L}^{2}/D_{A}^{2}=(1+z)^{4}$, the surface brightness of a galaxy falls like $(1+z)^{-4}$, [[independently of all parameters||whatever $\Omega_{m}$ and $H_{0}$ are]]. At $z=4$ this is a factor of $625$, or seven magnitudes. [[Tolman proposed it as a test of expansion in 1930||Tolman's test, as it is called, rules out a static universe with tired light]].""",
                    ),
                ),
            ),
        ],
        {
            "hogg": "D. W. Hogg, Distance measures in cosmology, 1999, astro-ph/9905116.",
            "peebles": "P. J. E. Peebles, \\emph{Principles of Physical Cosmology}, Princeton, 1993.",
        },
    )
