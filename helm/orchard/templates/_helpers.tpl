{{- define "orchard.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{/* Labels that select a component's pods: a list of context and component's name. */}}
{{- define "orchard.selector" -}}
app.kubernetes.io/name: orchard
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "orchard.labels" -}}
{{ include "orchard.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ (index . 0).Chart.Name }}-{{ (index . 0).Chart.Version }}
{{- end }}

{{/* An image by its role: a list of context and role. A name with a tag is whole already. */}}
{{- define "orchard.image" -}}
{{- $root := index . 0 -}}
{{- $name := index $root.Values.images (index . 1) -}}
{{- if contains ":" $name -}}
{{ $name }}
{{- else -}}
{{ $root.Values.images.registry }}{{ $name }}:{{ $root.Values.images.tag | default $root.Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "orchard.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "orchard.containerSecurity" -}}
runAsNonRoot: true
readOnlyRootFilesystem: true
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
{{- end }}

{{/*
What every pod of the chart has beside its containers. Without service links: Kubernetes would set
variables after the names of Services, and ORCHARD_… are the program's settings.
*/}}
{{- define "orchard.podCommon" -}}
enableServiceLinks: false
securityContext:
  {{- include "orchard.podSecurity" . | nindent 2 }}
{{- with .Values.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "orchard.claim" -}}
{{- $root := index . 0 -}}
metadata:
  name: {{ index . 1 }}
spec:
  accessModes: [ReadWriteOnce]
  {{- with $root.Values.storageClass }}
  storageClassName: {{ . }}
  {{- end }}
  resources:
    requests:
      storage: {{ index . 2 }}
{{- end }}

{{- define "orchard.retention" -}}
whenDeleted: {{ ternary "Retain" "Delete" .Values.keepData }}
whenScaled: Retain
{{- end }}

{{- define "orchard.keep" -}}
{{- if .Values.keepData }}
annotations:
  helm.sh/resource-policy: keep
{{- end }}
{{- end }}

{{- define "orchard.hasAirflow" -}}
{{- if not .Values.airflow.externalUrl }}yes{{ end -}}
{{- end }}

{{- define "orchard.hasTracking" -}}
{{- if not .Values.tracking.externalUri }}yes{{ end -}}
{{- end }}

{{/* PostgreSQL is there for Airflow and MLflow only. */}}
{{- define "orchard.hasPostgresql" -}}
{{- if and (not .Values.postgresql.externalSecret) (or (include "orchard.hasAirflow" .) (include "orchard.hasTracking" .)) }}yes{{ end -}}
{{- end }}

{{- define "orchard.hasDocuments" -}}
{{- if not .Values.documents.externalSecret }}yes{{ end -}}
{{- end }}

{{- define "orchard.hasHdfs" -}}
{{- if not .Values.hdfs.externalUri }}yes{{ end -}}
{{- end }}

{{- define "orchard.airflowUrl" -}}
{{- .Values.airflow.externalUrl | default (printf "http://%s-airflow-api:%d" (include "orchard.name" .) (int .Values.airflow.service.port)) -}}
{{- end }}

{{- define "orchard.trackingUri" -}}
{{- .Values.tracking.externalUri | default (printf "http://%s-tracking:%d" (include "orchard.name" .) (int .Values.tracking.service.port)) -}}
{{- end }}

{{- define "orchard.hdfsUri" -}}
{{- .Values.hdfs.externalUri | default (printf "hdfs://%s-namenode:8020" (include "orchard.name" .)) | trimSuffix "/" -}}
{{- end }}

{{- define "orchard.artifacts" -}}
{{- .Values.tracking.artifacts | default (printf "%s/mlflow" (include "orchard.hdfsUri" .)) -}}
{{- end }}

{{- define "orchard.hdfsConfiguration" -}}
{{- if include "orchard.hasHdfs" . -}}
{{ include "orchard.name" . }}-hdfs
{{- else -}}
{{ .Values.hdfs.externalConfiguration }}
{{- end -}}
{{- end }}

{{- define "orchard.postgresqlSecret" -}}
{{- .Values.postgresql.externalSecret | default (printf "%s-postgresql" (include "orchard.name" .)) -}}
{{- end }}

{{- define "orchard.documentsSecret" -}}
{{- .Values.documents.externalSecret | default (printf "%s-documents" (include "orchard.name" .)) -}}
{{- end }}

{{/* Folders that a process may write, and the configuration of HDFS for whoever reads or writes it. */}}
{{- define "orchard.mounts" -}}
- name: temporary
  mountPath: /tmp
- name: home
  mountPath: /var/lib/orchard
{{- if include "orchard.hdfsConfiguration" . }}
- name: hdfs
  mountPath: /etc/hadoop
  readOnly: true
{{- end }}
{{- end }}

{{- define "orchard.volumes" -}}
- name: temporary
  emptyDir: {}
- name: home
  emptyDir: {}
{{- with include "orchard.hdfsConfiguration" . }}
- name: hdfs
  configMap:
    name: {{ . }}
{{- end }}
{{- end }}

{{/* Variables of every process of the program itself. */}}
{{- define "orchard.environment" -}}
- name: ORCHARD_DOCUMENTS_URI
  valueFrom:
    secretKeyRef:
      name: {{ include "orchard.documentsSecret" . }}
      key: uri
{{- if include "orchard.hdfsConfiguration" . }}
- name: HADOOP_CONF_DIR
  value: /etc/hadoop
{{- end }}
{{- end }}
