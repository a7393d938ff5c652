"""One typed function a user action. The command line calls these, and pages can too."""
