"""Rules in words."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.evaluation.qlearning.rule import rule_in_words


@pytest.mark.parametrize(
    ("coefficients", "words"),
    [
        ([[2.0, 0.5, -1.0], [1.0, 0.0, 0.0]], "a if 0.5000·x - 1.000·z >= -1.000; otherwise b"),
        ([[2.0, 0.0, 0.0], [1.0, 0.0, 0.0]], "a always"),
        ([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], "b always"),
        ([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], "a always"),  # the first of equals
    ],
)
def test_two_arms_are_one_comparison(coefficients: list[list[float]], words: str) -> None:
    assert rule_in_words(("a", "b"), ("1", "x", "z"), np.array(coefficients)) == words


def test_the_comparison_says_what_the_largest_q_says() -> None:
    rng = np.random.default_rng(1)
    coefficients = rng.integers(-5, 6, size=(2, 2)).astype(float)
    words = rule_in_words(("a", "b"), ("1", "x"), coefficients)
    comparison = words.removeprefix("a if ").removesuffix("; otherwise b").replace("·x", " * x")

    for x in rng.normal(size=50):
        assert eval(comparison, {"x": x}) == (coefficients[0] @ [1, x] >= coefficients[1] @ [1, x])


def test_one_arm_is_given_always() -> None:
    assert rule_in_words(("a",), ("1",), np.array([[3.0]])) == "a always"


def test_small_coefficients_of_large_columns_are_not_zero() -> None:
    words = rule_in_words(("a", "b"), ("1", "cells"), np.array([[0.0, 3e-10], [4.0, 0.0]]))

    assert words == "a if 3.000e-10·cells >= 4.000; otherwise b"


def test_rounding_is_no_rule() -> None:
    words = rule_in_words(("a", "b"), ("1", "x"), np.array([[1.0, 0.1 + 0.2], [0.0, 0.3]]))

    assert words == "a always"
