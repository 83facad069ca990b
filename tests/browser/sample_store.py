"""A model store as a busy Airflow would have it: ``python -m tests.browser.sample_store FOLDER [MODELS]``.

The models are really trained, on runs of synthetic jobs with fixed seeds; only the times at which things
happened are counted back from now. MODELS asks for so many cheap copies besides, to see how pages bear them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from airflow_provider_ernest.decision.goals import Goal
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.documents.base import Origin, new_id, new_stamp
from airflow_provider_ernest.documents.decisions import Configuration, Decision, DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import CLUSTER, DATA, SETTINGS, FittedTerm, Model, ModelMark
from airflow_provider_ernest.documents.profiles import PRODUCTION
from airflow_provider_ernest.documents.runs import Experiment, InputFingerprint, Observation, RunConditions
from airflow_provider_ernest.documents.surveys import Lateness, Survey
from airflow_provider_ernest.learning.production import learn
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings import Billing, SizingGoal
from airflow_provider_ernest.store.store import ModelStore
from tests.browser.explained_jobs import add_explanations, of_production, profiled, reported
from tests.browser.synthetic_jobs import (
    M4_XLARGE,
    PARTITIONS,
    R3_2XLARGE,
    R3_XLARGE,
    MachineType,
    SyntheticJob,
    add_cheap_models,
    kept_hosts,
    planned,
    production_run,
    training_cluster,
)
from tests.choices import choice_of
from tests.examples import sizing_goal, survey, surveyed_job
from tests.unit.run_profiles import network_bound

DAG_ID = "nightly_sizing"
SECRET_DAG_ID = "secret_dag"  # the name of a DAG, no password
HOSTILE = "\"><img src=x onerror=alert(1)> 'quoted' ../../etc/passwd \u202eGröße 名前"
ARTIFACT, NEXT_ARTIFACT = "1f" * 32, "c4" * 32
DEADLINE_SECONDS = 450.0
MOST_EXECUTORS = 24
STATED_MACHINES = 12
HIDDEN_TYPE = "x1.hidden"
HIDDEN_HEADLINE = "Network-bound, as a DAG found out that not everybody may read"
HIDDEN_REASON = "The machines of the last run had 61 % of the memory bandwidth that they had in training."
NO_MODEL = "There is no model to choose by: its training failed or was skipped."
NEW_COLUMNS = "The model of 70 days ago is not reused. A record of the input has 14 columns and had 12."
CONDITIONS = RunConditions(
    spark="4.2.0",
    settings={
        "spark.sql.shuffle.partitions": "5f" * 32,
        "spark.executor.memory": "a0" * 32,
        "--depth": "7c" * 32,
    },
    input=InputFingerprint(partitions=PARTITIONS, total_bytes=320_000_000_000, columns=14, format="parquet"),
    executor_cores=4,
)


@dataclass(frozen=True, kw_only=True)
class SeededModels:
    """The newest model of each kind that a page must show.

    Attributes:
        nightly_join: with versions, design, cluster, decisions and production runs: fresh.
        drifting: the same job on machines where its last production runs took far longer than predicted.
        third_type: the same job on a third type of machine, never used for production.
        stale: production has run another artifact since. Before it was sized, it ran on more machines.
        hostile: its names are markup and paths.
        without_dag: made on the command line: no origin, design, cluster or price.
        secret: of the DAG `SECRET_DAG_ID`.
        big_history: fitted to 1,000 observations.
        unknown_term: has a term that this version does not know: it cannot predict.
        learned: the last of three versions that learned on from each other, with all that a life may hold.
    """

    nightly_join: Model
    drifting: Model
    third_type: Model
    stale: Model
    hostile: Model
    without_dag: Model
    secret: Model
    big_history: Model
    unknown_term: Model
    learned: Model


def seed(
    root: Path, *, dag_id: str = DAG_ID, many: int = 0, big: int = 1000, now: datetime | None = None
) -> SeededModels:
    """Write the store.

    Args:
        root: its root.
        dag_id: the DAG that most models are of.
        many: so many cheap models besides.
        big: observations of the model with many.
        now: what times are counted back from.
    """
    store = ModelStore(root)
    seeded = _Seeding(store, dag_id, now or datetime.now(UTC)).seed(many=many, big=big)
    add_explanations(store, seeded)
    return seeded


class _Seeding:
    def __init__(self, store: ModelStore, dag_id: str, now: datetime) -> None:
        self.store, self.dag_id, self.now = store, dag_id, now
        self.random = Random(5)

    def seed(self, *, many: int, big: int) -> SeededModels:
        nightly = self._nightly_join()
        drifting = self._save(self._trained("nightly_join", R3_2XLARGE, days=9, seed=21))
        self._produce(drifting, R3_2XLARGE, SyntheticJob(random=Random(8)), days=[8, 7, 6])
        self._produce(
            drifting, R3_2XLARGE, SyntheticJob(spreading=5200.0, random=Random(8)), days=[4, 3, 2, 1]
        )
        stale = self._save(self._trained("hourly_sessions", R3_XLARGE, days=40, seed=31))
        self._run_before("hourly_sessions", R3_XLARGE, executors=32, days=[46, 45, 44])
        self._produce(stale, R3_XLARGE, SyntheticJob(), days=[5])
        self._produce(stale, R3_XLARGE, SyntheticJob(), days=[2], artifact_sha256=NEXT_ARTIFACT)
        seeded = SeededModels(
            nightly_join=nightly,
            drifting=drifting,
            third_type=self._save(self._trained("nightly_join", M4_XLARGE, days=20, seed=24)),
            stale=stale,
            hostile=self._save(hostile(self._trained(HOSTILE, R3_XLARGE, days=3, seed=41))),
            without_dag=self._save(_dated(of_the_command_line(), self.now - timedelta(days=6))),
            secret=self._save(self._trained("payroll", R3_XLARGE, days=1, seed=51, dag_id=SECRET_DAG_ID)),
            big_history=self._save(self._big_history(big)),
            unknown_term=self._save(of_a_newer_version(self._trained("from_the_future", M4_XLARGE, 12, 61))),
            learned=self._daily_report(),
        )
        for days in (33.0, 3.0):
            self.store.save(surveyed(self.now - timedelta(days=days)))
        self.store.save(marked(seeded.hostile, cause=SETTINGS, reason=HOSTILE, when=self.now))
        self._produce(seeded.secret, R3_XLARGE, SyntheticJob(), days=[0.5], dag_id=SECRET_DAG_ID)
        if many:
            add_cheap_models(self.store, seeded.third_type, many, now=self.now)
        return seeded

    def _nightly_join(self) -> Model:
        """Four versions: of another artifact at first, and with runs of production by the last two."""
        first = self._trained("nightly_join", R3_XLARGE, days=90, seed=11)
        self._save(replace(first, artifact_sha256="0b" * 32))
        self._save(self._trained("nightly_join", R3_XLARGE, days=60, seed=12))
        third = self._save(self._trained("nightly_join", R3_XLARGE, days=30, seed=13))
        job = SyntheticJob(random=Random(3), noise=0.04)
        self._produce(third, R3_XLARGE, job, days=[28, 26, 24, 22, 20])
        newest = self._save(self._trained("nightly_join", R3_XLARGE, days=10, seed=14))
        self._produce(newest, R3_XLARGE, job, days=[9, 8, 6, 5, 4, 2, 1])
        self._fall_back(newest, R3_XLARGE, stated_days=7, days=3)
        return newest

    def _daily_report(self) -> Model:
        """A marked version, then one that learns from production twice, and a training that failed."""
        old = replace(self._trained("daily_report", R3_XLARGE, days=70, seed=71), conditions=CONDITIONS)
        self._save(old)
        when = self.now - timedelta(days=41)
        self.store.save(
            marked(
                old,
                cause=DATA,
                when=when,
                reason=NEW_COLUMNS,
                origin=self._origin("sizing.find_model", when, None),
            )
        )
        base = replace(self._trained("daily_report", R3_XLARGE, days=40, seed=72), conditions=CONDITIONS)
        newest, runs = self._save(base), []
        job = SyntheticJob(random=Random(6), noise=0.05)
        for days in ([38, 36, 34, 33, 31], [29, 27, 26, 24, 22, 20], [18, 16, 14, 12, 9, 7, 4, 2]):
            runs += self._produce(newest, R3_XLARGE, job, days=days)
            learned = learn(newest, runs)
            if learned is not None:
                newest = self._save(_dated(learned, self.now - timedelta(days=days[-1] - 0.5)))
        return newest

    def _trained(
        self, job: str, machine_type: MachineType, days: float, seed: int, dag_id: str | None = None
    ) -> Model:
        """A model by a design on a cluster, fitted so many days ago."""
        when = self.now - timedelta(days=days)
        cluster = training_cluster(machine_type, executors=12, name=f"ernest-{seed:08x}", seed=seed)
        design, work = planned(machine_type), SyntheticJob(random=Random(seed))
        observations = [
            work.observe(
                experiment,
                machine_type,
                hosts=kept_hosts(cluster),
                origin=self._origin("sizing.sample_run", when, dag_id, map_index=experiment.index),
                when=when - timedelta(minutes=30 - 2 * experiment.index),
            )
            for experiment in design.experiments
        ]
        model = train(
            observations,
            job=job,
            instance_type=machine_type.name,
            artifact=f"s3a://jars/{job}.jar",
            artifact_sha256=ARTIFACT,
            input_path=f"s3a://lake/{job}/",
            origin=self._origin("sizing.fit_model", when, dag_id),
            design=design,
            cluster=cluster,
        )
        return _dated(model, when)

    def _big_history(self, observations: int) -> Model:
        """Years of runs of 40 configurations."""
        job, when = SyntheticJob(random=Random(77)), self.now - timedelta(days=2)
        origin = self._origin("sizing.sample_run", when, None)
        hosts = tuple(f"10.1.0.{number}" for number in range(16))
        configurations = [(m, s) for m in (1, 2, 3, 4, 6, 8, 12, 16) for s in (0.02, 0.04, 0.06, 0.08, 0.1)]
        runs = []
        for index in range(observations):
            executors, scale = configurations[index % len(configurations)]
            experiment = Experiment(
                index=index, executors=executors, scale=scale, partitions=round(scale * PARTITIONS)
            )
            runs.append(job.observe(experiment, R3_XLARGE, hosts=hosts, origin=origin, when=when))
        model = train(
            runs, job="big_history", instance_type="r3.xlarge", artifact_sha256=ARTIFACT, origin=origin
        )
        return _dated(model, when)

    def _produce(
        self,
        model: Model,
        machine_type: MachineType,
        job: SyntheticJob,
        *,
        days: Sequence[float],
        artifact_sha256: str = ARTIFACT,
        dag_id: str | None = None,
    ) -> list[ProductionRun]:
        """Decide by the model and run what was decided, so many days ago each."""
        runs = []
        for ago in days:
            when = self.now - timedelta(days=ago)
            scale = round(self.random.uniform(0.92, 1.08), 3)
            goal = sizing_goal(deadline_seconds=DEADLINE_SECONDS)
            decision = choice_of(_offer(model, machine_type), goal=goal, scale=scale).required()
            record = replace(
                self._record(model, decision, when, goal=goal, scale=scale),
                artifact_sha256=artifact_sha256,
                origin=self._origin("sizing.choose_config", when, dag_id),
            )
            self.store.save(record)
            run_seconds = job.measure(machine_type, executors=decision.config.executors, scale=scale)
            run = production_run(record, run_seconds, when + timedelta(minutes=8))
            runs.append(replace(run, origin=self._origin("production", when, dag_id)))
            self.store.save(runs[-1])
        return runs

    def _run_before(
        self, job: str, machine_type: MachineType, *, executors: int, days: Sequence[float]
    ) -> None:
        """Run it on machines that somebody chose by hand, so many days ago each."""
        for ago in days:
            when = self.now - timedelta(days=ago)
            seconds = SyntheticJob().measure(machine_type, executors=executors, scale=1.0)
            self.store.save(
                ProductionRun(
                    **new_stamp(when),
                    job=job,
                    instance_type=machine_type.name,
                    executors=executors,
                    scale=1.0,
                    seconds=seconds,
                    cost=round(executors * machine_type.price_per_hour * seconds / 3600, 4),
                    artifact_sha256=ARTIFACT,
                    origin=self._origin("production", when, None),
                )
            )

    def _fall_back(self, model: Model, machine_type: MachineType, *, stated_days: float, days: float) -> None:
        """A night without a model, and a night with a deadline out of reach, so many days ago."""
        goal = sizing_goal(deadline_seconds=60.0, confidence=0.95)
        stated = Decision(
            config=Configuration(executors=STATED_MACHINES, instance_type=machine_type.name),
            goal=Goal(goal).in_words,
            confidence=goal.confidence,
            fallback_reason=NO_MODEL,
            warnings=(f"The stated fallback of {STATED_MACHINES} machines was taken: {NO_MODEL}",),
        )
        offer = _offer(model, machine_type)
        most_probable = choice_of(offer, goal=goal, on_failure="most_probable").required()
        decisions = {stated_days: stated, days: most_probable}
        for ago, decision in decisions.items():
            when = self.now - timedelta(days=ago)
            record = self._record(model, decision, when, goal=goal, scale=1.0)
            self.store.save(record)

    def _record(
        self, model: Model, decision: Decision, when: datetime, *, goal: SizingGoal, scale: float
    ) -> DecisionRecord:
        return DecisionRecord(
            **new_stamp(when),
            job=model.job,
            instance_type=model.instance_type,
            decision=decision,
            scale=scale,
            model_id=decision.model_id,
            deadline_seconds=goal.deadline_seconds,
            min_executors=1,
            max_executors=MOST_EXECUTORS,
            artifact_sha256=ARTIFACT,
            origin=self._origin("sizing.choose_config", when, None),
            confidence=goal.confidence,
            objective=goal.objective,
            model_ids=(decision.model_id,) if decision.model_id else (),
        )

    def _origin(self, task_id: str, when: datetime, dag_id: str | None, map_index: int = -1) -> Origin:
        run_id = f"scheduled__{when:%Y-%m-%dT%H:%M:%S}+00:00"
        return Origin(dag_id=dag_id or self.dag_id, run_id=run_id, task_id=task_id, map_index=map_index)

    def _save(self, model: Model) -> Model:
        self.store.save(model)
        return model


def marked(
    model: Model, *, cause: str, reason: str, when: datetime, origin: Origin | None = None
) -> ModelMark:
    """A mark of a model; by the task that fitted it where no other is named."""
    return ModelMark(
        **new_stamp(when),
        job=model.job,
        instance_type=model.instance_type,
        model_id=model.id,
        cause=cause,
        reason=reason,
        origin=origin or model.origin,
    )


def hostile(model: Model) -> Model:
    """Whatever a user can name is markup."""
    first, *others = model.observations
    first = replace(
        first,
        hosts=("<script>alert(1)</script>",),
        event_log="javascript:alert(1)",
        application_id='=HYPERLINK("http://localhost/")',
    )
    assert model.cluster is not None
    machine, *rest = model.cluster.machines
    cluster = replace(model.cluster, machines=(replace(machine, host="<b>host</b>"), *rest))
    return replace(
        model,
        observations=(first, *others),
        cluster=cluster,
        artifact="../../<svg onload=alert(1)>.jar",
        input_path="javascript:alert(1)",
        warnings=("<img src=x onerror=alert(1)> is what a job said of itself.",),
        conditions=RunConditions(
            spark="<img src=x onerror=alert(1)>",
            settings={"<b>spark.setting</b>": "00"},
            input=InputFingerprint(partitions=4, total_bytes=4000, format="<i>csv</i>"),
        ),
    )


def of_a_newer_version(model: Model) -> Model:
    """With a term that this version does not know."""
    term = FittedTerm(name="entangled(executors)", meaning="what nobody here knows", coefficient=1.0)
    return replace(model, terms=(*model.terms, term))


def of_the_command_line() -> Model:
    """What ``ernest fit`` makes of a table of runs: no origin, design, cluster or price."""
    job, random = SyntheticJob(), Random(2)
    runs = [(1, 0.05), (2, 0.05), (4, 0.1), (8, 0.1), (8, 0.04), (2, 0.02), (6, 0.08), (12, 0.1)]
    observations = [
        Observation(
            index=index,
            executors=executors,
            scale=scale,
            seconds=job.measure(R3_XLARGE, executors=executors, scale=scale) * random.gauss(1, 0.01),
            instance_type="local",
        )
        for index, (executors, scale) in enumerate(runs)
    ]
    return train(observations, job="ad_hoc_clicks", method="relative")


def add_hidden_documents(store: ModelStore, seeded: SeededModels) -> None:
    """Add to the job "nightly_join" an old version, a type of machine, a decision and a production run.

    And a mark to the model that has learned, and to the stale one why its job takes as long as it does.
    """
    origin = Origin(dag_id=SECRET_DAG_ID, run_id="scheduled__1", task_id="sizing.fit_model")
    when = datetime.now(UTC) - timedelta(days=45)
    named = {**new_stamp(when), "origin": origin}
    newest = seeded.nightly_join
    store.save(replace(newest, **named))
    store.save(replace(seeded.third_type, instance_type=HIDDEN_TYPE, **named))
    run = store.newest(ProductionRun, newest.job, newest.instance_type)[-1]
    store.save(replace(run, id=new_id(when), origin=origin))
    decision = store.newest(DecisionRecord, newest.job, newest.instance_type)[-1]
    store.save(replace(decision, id=new_id(when), origin=origin))
    now = datetime.now(UTC)
    store.save(marked(seeded.learned, cause=CLUSTER, reason=HIDDEN_REASON, when=now, origin=origin))
    _add_hidden_report(store, seeded.stale, origin, when=now)


def _add_hidden_report(store: ModelStore, model: Model, origin: Origin, *, when: datetime) -> None:
    """The only one of its job, and a production run, too."""
    profile = network_bound(headline=HIDDEN_HEADLINE)
    sample = profiled(model, profile, when=when, origin=origin)
    store.save(sample)
    store.save(profiled(model, of_production(profile), when=when, purpose=PRODUCTION, origin=origin))
    store.save(reported(sample, model, when=when))


def surveyed(when: datetime) -> Survey:
    """A job that could save, a hostile name, one that is right as it is, and one of little history."""
    found = survey()
    saving, unknown = found.jobs
    today = saving.sizes[2]
    days = [(when + timedelta(days=ahead)).date().isoformat() for ahead in (34, 20, 62)]
    late = Lateness(from_day=days[0], earliest_day=days[1], latest_day=days[2], executors=12)
    right = surveyed_job(
        "monthly_bill", proposed=today, saved_per_month=0.0, likely_saved_per_month=(0.0, 0.0), why=""
    )
    jobs = (
        replace(saving, job="clickstream_sessions", lateness=late),
        replace(saving, job=HOSTILE, saved_per_month=4.1, likely_saved_per_month=(-0.9, 6.3)),
        right,
        unknown,
    )
    return replace(found, **new_stamp(when), jobs=jobs)


def _offer(model: Model, machine_type: MachineType) -> Offer:
    billing = Billing(price_per_hour=machine_type.price_per_hour)
    return Offer(model=model, executors=range(1, MOST_EXECUTORS + 1), billing=billing)


def _dated(model: Model, when: datetime) -> Model:
    return replace(model, **new_stamp(when))


if __name__ == "__main__":
    seed(Path(sys.argv[1]), many=int(sys.argv[2]) if len(sys.argv) > 2 else 0)
