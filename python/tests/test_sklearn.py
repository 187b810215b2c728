# SPDX-License-Identifier: Apache-2.0
"""scikit-learn's own checks, and what its users do with estimators."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_multilabel_classification
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from filigree_nn.sklearn import SparseMLPClassifier, SparseMLPRegressor

# A row that weighs 2 is not the row twice where chance decides which rows meet in a batch. scikit-learn 1.9 declares these two
# failures for its estimators that draw by chance (bagging, random forests, boosting, SGD), in PER_ESTIMATOR_XFAIL_CHECKS. Its own
# MLPs are not among them: they are checked with lbfgs, or with all rows in one batch.
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "sample_weight is not equivalent to removing/repeating samples.",
    "check_sample_weight_equivalence_on_sparse_data": "sample_weight is not equivalent to removing/repeating samples.",
}


@parametrize_with_checks(
    [SparseMLPClassifier(), SparseMLPRegressor()], expected_failed_checks=lambda estimator: EXPECTED
)
def test_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_learns_and_keeps_what_it_is_told():
    x, y = load_iris(return_X_y=True, as_frame=True)
    model = SparseMLPClassifier(random_state=3).fit(x, y)
    assert model.score(x, y) > 0.95
    assert list(model.feature_names_in_) == list(x.columns)
    assert model.network_.input_names == list(x.columns)
    assert 0.85 < model.network_.sparsity < 0.95
    assert np.allclose(model.predict_proba(x).sum(axis=1), 1)
    assert np.allclose(np.log(model.predict_proba(x)), model.predict_log_proba(x))


def test_the_same_random_state_gives_the_same_network():
    x, y = load_iris(return_X_y=True)
    one, same, other = (SparseMLPClassifier(random_state=s).fit(x, y).network_ for s in (1, 1, 2))
    assert one == same
    assert one != other


def test_survives_pickling_and_cloning():
    x, y = load_iris(return_X_y=True)
    model = SparseMLPClassifier((16, 16), random_state=1, max_iter=5).fit(x, y)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(x), model.predict_proba(x))
    assert clone(model).get_params() == model.get_params()


def test_works_in_pipelines_grids_folds_and_calibration():
    x, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), SparseMLPClassifier((16,), max_iter=10, random_state=0))
    assert cross_val_score(pipeline, x, y, cv=3).min() > 0.85
    grid = GridSearchCV(pipeline, {"sparsemlpclassifier__sparsity": [0.5, 0.9]}, cv=2, n_jobs=2).fit(x, y)
    assert grid.best_score_ > 0.85
    calibrated = CalibratedClassifierCV(SparseMLPClassifier((16,), max_iter=10, random_state=0), cv=2).fit(x, y)
    assert calibrated.predict_proba(x).shape == (len(y), 2)


def test_takes_the_data_frames_that_a_pipeline_makes():
    x, y = load_iris(return_X_y=True, as_frame=True)
    pipeline = make_pipeline(StandardScaler(), SparseMLPClassifier((16,), max_iter=20, random_state=0))
    pipeline.set_output(transform="pandas").fit(x, y)
    assert list(pipeline[-1].feature_names_in_) == list(x.columns)
    assert pipeline[-1].network_.input_names == list(x.columns)
    assert pipeline.score(x, y) > 0.9
    plain = make_pipeline(StandardScaler(), SparseMLPClassifier((16,), max_iter=20, random_state=0)).fit(x, y)
    assert np.array_equal(plain.predict_proba(x), pipeline.predict_proba(x))
    with pytest.raises(ValueError, match="feature names"):
        pipeline[-1].predict(x.rename(columns=str.upper))


def test_learns_values_labels_and_sparse_rows():
    x, y = load_diabetes(return_X_y=True)
    assert SparseMLPRegressor(random_state=0).fit(x, y).score(x, y) > 0.4
    both = SparseMLPRegressor(random_state=0).fit(x, np.column_stack([y, -y]))
    assert both.predict(x).shape == (len(y), 2)
    x, y = make_multilabel_classification(300, 20, n_classes=4, random_state=0)
    dense, sparse = (SparseMLPClassifier((32,), random_state=0, max_iter=40) for _ in range(2))
    assert dense.fit(x, y).score(x, y) > 0.5
    assert sparse.fit(scipy.sparse.csr_array(x), y).predict(scipy.sparse.csr_array(x)).shape == y.shape


def test_learns_in_parts():
    x, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    model = SparseMLPClassifier((32, 32), random_state=0)
    for _ in range(30):
        for part in np.array_split(order, 3):
            model.partial_fit(x[part], y[part], classes=[0, 1, 2])
    assert model.score(x, y) > 0.9
    with pytest.raises(ValueError, match="not among"):
        model.partial_fit(x[:3], [7, 8, 9])


def test_weighs_classes_and_stops_early():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(600, 2))
    y = (x[:, 0] + generator.normal(size=600) > 1.8).astype(int)
    plain, balanced = (SparseMLPClassifier((16,), class_weight=w, random_state=0).fit(x, y) for w in (None, "balanced"))
    assert balanced.predict(x).mean() > plain.predict(x).mean()
    early = SparseMLPClassifier((16,), early_stopping=True, max_iter=300, n_iter_no_change=3, random_state=0).fit(x, y)
    assert early.n_iter_ < 300
    assert len(early.validation_scores_) == early.n_iter_


def two_and_three_classes():
    x = np.random.default_rng(0).normal(size=(300, 6)).astype(np.float32)
    return x, np.where(x[:, 0] > 0, "up", "down"), np.digitize(x[:, 0], [-0.5, 0.5])


@pytest.mark.parametrize("loss", ["cross-entropy", "binary-cross-entropy", "mse"])
@pytest.mark.parametrize("kinds", [2, 3])
def test_probabilities_follow_the_loss(loss, kinds):
    x, two, three = two_and_three_classes()
    y = two if kinds == 2 else three
    model = SparseMLPClassifier((32,), random_state=0, max_iter=40, settings={"loss": loss})
    if loss == "binary-cross-entropy" and kinds == 3:
        with pytest.raises(ValueError, match="tells two apart"):
            model.fit(x, y)
        return
    likely = model.fit(x, y).predict_proba(x)
    assert model.network_.loss == loss
    outputs = model.network_.compile().run(x).astype(float)
    if loss == "cross-entropy":
        expected = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
    elif loss == "mse":
        expected = outputs
    else:
        expected = np.hstack([1 / (1 + np.exp(outputs)), 1 / (1 + np.exp(-outputs))])
    assert likely.shape == (300, kinds)
    assert np.allclose(likely, expected, rtol=1e-6, atol=1e-12)
    assert np.allclose(likely, model.network_.compile().predict_proba(x), rtol=1e-4, atol=1e-6)
    assert np.allclose(np.exp(model.predict_log_proba(x)), likely)
    assert np.array_equal(model.predict(x), model.classes_[expected.argmax(axis=1)])
    assert model.score(x, y) > 0.9


def test_labels_are_told_by_their_own_sigmoids():
    x = np.random.default_rng(0).normal(size=(300, 6)).astype(np.float32)
    model = SparseMLPClassifier((32,), random_state=0, max_iter=40).fit(x, (x[:, :3] > 0).astype(int))
    outputs = model.network_.compile().run(x).astype(float)
    assert np.allclose(model.predict_proba(x), 1 / (1 + np.exp(-outputs)))
    assert np.allclose(np.exp(model.predict_log_proba(x)), model.predict_proba(x))
    assert np.array_equal(model.predict(x), model.predict_proba(x) > 0.5)
