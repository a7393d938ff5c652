"""Start builds of the projects that are due."""

from __future__ import annotations

from datetime import timedelta

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import DAG, Asset, AssetOrTimeSchedule, CronTriggerTimetable

from operators.docs import doc
from operators.due import FindDue
from orchard.names import NEW_DATA
from orchard.settings import settings

with DAG(
    dag_id="retrain",
    schedule=AssetOrTimeSchedule(
        timetable=CronTriggerTimetable(settings().retrain_cron, timezone="UTC"),
        assets=[Asset(name=NEW_DATA, uri=f"x-orchard://{NEW_DATA}")],
    ),
    catchup=False,
    max_active_runs=1,
    doc_md=doc("retrain"),
    tags=["orchard"],
    default_args={"retries": 3, "retry_delay": timedelta(seconds=10)},
) as dag:
    find_due = FindDue(task_id="find_due", doc_md=doc("find_due"))
    TriggerDagRunOperator.partial(
        task_id="start_builds",
        trigger_dag_id="build_model",
        logical_date=None,
        skip_when_already_exists=True,
        doc_md=doc("start_builds"),
    ).expand_kwargs(find_due.output)
