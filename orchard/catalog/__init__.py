"""Documents: projects, builds, data set versions, leases, deployments. pymongo is used here only.

Only single-document atomic operations are used. Every document carries `owner` and `project`, every
function takes the owner.
"""
