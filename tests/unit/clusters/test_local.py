from dataclasses import replace

import pytest

from airflow_provider_ernest.clusters.base import terminate
from airflow_provider_ernest.clusters.local import LocalCluster
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.exceptions import ClusterError, InvalidParameterError
from airflow_provider_ernest.settings.templates import settings_of

REFUSED = {
    "machines": [0, -1, 2.0, True, "4", 255],  # there are no more addresses 127.0.1.i
    "cores_per_machine": [0],
    "memory_megabytes_per_machine": [100],
    "instance_type": ["", "two\nlines"],
    "cpu_share": [0, float("nan"), 1.5],  # more than the one core that the worker offers
    "time_to_live_seconds": [0, float("inf")],
    "idle_limit_seconds": [-3, "900"],
    "master_port": [80, 70000],
    "start_timeout_seconds": [0],
}


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in REFUSED.items() for value in values]
)
def test_a_value_that_cannot_work_is_refused_by_its_name(field, value):
    values = {"machines": 2, field: value}
    with pytest.raises(InvalidParameterError, match=f"{field}=") as error:
        LocalClusterSpec(**values)
    assert error.value.parameter == field


def test_templates_are_checked_when_they_are_rendered():
    text = "{{ params.x }}"
    LocalClusterSpec(
        **dict.fromkeys(("machines", "cores_per_machine", "cpu_share", "idle_limit_seconds"), text)
    )
    assert settings_of(LocalClusterSpec, {"machines": "3", "cpu_share": "0.5"}, "spec").cpu_share == 0.5
    with pytest.raises(InvalidParameterError, match=r"machines=255 is not a whole number from 1 to 254"):
        settings_of(LocalClusterSpec, {"machines": "255"}, "spec")
    with pytest.raises(InvalidParameterError, match=r"machines=.*is still a template"):
        settings_of(LocalClusterSpec, {"machines": text}, "spec")


@pytest.mark.parametrize("name", ["manual__2026-01-01T00:00:00", "a,b", "all*"])
def test_a_directory_that_would_split_the_class_path_is_refused(tmp_path, name):
    with pytest.raises(InvalidParameterError, match="directory="):
        LocalCluster(LocalClusterSpec(machines=1), name="c", directory=tmp_path / name)


def test_terminating_what_never_ran_is_a_success(tmp_path):
    cluster = LocalCluster(LocalClusterSpec(machines=1), name="c", directory=tmp_path / "never")
    assert "nothing to do" in cluster.terminate()
    assert "nothing to do" in cluster.terminate()


def test_a_handle_leads_back_to_its_cluster(cluster_handle, tmp_path):
    cluster = LocalCluster.from_handle(cluster_handle, below=tmp_path)
    assert cluster.name == cluster_handle.name
    assert str(cluster.directory) == cluster_handle.directory
    assert cluster.spec.machines == len(cluster_handle.machines)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"directory": "/home/somebody"}, "lies in /home/somebody, which is not below"),
        ({"directory": "{clusters}"}, "which is not below"),
        ({"directory": "{clusters}/../elsewhere"}, "which is not below"),
        ({"directory": "{clusters}/link"}, "which is not below"),
        ({"directory": "relative"}, "which is not below"),
        ({"directory": None}, "which is not below"),
        ({"machines": ()}, "has 0 machines"),
        ({"master_url": "spark://10.0.0.7:7077"}, "its master at spark://10.0.0.7:7077"),
    ],
)
def test_a_handle_that_was_tampered_with_is_refused(cluster_handle, tmp_path, changes, named):
    clusters = tmp_path / "clusters"
    clusters.mkdir()
    (tmp_path / "elsewhere" / "scratch").mkdir(parents=True)
    (clusters / "link").symlink_to(tmp_path / "elsewhere")
    if changes.get("directory"):
        changes = {"directory": changes["directory"].format(clusters=clusters)}
    handle = replace(cluster_handle, **{"directory": str(clusters / "ours"), **changes})

    with pytest.raises(InvalidParameterError, match=rf"cluster='a cluster' .*{named}"):
        LocalCluster.from_handle(handle, below=clusters)
    assert (tmp_path / "elsewhere" / "scratch").exists()


def test_a_directory_of_another_user_is_refused(cluster_handle, tmp_path, monkeypatch):
    (tmp_path / "cluster").mkdir()
    monkeypatch.setattr("os.geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(InvalidParameterError, match="belongs to another user"):
        LocalCluster.from_handle(cluster_handle, below=tmp_path)


def test_a_kind_that_nobody_registered_is_refused(cluster_handle, tmp_path):
    with pytest.raises(ClusterError, match="kind 'toaster'"):
        terminate(replace(cluster_handle, kind="toaster"), clusters=tmp_path, client=None)
