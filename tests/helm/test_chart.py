"""What the chart makes of its values."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest
import yaml

from orchard.settings import Settings
from tests.helm.rendering import (
    CHART,
    Rendered,
    containers,
    environment,
    helm,
    named,
    of_kind,
    pods,
    refusal,
    render,
    run,
)

pytestmark = pytest.mark.skipif(
    helm() is None, reason="there is no Helm here; make helm fetches it"
)

EXTERNAL: dict[str, dict[str, Any]] = {
    "airflow": {"airflow": {"externalUrl": "https://airflow.example"}},
    "tracking": {"tracking": {"externalUri": "https://mlflow.example"}},
    "postgresql": {"postgresql": {"externalSecret": "databases"}},
    "documents": {"documents": {"externalSecret": "mongodb"}},
    "hdfs": {"hdfs": {"externalUri": "hdfs://nn.example:8020", "externalConfiguration": "site"}},
}
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "everything external": {part: each[part] for part, each in EXTERNAL.items()},
    "stand-in for documents": {"documents": {"standIn": True}},
    **{f"external {part}": values for part, values in EXTERNAL.items()},
}
every_variant = pytest.mark.parametrize("values", VARIANTS.values(), ids=VARIANTS)


def secret(objects: list[Rendered], name: str) -> dict[str, str]:
    data = named(objects, "Secret", name)["data"]
    return {key: base64.b64decode(value).decode() for key, value in data.items()}


def test_lint() -> None:
    done = run("lint", "--strict", str(CHART))
    assert done.returncode == 0, done.stdout


@every_variant
def test_every_container_is_restricted(values: dict[str, Any]) -> None:
    for name, pod in pods(render(values)):
        security = pod["spec"]["securityContext"]
        assert security["runAsNonRoot"] is True, name
        assert security["runAsUser"] == 10001, name
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert pod["spec"]["enableServiceLinks"] is False, name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod["spec"].keys(), name
        for container in containers(pod):
            own = container["securityContext"]
            assert own["readOnlyRootFilesystem"] is True, name
            assert own["allowPrivilegeEscalation"] is False, name
            assert own["capabilities"] == {"drop": ["ALL"]}, name


@every_variant
def test_every_container_says_what_it_needs(values: dict[str, Any]) -> None:
    for name, pod in pods(render(values)):
        for container in containers(pod):
            assert container["resources"]["requests"].keys() >= {"cpu", "memory"}, name
            assert "memory" in container["resources"]["limits"], name


@every_variant
def test_every_mount_has_its_volume_and_every_process_its_writable_folders(
    values: dict[str, Any],
) -> None:
    objects = render(values)
    for each in of_kind(objects, "StatefulSet"):
        claims = each["spec"]["volumeClaimTemplates"]
        volumes = each["spec"]["template"]["spec"]["volumes"]
        volumes += [{"name": claim["metadata"]["name"]} for claim in claims]
    for name, pod in pods(objects):
        volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
        for container in containers(pod):
            mounts = container["volumeMounts"]
            paths = [mount["mountPath"] for mount in mounts]
            assert {mount["name"] for mount in mounts} <= volumes, name
            assert len(paths) == len(set(paths)), name
            assert "/tmp" in paths or container["name"] == "passwords", name


@every_variant
def test_selectors_and_services_find_their_pods(values: dict[str, Any]) -> None:
    objects = render(values)
    for each in of_kind(objects, "Deployment", "StatefulSet"):
        labels = each["spec"]["template"]["metadata"]["labels"].items()
        assert each["spec"]["selector"]["matchLabels"].items() <= labels
    labels_of = {name: pod["metadata"]["labels"] for name, pod in pods(objects)}
    ports_of = {
        name: {port["name"]: port["containerPort"] for port in container.get("ports", [])}
        for name, pod in pods(objects)
        for container in pod["spec"]["containers"]
    }
    for service in of_kind(objects, "Service"):
        chosen = service["spec"]["selector"].items()
        found = [name for name, labels in labels_of.items() if chosen <= labels.items()]
        assert len(found) == 1, service["metadata"]["name"]
        for port in service["spec"]["ports"]:
            target = port.get("targetPort", port["port"])
            known = ports_of[found[0]]
            assert target in known or target in known.values()


@every_variant
def test_what_is_named_is_there(values: dict[str, Any]) -> None:
    objects = render(values)
    there = {(each["kind"], each["metadata"]["name"]) for each in objects}
    there |= {("Secret", "databases"), ("Secret", "mongodb"), ("ConfigMap", "site")}
    for name, pod in pods(objects):
        wanted = {("ServiceAccount", pod["spec"].get("serviceAccountName", "models-step"))}
        for volume in pod["spec"]["volumes"]:
            if "configMap" in volume:
                wanted.add(("ConfigMap", volume["configMap"]["name"]))
            if "secret" in volume:
                wanted.add(("Secret", volume["secret"]["secretName"]))
        for container in containers(pod):
            for each in container.get("envFrom", []):
                wanted.add(("ConfigMap", each["configMapRef"]["name"]))
            for each in container.get("env", []):
                if "secretKeyRef" in each.get("valueFrom", {}):
                    wanted.add(("Secret", each["valueFrom"]["secretKeyRef"]["name"]))
        assert wanted <= there, name


@every_variant
def test_keys_of_secrets_that_are_named_exist(values: dict[str, Any]) -> None:
    objects = render(values)
    keys = {each["metadata"]["name"]: each["data"].keys() for each in of_kind(objects, "Secret")}
    for name, pod in pods(objects):
        for container in containers(pod):
            for each in container.get("env", []):
                asked = each.get("valueFrom", {}).get("secretKeyRef")
                if asked and asked["name"] in keys:
                    assert asked["key"] in keys[asked["name"]], name
        for volume in pod["spec"]["volumes"]:
            for item in volume.get("secret", {}).get("items", []):
                assert item["key"] in keys[volume["secret"]["secretName"]], name


@every_variant
def test_no_secret_stands_in_the_open(values: dict[str, Any]) -> None:
    objects = render(values)
    words = {
        word
        for each in of_kind(objects, "Secret")
        for value in each["data"].values()
        for word in re.findall(r"[A-Za-z0-9]{24,}", base64.b64decode(value).decode())
    }
    text = json.dumps([each for each in objects if each["kind"] != "Secret"])
    assert not [word for word in words if word in text]


def test_parts_that_exist_already_are_not_made() -> None:
    parts = {
        "airflow": {"airflow-api", "scheduler", "triggerer", "dag-processor", "migration-1"},
        "tracking": {"tracking"},
        "postgresql": {"postgresql"},
        "documents": {"documents"},
        "hdfs": {"namenode", "datanode"},
    }
    everything = {f"models-{name}" for names in parts.values() for name in names}
    everything |= {"models-backbones-1", "models-pod-template"}
    assert {name for name, _ in pods(render())} == everything
    for part, values in EXTERNAL.items():
        left = {name for name, _ in pods(render(values))}
        assert left == everything - {f"models-{name}" for name in parts[part]}, part
    assert {name for name, _ in pods(render(VARIANTS["everything external"]))} == {
        "models-backbones-1",
        "models-pod-template",
    }


def test_existing_engines_are_what_is_used() -> None:
    objects = render(VARIANTS["everything external"])
    settings = named(objects, "ConfigMap", "models-settings")["data"]
    assert settings["ORCHARD_BLOBS_URI"] == "hdfs://nn.example:8020/orchard"
    assert settings["ORCHARD_TRACKING_URI"] == "https://mlflow.example"
    assert settings["ORCHARD_AIRFLOW_URL"] == "https://airflow.example"
    step = dict(pods(objects))["models-pod-template"]["spec"]
    uri = environment(step["containers"][0])["ORCHARD_DOCUMENTS_URI"]["valueFrom"]["secretKeyRef"]
    assert uri == {"name": "mongodb", "key": "uri"}
    assert {"name": "hdfs", "configMap": {"name": "site"}} in step["volumes"]
    assert not of_kind(objects, "Secret")


def test_settings_are_ones_that_the_program_has() -> None:
    known = {f"ORCHARD_{name.upper()}" for name in Settings.model_fields}
    settings = named(render(), "ConfigMap", "models-settings")["data"]
    assert settings.keys() <= known
    values = {name.removeprefix("ORCHARD_").lower(): value for name, value in settings.items()}
    read = Settings(**values)
    assert read.job_runner == "pod"
    assert read.blobs_root == "hdfs://models-namenode:8020/orchard"
    assert read.pod_image_trainer == "orchard-trainer:0.1.0"


def test_more_settings_and_a_registry() -> None:
    values = {
        "settings": {"ORCHARD_ALLOW_HTTP": True},
        "images": {"registry": "registry.example:5000/team/", "tag": "7", "pullSecrets": ["login"]},
        "documents": {"standIn": True},
    }
    objects = render(values)
    settings = named(objects, "ConfigMap", "models-settings")["data"]
    assert settings["ORCHARD_ALLOW_HTTP"] == "true"
    assert settings["ORCHARD_POD_IMAGE_SPARK"] == "registry.example:5000/team/orchard-spark:7"
    for name, pod in pods(objects):
        assert pod["spec"]["imagePullSecrets"] == [{"name": "login"}], name
        for container in containers(pod):
            assert container["image"].startswith("registry.example:5000/team/orchard-"), name
            assert container["image"].endswith(":7"), name


def test_the_scheduler_may_run_pods_and_nothing_else() -> None:
    objects = render()
    role = named(objects, "Role", "models-scheduler")
    allowed = {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    pod_verbs = ("create", "get", "list", "watch", "patch", "delete")
    expected = {("", "pods", verb) for verb in pod_verbs}
    expected |= {("", "events", verb) for verb in ("get", "list", "watch")}
    assert allowed == expected | {("", "pods/log", "get")}
    assert not of_kind(objects, "ClusterRole", "ClusterRoleBinding")
    bound = of_kind(objects, "RoleBinding")
    assert [each["subjects"][0]["name"] for each in bound] == ["models-scheduler"]
    holders = [
        name for name, pod in pods(objects) if pod["spec"]["automountServiceAccountToken"] is True
    ]
    assert holders == ["models-scheduler"]


def test_airflow_s_parts_share_their_keys_and_the_execution_address() -> None:
    objects = render()
    configuration = named(objects, "ConfigMap", "models-airflow")["data"]
    address = configuration["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"]
    assert address == "http://models-airflow-api:8080/execution/"
    service = named(objects, "Service", "models-airflow-api")
    assert service["spec"]["ports"][0]["port"] == 8080
    assert configuration["AIRFLOW__CORE__EXECUTOR"] == "LocalExecutor"
    found = dict(pods(objects))
    for part in ("airflow-api", "scheduler", "triggerer", "dag-processor", "migration-1"):
        (container,) = found[f"models-{part}"]["spec"]["containers"]
        given = environment(container)
        for variable, key in (
            ("AIRFLOW__API_AUTH__JWT_SECRET", "jwt-secret"),
            ("AIRFLOW__API__SECRET_KEY", "api-secret-key"),
            ("AIRFLOW__CORE__FERNET_KEY", "fernet-key"),
        ):
            reference = given[variable]["valueFrom"]["secretKeyRef"]
            assert reference == {"name": "models-airflow", "key": key}, part
        assert {"configMapRef": {"name": "models-airflow"}} in container["envFrom"], part


def test_generated_keys_have_the_form_that_their_readers_want() -> None:
    airflow = secret(render(), "models-airflow")
    assert len(base64.urlsafe_b64decode(airflow["fernet-key"])) == 32
    assert json.loads(airflow["passwords.json"]).keys() == {"admin"}
    databases = secret(render(), "models-postgresql")
    password = databases["airflow-password"]
    assert databases["airflow"] == (
        f"postgresql+psycopg://airflow:{password}@models-postgresql:5432/airflow"
    )
    documents = secret(render(), "models-documents")
    assert 6 <= len(documents["key-file"]) <= 1024
    hosts = ",".join(
        f"models-documents-{number}.models-documents.work.svc:27017" for number in range(3)
    )
    assert documents["uri"] == (
        f"mongodb://orchard:{documents['password']}@{hosts}/"
        "?replicaSet=orchard&authSource=admin&w=majority"
    )


def test_task_logs_lie_on_a_volume_and_are_reached_by_a_name_that_stays() -> None:
    objects = render()
    for part, port in (("scheduler", 8793), ("triggerer", 8794)):
        each = named(objects, "StatefulSet", f"models-{part}")
        assert each["spec"]["serviceName"] == f"models-{part}"
        (claim,) = each["spec"]["volumeClaimTemplates"]
        assert claim["metadata"]["name"] == "logs"
        folder = named(objects, "ConfigMap", "models-airflow")["data"]
        (container,) = each["spec"]["template"]["spec"]["containers"]
        paths = [mount["mountPath"] for mount in container["volumeMounts"]]
        assert folder["AIRFLOW__LOGGING__BASE_LOG_FOLDER"] in paths
        service = named(objects, "Service", f"models-{part}")
        assert service["spec"]["clusterIP"] == "None"
        assert service["spec"]["ports"][0]["port"] == port


def test_data_stays_unless_told_otherwise() -> None:
    for keep, policy in ((True, "Retain"), (False, "Delete")):
        objects = render({"keepData": keep})
        sets = of_kind(objects, "StatefulSet")
        assert {each["metadata"]["name"].removeprefix("models-") for each in sets} == {
            *("scheduler", "triggerer", "postgresql", "documents", "namenode", "datanode"),
        }
        for each in sets:
            retention = each["spec"]["persistentVolumeClaimRetentionPolicy"]
            assert retention == {"whenDeleted": policy, "whenScaled": "Retain"}
        for each in of_kind(objects, "Secret"):
            notes = each["metadata"].get("annotations", {})
            assert (notes.get("helm.sh/resource-policy") == "keep") is keep


def test_the_database_is_migrated_before_an_upgrade_and_beside_an_install() -> None:
    installed = named(render(), "Job", "models-migration-1")
    assert "annotations" not in installed["metadata"]
    upgraded = named(render({}, "--is-upgrade"), "Job", "models-migration-1")
    assert upgraded["metadata"]["annotations"]["helm.sh/hook"] == "pre-upgrade"
    for each in (installed, upgraded):
        assert each["spec"]["template"]["spec"]["containers"][0]["args"] == ["db", "migrate"]


def test_a_step_s_pod() -> None:
    values = {
        "jobs": {
            "nodeSelector": {"pool": "gpu"},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "template": {"metadata": {"annotations": {"team": "vision"}}},
        }
    }
    objects = render(values)
    step = dict(pods(objects))["models-pod-template"]
    assert step["spec"]["nodeSelector"] == {"pool": "gpu"}
    assert step["spec"]["tolerations"] == values["jobs"]["tolerations"]
    assert step["spec"]["priorityClassName"] == "orchard-training"
    assert step["metadata"]["annotations"] == {"team": "vision"}
    (container,) = step["spec"]["containers"]
    assert container["name"] == "base"
    assert {"configMapRef": {"name": "models-settings"}} in container["envFrom"]
    scheduler = dict(pods(objects))["models-scheduler"]["spec"]
    path = named(objects, "ConfigMap", "models-settings")["data"]["ORCHARD_POD_TEMPLATE"]
    mounts = {each["mountPath"] for each in scheduler["containers"][0]["volumeMounts"]}
    assert path.rsplit("/", 1)[0] in mounts


def test_serving_stands_above_training() -> None:
    classes = {
        each["metadata"]["name"]: each["value"] for each in of_kind(render(), "PriorityClass")
    }
    assert classes["orchard-serving"] > classes["orchard-training"] > 0
    assert not of_kind(render({"jobs": {"priorityClasses": {"create": False}}}), "PriorityClass")


def test_hdfs_spreads_its_replicas() -> None:
    objects = render({"hdfs": {"replication": 3, "dataNode": {"replicas": 4}}})
    assert named(objects, "StatefulSet", "models-datanode")["spec"]["replicas"] == 4
    assert named(objects, "StatefulSet", "models-namenode")["spec"]["replicas"] == 1
    site = named(objects, "ConfigMap", "models-hdfs")["data"]["hdfs-site.xml"]
    assert "<name>dfs.replication</name><value>3</value>" in site
    for part in ("namenode", "datanode"):
        spec = named(objects, "StatefulSet", f"models-{part}")["spec"]["template"]["spec"]
        assert spec["topologySpreadConstraints"][0]["topologyKey"] == "kubernetes.io/hostname"


@every_variant
def test_network_policies_open_what_somebody_needs_and_no_more(values: dict[str, Any]) -> None:
    objects = render(values)
    policies = {each["metadata"]["name"]: each for each in of_kind(objects, "NetworkPolicy")}
    closed = policies.pop("models-closed")
    assert "ingress" not in closed["spec"]
    labels = {name: pod["metadata"]["labels"] for name, pod in pods(objects)}
    assert all(
        closed["spec"]["podSelector"]["matchLabels"].items() <= x.items() for x in labels.values()
    )
    ports_of = {
        name: {port["containerPort"] for each in containers(pod) for port in each.get("ports", [])}
        for name, pod in pods(objects)
    }
    for name, policy in policies.items():
        chosen = policy["spec"]["podSelector"]["matchLabels"].items()
        (target,) = [pod for pod, own in labels.items() if chosen <= own.items()]
        opened = {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
        assert opened <= ports_of[target], name
    for service in of_kind(objects, "Service"):
        assert service["metadata"]["name"] in policies, "nobody could reach it"
    assert not of_kind(render({"networkPolicies": {"enabled": False}}), "NetworkPolicy")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"hdfs": {"replication": "two"}}, "hdfs.replication: Invalid type"),
        ({"airflow": {"users": [{"name": "eve", "role": "KING"}]}}, "airflow.users.0.role must be"),
        ({"documents": {"replicas": 2}}, "documents.replicas must be one of"),
        ({"unknown": 1}, "Additional property unknown is not allowed"),
        ({"settings": {"PATH": "/"}}, "settings"),
        ({"images": {"registry": "registry.example"}}, "images.registry: Does not match pattern"),
        ({"airflow": {"scheduler": {"logs": "10"}}}, "airflow.scheduler.logs: Does not match"),
        ({"hdfs": {"replication": 3}}, "no block could ever have its replicas"),
        (
            {"documents": {"standIn": True, "externalSecret": "mongodb"}},
            "documents.standIn and documents.externalSecret exclude each other",
        ),
        ({"hdfs": {"externalConfiguration": "site"}}, "name it in hdfs.externalUri"),
        (
            {"jobs": {"priorityClasses": {"trainingValue": 2000000}}},
            "serving has to stand above training",
        ),
    ],
)
def test_wrong_values_are_refused_with_a_sentence(values: dict[str, Any], sentence: str) -> None:
    assert sentence in refusal(values)


def test_every_value_is_in_the_schema_and_every_one_of_the_schema_has_a_default() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    def compare(path: str, part: dict[str, Any], given: dict[str, Any]) -> None:
        if "properties" not in part:
            return
        names = part["properties"].keys() - {"global", "limits", "requests"}
        assert names == given.keys() - {"limits", "requests"}, path
        for name in names:
            if isinstance(given[name], dict):
                compare(f"{path}.{name}", part["properties"][name], given[name])

    compare("", schema, values)


def test_jobs_carry_the_revision_so_that_an_upgrade_makes_new_ones() -> None:
    names = [each["metadata"]["name"] for each in of_kind(render(), "Job")]
    assert names
    assert all(re.search(r"-\d+$", name) for name in names)
