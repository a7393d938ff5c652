"""The prediction service: FastAPI on ONNX Runtime, many endpoints in one service.

It reads one folder, `settings.serving_root`, and needs no other engine to start or to answer.
"""
