"""Who is calling: the principal of a call, how it is proven, and how it travels on to the next service.

principal.py is what handlers use; authenticate.py and tokens.py run inside the server interceptor.
"""

from citemesh.auth.principal import Principal, current_principal, outgoing_metadata

__all__ = ["Principal", "current_principal", "outgoing_metadata"]
