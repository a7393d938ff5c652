{{/* The pod of a step, as the job runner completes it: image, arguments, GPUs, labels of the step. */}}
{{- define "orchard.stepPod" -}}
apiVersion: v1
kind: Pod
metadata:
  name: step
  labels:
    {{- include "orchard.selector" (list . "step") | nindent 4 }}
spec:
  {{- include "orchard.podCommon" . | nindent 2 }}
  automountServiceAccountToken: false
  restartPolicy: Never
  priorityClassName: {{ .Values.jobs.priorityClasses.training }}
  {{- with .Values.jobs.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.jobs.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: base
      image: {{ include "orchard.image" (list . "trainer") }}
      imagePullPolicy: {{ .Values.images.pullPolicy }}
      envFrom:
        - configMapRef:
            name: {{ include "orchard.name" . }}-settings
      env:
        {{- include "orchard.environment" . | nindent 8 }}
      resources:
        {{- toYaml .Values.jobs.resources | nindent 8 }}
      securityContext:
        {{- include "orchard.containerSecurity" . | nindent 8 }}
      volumeMounts:
        {{- include "orchard.mounts" . | nindent 8 }}
  volumes:
    - name: temporary
      emptyDir:
        sizeLimit: {{ .Values.jobs.scratch }}
    - name: home
      emptyDir:
        sizeLimit: {{ .Values.jobs.scratch }}
    {{- with include "orchard.hdfsConfiguration" . }}
    - name: hdfs
      configMap:
        name: {{ . }}
    {{- end }}
{{- end }}
