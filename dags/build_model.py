"""From data to an answering endpoint."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, Param

from operators.approval import Approval
from operators.docs import doc
from operators.job import job_operator, spark_operator
from operators.plan import Plan
from operators.turn import Turn
from orchard.names import APPROVALS, OBJECTIVES
from orchard.settings import settings
from orchard.tasks import task_names

Job = job_operator()
SparkJob = spark_operator()

# What is required has no section of its own: Airflow shows those fields in the one that is open.
SEARCH = "How to search"
SERVICE = "Approval and service"

PARAMS = {
    "project": Param(
        None,
        type="string",
        title="Project",
        description="What this is about. Lower-case letters, digits and dashes, such as "
        "`keyboard-inspection`. The same name again adds to the project.",
        pattern=r"^[a-z0-9][a-z0-9-]{0,40}$",
        examples=["keyboard"],
    ),
    "task": Param(
        task_names()[0],
        type="string",
        title="Task",
        description="What the model has to do.",
        enum=list(task_names()),
        values_display={name: name.replace("_", " ").capitalize() for name in task_names()},
    ),
    "data": Param(
        None,
        type="string",
        title="Data",
        description="A folder or an archive below an import root, an address, or `newest` for the "
        "newest version of the project's data set together with what was brought since.",
        minLength=1,
        maxLength=1000,
        examples=["newest"],
    ),
    "minutes": Param(
        5,
        type="integer",
        title="Search budget in minutes",
        description="How long the whole run may take, without the wait for an answer. The plan turns "
        "it into fixed work; a budget below five minutes is a wish, because every step has to start.",
        minimum=1,
        maximum=240,
        section=SEARCH,
    ),
    "objective": Param(
        "accuracy",
        type="string",
        title="Optimise",
        description="All together: as many right answers as possible (for boxes: AP50). The worst "
        "class: what is found worst should be found as well as possible.",
        enum=list(OBJECTIVES),
        values_display=OBJECTIVES,
        section=SEARCH,
    ),
    "approval": Param(
        "person",
        type="string",
        title="Approval",
        description="Who decides that the new model goes into service.",
        enum=list(APPROVALS),
        values_display=APPROVALS,
        section=SERVICE,
    ),
    "floor": Param(
        0.9,
        type="number",
        title="Floor",
        description="With automatic approval: the least share, 0 to 1, of what is optimised, on "
        "the test split.",
        minimum=0,
        maximum=1,
        section=SERVICE,
    ),
    "margin": Param(
        0.005,
        type="number",
        title="Margin over the champion",
        description="With approval against the champion: how much better, as a share, the new "
        "model must be on the same test split.",
        minimum=0,
        maximum=1,
        section=SERVICE,
    ),
    "wait_hours": Param(
        72,
        type="number",
        title="Wait for an answer, in hours",
        description="After that without an answer, what is in service stays.",
        exclusiveMinimum=0,
        maximum=720,
        section=SERVICE,
    ),
    "endpoint": Param(
        None,
        type=["null", "string"],
        title="Endpoint",
        description="Name in the address of the service. Empty: the project's name.",
        pattern=r"^[a-z0-9][a-z0-9-]{0,40}$",
        section=SERVICE,
    ),
    "owner": Param(
        None,
        type=["null", "string"],
        title="Owner",
        description="Whose project this is. Empty: the owner of this installation.",
        pattern=r"^[a-z0-9][a-z0-9-]{0,30}$",
        section=SERVICE,
    ),
}

with DAG(
    dag_id="build_model",
    schedule=None,
    catchup=False,
    max_active_runs=16,
    params=PARAMS,
    render_template_as_native_obj=True,
    doc_md=doc("build_model"),
    tags=["orchard"],
    default_args={
        "retries": 3,
        "retry_delay": timedelta(seconds=settings().retry_seconds),
        "retry_exponential_backoff": 2.0,
        "max_retry_delay": timedelta(minutes=5),
    },
) as dag:
    turn = Turn(
        task_id="turn",
        mode="reschedule",
        poke_interval=10,
        timeout=timedelta(days=7).total_seconds(),
        doc_md=doc("turn"),
    )
    ingest = Job(
        task_id="ingest", step="ingest", program=["orchard.steps.ingest"], doc_md=doc("ingest")
    )
    check = SparkJob(
        task_id="check", step="check", program=["spark_jobs.check"], doc_md=doc("check")
    )
    plan = Plan(task_id="plan", doc_md=doc("plan"))
    prepare = SparkJob(
        task_id="prepare", step="prepare", program=["spark_jobs.prepare"], doc_md=doc("prepare")
    )
    trial = Job.partial(
        task_id="trial",
        step="trial",
        program=["trainers", "trial"],
        map_index_template="{{ title }}",
        max_active_tis_per_dagrun=2,
        doc_md=doc("trial"),
    ).expand_kwargs(plan.output)
    select = Job(
        task_id="select", step="select", program=["orchard.steps.select"], doc_md=doc("select")
    )
    evaluate = SparkJob(
        task_id="evaluate", step="evaluate", program=["spark_jobs.evaluate"], doc_md=doc("evaluate")
    )
    approve = Approval(task_id="approve", doc_md=doc("approve"))
    publish = Job(
        task_id="publish", step="publish", program=["orchard.steps.publish"], doc_md=doc("publish")
    )

    turn >> ingest >> check >> plan >> prepare >> trial >> select >> evaluate >> approve >> publish
