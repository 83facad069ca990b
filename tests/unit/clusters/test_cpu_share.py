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


def version_2_mount(point):
    return f"31 24 0:27 / {point} rw,nosuid - cgroup2 cgroup2 rw"


def version_2_group(directory, passes_on):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "cgroup.subtree_control").write_text(passes_on)
    return directory


@pytest.mark.parametrize(
    ("membership", "root", "own"),
    [("1:cpu,cpuacct:/jobs", "/", "cpu/jobs"), ("1:cpu:/docker/abc", "/docker/abc", "cpu")],
    ids=["on the host", "in a container that sees the path of its host"],
)
def test_version_1_uses_the_own_group_of_the_cpu_hierarchy(tmp_path, process, membership, root, own):
    (tmp_path / own).mkdir(parents=True)
    describe(
        process,
        memberships=["4:memory:/other", membership, "0::/"],
        mounts=[
            f"29 24 0:25 / {tmp_path}/memory rw - cgroup cgroup rw,memory",
            f"30 24 0:26 {root} {tmp_path}/cpu rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct",
            version_2_mount(tmp_path / "unified"),
        ],
    )
    assert find_cpu_controller(process) == CpuController(tmp_path / own, version=1)


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
    with pytest.raises(ClusterStartError, match="no control groups"):
        find_cpu_controller(process / "absent")


@pytest.mark.parametrize(
    ("version", "share", "written", "unlimited"),
    [
        (1, 0.5, {"cpu.cfs_quota_us": "50000", "cpu.cfs_period_us": "100000"}, ("cpu.cfs_quota_us", "-1")),
        (2, 1.5, {"cpu.max": "150000 100000"}, ("cpu.max", "max 100000")),
    ],
)
def test_a_quota_is_written_as_its_version_wants_it_and_the_group_removed(
    tmp_path, version, share, written, unlimited
):
    group = CpuController(tmp_path, version=version).create_group("ernest-1", share=share)
    assert {file.name: file.read_text() for file in group.directory.iterdir()} == written
    assert group.share() == share
    group.add(4711)
    assert group.pids() == [4711]
    file, text = unlimited
    (group.directory / file).write_text(text)
    assert group.share() is None

    for file in group.directory.iterdir():
        file.unlink()  # the kernel's own are no obstacle
    assert remove_group(group.directory)
    assert remove_group(group.directory)


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
