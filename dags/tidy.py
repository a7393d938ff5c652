"""Remove what nobody owns any more."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, CronTriggerTimetable, Param

from operators.docs import doc
from operators.idle import FindIdle
from operators.job import job_operator
from orchard.settings import settings

Job = job_operator()

PARAMS = {
    "dry_run": Param(
        False,
        type="boolean",
        title="Only list",
        description="Say in the log what would be removed, and remove nothing.",
    ),
    "days": Param(
        settings().tidy_days,
        type="integer",
        title="Days untouched",
        description="What was changed within this time stays, whatever it is.",
        minimum=1,
        maximum=3650,
    ),
    "builds": Param(
        settings().tidy_builds,
        type="integer",
        title="Newest builds",
        description="The data set versions that this many newest builds of a project name stay, as "
        "do the newest version and those of models in service.",
        minimum=1,
        maximum=10000,
    ),
    "owner": Param(
        None,
        type=["null", "string"],
        title="Owner",
        description="Whose projects are tidied. Empty: everybody's.",
        pattern=r"^[a-z0-9][a-z0-9-]{0,30}$",
    ),
}

with DAG(
    dag_id="tidy",
    schedule=CronTriggerTimetable(settings().tidy_cron, timezone="UTC"),
    catchup=False,
    max_active_runs=1,
    params=PARAMS,
    render_template_as_native_obj=True,
    doc_md=doc("tidy"),
    tags=["orchard"],
    default_args={"retries": 3, "retry_delay": timedelta(seconds=10)},
) as dag:
    find_idle = FindIdle(task_id="find_idle", doc_md=doc("find_idle"))
    remove = Job(
        task_id="remove", step="remove", program=["orchard.steps.tidy"], doc_md=doc("remove")
    )

    find_idle >> remove
