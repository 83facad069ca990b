"""The decisions benchmark: what is asked, who answers how, and what the answers come to."""

from dataclasses import replace

import pytest

from benchmarks.accuracy import c3o
from benchmarks.decisions import rules
from benchmarks.decisions.evaluation import decide, summarise, summarise_by_probability
from benchmarks.decisions.goals import goals_of_probabilities
from benchmarks.decisions.outlook import Forecasts
from benchmarks.decisions.prices import billing_of
from benchmarks.decisions.questions import BEYOND, BUDGET, DEADLINE, questions
from benchmarks.decisions.report import probabilities_table, unfavourable
from benchmarks.decisions.situations import of_all_types, of_one_type
from tests.unit.benchmarks.decision_situations import outlook, situation, write_two_types


def test_each_context_is_one_with_all_machines_at_its_largest_size(tmp_path):
    write_two_types(tmp_path)
    of_c4, of_m4 = of_one_type(c3o.contexts(tmp_path))
    assert [option.machines for option in of_m4.options] == [2, 4, 6, 8, 12]
    assert {option.scale for option in of_m4.options} == {1.0}
    assert (of_c4.gigabytes, of_m4.gigabytes) == (30.0, 40.0)
    # The median of three runs of 30 s and 40 s for each of four million lines, at 0.40 $ an hour.
    assert of_m4.seconds[0] == pytest.approx(30 + 40 * 4 / 2 + 1)
    assert of_m4.costs[0] == pytest.approx(2 * 0.40 / 3600 * 111)


def test_all_types_are_offered_at_the_largest_size_that_all_were_measured_at(tmp_path):
    write_two_types(tmp_path)
    (both,) = of_all_types(c3o.contexts(tmp_path))
    offered = {(option.instance_type, option.scale) for option in both.options}
    assert offered == {("c4.2xlarge", 1.0), ("m4.2xlarge", 0.75)}
    assert both.seconds[5] == pytest.approx(30 + 40 * 3 / 2 + 1)


def test_prices_can_be_told_and_others_are_by_the_core():
    assert billing_of("r4.2xlarge", cores=8).price_per_hour == 0.532
    assert billing_of("x1", cores=8, prices_per_hour={"x1": 7.0}).price_per_hour == 7.0
    assert billing_of("unknown", cores=4).price_per_hour == pytest.approx(0.2)


@pytest.mark.parametrize(("kind", "least", "most"), [(DEADLINE, 80.0, 200.0), (BUDGET, 0.4, 0.64)])
def test_limits_reach_from_the_best_to_the_worst_option_and_all_can_be_kept(kind, least, most):
    limits = [question.limit for question in questions(situation(), kind, count=4)]
    assert (limits[0], limits[-1]) == pytest.approx((least, most))

    decided = decide([outlook()], kind, count=20, rules={rules.ORACLE: rules.all_rules()[rules.ORACLE]})
    assert (summarise(decided).kept, summarise(decided).regret) == (100.0, 0.0)


def test_what_is_said_is_held_against_limits_that_no_option_and_that_every_option_keeps():
    limits = [question.limit for question in questions(situation(), DEADLINE, count=3, reach=BEYOND)]
    assert limits == pytest.approx([40.0, 126.49, 400.0], abs=0.01)

    of_ours = {name: rule for name, rule in rules.all_rules().items() if name == rules.ours(0.8)}
    # Said to be kept by 90 %, whatever the limit: on 4 machines, where none, all and all of three runs do.
    decided = decide([outlook()], DEADLINE, count=3, reach=BEYOND, rules=of_ours)
    sure, unsure = summarise_by_probability(decided, (0.8, 0.95))
    assert (sure.decisions, sure.probability, sure.runs_kept) == pytest.approx((3, 90.0, 200 / 3))
    assert unsure.decisions == 0
    (line,) = [line for line in probabilities_table({"made up": decided}) if line.startswith("made up")]
    assert "90   67" in line
    (goal,) = goals_of_probabilities({"made up": decided})
    assert goal.ours == pytest.approx(90.0 - 200 / 3)
    assert not goal.met


UNSURE = {"probabilities": (0.6, 0.9, 0.99)}
DEARER_AND_SURER = {"probabilities": (0.81, 0.99, 1.0)}


@pytest.mark.parametrize(
    ("rule", "limit", "told", "machines"),
    [
        # The cheapest that is predicted within the deadline, the fastest within the budget, else the nearest.
        (rules.ORIGINAL, {"seconds": 120.0}, {}, 4),
        (rules.WITH_MARGIN, {"seconds": 120.0}, {}, 8),
        (rules.ORIGINAL, {"dollars": 0.5}, {}, 4),
        (rules.WITH_MARGIN, {"dollars": 0.5}, {}, 2),
        (rules.ORIGINAL, {"seconds": 10.0}, {}, 8),
        (rules.ORIGINAL, {"dollars": 0.1}, {}, 2),
        (rules.LARGEST, {"seconds": 1000.0}, {}, 8),
        # A core for each gigabyte.
        (rules.THUMB, {"seconds": 100.0}, {"gigabytes": 15.0}, 4),
        (rules.THUMB, {"seconds": 100.0}, {"gigabytes": 16.1}, 8),
        # Of 0.40, 0.44 and 0.64 $, for each run that keeps the deadline: 0.67, 0.49 and 0.65 $.
        (rules.ours(0.8), {"seconds": 100.0}, UNSURE, 4),
        (rules.ours(0.95), {"seconds": 100.0}, UNSURE, 8),
        (rules.ours(0.8), {"seconds": 100.0}, DEARER_AND_SURER, 4),
        (rules.PLAIN, {"seconds": 100.0}, DEARER_AND_SURER, 2),
        (rules.ours(0.8), {"dollars": 0.5}, {"probabilities": (0.99, 0.9, 0.2)}, 4),
        (rules.ours(0.95), {"seconds": 100.0}, {"probabilities": (0.2, 0.7, 0.4)}, 4),
        # The oracles know what runs take: one of 120 s misses, and all three are kept on 8 machines only.
        (rules.ORACLE, {"seconds": 110.0}, {"original": (1.0, 1.0, 1.0), "ours": (1.0, 1.0, 1.0)}, 4),
        (rules.SUREST, {"seconds": 110.0}, {"original": (1.0, 1.0, 1.0), "ours": (1.0, 1.0, 1.0)}, 8),
    ],
)
def test_what_each_rule_chooses(rule, limit, told, machines):
    (question,) = questions(situation(), DEADLINE if "seconds" in limit else BUDGET, count=1)
    given = outlook(**told)
    ((position, _),) = rules.all_rules()[rule](given, [replace(question, limit=next(iter(limit.values())))])
    assert given.situation.options[position].machines == machines


def test_a_miss_earns_nothing_by_being_cheap():
    """By deadlines of 80, 126.5 and 200 s."""
    of_thumb = {rules.THUMB: rules.all_rules()[rules.THUMB]}
    decided = decide([outlook()], DEADLINE, count=3, rules=of_thumb)
    assert [each.kept for each in decided] == [False, True, True]
    # On 4 machines for 0.44 $: the oracle needs 0.64, 0.44 and 0.40 $.
    assert [each.regret for each in decided] == pytest.approx([0.0, 0.0, 0.1])
    summary = summarise(decided)
    assert summary.kept == pytest.approx(200 / 3)
    assert (summary.regret, summary.regret_of_kept) == pytest.approx((10 / 3, 5.0))


def test_under_a_budget_regret_is_in_time():
    cheapest = rules.all_rules()[rules.ORIGINAL]
    decided = decide([outlook(original=(100.0, 500.0, 500.0))], BUDGET, count=2, rules={"slow": cheapest})
    # 200 s on 2 machines; with 0.64 $ there were 80 s to be had.
    assert [each.regret for each in decided] == pytest.approx([0.0, 1.5])


def test_forecasts_see_only_training_runs_and_choose_well_all_the_same(tmp_path):
    write_two_types(tmp_path)
    contexts = c3o.contexts(tmp_path)
    forecasts = Forecasts([c3o.trained_runs(context) for context in contexts])
    for found in (of_one_type(contexts), of_all_types(contexts)):
        decided = decide([forecasts.outlook(each) for each in found], DEADLINE, count=4)
        own = summarise(each for each in decided if each.rule == rules.ours(0.95))
        assert own.kept == 100.0
        assert own.regret < 40.0


def test_what_is_better_than_ours_is_said():
    fearful = decide([outlook(probabilities=(0.0, 0.1, 0.99))], DEADLINE, count=5)
    told = [line for line in unfavourable({"deadlines": fearful}) if "original Ernest" in line]
    assert len(told) == len(rules.CONFIDENCES)
