{{/* Variables that every process of Airflow shares. */}}
{{- define "orchard.airflowEnvironment" -}}
{{- $name := include "orchard.name" . -}}
{{- range $variable, $key := dict "AIRFLOW__CORE__FERNET_KEY" "fernet-key" "AIRFLOW__API__SECRET_KEY" "api-secret-key" "AIRFLOW__API_AUTH__JWT_SECRET" "jwt-secret" }}
- name: {{ $variable }}
  valueFrom:
    secretKeyRef:
      name: {{ $name }}-airflow
      key: {{ $key }}
{{- end }}
{{- range $variable := list "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN" "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC" }}
- name: {{ $variable }}
  valueFrom:
    secretKeyRef:
      name: {{ include "orchard.postgresqlSecret" $ }}
      key: airflow
{{- end }}
{{ include "orchard.environment" . }}
{{- end }}

{{/*
A container of Airflow: a dict of root, name, args, resources, and optionally ports, probe (all of
a startup and liveness probe's handler), readiness, mounts.
*/}}
{{- define "orchard.airflowContainer" -}}
- name: {{ .name }}
  image: {{ include "orchard.image" (list .root "airflow") }}
  imagePullPolicy: {{ .root.Values.images.pullPolicy }}
  args: {{ toJson .args }}
  envFrom:
    - configMapRef:
        name: {{ include "orchard.name" .root }}-settings
    - configMapRef:
        name: {{ include "orchard.name" .root }}-airflow
  env:
    {{- include "orchard.airflowEnvironment" .root | nindent 4 }}
  {{- with .ports }}
  ports:
    {{- range $name, $port := . }}
    - name: {{ $name }}
      containerPort: {{ $port }}
    {{- end }}
  {{- end }}
  {{- with .probe }}
  startupProbe:
    {{- toYaml . | nindent 4 }}
    timeoutSeconds: 60
    periodSeconds: 10
    failureThreshold: 30
  livenessProbe:
    {{- toYaml . | nindent 4 }}
    timeoutSeconds: 60
    periodSeconds: 60
    failureThreshold: 5
  {{- end }}
  {{- with .readiness }}
  readinessProbe:
    {{- toYaml . | nindent 4 }}
    timeoutSeconds: 10
    periodSeconds: 10
  {{- end }}
  resources:
    {{- toYaml .resources | nindent 4 }}
  securityContext:
    {{- include "orchard.containerSecurity" . | nindent 4 }}
  volumeMounts:
    {{- include "orchard.mounts" .root | nindent 4 }}
    {{- with .mounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* Waits until the database has the tables of this version. */}}
{{- define "orchard.airflowWait" -}}
{{ include "orchard.airflowContainer" (dict "root" . "name" "wait-for-migration" "args" (list "db" "check-migrations" "--migration-wait-timeout" "600") "resources" .Values.airflow.migration.resources) }}
{{- end }}

{{/* A pod starts anew when what it reads at its start has changed. */}}
{{- define "orchard.airflowAnnotations" -}}
checksum/settings: {{ include (print .Template.BasePath "/settings.yaml") . | sha256sum }}
checksum/airflow: {{ include (print .Template.BasePath "/airflow-configuration.yaml") . | sha256sum }}
{{- end }}
