"""The reports on a model and on a run: single files that are read, sent and printed."""

import re
from dataclasses import replace

import pytest

from airflow_provider_ernest.billing import Billing
from airflow_provider_ernest.documents import profiles
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.profiles import Capacity, RunProfile, StragglerCause
from airflow_provider_ernest.documents.runs import InputFingerprint, RunConditions
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.views.prediction import prediction_alone
from airflow_provider_ernest.views.report import model as model_report
from airflow_provider_ernest.views.report import run as run_report
from tests.examples import ARTIFACT_SHA256, noisy_observations, sizing_goal
from tests.unit.report_page import Page, dangers
from tests.unit.run_profiles import HOSTILE, bare, cpu_bound, hostile, network_bound

PRICED = Billing(price_per_hour=0.5)
HOSTILE_TEXTS = (
    *HOSTILE,
    "</script><script>alert(1)</script>",
    "</script><!--<script>",
    "]]>\u2028\u2029&amp;",
    "javascript:alert(1)",
)


@pytest.fixture(scope="module")
def model() -> Model:
    return train(noisy_observations(), job="grep", instance_type="m5.large", artifact_sha256=ARTIFACT_SHA256)


def html_of(model: Model, **options: object) -> str:
    prediction = prediction_alone(model, **{"machines": range(1, 17), **options})  # type: ignore[arg-type]
    return model_report.render(model, prediction, goal=options.get("goal"))  # type: ignore[arg-type]


def of_model(model: Model, **options: object) -> Page:
    return Page(html_of(model, **options))


def of_run(profile: RunProfile) -> Page:
    return Page(run_report.render(profile))


class TestSafety:
    def test_the_file_needs_nothing_else(self, model: Model):
        html = html_of(model, billing=PRICED)
        page = Page(html)
        assert dangers(page) == dangers(of_run(network_bound())) == []
        assert not re.search(r"@import|url\(", html.replace(page.scripts[1], ""))
        assert len(html) < 1_500_000, "it is sent by mail"

    @pytest.mark.parametrize("text", HOSTILE_TEXTS)
    def test_whatever_the_user_wrote_stays_text(self, model: Model, text: str):
        named = replace(
            model,
            job=text,
            instance_type=text,
            artifact=text,
            input_path=text,
            id=text,
            warnings=(text,),
            observations=tuple(noisy_observations(application_id=text, event_log=text)),
            terms=tuple(replace(term, meaning=text) for term in model.terms),
        )
        page = of_model(named)
        assert dangers(page) == []
        assert kinds(page) <= kinds(of_model(replace(model, warnings=("plain",))))
        assert page.texts.count(text) >= 5, "shown as it was written"
        assert page.data["observations"][0]["application_id"] == text

    @pytest.mark.parametrize("text", HOSTILE_TEXTS)
    def test_whatever_the_log_tells_stays_text(self, text: str):
        page = of_run(hostile(text))
        assert dangers(page) == []
        assert kinds(page) <= kinds(of_run(network_bound()))
        assert page.texts.count(text) >= 10, "shown as it was written"
        assert page.data["headline"] == text

    def test_the_same_contents_give_the_same_page(self, model: Model):
        assert html_of(model) == html_of(model)
        again = RunProfile.from_dict(network_bound().to_dict())
        assert run_report.render(network_bound()) == run_report.render(again)


def kinds(page: Page) -> set[tuple[str, str]]:
    """The kinds of elements, each with its attributes."""
    return {(tag, name) for tag, attributes in page.elements for name in ("", *attributes)}


class TestModel:
    def test_what_cannot_be_reported(self, model: Model):
        with pytest.raises(InvalidParameterError, match="price_per_hour=None is missing"):
            prediction_alone(model, machines=[4], goal=sizing_goal(deadline_seconds=100))
        with pytest.raises(InvalidParameterError, match="is empty"):
            prediction_alone(model, machines=[])

    def test_the_choice_stands_first_and_each_chart_over_its_numbers(self, model: Model):
        page = of_model(model, billing=PRICED, goal=sizing_goal(deadline_seconds=200))
        chosen = page.data["prediction"]["decision"]["machines"]
        words = f"Machines\n{chosen} machines\nof m5.large"
        assert page.text.index("best value within 3 min 20 s") < page.text.index(words)
        assert page.text.index(words) < page.text.index("Time against machines")
        assert page.text.index("Compared") < page.text.index("Time against machines")
        assert page.columns("time")[:2] == ["machines", "seconds"]
        assert page.columns("shares")[:2] == ["machines", "s of 1"], "a term is called machines, too"
        assert page.columns("cost") == ["machines", "seconds", "dollars", "keeps the goal", "remark"]
        assert page.columns("folds")[-1] == "error"
        assert "Cost against time" not in of_model(model).text, "without a price"

    def test_it_says_how_surely_the_goal_is_kept(self, model: Model):
        seconds = prediction_alone(model, machines=[8]).curve[0].seconds
        close = sizing_goal(deadline_seconds=seconds, confidence=0.4)
        far = sizing_goal(deadline_seconds=20 * seconds, confidence=0.9)
        probable = re.compile(r"Chance to meet the deadline\n(.+?) %\n.+; asked: (\d+) %")
        near, sure = (
            probable.findall(of_model(model, machines=[8], billing=PRICED, goal=goal).text)[0]
            for goal in (close, far)
        )
        assert 40 <= float(near[0]) <= 60
        assert (near[1], *sure) == ("40", "over 99.9", "90")

    def test_what_is_billed_besides_the_machines_is_told(self, model: Model):
        terms = {"master_price_per_hour": 1.0, "training_dollars": 3.0, "expected_runs": 100}
        billing = Billing(price_per_hour=0.5, **terms)
        words = r"of it \$0\.\d+ for the master, \$0\.03 for training"
        assert re.search(words, of_model(model, billing=billing, goal=sizing_goal(deadline_seconds=300)).text)

    def test_a_goal_out_of_reach_is_told_and_what_things_cost_all_the_same(self, model: Model):
        page = of_model(model, billing=PRICED, goal=sizing_goal(deadline_seconds=1))
        for words in (
            "No allowed configuration ends within 1 s",
            "ost likely to meet the goal",
            "Cost against time",
        ):
            assert words in page.text
        assert page.text.index("Out of reach: the deadline of 1 s. Nearest: ") < page.text.index("Nearest\n")
        assert "; best value within 1 s" in page.text
        assert page.data["prediction"]["most_probable"] in page.data["prediction"]["alternatives"]

    @pytest.mark.parametrize("goal", [None, {"deadline_seconds": 1}, {"objective": "fastest"}])
    def test_a_size_beyond_what_was_tried_stands_first_only_with_these_words(
        self, model: Model, goal: dict[str, float | str] | None
    ):
        tried = max(run.machines for run in model.observations)
        priced = {"billing": PRICED, "goal": sizing_goal(**goal)} if goal else {}
        first, beyond = (
            of_model(model, machines=[count], **priced).text.partition("Time against machines")[0]
            for count in (tried, 4 * tried)
        )
        assert "Extrapolated" not in first
        words = f"Extrapolated: only 1 to {tried} machines were tried."
        sentences = [line.strip() for line in beyond.partition("of the input")[2].splitlines()]
        at = sentences.index(words)
        assert f"{4 * tried} machines of m5.large: " in sentences[at - 1]

    def test_a_deadline_that_the_boot_uses_up_has_no_place_in_a_picture(self, model: Model):
        billing = Billing(price_per_hour=0.5, boot_seconds=60)
        told = prediction_alone(model, machines=[4], goal=sizing_goal(deadline_seconds=50), billing=billing)
        assert told.latest_seconds is None

    def test_the_origin_is_told(self, model: Model):
        base = "20260101T000000"
        conditions = RunConditions(spark="4.2.0 <b>")
        learned = replace(model, base_model_id=base, learned_from=("a", "b"), conditions=conditions)
        text = of_model(learned).text
        facts = (model.id, model.at, ARTIFACT_SHA256, "m5.large", "Spark 4.2.0 <b>")
        for fact in (*facts, f"2 production runs, which are among its runs; it goes on from {base}"):
            assert fact in text
        assert "learned from" not in of_model(model).text

    @pytest.mark.parametrize(
        ("conditions", "words"),
        [
            (None, None),
            (RunConditions(), None),
            (
                RunConditions(
                    spark="emr-7.5.0",
                    settings={"a": "1"},
                    cores_per_machine=4,
                    input=InputFingerprint(
                        partitions=640, total_bytes=320_000_000_000, columns=14, format="parquet"
                    ),
                ),
                "Spark emr-7.5.0; 1 setting compared; 4 cores of a machine; "
                "input of 640 partitions of 500 MB, 14 columns, parquet",
            ),
            (RunConditions(input=InputFingerprint(total_bytes=1500)), "input of 1.50 kB"),
        ],
    )
    def test_what_it_was_trained_under(self, conditions: RunConditions | None, words: str | None):
        assert model_report.trained_under(conditions) == words

    def test_a_term_of_the_users_own_is_shown(self):
        terms = ("1", "scale/machines", "max(machines - 4, 0)")
        page = of_model(train(noisy_observations(), job="grep", terms=terms))
        assert "max(machines - 4, 0)\na term of your own" in page.text

    @pytest.mark.parametrize("method", ["relative", "classic"])
    def test_every_method_can_be_reported_on(self, method: str):
        model = train(noisy_observations(5), job="grep", method=method)
        page = of_model(model, machines=[1, 64, 512], billing=PRICED)
        assert "non-negative least squares" in page.text

    def test_intervals_without_bounds_are_no_numbers_to_draw(self, model: Model):
        told = prediction_alone(model, machines=[4, 8])
        endless = tuple(replace(each, nearly_certain_seconds=(0.0, float("inf"))) for each in told.curve)
        page = Page(model_report.render(model, replace(told, curve=endless)))
        assert page.data["prediction"]["curve"][0]["nearly_certain_seconds"] == [0.0, None]

    def test_iterations_and_scale_are_told(self):
        model = train(noisy_observations(iterations=5), job="grep")
        assert "200 % of the input, 50 iterations" in of_model(model, scale=2.0, iterations=50).text


class TestRun:
    def test_what_matters_most_stands_first(self):
        text = of_run(network_bound(name="orders")).text
        order = [
            "orders",
            "44 s on 4 machines, 8 tasks at once, 10 % of the input",
            "Network-bound: up to 41 % (18 s of 44 s) from an infinitely fast network",
            "Most to be won\n41 %\nat most, without waiting for the network",
            "Before you trust this",
            "What to change",
            "Because: 1.40 GB were spilled to disk in stage 3.",
            "What could be won",
            "The stages over time",
            "What the stages did",
            "Stragglers",
            "What each resource needs at least",
            "On other machines",
            "half the network\n71.9\n+63 %",
            "twice the disks\n44.0\nno change",
            "On other numbers of machines",
            "4\n44.6\nthe run itself",
            "Phases",
            "How to read this",
            "Where this comes from",
            "category\nSQL\n",
        ]
        place = 0
        for words in order:
            place = text.index(words, place)

    def test_what_is_not_known_has_no_section_and_no_name(self):
        page = of_run(bare())
        title = "local-1773310000000: why it takes this long"
        assert page.texts[:3] == [title, "Why it takes this long", "local-1773310000000"]
        for heading in ("What could be won", "The stages over time", "Stragglers", "Before you trust this"):
            assert heading not in page.text
        assert "Phases" in page.text

    def test_time_that_nothing_explains_is_told(self):
        words = "For 11 % of their time tasks neither computed nor waited for anything that Spark measures"
        assert words in of_run(network_bound()).text
        assert words[-30:] not in of_run(network_bound(unmeasured_seconds=0.0)).text

    def test_a_stage_says_what_binds_it_and_what_its_tasks_wait_for(self):
        text = of_run(network_bound()).text
        waits = "the network 62\N{NO-BREAK SPACE}%, unmeasured 10\N{NO-BREAK SPACE}%"
        assert f"revenue o…\n27.7\nnetwork\n{waits}\n192\n1.00\n3.90\n13" in text, "shortened"
        assert "192 + 3 failed" in text
        assert "sort merge join, then the revenue of each customer by month" in text, "in full"
        binding = of_run(cpu_bound()).text
        assert "\nCPU\n" in binding
        assert "\ncpu\n" not in binding

    @pytest.mark.parametrize(
        ("capacity", "words"),
        [
            (
                Capacity(cores=1, source="achieved"),
                "A machine has 1 core; what its network and its disks can do is not known.",
            ),
            (
                Capacity(cores=2, disk_gigabytes_per_second=0.4, source="achieved"),
                "A machine has 2 cores, 400 MB/s of disk: the most that this run's own tasks got, so",
            ),
            (
                Capacity(cores=4, network_gigabytes_per_second=1.25, source="stated"),
                "A machine has 4 cores, 1.25 GB/s of network in each direction: as stated.",
            ),
        ],
    )
    def test_it_says_what_the_machines_are_taken_to_do(self, capacity: Capacity, words: str):
        assert words in of_run(network_bound(capacity=capacity)).text

    def test_a_slow_host_may_be_what_most_could_be_won_of(self):
        held_up = StragglerCause(cause=profiles.SLOW_HOST, tasks=7, excess_seconds=40.0, seconds_without=22.3)
        text = of_run(network_bound(straggler_causes=(held_up,))).text
        assert "Most to be won\n50 %\nat most, without its stragglers (slow host)" in text

    def test_what_is_fetched_is_what_other_machines_sent(self):
        (first, *_) = network_bound().stages
        stage = replace(first, shuffle_remote_bytes=3_000_000, shuffle_local_bytes=1_000_000)
        text = of_run(network_bound(stages=(stage,))).text
        assert "fetched\nread locally\n" in text
        assert "3.00 MB\n1.00 MB\n" in text
