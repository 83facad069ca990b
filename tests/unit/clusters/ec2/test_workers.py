import pytest

from airflow_provider_ernest.exceptions import MissingResourceError


@pytest.fixture
def spec(bed):
    """Of a cluster of whose first type AWS has some machines, but too few."""
    bed.api.set_capacity("m5.large", 2)
    return bed.spec(master_instance_type="t3.micro", fallback_instance_types=("m5.xlarge",))


def of_type(bed, instance_type):
    return [machine for machine in bed.api.instances() if machine.instance_type == instance_type]


def test_workers_of_a_type_that_is_given_up_do_not_count_as_failed(bed, spec):
    bed.cluster(spec).launch()
    assert {machine.state for machine in of_type(bed, "m5.large")} <= {"shutting-down", "terminated"}
    readiness = bed.cluster(spec).look()
    assert readiness.ended == ()
    assert "ended by themselves" not in readiness.message


def test_workers_of_a_type_that_cannot_be_ended_are_ended_with_the_attempt(bed, spec):
    bed.api.fail("TerminateInstances", code="UnauthorizedOperation", status=403)
    with pytest.raises(MissingResourceError, match=r"UnauthorizedOperation"):
        bed.cluster(spec).start()
    assert not bed.live()


def test_a_start_does_not_fail_for_want_of_a_tag(bed, spec, caplog):
    bed.api.fail("CreateTags", code="RequestLimitExceeded", status=503)
    assert len(bed.cluster(spec).start().machines) == 3
    assert "ended on purpose" in caplog.text
