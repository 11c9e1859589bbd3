"""Exercises that close the generated papers: a pool per topic, from which each paper takes some."""

from __future__ import annotations

import random

POOL: dict[str, list[str]] = {
    "primes": [
        r"Show that there are infinitely many primes of the form $4k+1$ by looking at the prime factors of $(2p_{1}p_{2}\cdots p_{k})^{2}+1$. Why does the argument of the text not apply directly?",
        r"Write a program that follows the race modulo $4$ until the class of $1$ takes the lead for the first time. A sieve over a few tens of thousands of numbers is enough. How long does the lead last?",
        r"Explain why, for a modulus $q$ with a primitive root, exactly half of the reduced classes are squares. Which moduli below $20$ have fewer squares than that?",
        r"The table compares counts at five marks that were fixed in advance. Discuss how the impression would change if the marks had been chosen after looking at the data.",
        r"Let $r(x)$ be the fraction of all integers $n\le x$ at which the non-residues are ahead. Convince yourself by computation that $r(x)$ has no visible limit, whereas the logarithmic average settles down quickly.",
        r"Estimate the memory that the sieve needs if one bit is used for each odd number, and find the largest range that fits into a gigabyte.",
    ],
    "pell": [
        r"Prove by induction that $h_{i}k_{i-1}-h_{i-1}k_{i}=(-1)^{i-1}$, and deduce that convergents are fractions in lowest terms.",
        r"A farmer wants to lay out a square field and a row of $d$ equal smaller square fields so that the areas differ by one unit only. Translate the wish into an equation and decide for which $d\le10$ it can be granted.",
        r"Show that $d=n^{2}-1$ has the solution $(n,1)$ and $d=n^{2}+2$ the solution $(n^{2}+1,n)$. Find similar families of your own, and explain why large fundamental solutions can not be produced in this way.",
        r"Count the multiplications that are needed to reach the fundamental solution through the continued fraction, and compare with a search over all $y$. For which $d<100$ is the search hopeless on a pocket calculator?",
        r"Suppose that a solution of the negative equation is known. Explain how to obtain from it, with a single multiplication, a solution of the positive one, and why this one is fundamental if the first was.",
        r"Let $(x_{n},y_{n})$ be the $n$-th solution. Show that $y_{m}$ divides $y_{n}$ whenever $m$ divides $n$. Is there a similar rule for the $x_{n}$?",
    ],
    "steps": [
        r"Repeat the experiment with a step that is not constant but alternates between $h/2$ and $3h/2$. Does the observed order change? Explain your finding with the help of the theorem.",
        r"Derive the condition that the weights and nodes of a two-stage method have to satisfy for order two, and show that the midpoint rule and Heun's method are two members of a family with one parameter.",
        r"Plot the error against the number of evaluations on doubly logarithmic paper for all methods in the table. From which accuracy on is it worth programming the more complicated method?",
        r"Suppose that an evaluation of the right-hand side costs a minute of computing time. You have an hour. Which method and which step would you choose, and what error do you expect?",
        r"Find an initial value problem with a smooth solution for which the classical method of order four converges with a higher order than four, and one, with a right-hand side that is not smooth, for which it converges with order one only.",
        r"Run the last line of the table in single precision. At which $n$ does the error stop decreasing, and does this agree with the estimate for the rounding error?",
    ],
    "kepler": [
        r"Show that the two formulas for the distance, $r=a(1-e\cos E)$ and $r=a(1-e^{2})/(1+e\cos\nu)$, agree, and that both describe an ellipse with the Sun at a focus.",
        r"Write a program that prints the position for every day of one revolution. Check Kepler's second law by adding up the areas of the small triangles between consecutive positions.",
        r"Halley's method costs one division more per step than Newton's. Estimate, from the table, under which circumstances it pays. Would your answer change if sines were as cheap as additions?",
        r"Investigate what happens when Newton's method is started at $E_{0}=M$ for an eccentricity of $0.99$ and small mean anomalies. Explain the behaviour with the help of a sketch of the function.",
        r"Replace the ellipse by a hyperbola, that is, consider $e\sinh F-F=M$ with $e>1$. Which of the three iterations still converge for every $M$, and why does the simple one have to be turned around?",
        r"For which value of $M$ is the difference between true and mean anomaly, the so-called equation of the centre, largest? Give the answer to first order in $e$ and compare it with the table.",
    ],
    "coverage": [
        r"Compute the coverage for a few values of the parameter that are not in the table, and draw the curve. Where are its jumps, and how large are they?",
        r"A newspaper reports that support for a party has risen from $31\,\%$ to $33\,\%$ in polls of one thousand people each. How surprised should its readers be?",
        r"Devise an interval that has a coverage of exactly $95\,\%$ for every parameter by tossing a suitably biased coin. Would you recommend it to a physician?",
        r"Twenty independent studies each publish a $95\,\%$ interval. What is the probability that all of them contain the truth, and how should the level be chosen to make this probability $95\,\%$?",
        r"Compare the average lengths of the two intervals. Is the better coverage bought with longer intervals only, or is there a free lunch?",
        r"Explain to a colleague, in one paragraph and without formulas, why the sentence ``the parameter lies in this interval with probability $95\,\%$'' is not what the procedure guarantees.",
    ],
    "markov": [
        r"Change one row of the matrix so that the chain becomes periodic. What happens to the table of distances, and in which sense does the ergodic theorem still hold?",
        r"Compute the mean number of steps from the first state to the last one by solving a system of linear equations. Why is the answer for the opposite direction in general a different one?",
        r"Simulate one thousand steps and estimate the stationary distribution from the trajectory. How large is the error, and why is it larger than for one thousand independent draws?",
        r"Show that the average of two transition matrices with the same stationary distribution has this distribution too, and use the fact to make a chain lazy, that is, to let it stay where it is with probability one half.",
        r"Find the eigenvalues of the transition matrix, exactly or numerically, and compare the second largest modulus with the ratio of consecutive entries of the table.",
        r"Suppose that you may watch the chain only every second step. Which matrix describes what you see, what is its stationary distribution, and how does the mixing time change?",
    ],
    "epidemic": [
        r"Vaccinating a fraction $v$ of the population before the outbreak reduces the number of susceptibles. Compute the final size as a function of $v$, and explain why vaccinating protects also those who are not vaccinated.",
        r"Two cities with different reproduction numbers report the same number of new cases today. Which further observations would allow a health officer to tell them apart, and how long would it take?",
        r"Add a compartment of people who are infected but not yet infectious. Show that the final size does not change, and find out by simulation what happens to the height and the date of the peak.",
        r"The model treats a day with one thousandth of an infected person like any other. Describe a situation in which this leads to an absurd prediction, and propose a remedy.",
        r"Draw the trajectories in the plane of susceptible and infectious fractions for several initial values. Where are their maxima, and why do they all lie on one vertical line?",
        r"Assume that immunity is lost after a year on average. Find the endemic equilibrium, and decide whether it is approached monotonically or with damped oscillations.",
    ],
    "drift": [
        r"Repeat the simulation with two sexes, that is, let every individual have one parent of each sex. How must $N$ be counted so that the formula for the heterozygosity remains true?",
        r"Two populations were founded by the same ancestors one hundred generations ago and have been separated ever since. Predict how different their allele frequencies should be if both have the size studied here.",
        r"A conservationist can either double the size of a population permanently or bring in one migrant per generation. Which measure preserves more genetic variation in the long run?",
        r"Compute, for a population of four, the full transition matrix, and check that its largest eigenvalues are one, one again, and three quarters. Which of the statements of the text does the third one express?",
        r"In the simulation some populations keep both alleles much longer than average. Show that, given survival up to a late time, all intermediate frequencies are about equally likely.",
        r"Explain why the average over many loci of one population may replace the average over many populations, and which assumption about the loci is needed.",
    ],
    "descent": [
        r"Rescale the variables so that all diagonal entries of $A$ become one. For which matrices does this reduce the condition number, and can it ever make things worse?",
        r"Modify the experiment so that the step size is wrong by $10\,\%$ in either direction. Which of the four methods suffers most, and which hardly notices?",
        r"Plot the error of the heavy ball on a logarithmic scale. Explain the initial growth, which looks alarming but is harmless, by a Jordan block of the iteration matrix.",
        r"Restart momentum from zero whenever the function value increases. Count iterations again, and discuss when such a rule is helpful for functions that are not quadratic.",
        r"Show that minimizing exactly along each gradient direction gives, in the worst case, the same rate as the best fixed step, and construct a starting point in the plane for which the iterates zigzag for ever.",
        r"A network is trained with a learning rate just below the stability limit. Describe what happens when the curvature slowly increases during training, and what a practitioner would see.",
    ],
    "bloom": [
        r"A filter was dimensioned for a certain number of keys but has received twice as many. Compute the false-positive rate, and decide whether it is better to rebuild it or to put a second filter in front.",
        r"Suppose that one key in ten thousand queries is really present. What fraction of the positive answers is then correct, and how many bits per key are needed to make it $99\,\%$?",
        r"An adversary knows the hash functions. How can she make the filter useless with far fewer than $n$ insertions, and how would a secret seed help?",
        r"Divide the array into $k$ parts of equal size and let every hash function address its own part. Show that the fill ratio is slightly higher, and find out whether the difference can be measured.",
        r"The text treats bits as independent. Find the exact probability that a given pair of bits is zero after all insertions, and show that the two events are negatively correlated.",
        r"Use a filter to find words that occur at least twice in a long text in a single pass, and discuss what the errors mean in this application.",
    ],
    "quicksort": [
        r"Modify the algorithm so that it finds the median without sorting, by recursing into one part only. Show that the expected number of comparisons is then linear.",
        r"Compute the probability that quicksort with random pivots makes the maximal number of comparisons on ten keys, and compare it with the probability of winning a lottery of your choice.",
        r"Which inputs make quicksort slow if the first key always serves as the pivot? Explain why such inputs occur in practice more often than chance would suggest.",
        r"Merge sort needs fewer comparisons on average, and heap sort has a better worst case. Collect reasons why quicksort is nevertheless the default in many libraries.",
        r"Show that the stack never holds more than $\log_{2}n$ entries if the smaller part is sorted first and the larger one is treated by a loop.",
        r"Repeat the counts for keys that are drawn from only ten different values. What does the two-way partition do, and what does the three-way partition do?",
    ],
    "distances": [
        r"Write the integral for the comoving distance in terms of the scale factor and evaluate it with the trapezoidal rule. How many points are needed to reproduce the table to the last digit?",
        r"A supernova at $z=0.5$ is observed to be a quarter of a magnitude fainter than predicted in a universe without a cosmological constant. By which factor is it farther away?",
        r"How large does a galaxy of thirty kiloparsecs appear at the redshifts of the table? Express the answer in seconds of arc, and find the redshift at which it looks smallest.",
        r"Include radiation with $\Omega_{r}=9\times10^{-5}$. Up to which redshift is its influence on the comoving distance below one per cent, and at which redshift did radiation and matter have equal densities?",
        r"Two events in the same galaxy at $z=1$ are one week apart. How far apart are they for us? Discuss how light curves of supernovae were used to demonstrate the effect.",
        r"Explain why a galaxy can recede from us faster than light without any contradiction to relativity, and compute the redshift at which its present recession velocity equals $c$.",
    ],
}


def exercises(rng: random.Random, topic: str) -> str:
    """A closing section with four or five exercises of the topic."""
    chosen = rng.sample(POOL[topic], rng.choice([4, 5]))
    title = rng.choice(["Exercises", "Problems for the reader", "Questions"])
    return "\n".join(
        [
            f"\\section{{{title}}}",
            "\\begin{enumerate}",
            *(f"\\item {text}" for text in chosen),
            "\\end{enumerate}",
        ]
    )
