from airflow_provider_ernest.clusters.base import ClusterHandle, CulledMachine, Machine
from airflow_provider_ernest.operators.training_cluster import training_cluster
from airflow_provider_ernest.spark.bandwidth import Bandwidth


def machine(host: str, *, score: float | None = None, price_per_hour: float | None = 0.1) -> Machine:
    bandwidth = None
    if score is not None:
        bandwidth = Bandwidth(
            memory_gigabytes_per_second=10 * score, network_gigabytes_per_second=1.2, score=score
        )
    return Machine(
        worker_id=f"worker-{host}",
        host=host,
        cores=2,
        memory_megabytes=3000,
        instance_id=f"i-{host}",
        price_per_hour=price_per_hour,
        bandwidth=bandwidth,
    )


def test_keeps_the_machines_with_their_bandwidths_and_why_others_were_culled():
    slow = CulledMachine(machine=machine("c", score=0.5), reason="memory 0.50 of the median")
    kept = training_cluster(
        ClusterHandle(
            kind="ec2",
            name="ernest-1",
            master_url="spark://10.0.0.1:7077",
            machines=(machine("a", score=1.0), machine("b")),
            instance_type="m5.large",
            cores_per_machine=2,
            culled=(slow,),
        )
    )

    assert (kept.kind, kept.name, kept.instance_type, kept.cores_per_machine) == (
        "ec2",
        "ernest-1",
        "m5.large",
        2,
    )
    assert kept.price_per_hour == 0.1
    a, b, c = kept.machines
    assert (a.host, a.instance_id, a.score, a.memory_gigabytes_per_second) == ("a", "i-a", 1.0, 10.0)
    assert (a.network_gigabytes_per_second, a.culled_because) == (1.2, "")
    assert (b.score, b.memory_gigabytes_per_second, b.culled_because) == (None, None, "")
    assert (c.host, c.score, c.culled_because) == ("c", 0.5, "memory 0.50 of the median")


def test_keeps_the_master_and_what_each_machine_costs():
    kept = training_cluster(
        ClusterHandle(
            kind="ec2",
            name="ernest-1",
            master_url="spark://10.0.0.1:7077",
            machines=(machine("a", price_per_hour=0.03),),
            master=machine("m", price_per_hour=0.1),
            culled=(CulledMachine(machine=machine("c", price_per_hour=None), reason="slow"),),
        )
    )

    assert [(one.host, one.price_per_hour, one.is_master) for one in kept.machines] == [
        ("a", 0.03, False),
        ("c", None, False),
        ("m", 0.1, True),
    ]
    assert kept.price_per_hour == 0.03
