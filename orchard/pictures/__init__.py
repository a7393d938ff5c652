"""Pictures as samples, whatever the task: judge, fingerprint, thumbnails, golden pictures."""
