"""What each image is for: the folders of code in it, its programs, and what it must not have."""

from __future__ import annotations

from dataclasses import dataclass

from tests.images.closure import modules_of


@dataclass(frozen=True)
class Role:
    """One image.

    Attributes:
        name: of its folder in images/.
        code: folders of the repository that it holds.
        programs: modules that run in it.
        absent: packages that must not be importable in it.
        answers: arguments to its entry point, which then ends with 0, and a word it prints.
    """

    name: str
    code: frozenset[str] = frozenset()
    programs: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    answers: tuple[tuple[str, ...], str] = ((), "")


_TASKS = modules_of("orchard/tasks")

ROLES = {
    role.name: role
    for role in [
        Role(
            "airflow",
            frozenset({"dags", "operators", "plugins", "orchard"}),
            (*modules_of("dags", "operators", "plugins"),),
            ("paddle", "pyspark", "onnxruntime", "mlflow"),
            (("version",), "3."),
        ),
        Role(
            "spark",
            frozenset({"spark_jobs", "orchard"}),
            (*modules_of("spark_jobs"), *_TASKS),
            ("airflow", "paddle", "mlflow"),
            (("python", "-m", "spark_jobs.check", "--help"), "usage"),
        ),
        Role(
            "trainer",
            frozenset({"trainers", "orchard"}),
            (*modules_of("trainers", "orchard/steps"), *_TASKS),
            ("airflow", "pyspark", "mlflow"),
            (("-m", "trainers", "backbones", "--help"), "usage"),
        ),
        Role(
            "serving",
            frozenset({"serving", "orchard"}),
            (*modules_of("serving"), *_TASKS),
            ("airflow", "paddle", "pyspark", "mlflow", "pymongo"),
            (("-c", "import serving.application; print('ready')"), "ready"),
        ),
        Role(
            "tracking",
            frozenset({"orchard"}),
            (*modules_of("orchard/blobs"),),
            ("airflow", "paddle", "pyspark"),
            (("--version",), "3."),
        ),
        Role("documents", answers=(("--help",), "usage")),
        Role("hdfs", answers=(("version",), "Hadoop")),
        Role("postgresql", answers=(("--version",), "PostgreSQL")),
    ]
}
CODE = {"dags", "operators", "plugins", "spark_jobs", "trainers", "serving", "orchard"}
PYTHON_ROLES = [name for name, role in ROLES.items() if role.code or name == "documents"]
