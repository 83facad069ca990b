import pytest

from airflow_provider_ernest.eventlog.collecting import main_folder, main_program

SUBMIT = "org.apache.spark.deploy.SparkSubmit"


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (f"{SUBMIT} --master yarn --conf spark.x=1 /jobs/nightly.py --day 2024-01-31", "nightly.py"),
        (f"{SUBMIT} --class com.acme.Nightly --jars /lib/a.jar /jobs/all.jar 3", "com.acme.Nightly"),
        (f"{SUBMIT} --jars /lib/a.jar --py-files /lib/b.py /jobs/nightly.py other.py", "nightly.py"),
        (
            # Spark's own tells no quotes: the value of a property has several words.
            f"{SUBMIT} --conf spark.driver.extraJavaOptions=-XX:+UseSerialGC -Dx=y -XX:-Z "
            "--conf spark.jars=/lib/a.jar --conf spark.y=1 /jobs/nightly.py",
            "nightly.py",
        ),
        ("com.acme.Nightly /data/in.csv", "com.acme.Nightly"),
        (f"{SUBMIT} --master yarn pyspark-shell", ""),
        ("", ""),
    ],
)
def test_the_program_is_told_by_its_name_alone(command: str, name: str):
    assert main_program({"sun.java.command": command}) == name


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        (f"{SUBMIT} --master yarn /jobs/orders/main.py", "orders"),
        (f"{SUBMIT} --class com.acme.Nightly /jobs/all.jar 3", ""),
        (f"{SUBMIT} main.py /data/in", ""),
        (f"{SUBMIT} '/jobs/a b/main.py'", ""),
    ],
)
def test_of_its_place_the_folders_name_is_told(command: str, folder: str):
    assert main_folder({"sun.java.command": command}) == folder
