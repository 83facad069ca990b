"""One figure, one source: list, page, card, report and command line say the same of each model of a store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views import loaded
from airflow_provider_ernest.views.model import ModelPage, model_page
from airflow_provider_ernest.views.models import MOST_ROWS, ModelRow, list_models
from airflow_provider_ernest.views.outcomes import STATE_BADGES
from airflow_provider_ernest.views.prediction import Prediction, prediction, prediction_alone
from airflow_provider_ernest.views.sentence import proposal_of, sentence
from airflow_provider_ernest.views.tables import decision_table
from airflow_provider_ernest.words import dollars, duration, duration_range, probability
from tests.browser.sample_store import seed
from tests.unit.views.stored import everything


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ModelStore:
    """The store of the tests of the pages, in all its states."""
    root = tmp_path_factory.mktemp("store")
    seed(root, big=60)
    return ModelStore(root)


@pytest.fixture(scope="module")
def shown(store: ModelStore) -> list[tuple[ModelRow, ModelPage, Prediction | None]]:
    """Each model as the list, its page, and the page's first answer show it."""
    entries, found = store.catalogue.entries(), []
    listed = list_models(entries, readable=everything, limit=MOST_ROWS, now=datetime.now(UTC))
    for row in listed.rows:
        model = loaded.load_model(store, row.job, row.instance_type, row.model_id)
        page = model_page(store, model, entries, readable=everything)
        try:
            answer = prediction(store, model, page.defaults, entries=entries, readable=everything)
        except ErnestError:
            answer = None
        found.append((row, page, answer))
    assert {row.state for row, _, _ in found} == set(STATE_BADGES)
    assert [row.job for row, _, answer in found if answer is None] == ["from_the_future"]
    return found


def figures(seconds: float, likely: Any, chance: float | None, asked: float) -> list[str]:
    """How a proposal's time, range and chance are written."""
    told = [f"{duration(seconds)} (80 %: {duration_range(likely)})"]
    return told + ([f" in {probability(chance, asked)} of runs"] if chance is not None else [])


def test_list_and_page_say_the_same_of_today(shown: list[Any]):
    for row, page, answer in shown:
        assert page.badges == row.badges
        assert page.state.name == row.state
        today = answer.answer.today if answer else None
        if today is None:
            assert (row.run_at, row.dollars_per_month) == (None, None), row.job
            continue
        assert (row.executors, row.seconds, row.cost) == (today.executors, today.seconds, today.cost)
        assert row.dollars_per_month == today.cost_per_month
        facts = " ".join(answer.answer.facts)
        assert answer.answer.sentence.startswith("Today ")
        assert f", {duration(row.seconds)}" in answer.answer.sentence
        if row.dollars_per_month is not None:
            assert f"Paid about {dollars(row.dollars_per_month)} a month" in facts
        if row.deadlines.judged and answer.decision.instance_type == row.instance_type:
            assert f"Deadlines kept: {row.deadlines.kept} of {row.deadlines.judged}" in facts


def test_sentence_table_and_chart_of_a_page_say_the_same(shown: list[Any]):
    for _, _, told in filter(lambda each: each[2], shown):
        (row,) = [row for row in told.answer.rows if row.is_chosen]
        of_runs = figures(row.seconds, row.likely_seconds, row.probability, told.confidence)
        assert all(words in told.answer.sentence for words in of_runs), told.answer.sentence
        if row.instance_type == told.instance_type:
            (point,) = [point for point in told.curve if point.executors == row.executors]
            assert (point.seconds, point.likely_seconds) == (row.seconds, row.likely_seconds)
        if told.decision:
            assert (told.decision.predicted_seconds, told.decision.probability) == (
                row.seconds,
                row.probability,
            )


def test_report_says_of_a_question_what_the_page_says(store: ModelStore, shown: list[Any]):
    compared = 0
    for row, page, told in shown:
        if told is None or told.decision is None or told.decision.instance_type != row.instance_type:
            continue
        model, asked = loaded.load_model(store, row.job, row.instance_type, row.model_id), page.defaults
        billing, sizes = asked.billing_at(asked.price_per_hour), asked.counts()
        report = prediction_alone(
            model, executors=sizes, billing=billing, goal=asked.goal(), scale=asked.scale
        )
        assert (report.decision.executors, report.decision.predicted_cost) == (
            told.decision.executors,
            told.decision.predicted_cost,
        )
        chosen = told.decision
        figure = chosen.predicted_seconds, chosen.likely_seconds, chosen.probability
        words = figures(*figure, told.confidence)
        assert all(each in told.answer.sentence and each in report.answer.sentence for each in words)
        compared += 1
    assert compared >= 3


def test_a_decision_is_told_in_one_sentence_by_card_log_and_command_line(store: ModelStore):
    decisions = [
        loaded.load_decision(store, entry.job, entry.instance_type, entry.id).decision
        for entry in store.catalogue.entries()
        if entry.kind == "decision"
    ]
    assert decisions
    for decision in decisions:
        told = sentence(None, proposal_of(decision))
        assert told in " ".join(decision_table(decision))
