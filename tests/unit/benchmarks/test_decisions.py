"""The decisions benchmark: what is asked, who answers how, and what the answers come to."""

from dataclasses import replace
from itertools import pairwise

import pytest

from benchmarks.accuracy import bell, c3o
from benchmarks.decisions import bell_traces, rules
from benchmarks.decisions.evaluation import decide, summarise
from benchmarks.decisions.goals import goals_of, goals_table
from benchmarks.decisions.outlook import Forecasts
from benchmarks.decisions.prices import billing_of
from benchmarks.decisions.questions import BUDGET, DEADLINE, questions
from benchmarks.decisions.report import stability_table, table, unfavourable
from benchmarks.decisions.situations import of_all_types, of_one_type
from tests.unit.benchmarks.decision_situations import outlook, situation, write_two_types


def ask(name, seconds=None, dollars=None, **told):
    """The number of machines that a rule chooses."""
    (question,) = questions(situation(), DEADLINE if dollars is None else BUDGET, count=1)
    asked = replace(question, limit=seconds if dollars is None else dollars)
    given = outlook(**told)
    ((position, _),) = rules.all_rules()[name](given, [asked])
    return given.situation.options[position].machines


class TestSituations:
    def test_each_context_is_one_with_all_machines_at_its_largest_size(self, tmp_path):
        write_two_types(tmp_path)
        of_c4, of_m4 = of_one_type(c3o.contexts(tmp_path))
        assert [option.machines for option in of_m4.options] == [2, 4, 6, 8, 12]
        assert {option.scale for option in of_m4.options} == {1.0}
        assert (of_c4.gigabytes, of_m4.gigabytes) == (30.0, 40.0)
        # The median of three runs of 30 s and 40 s for each of four million lines, at 0.40 $ an hour.
        assert of_m4.seconds[0] == pytest.approx(30 + 40 * 4 / 2 + 1)
        assert of_m4.costs[0] == pytest.approx(2 * 0.40 / 3600 * 111)

    def test_fewer_machines_can_be_left_out(self, tmp_path):
        write_two_types(tmp_path)
        found = of_one_type(c3o.contexts(tmp_path), fewest_machines=8)
        assert [option.machines for option in found[0].options] == [8, 12]

    def test_all_types_are_offered_at_the_largest_size_that_all_were_measured_at(self, tmp_path):
        write_two_types(tmp_path)
        (both,) = of_all_types(c3o.contexts(tmp_path))
        assert [option.instance_type for option in both.options] == ["c4.2xlarge"] * 5 + ["m4.2xlarge"] * 5
        assert both.gigabytes == pytest.approx(30.0)
        assert {(option.instance_type, option.scale) for option in both.options} == {
            ("c4.2xlarge", 1.0),
            ("m4.2xlarge", 0.75),
        }
        assert both.seconds[5] == pytest.approx(30 + 40 * 3 / 2 + 1)

    def test_prices_can_be_told_and_others_are_by_the_core(self):
        assert billing_of("r4.2xlarge", cores=8).price_per_hour == 0.532
        assert billing_of("x1", cores=8, prices_per_hour={"x1": 7.0}).price_per_hour == 7.0
        assert billing_of("unknown", cores=4).price_per_hour == pytest.approx(0.2)

    def test_a_short_run_is_billed_for_a_minute(self):
        assert billing_of("m4.2xlarge", cores=8).cost(machines=3, seconds=20).total == pytest.approx(
            3 * 0.4 / 60
        )


class TestQuestions:
    @pytest.mark.parametrize(("kind", "least", "most"), [(DEADLINE, 80.0, 200.0), (BUDGET, 0.4, 0.64)])
    def test_reach_from_the_best_to_the_worst_option(self, kind, least, most):
        asked = questions(situation(), kind, count=4)
        limits = [question.limit for question in asked]
        assert (limits[0], limits[-1]) == pytest.approx((least, most))
        ratios = [after / before for before, after in pairwise(limits)]
        assert ratios == pytest.approx([ratios[0]] * 3)
        assert (asked[0].slack, asked[-1].slack) == pytest.approx((0.0, most / least - 1.0))

    @pytest.mark.parametrize("kind", [DEADLINE, BUDGET])
    def test_all_can_be_kept(self, kind):
        decided = decide([outlook()], kind, count=20, rules={rules.ORACLE: rules.all_rules()[rules.ORACLE]})
        assert summarise(decided).kept == 100.0
        assert summarise(decided).regret == 0.0


class TestRules:
    def test_the_original_takes_the_cheapest_that_it_predicts_within_the_deadline(self):
        assert ask(rules.ORIGINAL, seconds=120.0) == 4
        assert ask(rules.WITH_MARGIN, seconds=120.0) == 8
        assert ask(rules.ORIGINAL, seconds=120.0, original=(120.0, 119.0, 118.0)) == 2

    def test_the_original_takes_the_fastest_that_it_predicts_within_the_budget(self):
        assert ask(rules.ORIGINAL, dollars=0.5) == 4
        assert ask(rules.WITH_MARGIN, dollars=0.5) == 2

    def test_the_original_takes_the_nearest_where_nothing_is_within(self):
        assert ask(rules.ORIGINAL, seconds=10.0) == 8
        assert ask(rules.ORIGINAL, dollars=0.1) == 2

    def test_where_all_cost_the_same_the_original_takes_what_is_safest(self):
        assert ask(rules.ORIGINAL, seconds=900.0, original=(400.0, 200.0, 100.0)) == 8

    def test_the_largest_is_the_largest(self):
        assert ask(rules.LARGEST, seconds=1000.0) == 8

    @pytest.mark.parametrize(
        ("gigabytes", "machines"), [(7.9, 2), (15.0, 4), (16.1, 8), (999.0, 8), (None, 2)]
    )
    def test_a_core_for_each_gigabyte(self, gigabytes, machines):
        assert ask(rules.THUMB, seconds=100.0, gigabytes=gigabytes) == machines

    def test_ours_takes_the_cheapest_that_is_sure_enough(self):
        told = {"probabilities": (0.6, 0.9, 0.99)}
        # Of 0.40, 0.44 and 0.64 $, for each run that keeps the deadline: 0.67, 0.49 and 0.65 $.
        assert ask(rules.ours(0.8), seconds=100.0, **told) == 4
        assert ask(rules.ours(0.95), seconds=100.0, **told) == 8

    def test_ours_pays_a_little_for_much_certainty_and_not_much_for_little(self):
        assert ask(rules.ours(0.8), seconds=100.0, probabilities=(0.81, 0.99, 1.0)) == 4
        assert ask(rules.PLAIN, seconds=100.0, probabilities=(0.81, 0.99, 1.0)) == 2
        assert ask(rules.ours(0.8), seconds=100.0, probabilities=(0.95, 0.99, 1.0)) == 2

    def test_ours_takes_the_fastest_within_a_budget(self):
        assert ask(rules.ours(0.8), dollars=0.5, probabilities=(0.99, 0.9, 0.2)) == 4

    def test_ours_takes_the_most_probable_where_nothing_is_sure_enough(self):
        assert ask(rules.ours(0.95), seconds=100.0, probabilities=(0.2, 0.7, 0.4)) == 4

    def test_the_oracles_know_what_runs_take(self):
        wrong = {"original": (1.0, 1.0, 1.0), "ours": (1.0, 1.0, 1.0)}
        assert ask(rules.ORACLE, seconds=110.0, **wrong) == 4
        # A run of 120 s misses: all three runs are kept on 8 machines only.
        assert ask(rules.SUREST, seconds=110.0, **wrong) == 8


class TestEvaluation:
    def decided(self, rule, count=3):
        """Deadlines of 80, 126.5 and 200 s."""
        return decide(
            [outlook(ours=(50.0, 45.0, 40.0))], DEADLINE, count=count, rules={rule: rules.all_rules()[rule]}
        )

    def test_a_miss_earns_nothing_by_being_cheap(self):
        decided = self.decided(rules.THUMB)
        assert [each.kept for each in decided] == [False, True, True]
        # On 4 machines for 0.44 $: the oracle needs 0.64, 0.44 and 0.40 $.
        assert [each.regret for each in decided] == pytest.approx([0.0, 0.0, 0.1])
        summary = summarise(decided)
        assert summary.kept == pytest.approx(200 / 3)
        assert (summary.regret, summary.regret_of_kept) == pytest.approx((10 / 3, 5.0))

    def test_single_runs_are_counted_one_by_one(self):
        (tightest, *_) = self.decided(rules.LARGEST)
        # 70, 80 and 90 s within 80 s.
        assert tightest.runs_kept == (True, True, False)
        assert summarise([tightest]).runs_kept == pytest.approx(200 / 3)

    def test_what_a_rule_said_is_kept(self):
        summary = summarise(self.decided(rules.ours(0.5)))
        assert summary.probability == pytest.approx(90.0)
        assert summarise(self.decided(rules.LARGEST)).probability is None

    def test_under_a_budget_regret_is_in_time(self):
        cheapest = rules.all_rules()[rules.ORIGINAL]
        decided = decide([outlook(original=(100.0, 500.0, 500.0))], BUDGET, count=2, rules={"slow": cheapest})
        # 200 s on 2 machines; with 0.64 $ there were 80 s to be had.
        assert [each.regret for each in decided] == pytest.approx([0.0, 1.5])


class TestForecasts:
    def test_see_only_training_runs_and_choose_well_all_the_same(self, tmp_path):
        write_two_types(tmp_path)
        contexts = c3o.contexts(tmp_path)
        forecasts = Forecasts([c3o.trained_runs(context) for context in contexts])
        for found in (of_one_type(contexts), of_all_types(contexts)):
            decided = decide([forecasts.outlook(each) for each in found], DEADLINE, count=4)
            own = summarise(each for each in decided if each.rule == rules.ours(0.95))
            assert own.kept == 100.0
            assert own.regret < 40.0

    def test_a_start_up_is_added_to_every_run(self, tmp_path):
        write_two_types(tmp_path)
        contexts = c3o.contexts(tmp_path)
        runs = [c3o.trained_runs(context) for context in contexts]
        (found, _) = of_one_type(contexts)
        without, late = (Forecasts(runs, startup_seconds=each).outlook(found) for each in (0.0, 100.0))
        assert late.seconds == pytest.approx(without.seconds + 100.0)
        limits = found.seconds[None, :]
        assert late.probabilities(limits + 100.0) == pytest.approx(without.probabilities(limits))
        assert late.probabilities(limits) == pytest.approx(0.0)

    def test_bells_jobs_are_trained_on_few_machines(self):
        trace = bell.Trace(
            job="grep.spark",
            seconds={nodes: (400.0 / nodes + 20.0,) * 3 for nodes in (4, 8, 12, 20, 32, 44, 60)},
        )
        (first, second) = bell_traces.outlooks([trace], repetitions=2)
        assert [option.machines for option in first.situation.options] == [4, 8, 12, 20, 32, 44, 60]
        assert second.seconds == pytest.approx(second.situation.seconds, rel=0.3)


class TestTables:
    def test_goals_are_met_by_rules_that_know_and_missed_by_others(self):
        knows = decide([outlook(probabilities=(0.99, 0.0, 0.0))], DEADLINE, count=8)
        goals = {goal.figure: goal for goal in goals_of(knows)}
        assert not goals["deadlines kept, at confidence 0.95"].met
        assert goals["regret in cost, at confidence 0.95"].met
        lines = goals_table(list(goals.values()))
        assert sum("missed" in line for line in lines) == 2
        assert sum(line.endswith("  met") for line in lines) == 2

    def test_a_table_has_a_line_for_each_rule(self):
        decided = decide([outlook()], DEADLINE, count=5)
        lines = table("deadlines", decided)
        assert lines[0] == "== deadlines (5 decisions by each rule) =="
        assert [line[:18].strip() for line in lines[2:-1]] == list(rules.all_rules())
        assert len(stability_table({5: decided})) == 2 + 5 + 1

    def test_what_is_better_than_ours_is_said(self):
        fearful = decide([outlook(probabilities=(0.0, 0.1, 0.99))], DEADLINE, count=5)
        told = [line for line in unfavourable({"deadlines": fearful}) if "original Ernest" in line]
        assert len(told) == len(rules.CONFIDENCES)

        knowing = decide([outlook()], DEADLINE, count=1)
        assert "nowhere" in unfavourable({"deadlines": knowing})[1]
