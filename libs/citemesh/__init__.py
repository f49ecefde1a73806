"""citemesh: the contract, the client and the command; with the extra `server`, what the services share.

Nothing in here knows a service or how a question is answered, the client aside.
"""
