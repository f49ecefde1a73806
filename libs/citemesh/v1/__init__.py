"""Generated messages and stubs of the contract (protos/citemesh/v1): `make generate` writes all but this file.

Import the modules: `from citemesh.v1 import dispatcher_pb2, dispatcher_pb2_grpc`.
"""
