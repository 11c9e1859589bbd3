"""Features, the classifier, its calibration, clusters and the cut."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tootsie.curate.datashop import scorer, scorer_report
from tootsie.curate.datashop.clusters import near_duplicate_clusters
from tootsie.curate.datashop.features import feature_counts, score_texts, token_hashes
from tootsie.curate.datashop.quantile import cut_share, cut_threshold
from tootsie.datasets.errors import ArtefactError

WORDS = ["cell", "orbit", "acid", "shoes", "hotel", "sofa"]


@given(st.lists(st.text(max_size=60), min_size=1, max_size=5))
def test_a_texts_features_do_not_depend_on_its_neighbours(texts: list[str]) -> None:
    contents = [text.encode("utf-8", "replace") for text in texts]
    offsets, buckets, values = feature_counts(contents, 12)
    for number, content in enumerate(contents):
        _, alone, weights = feature_counts([content], 12)
        here = slice(offsets[number], offsets[number + 1])
        assert buckets[here].tolist() == alone.tolist()
        np.testing.assert_allclose(values[here], weights, rtol=1e-5)
        if len(alone):
            assert math.isclose(float((weights.astype(float) ** 2).sum()), 1.0, rel_tol=1e-5)


def test_equal_words_have_equal_hashes_wherever_they_stand() -> None:
    hashes, owners = token_hashes([b"Cell wall, cell", b"x" * 5000 + b" CELL 12 99"])
    first, second = hashes[owners == 0], hashes[owners == 1]
    assert first[0] == first[3] == second[1]
    assert second[2] == second[3]
    assert len({first[0], first[1], first[2]}) == 3


def test_a_score_is_the_product_with_the_vector() -> None:
    weights = np.random.default_rng(0).normal(size=1 << 12).astype(np.float32)
    contents = [b"the cell and the orbit", b"", b"shoes"]
    matrix = scorer.design(contents, 12)
    np.testing.assert_allclose(score_texts(contents, weights, 12), matrix @ weights, rtol=1e-4, atol=1e-6)


def labelled(count: int, share: float, seed: int) -> tuple[list[bytes], Any]:
    """Texts whose label the words make likely, no more."""
    source = random.Random(seed)
    texts, truth = [], []
    for _ in range(count):
        wanted = source.random() < share
        odds = 0.65 if wanted else 0.35
        words = [
            source.choice(WORDS[:3] if source.random() < odds else WORDS[3:]) + str(source.random())
            for _ in range(12)
        ]
        texts.append(" ".join(words).encode())
        truth.append(int(wanted))
    return texts, np.array(truth)


@pytest.mark.parametrize("balanced", [True, False])
def test_probabilities_are_those_of_the_sample_whatever_the_weights(balanced: bool) -> None:
    texts, truth = labelled(1200, 0.15, 1)
    model, _ = scorer.train(texts, truth, np.arange(1200), bits=14, balanced=balanced, seed=0)
    others, real = labelled(1200, 0.15, 2)
    found = model.probabilities(others)
    assert scorer.auc(real, found) > 0.85
    assert abs(found.mean() - real.mean()) < 0.03
    assert scorer_report.calibration_error(real, found) < 0.06


def test_class_weights_balance() -> None:
    truth = np.array([1] * 5 + [0] * 95)
    weights = scorer.class_weights(truth, True)
    assert weights[truth == 1].sum() == pytest.approx(weights[truth == 0].sum())
    matrix = scorer.design([b"cell", b"shoes"] * 50, 10)
    _, even = scorer.fit_weights(matrix, truth, np.ones(100), 1.0)
    _, balanced = scorer.fit_weights(matrix, truth, weights, 1.0)
    assert balanced > even + 1


def test_a_model_that_is_read_scores_the_same(tmp_path: Path) -> None:
    texts, truth = labelled(200, 0.5, 3)
    model, _ = scorer.train(texts, truth, np.arange(200), bits=12, balanced=True, seed=0)
    model.save(str(tmp_path / "m.npz"))
    again = scorer.ScorerModel.load(str(tmp_path / "m.npz"))
    assert (model.probabilities(texts) == again.probabilities(texts)).all()
    (tmp_path / "m.npz").write_bytes(b"no model")
    with pytest.raises(ArtefactError, match="not a scorer"):
        scorer.ScorerModel.load(str(tmp_path / "m.npz"))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=30))
def test_auc_is_the_share_of_pairs_in_order(rows: list[tuple[bool, int]]) -> None:
    pairs = [(a > b) + 0.5 * (a == b) for one, a in rows if one for other, b in rows if not other]
    found = scorer.auc(np.array([int(one) for one, _ in rows]), np.array([score for _, score in rows]))
    assert found == pytest.approx(np.mean(pairs)) if pairs else found != found


def test_no_fold_divides_a_cluster() -> None:
    clusters = np.random.default_rng(0).integers(0, 40, 300)
    fold = scorer.folds(clusters, 5, 0)
    assert all(len(set(fold[clusters == name])) == 1 for name in range(40))
    assert min(np.bincount(fold)) > 30


def test_near_duplicates_are_in_one_cluster() -> None:
    source = random.Random(0)
    base = [" ".join(f"w{source.randrange(5000)}" for _ in range(80)) for _ in range(6)]
    changed = [text.replace(text.split()[40], "other", 1) for text in base]
    found = near_duplicate_clusters([text.encode() for text in base + changed])
    assert found[:6].tolist() == found[6:].tolist()
    assert len(set(found.tolist())) == 6
    known = near_duplicate_clusters([text.encode() for text in base], ["x", None, "x", None, None, None])
    assert known[0] == known[2] != known[1]


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 0.1, 0.1000001, 0.5, 0.9, 1.0]), max_size=20), min_size=1, max_size=4
    ),
    st.floats(0.01, 1.0),
)
def test_the_cut_is_exact_but_for_equal_scores(files: list[list[float]], share: float) -> None:
    arrays = [np.array(scores, np.float32) for scores in files]
    every = np.sort(np.concatenate(arrays))[::-1]
    cut = cut_share(lambda: arrays, share)
    wanted = math.ceil(share * len(every))
    assert cut.wanted == wanted
    if wanted:
        assert np.float32(cut.threshold) == every[wanted - 1]
        assert cut.kept == (every >= every[wanted - 1]).sum()
        assert cut.error == (cut.kept - wanted) / len(every)
    assert cut_threshold(arrays, cut.threshold).kept == cut.kept


def test_the_report_has_numbers_and_pictures(tmp_path: Path) -> None:
    random_numbers = np.random.default_rng(0)
    found = random_numbers.random(300).astype(np.float32)
    truth = (random_numbers.random(300) < found).astype(int)
    report = {
        "positive_grade": 3,
        "trained_on": 5,
        "held_out": scorer_report.measure(truth, found),
    }
    scorer_report.write(str(tmp_path), report, truth, found)
    assert report["held_out"]["calibration_error"] < 0.1
    row = report["held_out"]["thresholds"][2]
    assert row["precision"] == pytest.approx(truth[found >= 0.5].mean(), abs=1e-4)
    for name in scorer_report.PICTURES:
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert f"| AUC | {report['held_out']['auc']}" in (tmp_path / "report.md").read_text()
