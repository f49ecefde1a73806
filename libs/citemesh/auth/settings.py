"""Settings of how callers are verified."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class AuthSettings(BaseSettings):
    """Variables CITEMESH_AUTH_*."""

    model_config = SettingsConfigDict(env_prefix="CITEMESH_AUTH_", use_attribute_docstrings=True)

    mode: Literal["jwt", "open"] = "jwt"
    """`jwt` verifies a bearer token on every call; `open` believes what the caller says of itself, for one machine."""

    key_file: Path | None = None
    """The issuer's public key as PEM (RSA, EC or Ed25519)."""

    jwks_file: Path | None = None
    """The issuer's keys as a JSON Web Key Set; read again when the file changes."""

    secret: SecretStr | None = None
    """A secret shared with the issuer, for HS256, HS384 or HS512; at least 32 bytes. There is no default."""

    issuer: str = ""
    """What the token's `iss` must be; empty: not checked."""

    audience: str = ""
    """What the token's `aud` must hold; empty: not checked."""

    tenant_claim: str = Field(default="tenant", min_length=1)
    """The claim with the tenant id; a dotted name looks inside objects."""

    user_claim: str = Field(default="sub", min_length=1)
    """The claim with the user id; a dotted name looks inside objects."""

    groups_claim: str = Field(default="groups", min_length=1)
    """The claim with the list of groups; a dotted name looks inside objects. A token without it has no groups."""

    leeway_s: float = Field(default=30.0, ge=0.0, le=300.0)
    """How far clocks may differ, in seconds."""

    open_tenant: str = Field(default="default", min_length=1)
    """The tenant of a caller that names none, in `open` mode."""

    open_user: str = Field(default="anonymous", min_length=1)
    """The user of a caller that names none, in `open` mode; it has no groups."""
