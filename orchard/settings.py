"""The one typed object of settings. A profile is a set of URIs and three names, read here only."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

REPOSITORY = Path(__file__).resolve().parents[1]
MEBIBYTE = 1024 * 1024
SETTINGS_FILE = "settings.env"


class Settings(BaseSettings):
    """Where things are and what is allowed.

    Read from variables `ORCHARD_<NAME>`, lists as JSON. Every default describes the `local`
    profile; the running stack hands its own addresses to the processes it starts.
    """

    model_config = SettingsConfigDict(env_prefix="ORCHARD_", frozen=True, extra="ignore")

    home: Path = Field(default=REPOSITORY / ".orchard", description="Folder of all local state.")
    owner: str = Field(default="local", pattern=r"^[a-z0-9][a-z0-9-]{0,30}$")

    documents_uri: str = "mongodb://127.0.0.1:27017"
    documents_database: str = "orchard"
    blobs_uri: str = Field(default="", description="Root of all bytes; file://… or hdfs://….")
    tracking_uri: str = Field(default="http://127.0.0.1:5000", description="MLflow server.")
    tracking_artifacts: str = Field(default="", description="Root of MLflow's artifacts.")
    serving_folder: str = Field(default="", description="Where the publisher `folder` writes.")
    service_url: str = Field(default="http://127.0.0.1:8500", description="Prediction service.")
    airflow_url: str = "http://127.0.0.1:8080"

    job_runner: Literal["process", "pod"] = "process"
    spark_runner: Literal["local", "pod"] = "local"
    publisher: Literal["folder", "kubernetes"] = "folder"

    pod_namespace: str = "orchard"
    pod_image_trainer: str = Field(default="orchard-trainer", description="Image of most steps.")
    pod_image_spark: str = Field(default="orchard-spark", description="Image of Spark's steps.")
    pod_service_account: str = Field(default="default", description="Account of a step's pod.")
    pod_environment: dict[str, str] = Field(
        default={}, description="Variables of a step's pod, nothing secret."
    )
    pod_secrets: tuple[str, ...] = Field(
        default=(), description="Kubernetes secrets whose entries are variables of a step's pod."
    )
    pod_template: Path | None = Field(
        default=None, description="Pod as YAML that a step's pod begins with; its container: base."
    )

    import_roots: tuple[Path, ...] = Field(
        default=(), description="Folders below which data may be imported; home/imports if empty."
    )
    allow_http: bool = Field(default=False, description="Allow http(s) addresses on import.")
    maximum_archive_bytes: int = Field(default=200 * 1024 * MEBIBYTE, gt=0)
    maximum_archive_ratio: float = Field(default=200.0, gt=1, description="Unpacked over packed.")
    maximum_entry_bytes: int = Field(default=64 * MEBIBYTE, gt=0)
    maximum_entries: int = Field(default=2_000_000, gt=0)
    maximum_pixels: int = Field(default=100_000_000, gt=0)
    maximum_picture_bytes: int = Field(default=4 * MEBIBYTE, gt=0)
    maximum_sound_seconds: float = Field(default=60.0, gt=0)
    segment_bytes: int = Field(default=64 * MEBIBYTE, gt=0)

    java_home: Path | None = Field(
        default=None,
        validation_alias=AliasChoices("ORCHARD_JAVA_HOME", "JAVA_HOME"),
        description="Java 17 or later for Spark; empty: the first on the path or below /usr/lib/jvm.",
    )
    spark_master: str = "local[2]"
    spark_driver_memory: str = "1g"
    spark_java_options: str = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    training_threads: int = Field(default=1, ge=1)
    gpus: int = Field(default=0, ge=0, description="GPUs that a branch may ask for.")
    code_version: str = "unknown"
    retry_seconds: float = Field(
        default=5.0, gt=0, description="Pause before a task's second try; it doubles from then on."
    )
    fixed_ports: bool = Field(
        default=True, description="Prefer the usual ports; otherwise any that are free."
    )
    retrain_cron: str = Field(
        default="*/5 * * * *", description="How often `retrain` looks for projects that are due."
    )
    tidy_cron: str = Field(
        default="30 2 * * *", description="When `tidy` removes what nobody needs any more."
    )
    tidy_days: int = Field(
        default=7, ge=1, description="Days that something has lain untouched before it may go."
    )
    tidy_builds: int = Field(
        default=10, ge=1, description="Newest builds of a project whose versions are kept."
    )
    airflow_parallelism: int = Field(default=4, ge=1, description="Tasks at once, all runs.")

    service_host: str = "127.0.0.1"
    service_port: int = 8500
    service_processes: int = Field(default=2, ge=1)
    service_maximum_request_bytes: int = Field(default=12 * MEBIBYTE, gt=0)
    service_maximum_in_flight: int = Field(default=64, ge=1, description="Requests a process.")

    @property
    def blobs_root(self) -> str:
        """URI of all bytes, without a slash at the end."""
        return (self.blobs_uri or f"file://{self.home / 'blobs'}").rstrip("/")

    @property
    def serving_root(self) -> Path:
        """Folder that the prediction service reads."""
        return Path(self.serving_folder) if self.serving_folder else self.home / "serving"

    @property
    def artifacts_root(self) -> str:
        """URI under which MLflow's artifacts lie."""
        return self.tracking_artifacts or f"file://{self.home / 'mlflow' / 'artifacts'}"

    @property
    def allowed_roots(self) -> tuple[Path, ...]:
        """Folders below which data may be imported."""
        return self.import_roots or (self.home / "imports",)


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The settings of this process, read once: variables first, then `<home>/settings.env`.

    The running stack writes its addresses into that file, so that every process that knows `home`
    finds them.
    """
    home = Settings().home.absolute()
    return Settings(home=home, _env_file=home / SETTINGS_FILE)  # type: ignore[call-arg]
