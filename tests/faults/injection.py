"""Faults put into running services: what a handler calls raises, with a text that no caller may see."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import pytest
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import MethodDescriptor

from citemesh.rpc.spec import RunningService, ServiceSpec, StartContext
from services.registry import NAMES, load_spec

SECRET = "the password of the store is swordfish"


def explode(*_: object, **__: object) -> NoReturn:
    """The domain call that fails."""
    raise RuntimeError(SECRET)


class Exploding:
    """Stands in for a domain object: whatever is called of it, or read from it, fails."""

    def __getattr__(self, name: str) -> Exploding:
        return Exploding()

    __call__ = __iter__ = __len__ = __getitem__ = __aenter__ = __aexit__ = explode


@dataclass(frozen=True)
class Method:
    """One RPC of the contract."""

    service_name: str
    descriptor: MethodDescriptor

    @property
    def path(self) -> str:
        """What gRPC calls it."""
        return f"/{self.descriptor.containing_service.full_name}/{self.descriptor.name}"


def all_methods() -> Iterator[Method]:
    """Every RPC of the seven services, from their descriptors."""
    pool = descriptor_pool.Default()
    for name in NAMES:
        service = pool.FindServiceByName(load_spec(name).full_name)
        yield from (Method(name, method) for method in service.methods)


class Catching:
    """A server that remembers the handler objects which are registered with it, and hands them on."""

    def __init__(self, server: Any, handlers: dict[str, Any], service_name: str) -> None:
        self._server = server
        self._handlers = handlers
        self._service_name = service_name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    def add_registered_method_handlers(self, full_name: str, methods: dict[str, Any]) -> None:
        """Part of the generated code's registration; the bound methods lead to the handler."""
        for method in methods.values():
            bound = method.unary_unary or method.unary_stream or method.stream_unary or method.stream_stream
            self._handlers[self._service_name] = bound.__self__
        self._server.add_registered_method_handlers(full_name, methods)


def catch_handler(spec: ServiceSpec, handlers: dict[str, Any]) -> ServiceSpec:
    """`spec` as it is, its handler kept in `handlers` under the service's name."""

    class Caught:
        def __init__(self, service: RunningService) -> None:
            self._service = service
            self.check = service.check
            self.close = service.close

        def register(self, server: Any) -> None:
            self._service.register(Catching(server, handlers, spec.name))  # type: ignore[arg-type]  # a server in all that registration asks of it

    async def start(context: StartContext) -> Caught:
        return Caught(await spec.start(context))

    return replace(spec, start=start)


def inject(monkeypatch: pytest.MonkeyPatch, handler: Any, service_name: str) -> None:
    """Make all that the handler can call in its domain fail: its own objects, and functions and classes it imports.

    The checks of the request's fields pass everything, so that the emptiest request reaches the domain.
    """
    for name in vars(handler):
        monkeypatch.setattr(handler, name, Exploding())
    module = importlib.import_module(type(handler).__module__)
    for name, value in vars(module).items():
        if not (inspect.isfunction(value) or inspect.isclass(value)) or value.__module__ == module.__name__:
            continue
        if not value.__module__.startswith(f"services.{service_name}."):
            continue
        is_check = value.__module__ == f"services.{service_name}.requests"
        monkeypatch.setattr(module, name, (lambda *_, **__: None) if is_check else explode)
