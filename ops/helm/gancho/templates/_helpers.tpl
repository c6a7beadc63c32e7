{{- define "gancho.name" -}}
{{- if contains "gancho" .Release.Name -}}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{- else -}}{{ printf "%s-gancho" .Release.Name | trunc 50 | trimSuffix "-" }}{{- end -}}
{{- end -}}

{{- define "gancho.selector" -}}
app.kubernetes.io/name: gancho
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "gancho.labels" -}}
{{ include "gancho.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "gancho.secret" -}}
{{ .Values.existingSecret | default (include "gancho.name" .) }}
{{- end -}}

{{- define "gancho.pod" -}}
metadata:
  labels: {{- include "gancho.labels" . | nindent 4 }}
  {{- with .Values.podAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: {{ add (int .Values.lameDuckSeconds) (int .Values.stopTimeoutSeconds) 10 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    # Otherwise every mount would make the key ring readable by its group, which the gateway refuses.
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: gancho
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve]
      env:
        - name: GANCHO_DATA_DIR
          value: /var/lib/gancho
        - name: GANCHO_API_LISTEN
          value: "0.0.0.0:{{ .Values.api.port }}"
        - name: GANCHO_INGEST_LISTEN
          value: "0.0.0.0:{{ .Values.ingest.port }}"
        - name: GANCHO_LOG_FORMAT
          value: json
        - name: GANCHO_LAME_DUCK
          value: "{{ .Values.lameDuckSeconds }}s"
        - name: GANCHO_STOP_TIMEOUT
          value: "{{ .Values.stopTimeoutSeconds }}s"
        - name: GANCHO_ADMIN_TOKEN
          valueFrom:
            secretKeyRef:
              name: {{ include "gancho.secret" . }}
              key: admin-token
        {{- if or .Values.masterKey (and .Values.existingSecret .Values.database.existingSecret) }}
        - name: GANCHO_MASTER_KEY
          valueFrom:
            secretKeyRef:
              name: {{ include "gancho.secret" . }}
              key: master-key
        {{- end }}
        {{- if .Values.database.existingSecret }}
        - name: GANCHO_DATABASE_URL
          valueFrom:
            secretKeyRef:
              name: {{ .Values.database.existingSecret }}
              key: {{ .Values.database.key }}
        {{- end }}
        {{- range $name, $value := .Values.config }}
        - name: GANCHO_{{ upper $name }}
          {{- if kindIs "slice" $value }}
          value: {{ join "," $value | quote }}
          {{- else if kindIs "string" $value }}
          value: {{ $value | quote }}
          {{- else }}
          value: {{ toJson $value | quote }}
          {{- end }}
        {{- end }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - name: api
          containerPort: {{ .Values.api.port }}
        - name: ingest
          containerPort: {{ .Values.ingest.port }}
      # Migrations run at startup and may take a while.
      startupProbe:
        httpGet:
          path: /healthz
          port: api
        periodSeconds: 2
        failureThreshold: 150
      livenessProbe:
        httpGet:
          path: /healthz
          port: api
        periodSeconds: 10
        timeoutSeconds: 5
      readinessProbe:
        httpGet:
          path: /readyz
          port: api
        periodSeconds: 3
        timeoutSeconds: 3
      resources: {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: data
          mountPath: /var/lib/gancho
        - name: tmp
          mountPath: /tmp
  volumes:
    - name: tmp
      emptyDir: {}
    {{- if .Values.database.existingSecret }}
    - name: data
      emptyDir: {}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
