"""The logic of the paths, on copies of what the kernel shows; the real quota is in the integration tests."""

import logging

import pytest

from airflow_provider_ernest.clusters.cpu_groups import CpuController, find_cpu_controller, remove_group
from airflow_provider_ernest.exceptions import ClusterStartError


@pytest.fixture
def process(tmp_path):
    directory = tmp_path / "proc"
    directory.mkdir()
    return directory


def describe(process, *, memberships, mounts):
    (process / "cgroup").write_text("".join(f"{line}\n" for line in memberships))
    (process / "mountinfo").write_text("".join(f"{line}\n" for line in mounts))


def version_1_mount(point, root="/"):
    return f"30 24 0:26 {root} {point} rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct"


def version_2_mount(point, root="/"):
    return f"31 24 0:27 {root} {point} rw,nosuid - cgroup2 cgroup2 rw"


def version_2_group(directory, passes_on):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "cgroup.subtree_control").write_text(passes_on)
    return directory


def test_version_1_uses_the_own_group_of_the_cpu_hierarchy(tmp_path, process):
    own = tmp_path / "cpu" / "jobs"
    own.mkdir(parents=True)
    describe(
        process,
        memberships=["4:memory:/other", "1:cpu,cpuacct:/jobs", "0::/"],
        mounts=[
            f"29 24 0:25 / {tmp_path}/memory rw - cgroup cgroup rw,memory",
            version_1_mount(tmp_path / "cpu"),
            version_2_mount(tmp_path / "unified"),
        ],
    )
    assert find_cpu_controller(process) == CpuController(own, version=1)


def test_version_1_in_a_container_that_sees_the_path_of_its_host(tmp_path, process):
    describe(
        process,
        memberships=["1:cpu:/docker/abc"],
        mounts=[version_1_mount(tmp_path, root="/docker/abc")],
    )
    assert find_cpu_controller(process) == CpuController(tmp_path, version=1)


def test_version_2_uses_the_nearest_group_that_passes_the_controller_on(tmp_path, process):
    version_2_group(tmp_path, "cpu memory")
    slice_ = version_2_group(tmp_path / "user.slice", "cpu memory pids")
    own = version_2_group(slice_ / "airflow.scope", "")
    (own / "cgroup.subtree_control").unlink()  # as if not writable, which means nothing to root
    describe(
        process,
        memberships=["0::/user.slice/airflow.scope"],
        mounts=[version_2_mount(tmp_path)],
    )
    assert find_cpu_controller(process) == CpuController(slice_, version=2)


def test_version_2_switches_the_controller_on_in_the_own_group_where_the_kernel_allows_it(tmp_path, process):
    own = version_2_group(tmp_path, "memory")
    describe(process, memberships=["0::/"], mounts=[version_2_mount(tmp_path)])
    assert find_cpu_controller(process) == CpuController(own, version=2)
    assert (own / "cgroup.subtree_control").read_text() == "+cpu"


@pytest.mark.parametrize(
    ("memberships", "mounts"),
    [
        (["1:cpu:/"], []),
        (["0::/"], []),
        (["0::/elsewhere"], ["31 24 0:27 / /nonexistent rw - cgroup2 cgroup2 rw"]),
        (["1:cpu:/gone"], ["30 24 0:26 / /nonexistent rw - cgroup cgroup rw,cpu"]),
    ],
)
def test_where_no_group_can_be_made_the_parameter_and_the_remedy_are_named(process, memberships, mounts):
    describe(process, memberships=memberships, mounts=mounts)
    with pytest.raises(ClusterStartError, match=r"cpu_share needs .* Use cpu_share=None"):
        find_cpu_controller(process)


def test_a_system_without_control_groups_is_named(process):
    with pytest.raises(ClusterStartError, match="no control groups"):
        find_cpu_controller(process)


def test_version_1_writes_quota_and_period(tmp_path):
    group = CpuController(tmp_path, version=1).create_group("ernest-1", share=0.5)
    assert group.directory == tmp_path / "ernest-1"
    quota = int((group.directory / "cpu.cfs_quota_us").read_text())
    period = int((group.directory / "cpu.cfs_period_us").read_text())
    assert quota / period == 0.5
    assert group.share() == 0.5


def test_version_2_writes_quota_and_period_into_one_file(tmp_path):
    group = CpuController(tmp_path, version=2).create_group("ernest-1", share=1.5)
    quota, period = (group.directory / "cpu.max").read_text().split()
    assert int(quota) / int(period) == 1.5
    assert group.share() == 1.5


@pytest.mark.parametrize(
    ("version", "file", "text"), [(1, "cpu.cfs_quota_us", "-1"), (2, "cpu.max", "max 100000")]
)
def test_a_group_without_limit_says_so(tmp_path, version, file, text):
    group = CpuController(tmp_path, version=version).create_group("ernest-1", share=0.5)
    (group.directory / file).write_text(text)
    assert group.share() is None


def test_processes_are_added_to_the_group(tmp_path):
    group = CpuController(tmp_path, version=2).create_group("ernest-1", share=0.5)
    group.add(4711)
    assert group.pids() == [4711]


def test_a_group_is_removed_and_removing_it_again_is_a_success(tmp_path):
    (tmp_path / "ernest-1").mkdir()
    assert remove_group(tmp_path / "ernest-1") is True
    assert remove_group(tmp_path / "ernest-1") is True
    assert not (tmp_path / "ernest-1").exists()


def test_a_group_that_cannot_be_removed_is_reported(tmp_path, caplog):
    (tmp_path / "ernest-1" / "in use").mkdir(parents=True)
    with caplog.at_level(logging.WARNING):
        assert remove_group(tmp_path / "ernest-1") is False
    assert "ernest-1" in caplog.text


def test_a_refused_group_leaves_no_directory(tmp_path):
    (tmp_path / "ernest-1").write_text("a file is in the way")
    with pytest.raises(ClusterStartError, match="ernest-1"):
        CpuController(tmp_path, version=2).create_group("ernest-1", share=0.5)
    assert (tmp_path / "ernest-1").is_file()
