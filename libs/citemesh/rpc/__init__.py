"""How services and callers speak gRPC: hosting, channels, deadlines, one error mapping, one server interceptor.

Start with spec.py (what a service exports), then host.py (how services become a process).
"""
